"""The text of ``repro.py`` for a graph of several nodes: it runs the graph at every level of optimization."""

import json
from collections.abc import Iterator, Mapping

import numpy as np
import onnx
from onnx import numpy_helper

from maxpool_check import inert
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reference.dtypes import is_float
from maxpool_check.reproducing.accepted import Accepted, accepted_of_graph
from maxpool_check.reproducing.runtimes import CannotWrite, GraphRuntime
from maxpool_check.reproducing.script import MARK, MOST_CELLS, Reproduced, array_text, numbers_text

_CANNOT_LOAD = (DivergenceKind.REFUSES_VALID, DivergenceKind("graph-not-loadable"))


def graph_script(reproduced: Reproduced, runtime: GraphRuntime, python: str) -> str:
    """The text of the script; ``python`` is its oldest Python. Raises :class:`CannotWrite`.

    The script reads ``model.onnx`` beside it if ONNX's text format cannot express the model.
    """
    oracle, request = reproduced.case_run.oracle, reproduced.request
    assert isinstance(oracle, GraphOracle)
    if reproduced.dies:
        raise CannotWrite("no script can be written for a graph of several nodes with which the runtime dies")
    cells = max(tensor.size for tensor in (request.X, oracle.X, oracle.output))
    if cells > MOST_CELLS:
        raise CannotWrite(f"a script would have to list {cells} cells; the most is {MOST_CELLS}")
    kinds = ", ".join(kind.value for kind in reproduced.kinds)
    right = accepted_of_graph(oracle, reproduced.variant)
    imports = [f"import {name}" for name in runtime.modules]
    data = [
        *_model(request.model),
        "feeds = {",
        *(f"    {json.dumps(name)}: {array_text(value)}," for name, value in request.inputs.items()),
        "}",
        "# Of each output: its dtype, its shape, and the values that are right in each cell; with no value, any is.",
        "# There is a map for each way to interpret what the document leaves open.",
        "right = [",
        *(f"    {_map(outputs)}," for outputs in right),
        "]",
    ]
    if any(word in line for line in data for word in ("inf", "nan")):
        data.insert(0, "inf, nan = np.inf, np.nan")
    text = [
        "# /// script",
        f"# requires-python = {json.dumps(f'>={python}')}",
        f"# dependencies = {json.dumps(runtime.requirements)}",
        "# ///",
        f'"""MaxPool in a graph, {inert.line(runtime.named)}: {kinds}. {MARK}',
        "",
        "Exit codes: 1 if an output is wrong at some level of optimization, 0 if all are right, 125 if the script cannot",
        'tell."""',
        "",
        "import sys",
        "",
        "try:",
        *(f"    {line}" for line in imports),
        "except ImportError as error:",
        '    sys.exit(print("cannot be run:", error) or 125)',
        "",
        *data,
        "",
        "",
        *runtime.call,
        "",
        "",
        "def is_right(output, dtype, shape, cells):",
        "    if (output.dtype.name, output.shape) != (dtype, shape):",
        "        return False",
        "    same = lambda a, b: a.tobytes() == b.tobytes() or (a != a and b != b)",
        "    pairs = zip(output.reshape(-1), cells)",
        "    return all(not values or any(same(a, b) for b in np.array(values, dtype)) for a, values in pairs)",
        "",
        "",
        "def mistakes(outputs, expected):",
        "    pairs = zip(expected.items(), outputs)",
        "    return [name for (name, values), output in pairs if not is_right(output, *values)]",
        "",
        "",
        *(
            f'print("expected {name}:", {_nested(each)})' for name, each in right[0].items()
        ),
        "verdicts = []",
        f"for level in {json.dumps(runtime.levels)}:",
        "    try:",
        "        outputs = run(level)",
        "    except Exception as error:",
        '        verdicts.append("refused")',
        '        print(f"{level}: refused: {str(error).splitlines()[0]}")',
        "        continue",
        "    wrong = min((mistakes(outputs, expected) for expected in right), key=len)",
        "    for name, output in zip(right[0], outputs):",
        '        verdicts.append("WRONG" if name in wrong else "right")',
        '        print(f"{level}: {name} is {verdicts[-1]}: {output.dtype.name}{list(output.shape)} {output.tolist()}")',
        "if set(verdicts) == {'refused'}:",
        f"    sys.exit({1 if set(reproduced.kinds) & set(_CANNOT_LOAD) else 125})",
        'sys.exit(int(set(verdicts) != {"right"}))',
    ]  # fmt: skip
    return "\n".join(text) + "\n"


def _map(outputs: Mapping[str, Accepted]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {_right(each)}" for name, each in outputs.items()) + "}"


def _right(output: Accepted) -> str:
    cells = ", ".join(f"[{numbers_text(values)}]" for values in output.cells)
    return f"({json.dumps(output.dtype)}, {output.shape}, [{cells}])"


def _nested(output: Accepted) -> str:
    """The first value that is right in each cell, as nested lists."""
    first = [values[0] if values else None for values in output.cells]
    texts = [str(None if value is None else float(value) if is_float(value.dtype) else int(value)) for value in first]
    return str(np.array(texts, object).reshape(output.shape).tolist()).replace("'", "")


def _model(model: bytes) -> Iterator[str]:
    """The line that reads a model: from its text, a node a line, or from its file."""
    loaded = onnx.load_from_string(model)
    text = onnx.printer.to_text(loaded)
    try:
        is_exact = _values(onnx.parser.parse_model(text)) == _values(loaded)
    except onnx.parser.ParseError:
        is_exact = False
    if is_exact and '"""' not in text and "\\" not in text and inert.block(text) == text:
        yield f'model = onnx.parser.parse_model("""{text.strip()}""")'
    else:
        yield 'model = onnx.load(f"{sys.path[0]}/model.onnx")'


def _values(model: onnx.ModelProto) -> object:
    """The text of a model, which may round numbers, and its numbers; nothing comparable for nodes inside of others."""
    nodes = model.graph.node
    if model.functions or any(attribute.HasField("g") for node in nodes for attribute in node.attribute):
        return object()
    attributes = [attribute for node in nodes for attribute in node.attribute]
    tensors = [*model.graph.initializer, *(attribute.t for attribute in attributes if attribute.HasField("t"))]
    floats = [attribute.f for attribute in attributes]
    return onnx.printer.to_text(model), floats, [numpy_helper.to_array(tensor).tobytes() for tensor in tensors]
