"""What a kernel claims: which cases it is given, and what it is told of their document."""

import sys
from pathlib import Path

import pytest

import maxpool_check
from maxpool_check.evidence.kernels import kernel_named
from maxpool_check.results.storage import read
from tests.conftest import CASES, run_pytest

DROPS_NAN = kernel_named("correct:gathered").target
PROPAGATING = """\
import subprocess
import numpy as np
from maxpool_check.evidence.wrong_kernels.scan import first_maximum, scan

def first_nan(values, inside):
    nan = inside & (values != values)
    return np.where(nan.any(-1), nan.argmax(-1), first_maximum(values, inside))

def maxpool(X, attributes):
    Y, Indices = scan(X, attributes, pick=first_nan)
    _, cells = scan(X, {**attributes, "storage_order": 0}, pick=first_nan)
    named = X.reshape(-1)[cells]
    return np.where(named != named, named, Y), Indices
"""

CORPUS = """\
spec: {spec}
defaults:
  attributes: {{kernel_shape: [1, 2], strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], auto_pad: NOTSET,
                ceil_mode: 0, storage_order: 0}}
cases:
  - id: ordinary
    title: Nothing that the documents see differently
    input: {{dtype: float32, data: [[[[1, 2, 3]]]]}}
  - id: nan
    title: A NaN
    input: {{dtype: float32, data: [[[[1, .nan, 3]]]]}}
  - id: ties
    title: Equal maxima
    input: {{dtype: float32, data: [[[[2, 2, 3]]]]}}
  - id: zeros
    title: Both zeros
    input: {{dtype: float32, data: [[[[-0.0, 0.0]]]]}}
  - id: empty
    title: A window of padding alone
    input: {{dtype: float32, data: [[[[7]]]]}}
    attributes: {{pads: [0, 2, 0, 0]}}
  - id: column-major
    title: Column-major Indices
    input: {{dtype: float32, data: [[[[1, 2, 3]]]]}}
    attributes: {{storage_order: 1}}
    {column_major}
  - id: stride-0
    title: A stride of 0
    input: {{dtype: float32, data: [[[[1, 2, 3]]]]}}
    attributes: {{strides: [1, 0]}}
    expect: {{refuse: invalid-attribute}}
"""


