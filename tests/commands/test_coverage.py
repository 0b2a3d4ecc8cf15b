"""``generate`` and ``coverage`` as a user calls them."""

import pytest

from maxpool_check.corpus.generating import written
from maxpool_check.results.storage import read

TINY = """\
spec: xmos-maxpool2d
cases:
  - id: even
    title: Windows that tile the image
    input: {dtype: int8, shape: [4, 4, 4], fill: 1}
    attributes: {Y_h: 2, Y_w: 2, K_h: 2, K_w: 2, W_r0: 0, W_c0: 0, W_vert: 2, W_hori: 2}
  - id: uneven
    title: A window of another height
    input: {dtype: int8, shape: [3, 4, 16], fill: -128}
    attributes: {Y_h: 1, Y_w: 2, K_h: 3, K_w: 2, W_r0: 0, W_c0: 0, W_vert: 2, W_hori: 2}
  - id: excluded
    title: A stride of 0
    input: {dtype: int8, shape: [4, 4, 4], fill: 2}
    attributes: {Y_h: 1, Y_w: 1, K_h: 2, K_w: 2, W_r0: 0, W_c0: 0, W_vert: 0, W_hori: 2}
    expect: {refuse: invalid-attribute}
"""


@pytest.fixture
def tiny(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "tiny.yaml").write_text(TINY)
    return folder


def counts(groups):
    return {tuple(group["factors"]): (group["covered"], group["possible"]) for group in groups}


def test_the_counts_of_a_tiny_corpus(cli, tiny, kernel_target):
    done = cli("coverage", tiny, "-t", kernel_target("right"), "--format", "json")
    assert (done.code, done.err) == (0, "")
    (document,) = done.json["documents"]
    # What the document excludes executes nothing.
    assert (document["spec"], document["cases"], document["executions"]) == ("xmos-maxpool2d", 2, 2)
    # even: channels many, kernel even, stride tile, pads 0, constant; uneven: channels 16, overlap, 0, lowest.
    bins = counts(document["bins"])
    assert bins == {
        ("channels",): (2, 2), ("kernel",): (2, 4), ("stride",): (2, 5), ("pads",): (1, 4), ("values",): (2, 6),
    }  # fmt: skip
    pairs = counts(document["pairs"])
    assert len(pairs) == 10
    assert pairs["channels", "kernel"] == (2, 8)
    assert pairs["channels", "pads"] == (2, 8)
    assert pairs["pads", "values"] == (2, 24)
    # A kernel of one cell has no stride below it, an uneven one no stride that is equal to it everywhere; none as large as
    # the image leaves room for anything but itself.
    (stride,) = [group for group in document["pairs"] if group["factors"] == ["kernel", "stride"]]
    assert {"kernel": "1", "stride": "overlap"} not in stride["uncovered"]
    assert {"kernel": "uneven", "stride": "tile"} not in stride["uncovered"]
    assert {"kernel": "even", "stride": "overlap"} in stride["uncovered"]
    assert {"kernel": "even", "stride": "tile"} not in stride["uncovered"]
    (channels,) = [group for group in document["pairs"] if group["factors"] == ["channels", "kernel"]]
    assert {"channels": "16", "kernel": "even"} in channels["uncovered"]
    assert {"channels": "many", "kernel": "even"} not in channels["uncovered"]


def test_nothing_but_what_was_compared_counts(cli, tiny, kernel_target, small):
    dead = cli("coverage", small, "-t", kernel_target("refuses_everything"), "--format", "json")
    alive = cli("coverage", small, "-t", kernel_target("right"), "--format", "json").json
    # The case whose window misses X is undefined, and that with a stride of 0 is excluded.
    assert [document["cases"] for document in alive["documents"]] == [4]
    # A refusal covers nothing, also where it is right.
    (document,) = dead.json["documents"]
    assert (dead.code, document["cases"], document["executions"]) == (4, 0, 0)
    assert not any(group["covered"] for group in document["bins"])
    alone = cli("coverage", small, "-t", kernel_target("y_alone"), "--format", "json").json
    (outputs,) = [group for group in alone["documents"][0]["bins"] if group["factors"] == ["outputs"]]
    assert outputs["uncovered"] == [{"outputs": "y-and-indices"}]


def test_a_record_says_the_same_as_asking(cli, small, kernel_target, tmp_path):
    record = tmp_path / "r.jsonl"
    cli("run", small, "-t", kernel_target("right"), "-q", "-o", record)
    asked = cli("coverage", small, "-t", kernel_target("right"), "--format", "json")
    stored = cli("coverage", small, "--record", record, "--format", "json")
    assert stored.code == asked.code == 0
    assert stored.json == asked.json
    # A case that was changed since does not count.
    path = small / "small.yaml"
    path.write_text(path.read_text().replace("start: -9", "start: -8"))
    changed = cli("coverage", small, "--record", record, "--format", "json")
    assert changed.json["documents"][0]["cases"] == asked.json["documents"][0]["cases"] - 1
    assert "1 changed case is not counted, the first is small:padded" in changed.err


