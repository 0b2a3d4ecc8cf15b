"""The text of ``repro.py``: an example as in the runtime's documentation, with the exit codes of ``git bisect run``."""

import json
import re
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from maxpool_check import inert
from maxpool_check.reproducing.child_process import child_process
from maxpool_check.reproducing.expectation import MOST_CELLS, Expectation, expectation, verdict_lines
from maxpool_check.reproducing.header import ScriptHeader
from maxpool_check.reproducing.inconsistency import difference, two_runs, words_of
from maxpool_check.reproducing.literals import array_text, assignment, call_lines, indented, names_text
from maxpool_check.reproducing.onnx_source import (
    OF_ANY_X,
    attributes_source,
    model_source,
    needed_imports,
    smallest_source,
)
from maxpool_check.reproducing.reproduced import Fault, Reproduced
from maxpool_check.reproducing.script_runtime import CannotWrite, ScriptRuntime
from maxpool_check.reproducing.tools import ScriptTool

_CANNOT_TELL = ("except Exception as error:", '    print("cannot tell:", error)', "    sys.exit(125)")


class ScriptWriter:
    """Writes the script of one reproduction."""

    def __init__(
        self, reproduced: Reproduced, runtime: ScriptRuntime, tool: ScriptTool | None = None, *,
        other: ScriptRuntime | None = None, seconds: float,
    ) -> None:  # fmt: skip
        """``other`` is the runtime that returns other outputs, where they must agree and are not requested by a model.

        ``seconds`` is how long a child process may take, where the target hangs.
        """
        self._reproduced, self._runtime, self._tool, self._seconds = reproduced, runtime, tool, seconds
        self._request, self._other = reproduced.request, other
        survives = not reproduced.dies or runtime.runs_in_own_process
        self._child = [] if survives else child_process(reproduced.outcome, reproduced.expects, seconds)
        if self._request.X.size > MOST_CELLS:
            raise CannotWrite(f"a script would have to list {self._request.X.size} cells; the most is {MOST_CELLS}")

    def text(self, header: ScriptHeader) -> str:
        """The whole script. Raises :class:`CannotWrite`."""
        body = self._body()
        version = self._runtime.printed_version
        lines = [*header.lines(), "", *self._imports(body, header.requirements), *self._child]
        lines += [f'print("{self._runtime.title}", {version})', ""] if version else []
        text = inert.block("\n".join([*lines, *body])).rstrip() + "\n"
        text = re.sub("\n{4,}", "\n\n\n", text)
        compile(text, "repro.py", "exec")
        return text

    def _body(self) -> list[str]:
        if self._reproduced.fault is Fault.NOT_REFUSED:
            return self._with_control(self._data(()), self._must_be_refused())
        if self._reproduced.fault is Fault.INCONSISTENT:
            return self._inconsistent()
        expected = expectation(self._reproduced)
        functions = ["", "", *expected.functions, "", ""] if expected.functions else []
        if self._tool is not None:
            compared = self._rewritten(expected)
        elif self._reproduced.is_graph and self._runtime.levels:
            compared = self._at_every_level(expected)
        elif self._reproduced.fault is Fault.REFUSED or self._reproduced.dies or self._reproduced.refusable:
            compared = self._with_control(self._data(expected.data), self._must_be_right(expected))
        else:
            compared = [*self._build(), *self._data(expected.data), *self._flat(expected), *verdict_lines(expected)]
        return [*functions, *compared]

    def _imports(self, body: Sequence[str], requirements: Sequence[str]) -> list[str]:
        """The imports, of which one that fails tells nothing of the defect."""
        lines = [line for line in [*self._child, *body] if not line.lstrip().startswith("#")]
        own = [*self._runtime.imports, *(self._tool.imports if self._tool else [])]
        text = "\n".join(lines)
        plain = ["import onnx", "from pathlib import Path"] if "Path(__file__)" in text else []
        standard = {"base64", "io", "json", "signal", "subprocess", "sys", "tempfile"}
        modules = {line.removeprefix("import ") for line in own} & standard
        modules |= {name for name in ("signal", "subprocess") if f"{name}." in text} | {"sys"}
        foreign = [line for line in own if line.removeprefix("import ") not in standard]
        foreign += needed_imports(lines)
        foreign += [line for line in plain if line == "import onnx"]
        foreign += ["import numpy as np", *(["import ml_dtypes"] if "ml_dtypes." in text else [])]
        ordered = sorted(dict.fromkeys(foreign), key=lambda line: (line.startswith("from"), line))
        return [
            *(f"import {name}" for name in sorted(modules)),
            *(line for line in plain if line != "import onnx"),
            "",
            "try:",
            *indented(ordered),
            "except ImportError as error:",
            "    print(",
            '        f"cannot tell: {error}", "Run it with: uv run repro.py",',
            f'        {json.dumps("or first: pip install " + shlex.join(requirements))}, sep="\\n",',
            "    )",
            "    sys.exit(125)",
            "",
        ]

    def _data(self, expected: Sequence[str]) -> list[str]:
        """X and the expected outputs; ``feeds`` are the inputs of a graph that has others than X, or none."""
        if not self._reproduced.target.computes and self._inputs == "X":
            X = self._request.X
            name = f"np.dtype({X.dtype.name!r})" if X.dtype.name == "bool" else f"np.{X.dtype.name}"
            lines = [f"X = np.zeros({X.shape}, {name})  # its shape and dtype are all that matters"]
        elif self._inputs == "X":
            lines = [f"X = {array_text(self._request.X)}"]
        else:
            feeds = [f'    "{name}": {array_text(value)},' for name, value in self._request.inputs.items()]
            lines = ["feeds = {", *feeds, "}"] if feeds else ["feeds = {}  # X is a constant of the model"]
        return [*lines, *expected, ""]

    def _build(self) -> list[str]:
        return [*model_source(self._request.model), ""] if self._runtime.takes_models else []

    def _setup(self, arguments: str | None = None) -> list[str]:
        text = self._runtime.arguments if arguments is None else arguments
        return [each for line in self._runtime.setup for each in call_lines(line, text)]

    def _flat(self, expected: Expectation) -> list[str]:
        """Runs the model; an exception tells nothing."""
        run = [*self._setup(), assignment(expected.names, self._runtime.call)]
        return ["try:", *indented(run), *_CANNOT_TELL, ""]

    def _with_control(self, data: list[str], judged: list[str]) -> list[str]:
        """The run as a function, which must succeed with the smallest MaxPool before its refusal tells anything."""
        zeros = f"np.zeros({(1, 1, *[1] * self._runtime.smallest_axes)}, np.float32)"
        if self._smallest is not None:
            alone = '["Y"], ' if self._names_outputs else ""
            control = [f"max_pool({zeros}, {alone}{self._smallest})"]
        elif self._runtime.takes_models and not self._reproduced.variant.in_domain:
            fed = zeros if self._inputs == "X" else f'{{"X": {zeros}}}'
            control = [*smallest_source(self._request.model), f"max_pool(smallest, {fed})"]
        else:
            return [*self._function(), *self._build(), *data, *judged]
        build = self._build() if self._smallest is None else []
        words = "# If the smallest MaxPool fails as well, a refusal says nothing about this one."
        return [*self._function(), *build, *data, words, "try:", *indented(control), *_CANNOT_TELL, "", *judged]

    def _function(self) -> list[str]:
        """The run as a function: of a model and its inputs, or of X and the attributes."""
        arguments, build = "**attributes", []
        parameters = "X, outputs, **attributes" if self._names_outputs else "X, **attributes"
        if self._runtime.takes_models:
            of_any_X = replace(OF_ANY_X, outputs="outputs") if self._names_outputs else OF_ANY_X
            build = model_source(self._request.model, of_any_X) if self._smallest is not None else []
            parameters = parameters if self._smallest is not None else f"model, {self._inputs}"
        lines = [*build, *self._setup(arguments), f"return {self._runtime.call}"]
        return ["", f"def max_pool({parameters}):", *indented(lines), "", ""]

    @property
    def _names_outputs(self) -> bool:
        """Whether the function is told the outputs: the smallest MaxPool is that of Y alone, which more runtimes have."""
        return self._runtime.takes_models and self._smallest is not None and self._reproduced.variant.has_indices

    @property
    def _inputs(self) -> str:
        return "X" if list(self._request.inputs) == ["X"] else "feeds"

    def _call(self, names: str, model: str = "model") -> list[str]:
        """The lines that assign what the function returns."""
        if self._runtime.takes_models and self._smallest is None:
            return [f"{names} = max_pool({model}, {self._inputs})"]
        attributes = attributes_source(self._request.model) if self._runtime.takes_models else self._runtime.arguments
        first = f"X, {json.dumps(self._reproduced.variant.outputs)}" if self._names_outputs else "X"
        if not attributes:
            return [f"{names} = max_pool({first})"]
        return call_lines(f"{names} = max_pool({first}, {{arguments}})", attributes)

    @cached_property
    def _smallest(self) -> str | None:
        """The attributes of the smallest MaxPool; None if a model has more, or the runtime need not have that MaxPool."""
        if not self._runtime.takes_models:
            return self._runtime.smallest or None
        has_Y = "Y" in self._reproduced.variant.outputs
        is_single = has_Y and not self._reproduced.is_graph and attributes_source(self._request.model) is not None
        return (
            "kernel_shape=[1]" if is_single and not self._reproduced.variant.in_domain and self._tool is None else None
        )

    def _must_be_refused(self) -> list[str]:
        refused = self._reproduced.oracle
        return [
            *textwrap.wrap(
                f"# The graph must be refused: {' '.join(str(refused).split())}", 116, subsequent_indent="# "
            ),
            "try:",
            *indented(self._call("outputs")),
            "except Exception as error:",
            '    print("refused, as it must be:", error)',
            "    sys.exit(0)",
            'print("expected a refusal, got outputs:", *outputs, sep="\\n")',
            "sys.exit(1)",
        ]

    def _must_be_right(self, expected: Expectation) -> list[str]:
        said, code = "cannot tell:", 125
        if self._reproduced.fault is Fault.REFUSED:
            said, code = "expected outputs, got a refusal:", 1
        elif self._reproduced.refusable:
            said, code = "refused, which is allowed:", 0
        return [
            "try:",
            *indented(self._call(names_text(expected.names))),
            "except Exception as error:",
            f'    print("{said}", error)',
            f"    sys.exit({code})",
            *verdict_lines(expected),
        ]

    def _at_every_level(self, expected: Expectation) -> list[str]:
        """Runs a graph at every level of optimization."""
        run = [*self._setup(), assignment(expected.names, self._runtime.call)]
        if self._reproduced.fault is Fault.REFUSED:
            caught = [
                "except Exception as error:",
                '    print(f"{level} refuses the graph:", error)',
                "    wrong.append(level)",
            ]
        else:
            # A provider may refuse a level whose nodes it does not have.
            caught = ["except Exception as error:", '    print(f"{level} cannot tell:", error)']
        caught.append("    continue")
        return [
            *self._build(), *self._data(expected.data), *(f'print("expected {name}:", expected_{name}, sep="\\n")' for name in expected.names), "ran, wrong = [], []",
            f"for level in {list(self._runtime.levels)!r}:".replace("'", '"'),
            *indented([
                "try:", *indented(run), *caught,
                *(f'print(f"got {name} at {{level}}:", {name}, sep="\\n")' for name in expected.names),
                "ran.append(level)",
                f"if not {expected.condition}:",
                "    wrong.append(level)",
            ]),
            'print("wrong at:", ", ".join(wrong) or "no level")',
            "if not ran and not wrong:",
            "    sys.exit(125)",
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
            *indented(self._call(names)), *_CANNOT_TELL,
            f"if {condition}:", f'    print("cannot tell: the original model gives", {", ".join(expected.names)})',
            "    sys.exit(125)", "",
            "try:", *indented([*self._tool.lines, *self._call(names, "rewritten")]), *caught, "",
            *verdict_lines(expected),
        ]  # fmt: skip

    def _inconsistent(self) -> list[str]:
        """Runs MaxPool in two ways whose outputs must agree."""
        first, second = words_of(self._reproduced.variant)
        function, calls = two_runs(self._reproduced, self._runtime, self._other)
        return [
            *function, *self._data(()), "try:", *indented(calls), *_CANNOT_TELL, "",
            "# Each result may be allowed, but MaxPool is a function of its input and attributes: they must be the same.",
            f'print("{first}:", first, "{second}:", second, sep="\\n")',
            f"sys.exit(0 if {difference(self._reproduced)} else 1)",
        ]  # fmt: skip