@pytest.fixture
def corpus(tmp_path):
    """A folder with the same cases of ONNX-22 and of SONNX, and one of OpenVINO."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "onnx.yaml").write_text(CORPUS.format(spec="onnx-22", column_major=""))
    (folder / "sonnx.yaml").write_text(CORPUS.format(spec="sonnx", column_major="expect: {refuse: outside-profile}"))
    (folder / "clip.yaml").write_text(
        "spec: onnx-12\ncases:\n"
        "  - {id: clipped, title: The last window starts in the end padding, input: {dtype: float32, shape: [1, 1, 2], arange: {}},\n"
        "     attributes: {kernel_shape: [1], strides: [2], pads: [0, 1], ceil_mode: 1}}\n"
        "  - {id: same, title: It does not, input: {dtype: float32, shape: [1, 1, 3], arange: {}},\n"
        "     attributes: {kernel_shape: [2], strides: [2], ceil_mode: 1}}\n"
    )
    (folder / "openvino.yaml").write_text(
        "spec: openvino-14\ncases:\n"
        "  - {id: plain, title: Nothing special, input: {dtype: float32, shape: [1, 1, 3], arange: {}},\n"
        "     attributes: {kernel: [2], strides: [1], pads_begin: [0], pads_end: [0]}}\n"
    )
    return folder


@pytest.fixture
def kernel(tmp_path):
    """Writes a Python kernel that refuses what ONNX does, and takes what ``after`` adds to it."""

    def write(before="", parameters="X, attributes", body="return scan(X, attributes)"):
        path = tmp_path / "kernel.py"
        path.write_text(
            f"import sys\nfrom maxpool_check.evidence.wrong_kernels.scan import scan\n{before}\n"
            f"def maxpool({parameters}):\n    {body}\n"
        )
        return f"python:{path}:maxpool"

    return write


def verdicts(cli, corpus, target, *options, variant="indices"):
    record = corpus.parent / "record.jsonl"
    done = cli("run", corpus, "-t", target, "-o", record, "-q", *options)
    assert done.code in (0, 1, 4), done.out + done.err
    return {
        execution.case: execution.verdict.value for execution in read(record).executions if execution.variant == variant
    }


@pytest.fixture
def propagating(tmp_path):
    """A right kernel of ONNX-22 in which NaN propagates."""
    (tmp_path / "propagating.py").write_text(PROPAGATING)
    return f"python:{tmp_path / 'propagating.py'}:maxpool"


@pytest.mark.parametrize(
    ("paths", "least"),
    [((CASES / "documents", CASES / "onnx"), 100), pytest.param((CASES,), 1500, marks=pytest.mark.long)],
    ids=["documents", "whole"],
)
def test_a_right_kernel_of_onnx_22_is_green_on_the_corpus(cli, propagating, paths, least):
    done = cli("run", *paths, "-t", DROPS_NAN, "-t", propagating, "--known", "none", "--report", "json")
    assert done.code == 0, done.json["results"][:3]
    for target in done.json["targets"]:
        assert target["summary"]["conforms"] > least
        assert 0 < target["summary"]["not-claimed"] < 1000


def test_a_claimed_document_is_compared_in_full(cli, propagating):
    done = cli(
        "run",
        CASES / "edge/nan-sonnx.yaml",
        "-t",
        propagating,
        "--spec",
        "sonnx",
        "--known",
        "none",
        "--report",
        "json",
    )
    assert done.code == 1
    assert done.json["summary"]["diverges"] > 10
    assert not done.json["summary"]["not-claimed"]


def test_what_two_documents_see_alike_is_compared_and_nothing_else(cli, corpus):
    found = verdicts(cli, corpus, DROPS_NAN)
    claimed = {case for case, verdict in found.items() if verdict != "not-claimed"}
    assert claimed == {
        *(f"onnx:{name}" for name in ("ordinary", "nan", "ties", "zeros", "empty", "column-major", "stride-0")),
        "sonnx:ordinary", "sonnx:stride-0", "clip:same", "openvino:plain",
    }  # fmt: skip
    assert {found[case] for case in claimed} == {"conforms", "undefined"}


def test_of_y_alone_the_ties_do_not_matter(cli, corpus):
    found = verdicts(cli, corpus, DROPS_NAN, variant="y-only")
    assert (found["sonnx:ties"], found["sonnx:zeros"]) == ("conforms", "not-claimed")


@pytest.mark.parametrize(
    ("name", "claimed"),
    [("sonnx", {"sonnx:nan", "sonnx:column-major"}), ("onnx", {"clip:clipped"}), ("onnx-12", {"clip:clipped"})],
)
def test_spec_widens_the_claim_by_a_document_or_a_family(cli, corpus, name, claimed):
    found = verdicts(cli, corpus, DROPS_NAN, "--spec", f"onnx-22,{name}")
    assert "not-claimed" not in {found[case] for case in claimed}
    assert found["onnx:nan"] == "conforms"


def test_a_module_declares_what_it_claims_and_spec_widens_it(cli, corpus, kernel):
    target = kernel(before='SPECS = ("sonnx",)')
    found = verdicts(cli, corpus, target)
    assert (found["sonnx:nan"], found["onnx:nan"]) == ("conforms", "not-claimed")
    assert verdicts(cli, corpus, target, "--spec", "onnx-22")["onnx:nan"] == "conforms"


def test_a_function_is_told_a_document_that_it_claims(cli, corpus, kernel):
    target = kernel(
        before='SPECS = ["onnx-22", "sonnx"]', parameters="X, attributes, *, spec",
        body="assert spec in SPECS, spec\n    return scan(X, attributes)",
    )  # fmt: skip
    found = verdicts(cli, corpus, target)
    assert set(found.values()) <= {"conforms", "undefined", "not-claimed", "diverges"}
    told = kernel(parameters="X, attributes, spec=None", body="raise ValueError(spec)")
    done = cli("explain", corpus / "openvino.yaml:plain", "-t", told)
    assert "ValueError: onnx-22" in done.out
    done = cli("explain", corpus / "openvino.yaml:plain", "-t", told, "--spec", "openvino")
    assert "ValueError: openvino-14" in done.out


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ('SPECS = ["onyx-22"]', "unknown specification 'onyx-22'"),
        ("SPECS = 22", "'specs[0]': expected text, found the number 22"),
    ],
)
def test_a_claim_that_cannot_be_read_is_an_error_of_the_target(cli, corpus, kernel, before, words):
    done = cli("run", corpus, "-t", kernel(before=before))
    assert done.code == 3
    assert words in done.out + done.err


def test_a_run_without_a_claimed_case_compares_nothing(cli, corpus, kernel):
    done = cli("run", corpus / "openvino.yaml", "-t", kernel(before='SPECS = ("ngraph-0",)'))
    assert done.code == 4
    assert "claimed" in done.out


PROGRAM = """\
import json, sys
sys.stdin.readline()
print(json.dumps({{"type": "ready", "protocol": 1, **{ready}}}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    message = {{"type": "refusal", "status": "TOLD", "message": str(request.get("spec"))}}
    print(json.dumps({{"id": request["id"], **message}}), flush=True)
"""


def program(folder, **ready):
    path = Path(folder) / "program.py"
    path.write_text(PROGRAM.format(ready=ready))
    return f"command:{sys.executable} {path}"


def test_a_program_is_told_the_document_and_says_which_it_claims(cli, corpus, tmp_path):
    target = program(tmp_path, specs=["openvino"])
    assert "TOLD: openvino-14" in cli("explain", corpus / "openvino.yaml:plain", "-t", target).out
    assert "not-claimed" in cli("explain", corpus / "onnx.yaml:nan", "-t", target).out
    done = cli("run", corpus, "-t", program(tmp_path, specs="onnx"))
    assert (done.code, "specs" in done.out + done.err) == (3, True)


GRAPHS = """\
spec: {spec}
defaults:
  attributes: {{kernel_shape: [1, 2], strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], auto_pad: NOTSET,
                ceil_mode: 0, storage_order: 0}}
  graph: {{nodes: [{{op: Identity}}, {{op: MaxPool}}]}}
  outputs: [Y]
cases:
  - {{id: ordinary, title: Without NaN, input: {{dtype: float32, data: [[[[1, 2, 3]]]]}}}}
  - {{id: nan, title: A NaN, input: {{dtype: float32, data: [[[[1, .nan, 3]]]]}}}}
"""


@pytest.mark.parametrize(
    ("specs", "claimed"),
    [(["onnx-22"], {"onnx:ordinary", "onnx:nan", "sonnx:ordinary"}),
     (["sonnx"], {"sonnx:ordinary", "sonnx:nan", "onnx:ordinary"})],
)  # fmt: skip
def test_the_claim_holds_for_graphs_of_several_nodes(cli, tmp_path, specs, claimed):
    folder = tmp_path / "graphs"
    folder.mkdir()
    (folder / "onnx.yaml").write_text(GRAPHS.format(spec="onnx-22"))
    (folder / "sonnx.yaml").write_text(GRAPHS.format(spec="sonnx"))
    target = program(tmp_path, specs=specs, graphs=22)
    found = verdicts(cli, folder, target, variant="y-only")
    assert {case for case, verdict in found.items() if verdict != "not-claimed"} == claimed
    told = cli("explain", folder / "sonnx.yaml:ordinary", "-t", target).out
    assert f"TOLD: {specs[0]}" in told


def test_a_program_in_the_language_of_a_document_claims_this_document(cli, corpus, tmp_path):
    target = program(tmp_path, wants="openvino-14")
    assert "TOLD: openvino-14" in cli("explain", corpus / "openvino.yaml:plain", "-t", target).out


def test_a_declared_dtype_holds_for_what_must_be_refused(cli, corpus, tmp_path):
    refused = corpus / "onnx.yaml:stride-0"
    assert "not-expressible" in cli("explain", refused, "-t", program(tmp_path, dtypes=["int8"])).out
    assert "conforms" in cli("explain", refused, "-t", program(tmp_path)).out


def test_spec_selects_the_cases_of_its_documents_for_runtimes_and_kernels(cli, corpus):
    for target in ("onnxruntime", DROPS_NAN):
        done = cli("run", corpus, "-t", target, "--spec", "sonnx", "--known", "none", "--report", "json")
        assert {result["spec"] for result in done.json["results"]} == {"sonnx"}
    done = cli("explain", corpus / "onnx.yaml:ordinary", "-t", "onnxruntime", "--spec", "sonnx")
    assert done.code == 2
    assert "python:" in done.err


def test_targets_checks_a_kernel_by_a_document_that_it_claims(cli, kernel):
    done = cli("targets", "check", kernel(before='SPECS = ("sonnx",)'))
    assert done.code == 0, done.out
    assert "claims sonnx" in done.out


def test_fuzz_claims_the_document_that_it_draws(cli, kernel, tmp_path):
    done = cli("fuzz", "-t", kernel(), "--spec", "sonnx", "--max-cases", "20", "-o", tmp_path / "found")
    assert done.code == 0, done.out
    assert "nothing was compared" not in done.out


def test_gate_counts_what_is_claimed(cli, corpus, kernel):
    base, head = kernel(), DROPS_NAN
    done = cli("gate", corpus, "--base", base, "--head", head, "--report", "json")
    assert done.code == 0, done.out
    assert cli("gate", corpus / "sonnx.yaml", "-k", "sonnx:nan", "--base", base, "--head", head).code == 4


def test_repro_takes_the_claim(cli, corpus, kernel, tmp_path):
    target = kernel(
        before='SPECS = ("onnx-22",)',
        parameters="X, attributes, spec",
        body="return scan(X, attributes)[0] + (spec == 'sonnx')",
    )
    place = f"{corpus / 'sonnx.yaml'}:nan"
    done = cli("repro", place, "-t", target, "-o", tmp_path / "out")
    assert done.code == 1
    assert "not-claimed" in done.out
    done = cli("repro", place, "-t", target, "--spec", "sonnx", "-o", tmp_path / "out")
    assert done.code == 0, done.out + done.err


def test_known_add_binds_an_entry_to_the_kernel(cli, corpus, kernel, tmp_path):
    wrong = kernel(body="return -X[..., :1, :1]")
    record, known = tmp_path / "record.jsonl", tmp_path / "known.yaml"
    assert cli("run", corpus / "onnx.yaml", "-t", wrong, "-o", record, "-q").code == 1
    assert cli("defects", "accept", record, "--reason", "wrong on purpose", "-o", known).code == 0
    assert wrong in known.read_text()
    assert cli("run", corpus / "onnx.yaml", "-t", wrong, "--known", known).code == 0
    other = tmp_path / "other.py"
    other.write_text((tmp_path / "kernel.py").read_text())
    assert cli("run", corpus / "onnx.yaml", "-t", f"python:{other}:maxpool", "--known", known).code == 1


def test_known_add_binds_an_entry_to_the_program(cli, corpus, tmp_path):
    target = program(tmp_path)
    record, known = tmp_path / "record.jsonl", tmp_path / "known.yaml"
    assert cli("run", corpus / "onnx.yaml", "-t", target, "-o", record, "-q").code == 1
    assert cli("defects", "accept", record, "--reason", "refuses all", "-o", known).code == 0
    assert cli("run", corpus / "onnx.yaml", "-t", target, "--known", known).code == 0
    assert cli("run", corpus / "onnx.yaml", "-t", f"{target} -x", "--known", known).code == 1


def test_runs_from_python_and_pytest_claim_as_the_command_line_does(corpus, kernel):
    target, nan = kernel(), [case for case in maxpool_check.read_cases(corpus) if case.id == "sonnx:nan"]
    results = maxpool_check.run(nan, target)
    assert (results.exit_code, {execution.verdict.value for execution in results.executions}) == (4, {"not-claimed"})
    assert maxpool_check.run(nan, target, specs="sonnx").exit_code == 0
    assert maxpool_check.run(nan, target, specs=["onnx", "sonnx"]).exit_code == 0
    with pytest.raises(ValueError, match="unknown specification 'sonny'"):
        maxpool_check.run(nan, target, specs="sonny")
    with pytest.raises(ValueError, match="runtimes execute the cases of all"):
        maxpool_check.run(nan, "onnxruntime", specs="sonnx")


@pytest.mark.parametrize(("options", "outcome"), [((), "1 skipped"), (("--maxpool-check-spec=sonnx",), "1 passed")])
def test_the_pytest_plugin_skips_what_is_not_claimed(corpus, kernel, options, outcome):
    done = run_pytest(corpus, f"--maxpool-check={kernel()}", *options, corpus / "sonnx.yaml", "-k", "nan", "-rs")
    assert (done.code, outcome in done.out) == (0, True), done.out
    assert ("not-claimed: it claims onnx-22" in done.out) is not bool(options)


def test_other_variants_are_executed_on_what_is_claimed(cli, corpus, kernel):
    done = cli("run", corpus, "-t", kernel(), "--variants", "all", "--report", "json")
    assert done.code == 0, done.out
    assert done.json["summary"]["not-claimed"]
