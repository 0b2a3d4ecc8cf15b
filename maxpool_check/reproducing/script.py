"""The text of ``repro.py``: an example as in the runtime's documentation, with the exit codes of ``git bisect run``."""

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx

from maxpool_check import inert
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reproducing.expectation import MOST_CELLS, Expectation, expectation
from maxpool_check.reproducing.inconsistency import two_runs, words_of
from maxpool_check.reproducing.literals import WIDTH, array_text, indented, names_text
from maxpool_check.reproducing.onnx_source import model_source, needed_imports
from maxpool_check.reproducing.reproduced import Fault, Reproduced
from maxpool_check.reproducing.runtimes import CannotWrite, ScriptRuntime
from maxpool_check.reproducing.tools import ScriptTool
from maxpool_check.results.outcomes import Crashed, TimedOut

MARK = "Written by maxpool-check repro."
"""Marks the script of a reproduction."""

MOST_LINES = 25
"""The most lines of the code of a script whose outputs are wrong, without its header, docstring and empty lines."""

_CANNOT_TELL = ("except Exception as error:", '    print("cannot tell:", error)', "    sys.exit(125)")


@dataclass(frozen=True)
class ScriptFrame:
    """What stands above the code: the oldest ``python``, the ``requirements``, and the ``title`` of the defect."""

    python: str
    requirements: tuple[str, ...]
    title: str

    def lines(self) -> Iterator[str]:
        """The header and the docstring."""
        yield "# /// script"
        yield f"# requires-python = {json.dumps(f'>={self.python}')}"
        yield f"# dependencies = {json.dumps(self.requirements)}"
        yield "# ///"
        # The name of a kernel's file may hold what ends a docstring.
        title = inert.line(self.title).replace("\\", "/").replace('"', "'")
        yield from textwrap.wrap(f'"""{title}.', 116)
        yield ""
        yield f"Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. {MARK}"
        yield '"""'


