"""``export``: the same bytes every time, nothing overwritten that is not its own, and clear errors."""

import hashlib
import json

import pytest

FORMS = ("json", "onnx-testdata")


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_cases_give_the_same_bytes(process, cli, small, tmp_path, form):
    for number in (1, 2):
        folder = tmp_path / f"{'deep/' * number}{number}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        paths = [small, "corpus:contexts/inside", "corpus:edge/nan"]
        done = process("cases", "export", form, *paths, "-o", folder, PYTHONHASHSEED=str(number))
        assert done.code == 0
    assert tree(tmp_path / "deep/1") == tree(tmp_path / "deep/deep/2")
    # A file alone has the same tests.
    assert cli("cases", "export", form, small, "-o", tmp_path / "alone").code == 0
    manifest = json.loads((tmp_path / "alone/manifest.json").read_text())
    assert manifest["format"] == ("vectors" if form == "json" else form)
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((tmp_path / "alone" / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("form", FORMS)
def test_an_earlier_export_is_replaced_as_a_whole(cli, small, tmp_path, form):
    (tmp_path / "out/.git").mkdir(parents=True)
    (tmp_path / "out/.git/config").write_text("mine")
    assert cli("cases", "export", form, small, "corpus:edge/ties-sonnx", "-o", tmp_path / "out").code == 0
    other = FORMS[1 - FORMS.index(form)]
    for again in (form, other, form):
        done = cli("cases", "export", again, small, "-k", "ordinary", "-o", tmp_path / "out")
        assert done.code == 0
        assert "; the earlier export was replaced" in done.out
        new = cli("cases", "export", again, small, "-k", "ordinary", "-o", tmp_path / "new" / again)
        assert new.code == 0
        assert tree(tmp_path / "out") == {**tree(tmp_path / "new" / again), ".git/config": b"mine"}


def _of_others(folder):
    (folder / "notes.txt").write_text("mine")


def _inside(folder):
    (folder / "manifest.json").parent.joinpath("test_mine").mkdir()
    (folder / "test_mine/model.onnx").write_text("mine")


def _changed(folder):
    next(
        path for path in sorted(folder.rglob("*")) if path.suffix in (".json", ".onnx") and path.name != "manifest.json"
    ).write_text("{}")


def _linked(folder):
    (folder / "link.json").symlink_to(folder.parent / "corpus/small.yaml")


def _no_manifest(folder):
    (folder / "manifest.json").write_text('{"schema": "maxpool-check/record/1"}')


def _climbing(folder):
    data = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**data, "files": {**data["files"], "../corpus": ""}}))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_of_others, "notes.txt is not of the export in"),
        (_inside, "model.onnx is not of the export in"),
        (_changed, "was changed after it was exported"),
        (_linked, "link.json is not of the export in"),
        (_no_manifest, "is no export of maxpool-check"),
        (_climbing, None),
    ],
)
def test_a_folder_with_other_things_is_refused(cli, small, tmp_path, form, spoil, message):
    assert cli("cases", "export", form, small, "-o", tmp_path / "out").code == 0
    spoil(tmp_path / "out")
    before, corpus = tree(tmp_path / "out"), tree(small)
    done = cli("cases", "export", form, small, "-k", "ordinary", "-o", tmp_path / "out")
    assert tree(small) == corpus
    if message is None:
        assert done.code == 0
        return
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert tree(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["json", "corpus", "-o", "corpus"], "lies in corpus, which is to be written"),
        (["json", "corpus", "-o", "corpus/small.yaml"], "is no folder"),
        (["json", "corpus", "-o", "mine"], "mine is not empty and is no export of maxpool-check; name a new folder"),
        (["json", "corpus", "-o", "file/out"], "cannot write to file/out: Not a directory"),
        (["yaml", "corpus", "-o", "out"], "'yaml' is not one of"),
        (["json", "corpus"], "Missing option '-o'"),
        (["json", "corpus", "-o", "out", "-k", "nothing"], "nothing"),
        (["json", "nowhere", "-o", "out"], "nowhere"),
        (["json", "corpus", "-o", "out", "--largest", "0"], "--largest"),
        (["json", "corpus", "-o", "out", "--largest", "1", "-k", "ordinary"], "nothing was exported"),
        (["onnx-testdata", "corpus", "-o", "out", "-k", "stride-0"], "nothing was exported"),
    ],
)
def test_usage(cli, small, tmp_path, arguments, message):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    done = cli("cases", "export", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert not (tmp_path / "out").exists()


def test_the_folder_itself_may_be_the_export(cli, tmp_path):
    assert cli("cases", "export", "json", "corpus:edge/ties-sonnx", "-o", ".", cwd=tmp_path).code == 0
    assert (tmp_path / "sonnx.json").exists()


def test_too_large_cases_are_left_out_by_name(cli, small, tmp_path):
    done = cli("cases", "export", "json", small, "-o", tmp_path / "out", "--largest", "10")
    assert done.code == 0
    assert "left out, a tensor of more than 10 cells (--largest): 1" in done.err
    assert "5 of 6 cases" in done.out
    (left_out,) = json.loads((tmp_path / "out/manifest.json").read_text())["left_out"]
    assert left_out["case"] == "small:ordinary"


def test_a_hostile_title_is_inert_in_the_files(cli, tmp_path):
    (tmp_path / "a.yaml").write_text(
        'cases:\n  - id: x\n    title: "\\e[2J \\"results\\":[{\\"windows\\": ##[error] \\x7f"\n'
        "    input: {dtype: float32, data: [[[1, 2]]]}\n    attributes: {kernel_shape: [2]}\n"
    )
    assert cli("cases", "export", "json", tmp_path / "a.yaml", "-o", tmp_path / "out").code == 0
    text = (tmp_path / "out/onnx-22.json").read_bytes()
    assert text.isascii()
    assert not {byte for byte in text if byte < 32} - {10}
    assert b"##[" not in text
    assert text.count(b'"results":[{"windows":') == 1
    (test,) = json.loads(text)["testGroups"][0]["tests"]
    assert test["title"].startswith("\x1b[2J")
