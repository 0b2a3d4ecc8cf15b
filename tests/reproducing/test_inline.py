"""What a script shows as text gives the same bits, and a script that shows everything needs nothing else."""

import random
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.reproducing.inline import arrays_text, model_text
from maxpool_check.reproducing.issue import heading, letters
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.reproducing.script import write_script
from maxpool_check.running.case_run import run_case
from maxpool_check.running.shrinking import older_cases
from maxpool_check.targets.name import parse
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target, TargetProfile
from tests.conftest import CASES, ROOT, shipped
from tests.make_reports import WITH_ISSUES
from tests.reproducing.test_script import described

BY_ID = {case.id: case for case in shipped().cases}
ISSUES = {path.stem: path.read_text() for path in (ROOT / "reports/defects").glob("*-*.md")}
PAYLOAD = np.array([0x7FC00001], np.uint32).view(np.float32)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[-0.0, 0.1, np.inf], [-np.inf, np.nan, 1e-45]], np.float32), np.array([0.1, 5e-324, 1e300]), np.float16([0.1, 65504]),
        np.array([2**64 - 1], np.uint64), np.array([[True], [False]]), np.zeros((1, 2, 0), np.int8), np.array([-128, 127], np.int8),
        np.arange(64, dtype=np.int64).reshape(1, 1, 8, 8), np.array(2.5), PAYLOAD.view(np.uint16),
    ],
    ids=str,
)  # fmt: skip
def test_arrays_of_all_kinds_are_text(array):
    text = arrays_text({"X": array, "Y": array})
    read = eval(text, {"np": np})
    assert read.keys() == {"X", "Y"}
    for each in read.values():
        assert (each.dtype, each.shape, each.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    "array", [np.zeros(65), PAYLOAD, np.arange(60).reshape(60, 1)], ids=["65 cells", "payload", "60 lines"]
)
def test_what_is_long_or_would_lose_bits_is_a_file(array):
    assert arrays_text({"Y": np.zeros(1), "X": array}) is None


def model_with(value, name="c"):
    """A model that adds a constant to what MaxPool gives."""
    nodes = [helper.make_node("MaxPool", ["X"], ["M"], kernel_shape=[2]), helper.make_node("Add", ["M", name], ["Y"])]
    X, Y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, size]) for name, size in (("X", 3), ("Y", 2)))
    graph = helper.make_graph(nodes, "g", [X], [Y], [numpy_helper.from_array(value, name)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7).SerializeToString()


def test_a_model_is_text_only_if_that_means_the_same():
    text = model_text(model_with(np.float32([0.5])))
    read = onnx.parser.parse_model(text)
    assert numpy_helper.to_array(read.graph.initializer[0]).tolist() == [0.5]
    assert text.startswith('<ir_version: 7, opset_import: ["" : 12]>\n')
    assert not re.search(r"(?m)\s$", text)
    # The text form has fewer digits, no payloads, and names are not quoted.
    for value in ([np.nan], [-np.inf], PAYLOAD, [1 / 3], np.arange(999) / 7):
        text = model_text(model_with(np.float32(value)))
        read = onnx.parser.parse_model(text).graph.initializer[0] if text else None
        assert read is None or numpy_helper.to_array(read).tobytes() == np.float32(value).tobytes()
    assert model_text(model_with(PAYLOAD)) is model_text(model_with(np.float32([1]), name='"""\n\\')) is None


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("The output size is floor((n + b + e - K) / s) + 1", "nksdbe"),
        ("the output size is ceil(n / s), the padding is (o - 1) * s + K - n, K = (k - 1) * d + 1", "noksd"),
        ("the output size is ceil(n / s)", "ns"),
        ("Indices are e.g. 0", ""),
    ],
)
def test_only_letters_of_the_rule_are_explained_and_each_once(rule, words):
    text = letters(rule)
    assert re.findall(r"(?:Here |, | and )([a-z])\b", text) == list(words)
    assert f"{rule} {text}".count("K = (k - 1) * d + 1") == ("K" in rule)