class ScriptWriter:
    """Writes the script of one reproduction."""

    def __init__(
        self, reproduced: Reproduced, runtime: ScriptRuntime, tool: ScriptTool | None = None, *, seconds: float
    ) -> None:
        """``seconds`` is how long a child process may take, where the target hangs."""
        self._reproduced, self._runtime, self._tool, self._seconds = reproduced, runtime, tool, seconds
        self._request = reproduced.request
        if self._request.X.size > MOST_CELLS:
            raise CannotWrite(f"a script would have to list {self._request.X.size} cells; the most is {MOST_CELLS}")

    def text(self, frame: ScriptFrame) -> str:
        """The whole script. Raises :class:`CannotWrite`."""
        body = self._body()
        text = inert.block("\n".join([*frame.lines(), "", *self._imports(body), *body])).rstrip() + "\n"
        text = re.sub("\n{4,}", "\n\n\n", text)
        compile(text, "repro.py", "exec")
        return text

    def _body(self) -> list[str]:
        if self._reproduced.fault is Fault.NOT_REFUSED:
            return [*self._child(), *self._with_control(self._data(()), self._must_be_refused())]
        if self._reproduced.fault is Fault.INCONSISTENT:
            return self._inconsistent()
        expected = expectation(self._reproduced)
        functions = ["", "", *expected.functions, "", ""] if expected.functions else []
        if self._tool is not None:
            compared = self._rewritten(expected)
        elif self._reproduced.is_graph and self._runtime.levels:
            compared = self._at_every_level(expected)
        elif self._reproduced.fault is Fault.REFUSED or self._reproduced.dies:
            code = 1 if self._reproduced.fault is Fault.REFUSED else 125
            compared = self._with_control(self._data(expected.data), self._must_be_right(expected, code))
        else:
            compared = [*self._build(), *self._data(expected.data), *self._flat(expected), *_verdict(expected)]
        return [*self._child(), *functions, *compared]

    def _imports(self, body: Sequence[str]) -> list[str]:
        """The imports, of which one that fails tells nothing of the defect."""
        lines = [line for line in body if not line.lstrip().startswith("#")]
        own = [*self._runtime.imports, *(self._tool.imports if self._tool else [])]
        text = "\n".join(lines)
        plain = ["import onnx", "from pathlib import Path"] if "Path(__file__)" in text else []
        standard = {"base64", "io", "json", "signal", "subprocess", "sys", "tempfile"}
        modules = {line.removeprefix("import ") for line in own} & standard
        modules |= {name for name in ("signal", "subprocess") if f"{name}." in text} | {"sys"}
        foreign = [line for line in own if line.removeprefix("import ") not in standard]
        foreign += needed_imports(lines)
        foreign += [line for line in plain if line == "import onnx"]
        first = ["import ml_dtypes"] if "ml_dtypes." in text else []
        first.append("import numpy as np")
        ordered = sorted(dict.fromkeys(foreign), key=lambda line: (line.startswith("from"), line))
        return [
            *(f"import {name}" for name in sorted(modules)),
            *(line for line in plain if line != "import onnx"),
            "",
            "try:",
            *indented([*first, *ordered]),
            "except ImportError as error:",
            '    print("cannot tell:", error)',
            "    sys.exit(125)",
            "",
        ]

    def _data(self, expected: Sequence[str]) -> list[str]:
        wide = ['np.set_printoptions(floatmode="unique")'] if self._request.X.dtype.name == "float64" else []
        inputs = [f"X = {array_text(self._request.X)}"] if self._request.feeds_input else []
        if list(self._request.inputs) not in (["X"], []):
            inputs = [
                "inputs = {",
                *(f'    "{name}": {array_text(value)},' for name, value in self._request.inputs.items()),
            ]
            inputs.append("}")
        return [*wide, *inputs, *expected, ""]

    def _build(self) -> list[str]:
        return [*model_source(self._request.model), ""] if self._runtime.takes_models else []

    def _setup(self, arguments: str | None = None) -> list[str]:
        text = self._runtime.arguments if arguments is None else arguments
        return [line.replace("{arguments}", text) for line in self._runtime.setup]

    def _flat(self, expected: Expectation) -> list[str]:
        """Runs the model; an exception tells nothing."""
        run = [*self._setup(), f"{names_text(expected.names)} = {self._runtime.call}"]
        return ["try:", *indented(run), *_CANNOT_TELL, ""]

    def _with_control(self, data: list[str], judged: list[str]) -> list[str]:
        """The run as a function, which must succeed with the smallest MaxPool before its refusal tells anything."""
        smallest = self._smallest()
        if smallest is None:
            return [*self._build(), *data, *self._function(), *judged]
        control = ["try:  # a MaxPool that every runtime has", *indented(smallest), *_CANNOT_TELL, ""]
        return [*self._function(), *control, *self._build(), *data, *judged]

    def _function(self) -> list[str]:
        parameters = "model, X" if self._runtime.takes_models else "X, **attributes"
        if self._runtime.takes_models and self._input_names != "X":
            parameters = "model, inputs"
        arguments = "**attributes" if not self._runtime.takes_models else ""
        return [
            "",
            f"def max_pool({parameters}):",
            *indented([*self._setup(arguments), f"return {self._runtime.call}"]),
            "",
            "",
        ]

    @property
    def _input_names(self) -> str:
        return "X" if list(self._request.inputs) == ["X"] else "inputs"

    def _call(self) -> str:
        if self._runtime.takes_models:
            return f"max_pool(model, {self._input_names})"
        return f"max_pool(X, {self._runtime.arguments})" if self._runtime.arguments else "max_pool(X)"

    def _smallest(self) -> list[str] | None:
        """Lines that run the smallest MaxPool; None where no runtime must have it, as in a foreign operator domain."""
        zeros = "np.zeros((1, 1, 1), np.float32)"
        if not self._runtime.takes_models:
            return [f"max_pool({zeros}, {self._runtime.smallest})"] if self._runtime.smallest else None
        if self._reproduced.variant.in_domain or self._input_names != "X":
            return None
        loaded = onnx.load_from_string(self._request.model)
        opset = loaded.opset_import[0].version
        return [
            f"""text = '<ir_version: {loaded.ir_version}, opset_import: ["" : {opset}]> smallest (float[1, 1, 1] X) '""",
            """text += '=> (float[1, 1, 1] Y) {Y = MaxPool <kernel_shape = [1]> (X)}'""",
            f"max_pool(onnx.parser.parse_model(text), {zeros})",
        ]

    def _must_be_refused(self) -> list[str]:
        refused = self._reproduced.oracle
        return [
            *textwrap.wrap(
                f"# The graph must be refused: {' '.join(str(refused).split())}", 116, subsequent_indent="# "
            ),
            "try:",
            f"    outputs = {self._call()}",
            "except Exception as error:",
            '    print("refused, as it must be:", error)',
            "    sys.exit(0)",
            'print("expected a refusal, got outputs:", *outputs, sep="\\n")',
            "sys.exit(1)",
        ]

    def _must_be_right(self, expected: Expectation, code: int) -> list[str]:
        said = "expected outputs, got a refusal:" if code == 1 else "cannot tell:"
        return [
            "try:",
            f"    {names_text(expected.names)} = {self._call()}",
            "except Exception as error:",
            f'    print("{said}", error)',
            f"    sys.exit({code})",
            *_verdict(expected),
        ]

    def _at_every_level(self, expected: Expectation) -> list[str]:
        """Runs a graph at every level of optimization."""
        run = [*self._setup(), f"{names_text(expected.names)} = {self._runtime.call}"]
        if self._reproduced.fault is Fault.REFUSED:
            caught = [
                "except Exception as error:",
                '    print(f"{level} refuses the graph:", error)',
                "    wrong.append(level)",
            ]
            caught.append("    continue")
        else:
            caught = list(_CANNOT_TELL)
        return [
            *self._build(), *self._data(expected.data), *(f'print("expected {name}:", expected_{name}, sep="\\n")' for name in expected.names), "wrong = []",
            f"for level in {list(self._runtime.levels)!r}:".replace("'", '"'),
            *indented([
                "try:", *indented(run), *caught,
                *(f'print(f"got {name} at {{level}}:", {name}, sep="\\n")' for name in expected.names),
                f"if not {expected.condition}:",
                "    wrong.append(level)",
            ]),
            'print("wrong at:", ", ".join(wrong) or "no level")',
            "sys.exit(1 if wrong else 0)",
        ]  # fmt: skip

    def _rewritten(self, expected: Expectation) -> list[str]:
        """Runs the model as it is and as the tool rewrites it; only if the first is right, the tool is wrong."""
        assert self._tool is not None
        is_refused = self._reproduced.fault is Fault.REFUSED
        names = names_text(expected.names)
        caught = list(_CANNOT_TELL)
        if is_refused:
            caught = [
                "except Exception as error:",
                '    print("the rewritten model is refused:", error)',
                "    sys.exit(1)",
            ]
        condition = f"not {expected.condition}"
        return [
            *self._function(), *self._build(), *self._data(expected.data), "try:",
            f"    {names} = {self._call()}", *_CANNOT_TELL,
            f"if {condition}:", '    print("cannot tell: the original model gives other outputs:", *[{}])'.replace("{}", ", ".join(expected.names)),
            "    sys.exit(125)", "",
            "try:", *indented([*self._tool.lines, f"{names} = {self._call().replace('model', 'rewritten')}"]), *caught, "",
            *_verdict(expected),
        ]  # fmt: skip

    def _inconsistent(self) -> list[str]:
        """Runs MaxPool in two ways whose outputs must agree."""
        first, second = words_of(self._reproduced.variant)
        is_float = self._request.X.dtype.kind not in "iub"
        return [
            *self._two_runs(), *_CANNOT_TELL, "",
            "# Each result alone is allowed, but MaxPool is a function of its input and attributes: they must be the same.",
            f'print("{first}:", first, sep="\n")', f'print("{second}:", second, sep="\n")',
            f"sys.exit(0 if np.array_equal(first, second{', equal_nan=True' if is_float else ''}) else 1)",
        ]  # fmt: skip

    def _two_runs(self) -> list[str]:
        lines = two_runs(self._reproduced, self._runtime)
        start = lines.index("try:") if "try:" in lines else len(lines)
        return [*lines[:start], *self._data(()), *lines[start:]]

    def _child(self) -> list[str]:
        """Runs the rest in a child process, where the target's dies or hangs."""
        outcome = self._reproduced.outcome
        if not self._reproduced.dies or self._runtime.runs_in_own_process:
            return []
        run = f'subprocess.run([sys.executable, __file__, "child"]{f", timeout={self._seconds:g}" if isinstance(outcome, TimedOut) else ""})'
        lines = ['if sys.argv[1:] != ["child"]:  # The runtime may crash or hang: it runs in a child process.']
        what = "outputs" if isinstance(self._reproduced.oracle, Oracle) else "a refusal"
        if isinstance(outcome, TimedOut):
            lines += [
                "    try:", f"        child = {run}", "    except subprocess.TimeoutExpired:",
                f'        print("expected {what}, but there is no result within {self._seconds:g} s")', "        sys.exit(1)",
            ]  # fmt: skip
        else:
            lines.append(f"    child = {run}")
        if isinstance(outcome, Crashed) and not outcome.how.startswith("killed"):
            lines += [
                "    if child.returncode not in (0, 1, 125):",
                f'        print("expected {what}, but the process ended with exit code", child.returncode)',
                "        sys.exit(1)",
            ]
        else:
            lines += [
                "    if child.returncode < 0:",
                f'        print("expected {what}, but the process was killed by", signal.Signals(-child.returncode).name)',
                "        sys.exit(1)",
            ]
        return [*lines, "    sys.exit(child.returncode)", ""]


def _prints(names: Sequence[str]) -> list[str]:
    return [f'print("expected {name}:", expected_{name}, "got {name}:", {name}, sep="\\n")' for name in names]


def _verdict(expected: Expectation) -> list[str]:
    """Prints the outputs and ends with the exit code."""
    line = f"sys.exit(0 if {expected.condition.removeprefix('(').removesuffix(')') if expected.condition[0] == '(' else expected.condition} else 1)"
    if len(line) > WIDTH:
        lines = [f"is_right = {expected.conditions[0]}"]
        lines += [f"is_right = is_right and {each}" for each in expected.conditions[1:]]
        return [*_prints(expected.names), *lines, "sys.exit(0 if is_right else 1)"]
    return [*_prints(expected.names), line]
