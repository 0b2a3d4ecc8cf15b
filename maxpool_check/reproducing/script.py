"""The text of ``repro.py``: a script that needs only its requirements, with the exit codes of ``git bisect run``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from maxpool_check import inert
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.numbering import Layout
from maxpool_check.reproducing.accepted import accepted, windows
from maxpool_check.reproducing.runtimes import CannotWrite, ScriptRuntime
from maxpool_check.results.variants import PAIRS, Variant
from maxpool_check.running.case_run import CaseRun
from maxpool_check.targets.protocol import Request

MARK = "Written by maxpool-check repro."
"""Marks the script of a reproduction."""

MOST_CELLS = 1024
"""The most cells of X or Y that a script lists."""

MOST_LINES = 40
"""The most lines of a script, without those of its provider."""


@dataclass(frozen=True, eq=False)
class Reproduced:
    """What a script reproduces: one variant of a case that was executed."""

    case_run: CaseRun
    variant: Variant

    @property
    def request(self) -> Request:
        """The request that the target received."""
        request = self.case_run.results[self.variant].request
        assert request is not None, "a variant that diverges was executed"
        return request

    @property
    def kinds(self) -> tuple[DivergenceKind, ...]:
        """The kinds of divergence that it shows."""
        return self.case_run.judgements[self.variant].kinds

    @property
    def dies(self) -> bool:
        """Whether the target's process dies."""
        return DivergenceKind.CRASH in self.kinds or DivergenceKind.TIMEOUT in self.kinds

    @property
    def layout(self) -> Layout:
        """The layout of the outputs."""
        return self.case_run.case.specification.layout if self.variant.in_domain else Layout.CHANNELS_FIRST

    @property
    def other(self) -> Request | None:
        """The request of the variant that returns another Y, if that is the divergence."""
        if DivergenceKind.Y_DEPENDS_ON_INDICES not in self.kinds:
            return None
        (other,) = (each for pair in PAIRS for each in pair if self.variant in pair and each is not self.variant)
        return Reproduced(self.case_run, other).request


def script(reproduced: Reproduced, runtime: ScriptRuntime, python: str, seconds: float) -> str:
    """The text of the script; ``python`` is its oldest Python, ``seconds`` the time limit if the target dies.

    Raises :class:`CannotWrite`.
    """
    oracle, request, other = reproduced.case_run.oracle, reproduced.request, reproduced.other
    cells = max(request.X.size, oracle.pooled.Y.size if isinstance(oracle, Oracle) else 0)
    if cells > MOST_CELLS:
        raise CannotWrite(f"a script would have to list {cells} cells; the most is {MOST_CELLS}")
    kinds = ", ".join(kind.value for kind in reproduced.kinds)
    # The name of a kernel's file may hold what ends a docstring.
    named = inert.line(runtime.named).replace("\\", "/").replace('"', "'")
    head = [
        "# /// script",
        f"# requires-python = {json.dumps(f'>={python}')}",
        f"# dependencies = {json.dumps(runtime.requirements)}",
        "# ///",
        f'"""MaxPool of {named}: {kinds}. {MARK}',
        'Exit codes: 1 if it occurs, 0 if it is fixed, 125 if the script cannot tell."""',
        "import signal, subprocess, sys" if reproduced.dies else "import sys",
    ]
    if runtime.kernel is not None:
        told = [f"SPEC = {inert.line(repr(request.spec))}"] if any("SPEC" in line for line in runtime.call) else []
        models = [f"MODEL = {inert.line(repr(dict(request.attributes)))}", *told, *(["OTHER = MODEL"] if other else [])]
    else:
        models = [f"MODEL = {_text(request.model)}", *([f"OTHER = {_text(other.model)}"] if other else [])]
    control = []
    if request.model and not reproduced.variant.in_domain:
        # Without it a refusal would be no evidence about this MaxPool.
        control = [f"    run({_smallest(request.model)}, np.zeros((1, 1, 1), 'float32'))"]
    child = [
        'if sys.argv[1:] != ["child"]:  # The runtime may crash: it runs in a child process.',
        '    code = subprocess.run([sys.executable, __file__, "child"]).returncode',
        '    sys.exit(code if code in (0, 1, 125) else print("expected outputs or a refusal, got", code) or 1)',
        f"signal.alarm({int(seconds) + 1})  # -14 is a timeout",
    ]
    running = [
        "def run(model, X):",
        *(f"    {line}" for line in runtime.call),
        *models,
        "try:",
        f"    import numpy as np{', onnxruntime' if 'import onnxruntime' in runtime.imports else ''}",
        *(f"    {line}" for line in runtime.imports if line != "import onnxruntime"),
        *control,
        "except Exception as error:",
        '    sys.exit(print("cannot be run:", error) or 125)',
        *(child if reproduced.dies else []),
    ]
    data = [f"X = {array_text(request.X)}"]
    if isinstance(oracle, Oracle):
        data += _right(oracle, reproduced)
        code = 1 if DivergenceKind.REFUSES_VALID in reproduced.kinds else 125
        refused = f'print("expected outputs, got a refusal:", error) or {code}'
        compared = _compared(reproduced)
    else:
        data.append(f"# It must be refused: {inert.line(' '.join(str(oracle).split()))}")
        refused = 'print("refused, as it must be:", error) or 0'
        compared = ['sys.exit(print("expected a refusal, got", got) or 1)']
    got = f"dict(zip({json.dumps(request.outputs)}, run(MODEL, X)))"
    judging = [
        "try:",
        f"    got, other = {got}, run(OTHER, X)[0]" if other else f"    got = {got}",
        "except Exception as error:",
        f"    sys.exit({refused})",
        *compared,
    ]
    if any(word in line for line in data for word in ("inf", "nan")):
        data.insert(0, "inf, nan = np.inf, np.nan")
    parts = ["\n".join(part) for part in (head, running, [*data, *judging])]
    # Empty lines between them if there is room.
    text = "\n\n".join(parts) + "\n"
    return text if text.count("\n") <= MOST_LINES else "\n".join(parts) + "\n"


