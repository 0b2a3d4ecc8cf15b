"""The corpus that comes with the tool, by its names."""

import pytest

from maxpool_check.results.storage import read
from tests.conftest import CASES


def test_a_name_means_a_part_of_the_corpus_and_is_the_origin_of_its_cases(cli):
    listed = cli("cases", "list", "corpus:sonnx/float", "--json").json["cases"]
    own = cli("cases", "list", CASES / "sonnx/float.yaml", "--json").json["cases"]
    assert [(case["id"], case["sha256"]) for case in listed] == [(case["id"], case["sha256"]) for case in own]
    assert {case["origin"].rpartition(":")[0] for case in listed} == {"corpus:sonnx/float.yaml"}


def test_its_known_defects_are_expected(cli):
    selected = ("-t", "onnxruntime", "-k", "edge/ceil-mode:*", "--report", "json")
    by_name, by_path = cli("run", "corpus:edge", *selected), cli("run", CASES / "edge", *selected)
    assert by_name.code == by_path.code
    assert by_name.json["known"] == by_path.json["known"]


def test_a_file_or_folder_of_that_name_comes_first(cli, tmp_path, small):
    assert cli("cases", "list", "corpus", cwd=tmp_path).out.startswith("small:ordinary ")
    assert cli("cases", "list", "corpus:edge/ties", cwd=tmp_path).out.startswith("edge/ties:")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("corpus:edg", "the corpus has no 'edg' (did you mean 'corpus:edge'?)"),
        ("corpus:edge/ties.yaml:all-equal", "(did you mean 'corpus:edge/ties.yaml -k all-equal'?)"),
        # Both exist, beside the corpus of a checkout.
        ("corpus:../tests", "the corpus has no '../tests'"),
        ("corpus:edge/../../pyproject.toml", "the corpus has no 'edge/../../pyproject.toml'"),
        ("corpus:/etc", "the corpus has no 'etc'"),
    ],
)
def test_a_name_that_it_does_not_have_is_an_error(cli, name, message):
    for arguments in (("cases", "list", name), ("explain", "ties", "-p", name)):
        done = cli(*arguments)
        assert done.code == 2
        assert message in done.err
    assert cli("explain", f"{name}/x.yaml:one").code == 2


def test_a_path_without_the_prefix_is_recognised(cli):
    for name, hint in (
        ("edge/ties:all-equal", " (did you mean 'corpus:edge/ties -k all-equal'?)"),
        ("cases/edge/ties.yaml:all-equal", " (did you mean 'cases/edge/ties.yaml -k all-equal'?)"),
        ("edge", " (did you mean 'corpus:edge'?)"),
        ("edgy", ""),
    ):
        assert f"'{name}' not found{hint}; name case files" in cli("cases", "list", name).err


def test_a_case_is_found_by_its_id_where_there_is_no_folder_of_cases(cli, tmp_path):
    shown = cli("explain", "edge/neg-inf:one-cell", cwd=tmp_path)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == cli("explain", "corpus:edge/neg-inf.yaml:one-cell", cwd=tmp_path).out
    # A corpus of the user's own comes first, and hides nothing.
    own = tmp_path / "cases/edge"
    own.mkdir(parents=True)
    (own / "neg-inf.yaml").write_text(
        (CASES / "edge/neg-inf.yaml").read_text().replace("The smallest image", "My image")
    )
    (own / "mine.yaml").write_text(
        "cases:\n  - {id: a, title: Mine, input: {dtype: float32, shape: [1, 1, 2], fill: 0}, attributes: {kernel_shape: [2]}}\n"
    )
    assert "My image" in cli("explain", "edge/neg-inf:one-cell", cwd=tmp_path).out
    assert "Mine" in cli("explain", "edge/mine:a", cwd=tmp_path).out
    assert cli("explain", "edge/ties:all-equal", cwd=tmp_path).code == 0
    assert "ORT-SEED-KEPT:" in cli("explain", "ORT-SEED-KEPT", cwd=tmp_path).out


def test_it_is_copied_into_a_new_folder_only(cli, tmp_path):
    (tmp_path / "mine").mkdir()
    assert cli("cases", "copy", "mine", cwd=tmp_path).code == 0
    assert cli("cases", "lint", "mine/edge/ties.yaml", cwd=tmp_path).code == 0
    refused = cli("cases", "copy", "mine", cwd=tmp_path)
    assert refused.code == 2
    assert "'mine' is not empty; name a new folder" in refused.err


def test_its_parts_are_listed_with_their_cases(cli):
    listed = cli("cases", "list", "--json").json
    assert {part["name"] for part in listed["parts"]} == {
        f"corpus:{path.name}" for path in CASES.iterdir() if path.name != "defects"
    }
    assert all(part["cases"] for part in listed["parts"])


def test_what_belongs_to_the_tool_is_not_written(cli, tmp_path):
    refused = cli("defects", "check", "-t", "onnxruntime", "--write", "-p", "corpus:", cwd=tmp_path)
    assert refused.code == 2
    assert "maxpool-check cases copy DIR" in refused.err
    record = tmp_path / "record.jsonl"
    cli("run", "corpus:sonnx/float", "-q", "-o", record, "--known", "none", cwd=tmp_path)
    added = cli("defects", "accept", record, "--reason", "seen", cwd=tmp_path)
    assert added.code == 2
    assert "pass the file to write with -o" in added.err


def test_without_a_path_the_corpus_of_the_tool_is_run(cli, kernel_target, tmp_path):
    record = tmp_path / "record.jsonl"
    done = cli("run", "-k", "edge/ties:*", "-t", kernel_target("right"), "-q", "-o", record, cwd=tmp_path)
    assert done.code == 0, done.err
    executions = read(record).executions
    assert len(executions) > 5
    assert all(each.origin.startswith("corpus:edge/ties.yaml:") for each in executions)