def test_records_that_cannot_be_counted(cli, small, kernel_target, tmp_path):
    record = tmp_path / "r.jsonl"
    cli("run", small, "-t", kernel_target("right"), "-t", kernel_target("y_alone"), "-q", "-o", record)
    assert len(read(record).header.targets) == 2
    several = cli("coverage", small, "--record", record)
    assert several.code == 2
    assert "several targets; choose one with -t" in several.err
    absent = cli("coverage", small, "--record", record, "-t", "tract")
    assert (absent.code, "has no target 'tract'" in absent.err) == (2, True)
    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join(lines[:-1]))
    cut = cli("coverage", small, "--record", record, "-t", kernel_target("right"))
    assert (cut.code, "the record is incomplete: its run did not end" in cut.err) == (3, True)
    assert "onnx-22" in cut.out
    record.write_bytes(lines[0][:50])
    assert cli("coverage", small, "--record", record).code == 3
    record.write_text("spec: onnx-22\n")
    wrong = cli("coverage", small, "--record", record)
    assert (wrong.code, "cannot read the record" in wrong.err) == (2, True)


def test_nothing_executed(cli, small, kernel_target):
    done = cli("coverage", small, "-t", kernel_target("right"), "--spec", "sonnx")
    assert done.code == 4
    assert done.out == "NOTHING COMPARED no case of sonnx was executed\n"
    absent = cli("coverage", small, "-t", kernel_target("absent"), "--format", "json")
    assert absent.code == absent.json["exit_code"] == 3
    assert absent.json["errors"]


def test_narrow(cli, small, kernel_target):
    done = cli("coverage", small, "-t", kernel_target("right"), COLUMNS="50")
    assert done.code == 0
    # But for the name of the target, which is a path.
    assert max(len(line) for line in done.out.splitlines()[1:]) <= 50
    assert "  batch          1 of 2; not many" in done.out


def test_generate(cli, tmp_path):
    path = tmp_path / "new" / "xmos.yaml"
    done = cli("generate", "--spec", "xmos-maxpool2d", "--seed", "3", "-o", path)
    assert (done.code, done.out) == (0, "")
    assert cli("generate", "--spec", "xmos-maxpool2d", "--seed", "3").out == path.read_text()
    assert path.read_text() == written("xmos-maxpool2d", 2, 3)
    assert "# maxpool-check generate --spec xmos-maxpool2d --strength 2 --seed 3\n" in path.read_text()
    assert cli("lint", path).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--spec", "onnx22"], "did you mean 'onnx-22'?"),
        ([], "give either --spec NAME or --contexts"),
        (["--spec", "sonnx", "--contexts"], "give either --spec NAME or --contexts"),
        (["--contexts", "--seed", "1..2"], "takes one seed"),
        (["--spec", "sonnx", "--strength", "4"], "4"),
        (["--spec", "sonnx", "--seed", "-1"], "-1"),
        (["--spec", "sonnx", "-o", "/dev/null/x.yaml"], "cannot write to /dev/null/x.yaml"),
    ],
)
def test_what_cannot_be_generated(cli, arguments, words):
    done = cli("generate", *arguments)
    assert done.code == 2
    assert words in done.err


def test_more_than_three_spatial_axes_are_counted_where_the_document_allows_them(cli, tmp_path, kernel_target):
    shapes = {"four": [1, 1, 2, 2, 2, 2], "five": [1, 1, 2, 2, 2, 2, 2], "six": [1, 1, 2, 2, 2, 2, 2, 2]}
    cases = "".join(
        f"""  - id: {name}
    title: Windows over {name} axes
    input: {{dtype: float32, shape: {shape}, arange: {{}}}}
    attributes: {{kernel_shape: {[2] * (len(shape) - 2)}}}
"""
        for name, shape in shapes.items()
    )
    (tmp_path / "axes.yaml").write_text("spec: onnx-1\ncases:\n" + cases)
    arguments = ("--strength", "1", "--format", "json")
    (document,) = cli("coverage", tmp_path, "-t", kernel_target("right"), *arguments).json["documents"]
    (rank,) = [group for group in document["bins"] if group["factors"] == ["rank"]]
    assert rank["possible"] == 5
    assert rank["uncovered"] == [{"rank": "1d"}, {"rank": "2d"}, {"rank": "3d"}]


def test_the_coverage_of_graphs(cli, tmp_path):
    (tmp_path / "graph.yaml").write_text(
        "cases:\n  - id: a\n    title: A Relu behind MaxPool\n    opset: 13\n"
        "    input: {dtype: float32, shape: [1, 1, 2, 2], fill: -3}\n"
        "    graph: [{op: MaxPool}, {op: Relu}]\n    attributes: {kernel_shape: [1, 2]}\n"
    )
    (document,) = cli("coverage", tmp_path, "--contexts", "--format", "json").json["documents"]
    assert (document["spec"], document["cases"], document["executions"]) == ("contexts", 1, 4)
    covered = counts(document["bins"])
    assert [covered[(name,)][0] for name in ("context", "dtype", "geometry", "opset")] == [1, 1, 1, 1]
    assert counts(document["pairs"])["context", "opset"][0] == 1
