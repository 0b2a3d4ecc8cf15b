"""Exported vectors: who compares with the JSON alone decides as the judge does."""

import json

import numpy as np
from jsonschema import Draft202012Validator

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.exporting.export import FLAGS
from maxpool_check.exporting.vectors import tensor_data, vector
from maxpool_check.graphs.context import Context
from maxpool_check.graphs.node import Node
from maxpool_check.judging.judge import judge
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.specifications import SPECIFICATIONS
from tests.conftest import command, shipped
from tests.exporting.reading import accepts


def tensor_of(data):
    """The tensor of plain data."""
    dtype = {**NUMPY, "bool": np.dtype(bool)}[data["dtype"]]
    return np.frombuffer(bytes.fromhex(data["hex"]), dtype.newbyteorder("<")).astype(dtype).reshape(data["shape"])


def is_accepted(test, outputs):
    return accepts(test, outputs and {name: tensor_data(output) for name, output in outputs.items()})


def is_right(case, variant, outcome):
    # A reader looks at each cell: those of one output may follow different interpretations.
    right = (Verdict.CONFORMS, Verdict.UNDEFINED, Verdict.INCONSISTENT)
    return judge(case.oracle(), {variant: outcome})[variant].verdict in right


def smallest_with_flags():
    """For each flag, and for none, the smallest case of the corpus that has it, with its test as JSON."""
    by_flag = {}
    # The flags of those that a document excludes are rare, and found at once.
    cases = [case for case in shipped().cases if case.X.size <= 40]
    for case in sorted(cases, key=lambda case: (isinstance(case.resolved, Pooling) or not case.X.size, case.X.size)):
        if by_flag.keys() < {*FLAGS, ""}:
            test = json.loads(json.dumps(vector(case, 2**20)))
            for flag in test["flags"] or [""]:
                by_flag.setdefault(flag, (case, test))
    assert by_flag.keys() == {*FLAGS, ""}
    return by_flag


def values_of(case, output):
    """Values that an output of Y might wrongly or rightly have."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan] if output.dtype.kind not in "iub" else [0, 1]
    of_input = case.entering.reshape(-1)[:8] if case.entering.dtype == output.dtype else output[:0].reshape(-1)
    values = np.concatenate([output.reshape(-1)[:5], np.array(special).astype(output.dtype), of_input])
    return list({value.tobytes(): value for value in values}.values())


def changed(case, test, result, names):
    """The outputs of a result, and others that differ from them in a cell, in a cell of each output, or as a whole."""
    outputs = {name: tensor_of(result["outputs"][name]) for name in names}
    yield outputs
    for name, output in outputs.items():
        yield {**outputs, name: output.reshape(*output.shape, 1)}
        yield {**outputs, name: np.zeros(output.shape, np.int32 if output.dtype == np.int64 else np.int64)}
        bound = result["outputs"][name].get("bound")
        numbers = [] if bound is None else [output.dtype.type(number) for number in range(-1, min(bound + 1, 12))]
        for at in list(np.ndindex(output.shape))[:3]:
            for value in numbers or values_of(case, output):
                other = output.copy()
                other[at] = value
                yield {**outputs, name: other}
                if name == "Y" and test["flags"] and outputs.get("Indices", np.zeros(0)).shape == output.shape:
                    for number in range(min(result["outputs"]["Indices"]["bound"], 4)):
                        indices = outputs["Indices"].copy()
                        indices[at] = number
                        yield {**outputs, "Y": other, "Indices": indices}


def with_moved_nan():
    """A case whose document leaves NaN open: the Y of one window is an output twice, and of another not at all."""
    rows = np.array([[[[np.nan, 1], [2, np.nan], [np.nan, 3]]]], np.float32)
    no_last_row = Node("Slice", {"starts": [0], "ends": [2], "axes": [2]})
    copied = Node("Pad", {"mode": "edge", "pads": [0, 0, 0, 0, 0, 0, 1, 0]})
    attributes, policies = {"kernel_shape": [1, 2], "strides": [1, 2]}, SPECIFICATIONS["onnx-22"].policies
    context = Context(22, (), (no_last_row, copied))
    return Case("nan", "onnx-22", Recipe.of(rows), attributes, ("Y", "Indices"), policies, context=context)


def test_the_json_alone_accepts_what_the_judge_accepts():
    moved = with_moved_nan()
    for case, test in [*smallest_with_flags().values(), (moved, json.loads(json.dumps(vector(moved, 2**20))))]:
        found = set()
        for variant in case.variants():
            if variant.in_domain or variant.variation is not None:
                continue
            assert is_right(case, variant, RefusedByTarget("FAIL", "")) == accepts(test, None), case.id
            if not test["results"]:
                outputs = {"Y": case.X.tensor()}
                assert is_right(case, Variant(("Y",)), Returned(outputs)) == is_accepted(test, outputs), case.id
            names = [name for name in test["outputs"] if name not in ("Y", "Indices") or name in variant.outputs]
            for outputs in (each for result in test["results"] for each in changed(case, test, result, names)):
                found.add(is_accepted(test, outputs))
                assert is_right(case, variant, Returned(outputs)) == is_accepted(test, outputs), (case.id, outputs)
        assert not test["results"] or len(found) == 2, case.id


CORPUS = ["corpus:documents", "corpus:refusals/types", "corpus:openvino/version-14", "corpus:contexts/outputs",
          "corpus:contexts/constants", "corpus:nhwc/activation", "corpus:edge/nan", "corpus:edge/empty-batch"]  # fmt: skip


def test_the_files_have_their_schema_and_every_case_and_are_no_cases(tmp_path):
    assert command("cases", "export", "json", *CORPUS, "-o", tmp_path / "vectors").code == 0
    manifest = json.loads((tmp_path / "vectors/manifest.json").read_text())
    assert manifest["left_out"] == []
    schema, exported = Draft202012Validator(command("docs", "schema-vectors").json), {}
    for file in manifest["files"]:
        data = json.loads((tmp_path / "vectors" / file).read_text())
        assert not list(schema.iter_errors(data)), file
        tests = [test for group in data["testGroups"] for test in group["tests"]]
        assert len(tests) == data["numberOfTests"]
        exported |= {test["id"]: (test["sha256"], test["title"]) for test in tests}
    cases = command("cases", "list", *CORPUS, "--json").json["cases"]
    assert exported == {case["id"]: (case["sha256"], case["title"]) for case in cases}
    read = command("cases", "lint", tmp_path / "vectors")
    read.check(2, "onnx-22.json:1:1: not a generated test of SONNX: it has no operator")


def test_outputs_that_several_interpretations_have_are_there_once():
    """The number that Indices begin with is open in ONNX Runtime's NHWC MaxPool: of one image, each choice gives the same."""
    cases = [case for case in shipped().cases if case.spec == "ort-nhwc-11" and case.id.startswith("nhwc/")]
    counts = {}
    for case in cases:
        if isinstance(case.resolved, Pooling) and case.X.size < 400:
            results = vector(case, 2**12)["results"]
            assert len({json.dumps(result) for result in results}) == len(results)
            counts.setdefault(case.X.shape[0] > 1, set()).add(len(results))
    assert 1 in counts[False]
    assert counts[True] >= {2}