def _smallest(model: bytes) -> str:
    """The smallest MaxPool in the operator set of a model."""
    loaded = onnx.load_from_string(model)
    version = loaded.opset_import[0].version
    return (
        f"""'<ir_version: {loaded.ir_version}, opset_import: ["" : {version}]> smallest (float[1,1,1] X) => """
        """(float[A,B,C] Y) {Y = MaxPool <kernel_shape = [1]> (X)}'"""
    )


def _text(model: bytes) -> str:
    """A model as ONNX's own text, checked to mean the same."""
    text = onnx.printer.to_text(onnx.load_from_string(model))
    try:
        again = onnx.printer.to_text(onnx.parser.parse_model(text))
    except onnx.parser.ParseError as error:
        raise CannotWrite(f"the model cannot be written as text: {error}") from error
    if again != text or "'''" in text or inert.block(text) != text:
        raise CannotWrite("the model cannot be written as text")
    head, _, graph = text.partition("\n>\n")
    signature, _, nodes = graph.partition("{\n")
    first, second = (" ".join(part.split()) for part in (f"{head} > {signature}", "{ " + nodes))
    return f"{'r' if chr(92) in text else ''}'''{first}\n    {second}'''"


def _right(oracle: Oracle, reproduced: Reproduced) -> list[str]:
    # The first outputs of each shape: outputs of the same shape have the same accepted cells.
    results = accepted(oracle, reproduced.variant, reproduced.layout)
    right = list({outputs["Y"].shape: outputs for outputs in reversed(results)}.values())
    forms = [{name: (output.dtype, output.shape) for name, output in outputs.items()} for outputs in right]
    texts = []
    for outputs in right:
        cells = {
            name: ", ".join(f"[{numbers_text(values)}]" for values in each.cells) for name, each in outputs.items()
        }
        texts.append(", ".join(f"{json.dumps(name)}: [{text}]" for name, text in cells.items()))
    return [
        f"FORMS = {forms}",
        f"RIGHT = [{', '.join(f'{{{text}}}' for text in texts)}]  # the values that are right in each cell",
        f"WINDOWS = {json.dumps(windows(oracle, reproduced.layout))}  # of the cells, on X without its padding",
    ]


def _compared(reproduced: Reproduced) -> list[str]:
    lines = [
        "form = {name: (value.dtype.name, value.shape) for name, value in got.items()}",
        "if form not in FORMS:",
        '    sys.exit(print("expected", *FORMS, "got", form) or 1)',
        "same = lambda a, b: a.tobytes() == b.tobytes() or (a != a and b != b)",
        "faults = [f\"{name}{list(at)}, {window}: expected {' or '.join(map(str, values))}, got {cell}\"",
        "    for name, cells in RIGHT[FORMS.index(form)].items()",
        "    for at, values, cell, window in zip(np.ndindex(got[name].shape), cells, got[name].flat, WINDOWS)",
        "    if values and not any(same(cell, value) for value in np.array(values, cell.dtype))]",
    ]
    if reproduced.other is not None:
        both = ("other", "got['Y']") if len(reproduced.request.outputs) == 1 else ("got['Y']", "other")
        lines += [
            'if got["Y"].shape != other.shape or not all(map(same, got["Y"].flat, other.flat)):',
            f'    faults.append(f"Y with Indices: {{{both[0]}.tolist()}}, alone: {{{both[1]}.tolist()}}")',
        ]
    return [*lines, 'sys.exit(print(*faults or ["as expected"], sep="\\n") or len(faults) > 0)']


def array_text(X: np.ndarray) -> str:
    """A tensor as an expression of Python, with ``np``, ``inf`` and ``nan``."""
    flat, name = X.reshape(-1), X.dtype.name
    text = f'np.array([{numbers_text(flat)}], "{name}")'
    if is_float(X.dtype):
        parsed = np.array([float(value) for value in flat], np.float64).astype(X.dtype)
        if (bits(parsed) != bits(flat)).any():
            # A NaN with a payload.
            text = f'np.array({bits(flat).tolist()}, "{bits(flat).dtype.name}").view("{name}")'
    return f"{text}.reshape({', '.join(map(str, X.shape)) or '()'})"


def numbers_text(values: Sequence[np.generic] | np.ndarray) -> str:
    """The values as numbers of Python, with commas."""
    texts = []
    for value in values:
        exact = float(value) if is_float(value.dtype) else int(value)
        is_short = exact != 0 and abs(exact) < 2**24 and float(exact).is_integer()
        texts.append(repr(int(exact) if is_short else exact))
    return ", ".join(texts)
