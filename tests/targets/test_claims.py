"""What a kernel claims: which cases it is given, and what it is told of their document."""

import pytest

import maxpool_check
from maxpool_check.evidence.kernels import kernel_named
from maxpool_check.results.storage import read
from tests.conftest import CASES, replying, run_pytest

DROPS_NAN, BACKWARDS, PROPAGATES = (
    kernel_named(name).target
    for name in ("correct:gathered", "correct:backwards", "policies:nan_propagates_but_in_images")
)
"""The last propagates NaN as ONNX allows, but over one axis its Indices do not say so."""
HEAD = """\
spec: SPEC
defaults:
  attributes: {kernel_shape: [1, 2], strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], auto_pad: NOTSET,
               ceil_mode: 0, storage_order: 0}
"""
CASE = "  - {id: %s, title: T, input: {dtype: float32, data: [[[[%s]]]]}%s}\n"
SINGLE = {
    "ordinary": ("1, 2, 3", ""),
    "nan": ("1, .nan, 3", ""),
    "ties": ("2, 2, 3", ""),
    "zeros": ("-0.0, 0.0", ""),
    "empty": ("7", ", attributes: {pads: [0, 2, 0, 0]}"),
    "column-major": ("1, 2, 3", ", attributes: {storage_order: 1}EXPECT"),
    "stride-0": ("1, 2, 3", ", attributes: {strides: [1, 0]}, expect: {refuse: invalid-attribute}"),
}
CORPUS = f"{HEAD}cases:\n{''.join(CASE % (name, *texts) for name, texts in SINGLE.items())}"
GRAPHS = f"{HEAD}  graph: {{nodes: [{{op: Identity}}, {{op: MaxPool}}]}}\n  outputs: [Y]\ncases:\n" + "".join(
    CASE % (name, SINGLE[name][0], "") for name in ("ordinary", "nan")
)
CLIP = """\
spec: onnx-12
cases:
  - {id: clipped, title: The last window starts in the end padding, input: {dtype: float32, shape: [1, 1, 2], fill: 1},
     attributes: {kernel_shape: [1], strides: [2], pads: [0, 1], ceil_mode: 1}}
  - {id: same, title: It does not, input: {dtype: float32, shape: [1, 1, 3], arange: {}},
     attributes: {kernel_shape: [2], strides: [2], ceil_mode: 1}}
"""
OPENVINO = """\
spec: openvino-14
cases:
  - {id: plain, title: Nothing special, input: {dtype: float32, shape: [1, 1, 3], arange: {}},
     attributes: {kernel: [2], strides: [1], pads_begin: [0], pads_end: [0]}}
"""
TELLS = {"type": "refusal", "status": "TOLD", "message": "SPEC"}


