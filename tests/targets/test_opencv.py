"""OpenCV's DNN module, in releases of their own: its engines, and what each is known for."""

import pytest

from tests.conftest import CASES
from tests.models import zoo
from tests.models.writing import saved

OPENCV = "opencv==5.0.0.93"


def run(cli, *arguments):
    done = cli("run", *arguments, "--known", "none", "--report", "json")
    assert done.code in (0, 1), done.err
    return done.json


def shown(document):
    return {(each["target"], each["case"], each["variant"]): each for each in document["results"]}


@pytest.mark.network
def test_each_engine_executes_what_is_asked_of_it(cli):
    targets = {OPENCV: "NewEngine", f"{OPENCV}@NewEngine": "NewEngine", f"{OPENCV}@ClassicEngine": "ClassicEngine"}
    named = [argument for target in targets for argument in ("-t", target)]
    document = run(cli, CASES / "edge/strides.yaml", CASES / "edge/dilations.yaml", *named)
    assert {each["name"]: each["provider"] for each in document["targets"]} == targets
    results = shown(document)
    ordinary = [
        results[target, f"edge/strides:{name}", "y-only"] for target in targets for name in ("rows-only", "left-over")
    ]
    assert {each["verdict"] for each in ordinary} == {"conforms"}
    # Were one to fall back to the other, they would have this in common.
    kinds = [results[target, "edge/dilations:asymmetric-planes", "y-only"]["kinds"] for target in targets]
    assert kinds == [[], [], ["dilation-ignored"]]


@pytest.mark.network
def test_opencv_4_has_the_classic_engine_and_float32_alone(cli):
    document = run(cli, CASES / "edge/minimum.yaml", CASES / "edge/strides.yaml", "-t", "opencv==4.14.0.94")
    assert document["targets"][0]["provider"] == "ClassicEngine"
    verdicts = {case: each["verdict"] for (_, case, variant), each in shown(document).items() if variant == "y-only"}
    assert verdicts["edge/minimum:padded-uint8"] == "not-expressible"
    assert verdicts["edge/strides:rows-only"] == "conforms"


@pytest.mark.network
@pytest.mark.parametrize(
    ("target", "message"),
    [
        (f"{OPENCV}?engine=old", "engine must be one of auto, new, classic, got old"),
        (f"{OPENCV}?threads=2", "unknown option threads; OpenCV has engine"),
        (f"{OPENCV}@CUDA", "OpenCV runs on NewEngine or ClassicEngine or CPU only, not on CUDA"),
        (f"{OPENCV}@NewEngine?engine=classic", "engine=classic is not NewEngine; leave out one of them"),
        ("opencv==4.14.0.94@NewEngine", "OpenCV 4.14.0 has ClassicEngine alone, not NewEngine"),
        ("opencv==4.14.0.94?engine=classic", "OpenCV 4.14.0 has one engine alone; leave out engine=classic"),
    ],
)
def test_a_bad_option_is_refused(cli, target, message):
    done = cli("targets", "list", target)
    assert done.code == 3
    # Its environment is in order.
    assert (f"cannot be started: {message}" in " ".join(done.out.split()), "damaged" in done.out) == (True, False)


@pytest.mark.network
def test_a_variable_that_overrides_the_engine_is_refused(cli):
    done = cli("targets", "list", OPENCV, OPENCV_FORCE_DNN_ENGINE="1")
    assert done.code == 3
    assert "OPENCV_FORCE_DNN_ENGINE overrides the engine; unset it" in " ".join(done.out.split())


@pytest.mark.runtimes
@pytest.mark.parametrize("engine", ["new", "classic"])
def test_a_reproduction_names_the_engine_and_is_tried(cli, tmp_path, engine):
    target = f"{OPENCV}?engine={engine}"
    done = cli("repro", "edge/auto-pad:lower-rectangular", "-t", target, "-o", tmp_path / "r", "--variant", "y-only")
    assert done.code == 0, done.out + done.err
    assert "repro.py exits with 1 in a clean environment" in done.out
    assert f"engine=cv2.dnn.ENGINE_{engine.upper()}" in (tmp_path / "r/repro.py").read_text()
    assert "### Steps to reproduce" in (tmp_path / "r/ISSUE.md").read_text()


@pytest.mark.network
def test_a_model_with_the_tensors_around_maxpool_as_outputs_is_taken(cli, tmp_path):
    done = cli("model", saved(zoo.plain(), tmp_path, "model.onnx"), "-t", OPENCV)
    assert (done.err, "not run as a model" in done.out) == ("", False)
