"""The text of an issue: what a maintainer looks for is there, and nothing is claimed of a document that it does not say."""

import re
from importlib.metadata import version

import pytest

from maxpool_check.reproducing import bundle
from maxpool_check.reproducing.bundle import Trial, write
from maxpool_check.reproducing.others import DefectNote, OtherAnswer, answers
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.reproducing.wording import title_of
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY
from maxpool_check.running.case_run import run_case
from maxpool_check.targets.name import parse
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import KERNELS, shipped

ONNX = "https://onnx.ai/onnx/operators/onnx__MaxPool.html#maxpool"


@pytest.fixture(scope="module")
def session():
    with TargetSession(Target(parse("onnxruntime"), 10.0)) as started:
        yield started


def case_named(name):
    (case,) = (case for case in shipped().cases if case.id == name)
    return case


@pytest.fixture
def issue_of(session, tmp_path, monkeypatch):
    """The issue of a case on the installed ONNX Runtime; the script is not run."""
    trial = Trial("expected Y:\n...\n", "\x1b[0;93m[W:onnxruntime:] a warning of the runtime\x1b[m\n", "an environment")
    monkeypatch.setattr(bundle, "try_script", lambda *_: trial)

    def text(name, variant=Y_ONLY, **known):
        reproduced = Reproduced(run_case(session, case_named(name)), variant, session.profile.description)
        write(reproduced, session, tmp_path / "r", "", **known)
        return (tmp_path / "r/ISSUE.md").read_text()

    return text


def sections(text):
    """The headings that are not in a block of code."""
    return re.findall(r"^### (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)


def test_the_sections_are_those_of_the_form_of_onnx_runtime(issue_of):
    assert sections(issue_of("documents/onnx-22:same-upper")) == [
        "Describe the issue", "To reproduce", "Urgency", "Platform", "OS Version", "ONNX Runtime Installation",
        "ONNX Runtime Version or Commit ID", "ONNX Runtime API", "Architecture", "Execution Provider",
        "Execution Provider Library Version",
    ]  # fmt: skip


def test_title_tables_rule_and_warnings(issue_of):
    text = issue_of("documents/onnx-22:same-upper")
    assert text.startswith(
        "# MaxPool: auto_pad=SAME_UPPER ignores dilations when computing the padding; Y is 1x1x1x4 instead of 1x1x1x5"
    )
    assert "Expected Y, float32, shape [1, 1, 1, 5]:\n\n```\n[[[[" in text
    assert f"]({ONNX}-22)" in text
    assert "Suspected cause" in text
    assert "\n[W:onnxruntime:] a warning of the runtime\nexpected Y:" in text


def test_what_is_known_of_the_defect_and_what_others_return(issue_of):
    defect = DefectNote(
        title="MaxPool with auto_pad SAME_UPPER ignores dilations", mechanism="The padding is that of the kernel.",
        established="From the source.", versions="1.7.0 to 1.31.1", upstream_issue="https://github.com/microsoft/onnxruntime/issues/1",
        upstream_state="open",
    )  # fmt: skip
    also = [OtherAnswer("tract 0.23.9", "Y = 1.0 (shape [1])", True), OtherAnswer("x", "refused", None)]
    text = issue_of("documents/onnx-22:same-upper", defect=defect, also=also)
    assert text.replace("\\", "").startswith("# MaxPool with auto_pad SAME_UPPER ignores dilations\n")
    for words in (
        "Suspected cause: The padding is that of the kernel.", "From the source.", "Versions that show it: 1.7.0 to 1.31.1.",
        "Related: <https://github.com/microsoft/onnxruntime/issues/1> (open).",
        "| tract 0.23.9 | `Y = 1.0 (shape [1])` | as expected |", "| x | `refused` | the document does not decide |",
    ):  # fmt: skip
        assert words in text, words


def test_other_runtimes_are_called_as_the_runtime_of_the_issue_is():
    (answer,) = answers(case_named("edge/neg-inf:one-cell"), Y_ONLY, [parse("onnxruntime")], 10.0, required=True)
    assert answer.runtime == f"ONNX Runtime {version('onnxruntime')}"


def test_a_rule_of_sonnx_alone_is_not_held_against_onnx(issue_of):
    text = issue_of("edge/nan-sonnx:all-float32")
    paragraph = text.partition("### Describe the issue\n\n")[2].partition("\n\n")[0]
    assert "The rule is that of [SONNX MaxPool]" in paragraph
    assert "allows what ONNX Runtime does here" in paragraph


def test_a_rule_that_both_have_is_that_of_onnx(issue_of):
    text = issue_of("documents/sonnx:padding")
    paragraph = text.partition("### Describe the issue\n\n")[2].partition("\n\n")[0]
    assert "requires this, and so does [SONNX MaxPool]" in paragraph


@pytest.mark.parametrize(
    ("kernel", "case", "variant", "title"),
    [
        ("dies_of_a_signal", "refusals/attributes:strides-zero-rows", Y_ONLY,
         "MaxPool (strides=[0, 1]) kills the process with SIGFPE instead of being refused"),
        ("accepts_everything", "refusals/attributes:strides-zero-rows", Y_ONLY,
         "MaxPool (strides=[0, 1]) is executed instead of being refused"),
        ("refuses_everything", "edge/neg-inf:one-cell", Y_ONLY,
         "MaxPool (float32, kernel_shape=[1, 1]) is refused: not today"),
        ("keeps_the_seed", "edge/neg-inf:one-cell", WITH_INDICES,
         "MaxPool: Y is the lowest finite value of the dtype instead of -inf (float32, kernel_shape=[1, 1])"),
        ("forgets_its_shape", "edge/neg-inf:one-cell", WITH_INDICES, "MaxPool: Indices is int32 instead of int64"),
    ],
)  # fmt: skip
def test_titles_say_operator_condition_and_effect(kernel, case, variant, title):
    with TargetSession(Target(parse(f"python:{KERNELS}:{kernel}"), 10.0)) as session:
        case_run = run_case(session, case_named(case))
        assert title_of(Reproduced(case_run, variant, session.profile.description)) == title