@pytest.fixture
def corpus(tmp_path):
    """A folder with the same cases of ONNX-22 and of SONNX, some of ONNX-12, and one of OpenVINO."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, spec, expected in (("onnx", "onnx-22", ""), ("sonnx", "sonnx", ", expect: {refuse: outside-profile}")):
        (folder / f"{name}.yaml").write_text(CORPUS.replace("SPEC", spec).replace("EXPECT", expected))
    (folder / "clip.yaml").write_text(CLIP)
    (folder / "openvino.yaml").write_text(OPENVINO)
    return folder


@pytest.fixture
def kernel(tmp_path):
    """Writes a Python kernel that refuses what ONNX does, and takes what ``parameters`` say; its target."""

    def write(before="", parameters="X, attributes", body="return scan(X, attributes)"):
        imports = "import sys\nfrom maxpool_check.evidence.wrong_kernels.scan import scan"
        (tmp_path / "kernel.py").write_text(f"{imports}\n{before}\ndef maxpool({parameters}):\n    {body}\n")
        return f"python:{tmp_path / 'kernel.py'}:maxpool"

    return write


def verdicts(cli, corpus, target, *options, variant="indices"):
    record = corpus.parent / "record.jsonl"
    done = cli("run", corpus, "-t", target, "-o", record, "-q", *options)
    assert done.code in (0, 1, 4), done.out + done.err
    return {each.case: each.verdict.value for each in read(record).executions if each.variant == variant}


@pytest.mark.parametrize(
    ("paths", "other", "least"),
    [
        ((CASES / "documents", CASES / "onnx"), PROPAGATES, 100),
        pytest.param((CASES,), BACKWARDS, 1500, marks=pytest.mark.long),
    ],
    ids=["documents", "whole"],
)
def test_a_right_kernel_of_onnx_22_is_green_on_the_corpus(cli, paths, other, least):
    done = cli("run", *paths, "-t", DROPS_NAN, "-t", other, "--known", "none", "--report", "json")
    assert done.code == 0, done.json["faults"][:3]
    for target in done.json["targets"]:
        assert target["summary"]["conforms"] > least
        assert 0 < target["summary"]["not-claimed"] < 1000


def test_what_two_documents_see_alike_is_compared_and_nothing_else(cli, corpus):
    claimed = {f"onnx:{name}" for name in SINGLE} | {"sonnx:ordinary", "sonnx:stride-0", "clip:same", "openvino:plain"}
    found = verdicts(cli, corpus, DROPS_NAN, "--variants", "all")
    assert {case for case, verdict in found.items() if verdict != "not-claimed"} == claimed
    assert {found[case] for case in claimed} == {"conforms", "undefined"}
    # Of Y alone, the ties do not matter.
    found = verdicts(cli, corpus, DROPS_NAN, variant="y-only")
    assert (found["sonnx:ties"], found["sonnx:zeros"]) == ("conforms", "not-claimed")


@pytest.mark.parametrize(("before", "spec", "claimed", "other"), [
    ("", "onnx-22,sonnx", ["sonnx:nan", "onnx:nan"], []),
    # A family, and one document of it.
    ("", "onnx-22,onnx", ["clip:clipped", "onnx:nan"], []),
    ('SPECS = ("sonnx",)', "", ["sonnx:nan"], ["onnx:nan"]),
    ('SPECS = ("sonnx",)', "onnx-22", ["onnx:nan"], []),
])  # fmt: skip
def test_a_module_declares_what_it_claims_and_spec_widens_it(cli, corpus, kernel, before, spec, claimed, other):
    found = verdicts(cli, corpus, kernel(before), *(["--spec", spec] if spec else []))
    assert {found[case] for case in claimed} == {"conforms"}
    assert {found[case] for case in other} <= {"not-claimed"}


def test_a_function_is_told_a_document_that_it_claims(cli, corpus, kernel):
    parameters, body = "X, attributes, *, spec", "assert spec in SPECS, spec\n    return scan(X, attributes)"
    found = verdicts(cli, corpus, kernel('SPECS = ["onnx-22", "sonnx"]', parameters, body))
    assert set(found.values()) <= {"conforms", "undefined", "not-claimed", "diverges"}
    target = kernel(parameters="X, attributes, spec=None", body="raise ValueError(spec)")
    for options, told in (((), "onnx-22"), (("--spec", "openvino"), "openvino-14")):
        done = cli("explain", corpus / "openvino.yaml:plain", "-t", target, *options)
        assert f"ValueError: {told}" in done.out


@pytest.mark.parametrize(("ready", "case", "words"), [
    ({"specs": ["openvino"]}, "openvino.yaml:plain", "TOLD: openvino-14"),
    ({"specs": ["openvino"]}, "onnx.yaml:nan", "not-claimed"),
    # It speaks the language of a document, and so claims it.
    ({"wants": "openvino-14"}, "openvino.yaml:plain", "TOLD: openvino-14"),
    # What it says of dtypes holds for what must be refused, too.
    ({"dtypes": ["int8"]}, "onnx.yaml:stride-0", "not-expressible"),
    ({}, "onnx.yaml:stride-0", "conforms"),
    ({"specs": "onnx"}, "onnx.yaml:nan", "specs"),
])  # fmt: skip
def test_a_program_is_told_the_document_and_says_what_it_claims(cli, corpus, ready, case, words):
    done = cli("explain", f"{corpus}/{case}", "-t", replying(TELLS, **ready))
    assert words in done.out + done.err
    assert (done.code == 3) == (ready == {"specs": "onnx"})


def test_the_claim_holds_for_graphs_of_several_nodes(cli, tmp_path):
    folder = tmp_path / "graphs"
    folder.mkdir()
    for name, document in (("onnx", "onnx-22"), ("sonnx", "sonnx")):
        (folder / f"{name}.yaml").write_text(GRAPHS.replace("SPEC", document))
    target = replying(TELLS, specs=["sonnx"], graphs=22)
    found = verdicts(cli, folder, target, variant="y-only")
    claimed = {case for case, verdict in found.items() if verdict != "not-claimed"}
    assert claimed == {"sonnx:ordinary", "sonnx:nan", "onnx:ordinary"}
    assert "TOLD: sonnx" in cli("explain", folder / "sonnx.yaml:ordinary", "-t", target).out


def test_a_run_without_a_claimed_case_compares_nothing(cli, corpus, kernel):
    cli("run", corpus / "openvino.yaml", "-t", kernel(before='SPECS = ("ngraph-0",)')).check(4, "claimed")
    for specs, words in (
        (["onyx-22"], "unknown specification 'onyx-22'"),
        (22, "'specs[0]': expected text, found the number 22"),
    ):
        done = cli("run", corpus, "-t", kernel(before=f"SPECS = {specs!r}"))
        assert (done.code, words in done.out + done.err) == (3, True)


def test_other_commands_take_the_claim(cli, corpus, kernel, tmp_path):
    cli("targets", "check", kernel(before='SPECS = ("sonnx",)')).check(0, "claims sonnx")
    done = cli("fuzz", "-t", kernel(), "--spec", "sonnx", "--max-cases", "20", "-o", tmp_path / "found")
    assert (done.code, "nothing was compared" in done.out) == (0, False), done.out
    gate = ("gate", "--base", kernel(), "--head", DROPS_NAN, corpus / "sonnx.yaml")
    assert cli(*gate).code == 0
    assert cli(*gate, "-k", "sonnx:nan").code == 4
    body = "return scan(X, attributes)[0] + (spec == 'sonnx')"
    target = kernel('SPECS = ("onnx-22",)', "X, attributes, spec", body)
    repro = ("repro", f"{corpus / 'sonnx.yaml'}:nan", "-t", target, "-o", tmp_path / "out")
    cli(*repro).check(1, "not-claimed")
    assert cli(*repro, "--spec", "sonnx").code == 0


def test_what_is_accepted_is_bound_to_the_kernel_or_program(cli, corpus, kernel, tmp_path):
    record, known, other = tmp_path / "record.jsonl", tmp_path / "known.yaml", tmp_path / "other.py"
    wrong = kernel(body="return -X[..., :1, :1]")
    other.write_text((tmp_path / "kernel.py").read_text())
    for target, another in ((wrong, f"python:{other}:maxpool"), (replying(TELLS), f"{replying(TELLS)} -x")):
        assert cli("run", corpus / "onnx.yaml", "-t", target, "-o", record, "-q").code == 1
        assert (
            cli("defects", "accept", record, "--author", "Ada", "--reason", "wrong on purpose", "-o", known).code == 0
        )
        assert target.partition(" ")[0] in known.read_text()
        assert cli("run", corpus / "onnx.yaml", "-t", target, "--known", known).code == 0
        assert cli("run", corpus / "onnx.yaml", "-t", another, "--known", known).code == 1
        known.unlink()


def test_runs_from_python_claim_as_the_command_line_does(corpus, kernel):
    target, nan = kernel(), [case for case in maxpool_check.read_cases(corpus) if case.id == "sonnx:nan"]
    results = maxpool_check.run(nan, target)
    assert (results.exit_code, {execution.verdict.value for execution in results.executions}) == (4, {"not-claimed"})
    for specs in ("sonnx", ["onnx", "sonnx"]):
        assert maxpool_check.run(nan, target, specs=specs).exit_code == 0
    with pytest.raises(ValueError, match="unknown specification 'sonny'"):
        maxpool_check.run(nan, target, specs="sonny")
    with pytest.raises(ValueError, match="runtimes execute the cases of all"):
        maxpool_check.run(nan, "onnxruntime", specs="sonnx")


@pytest.mark.parametrize(
    ("options", "outcome"), [([], "not-claimed: it claims onnx-22"), (["--maxpool-check-spec=sonnx"], "1 passed")]
)
def test_the_pytest_plugin_skips_what_is_not_claimed(corpus, kernel, options, outcome):
    words = (f"--maxpool-check={kernel()}", *options, corpus / "sonnx.yaml", "-k", "nan", "-rs")
    run_pytest(corpus, *words).check(0, outcome)