@pytest.mark.parametrize("name", WITH_ISSUES)
def test_the_issue_of_a_defect_has_a_short_title_and_its_rule_once(name):
    text = ISSUES[name]
    title = text.splitlines()[0].removeprefix("# ").replace("\\", "")
    assert len(title) < 80
    assert re.search("MaxPool|auto_pad", title)
    outside = re.sub(r"(?sm)^```.*?^```", "", text)
    assert outside.count("K = (k - 1)") <= 1
    (script,) = re.findall(r"(?sm)^```python\n(.*?)^```", text)
    assert not [each for each in ("attached", "np.load", "__file__") if each in outside or each in script]
    assert text.count('opset_import: ["" :') == len(re.findall(r"(?m)^(?:MODEL|OTHER|SMALLEST) =", script))
    defect = {each.id: each for each in read_all_defects(defect_files(CASES))}[name]
    assert ("\nFix: " in outside) == bool(defect.fix)
    assert "run `python repro.py` in an environment with the build" in outside
    assert (
        ("Suspected cause:" in outside)
        != ("\nCause:" in outside)
        == defect.established.startswith(("Source:", "Read in "))
    )


def test_titles_of_other_cases_are_short():
    profile = TargetProfile(parse("onnxruntime"), described("onnxruntime"))
    for title in (
        "MaxPool: " + "x" * 90,
        f"MaxPool ({'x, ' * 30}) is refused; it {'y' * 30}",
        "MaxPool: Y is wrong (float32)",
    ):
        assert len(heading(profile, title)) < 80
    assert heading(profile, "MaxPool: Y is wrong (float32)") == "[CPU] MaxPool: Y is wrong (float32)"


def run_alone(script, folder):
    """The exit code of a script, and what it prints, in a folder that has nothing else."""
    folder.mkdir()
    (folder / "repro.py").write_text(script)
    words = [sys.executable, "repro.py"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert [path.name for path in folder.iterdir()] == ["repro.py"]
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "name", [name for name, target in WITH_ISSUES.items() if re.fullmatch(r"onnxruntime==[\d.]+", target)]
)
def test_the_script_of_an_issue_shows_the_defect_alone(name, tmp_path):
    (script,) = re.findall(r"(?sm)^```python\n(.*?)^```", ISSUES[name])
    code, text = run_alone(script, tmp_path / "empty")
    assert code == 1, text


def test_scripts_of_recorded_divergences_show_them_alone(tmp_path):
    chance, ran = random.Random(7), 0
    with TargetSession(Target(parse("onnxruntime"), 10.0)) as session:
        target = session.profile.description
        seen = [
            (case, variant)
            for defect in read_all_defects(defect_files(CASES))
            for effect in defect.covering(target)
            for variant in sorted(effect.variants or ())
            for case in effect.cases
            if case in BY_ID
        ]
        for case, variant in chance.sample(seen, 60):
            case_run = run_case(session, BY_ID[case], {variant, variant.base})
            # A case of Y alone has no variant with Indices.
            if ran == 20 or variant not in case_run.judgements or not case_run.judgements[variant].kinds:
                continue
            script = write_script(Reproduced(case_run, variant, target), session.profile, "It is wrong", 10.0)
            if script.files:
                tensors = (BY_ID[case].X.tensor(), *getattr(case_run.oracle, "expected", {}).values())
                is_text = model_text(case_run.jobs[variant].request.model) is not None
                assert not is_text or "expected.npz" in script.files, case
                assert is_text or max(each.size for each in tensors) > 20, case
                continue
            code, text = run_alone(script.text, tmp_path / str(ran))
            assert code == 1, (case, variant.name, text)
            ran += 1
    assert ran == 20


def test_older_cases_are_those_of_the_older_documents():
    assert [each.spec for each in older_cases(BY_ID["edge/auto-pad:dilated-SAME_UPPER"])] == [
        "onnx-10",
        "onnx-11",
        "onnx-12",
    ]
    graph = [each.context.opset for each in older_cases(BY_ID["contexts/quantisation:quantised-behind"])]
    assert graph[-1] == 21
    assert graph == sorted(graph)
    assert not [*older_cases(BY_ID["documents/sonnx:padding"])]
