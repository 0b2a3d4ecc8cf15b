"""The part of a script that holds the expected outputs and compares the actual ones with them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reproducing.accepted import AcceptedCells, accepted, accepted_of_graph, expected
from maxpool_check.reproducing.literals import WIDTH, array_text, number_text
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.reproducing.script_runtime import CannotWrite

MOST_CELLS = 1024
"""The most cells of a tensor that a script lists."""

_IS_ALLOWED = (
    "def is_allowed(output, cells):",
    '    """Whether each cell has one of the values that are allowed in it; without any, every value is."""',
    "    for value, values in zip(output.flat, cells):",
    "        same = [value.tobytes() == other.tobytes() or (value != value and other != other)",
    "                for other in np.array(values, output.dtype)]",
    "        if same and not any(same):",
    "            return False",
    "    return True",
)


@dataclass(frozen=True)
class Expectation:
    """The expected outputs in a script.

    ``values`` are those of the reference, in the target's layout; ``allowed`` are all that are right, of their shape. ``functions`` and ``data`` are lines; ``conditions`` are
    expressions that all hold if the outputs, which are variables of their own names, are right.
    """

    values: dict[str, np.ndarray]
    allowed: dict[str, AcceptedCells]
    functions: tuple[str, ...]
    data: tuple[str, ...]
    conditions: tuple[str, ...]

    @property
    def compares_dtypes(self) -> bool:
        """Whether a wrong dtype is what goes wrong."""
        return any(".dtype" in each for each in self.conditions)

    @property
    def condition(self) -> str:
        """All of the conditions as one expression, in parentheses if it needs them."""
        text = " and ".join(
            f"({each})" if " or " in each and len(self.conditions) > 1 else each for each in self.conditions
        )
        return f"({text})" if " and " in text or " or " in text else text

    @property
    def names(self) -> list[str]:
        """The names of the outputs in order."""
        return list(self.values)


def expected_values(reproduced: Reproduced) -> dict[str, np.ndarray]:
    """The outputs of the reference in the target's terms; none for a graph that the document excludes."""
    oracle = reproduced.oracle
    if not isinstance(oracle, Oracle):
        return {}
    values = expected(oracle, reproduced.variant, reproduced.layout)
    if "Indices" in values:
        values["Indices"] = reproduced.as_counted(values["Indices"])
    return values


def expectation(reproduced: Reproduced) -> Expectation:
    """The expected outputs of a variant whose document allows the graph. Raises :class:`CannotWrite`."""
    oracle = reproduced.oracle
    assert isinstance(oracle, Oracle)
    values = expected_values(reproduced)
    if not reproduced.target.computes:
        return _of_shapes(reproduced, values)
    cells = max([reproduced.request.X.size, *(value.size for value in values.values())])
    if cells > MOST_CELLS:
        raise CannotWrite(f"a script would have to list {cells} cells; the most is {MOST_CELLS}")
    alternatives = list({_content(outputs): outputs for outputs in _alternatives(reproduced, oracle)[::-1]}.values())[
        ::-1
    ]
    is_signed = DivergenceKind.Y_SIGNED_ZERO in reproduced.kinds
    data = [f"expected_{name} = {array_text(value)}" for name, value in values.items()]
    if len(alternatives) == 1:
        return _of_one_interpretation(reproduced, alternatives[0], values, data, is_signed=is_signed)
    title = reproduced.case_run.case.specification.title
    data.append(f"# {title} leaves open which windows there are: what is allowed by each interpretation, cell by cell.")
    conditions = []
    for number, outputs in enumerate(alternatives, 1):
        terms = []
        for name, output in outputs.items():
            data.append(f"allowed_{name}_{number} = {_cells_text(output)}  # of the shape {output.shape}")
            terms.append(f"{name}.shape == {output.shape} and is_allowed({name}, allowed_{name}_{number})")
        conditions.append(" and ".join(terms))
    return Expectation(
        values, alternatives[0], _IS_ALLOWED, tuple(data), (" or ".join(f"({each})" for each in conditions),)
    )


def _of_shapes(reproduced: Reproduced, values: dict[str, np.ndarray]) -> Expectation:
    """What is expected of a target that infers shapes alone."""
    if DivergenceKind.DTYPE in reproduced.kinds:
        raise CannotWrite("no script can be written for a dtype that is inferred and not computed")
    shapes = {name: np.array(value.shape, np.int64) for name, value in values.items()}
    data = tuple(f"expected_{name} = {value.shape}" for name, value in values.items())
    return Expectation(shapes, {}, (), data, tuple(f"{name} == expected_{name}" for name in values))


def _content(outputs: dict[str, AcceptedCells]) -> tuple[object, ...]:
    """What is the same for interpretations that allow the same outputs."""
    return tuple(
        (name, each.shape, tuple(tuple(map(number_text, cell)) for cell in each.cells))
        for name, each in outputs.items()
    )


def _of_one_interpretation(
    reproduced: Reproduced, outputs: dict[str, AcceptedCells], values: dict[str, np.ndarray], data: list[str], *, is_signed: bool
) -> Expectation:  # fmt: skip
    terms, has_open = [], False
    for name, output in outputs.items():
        if any(_is_open(cell, is_signed=is_signed) for cell in output.cells):
            has_open = True
            data += [f"# {reason}" for reason in _reasons(reproduced, name, output)]
            data.append(f"allowed_{name} = {_cells_text(output)}")
            terms.append(f"{name}.shape == expected_{name}.shape and is_allowed({name}, allowed_{name})")
        else:
            has_nan = values[name].dtype.kind not in "iub" and (values[name] != values[name]).any()
            terms.append(f"np.array_equal({name}, expected_{name}{', equal_nan=True' if has_nan else ''})")
            if is_signed and name == "Y":
                terms.append("np.array_equal(np.signbit(Y), np.signbit(expected_Y))")
        if DivergenceKind.DTYPE in reproduced.kinds:
            terms.append(f"{name}.dtype == expected_{name}.dtype")
    return Expectation(values, outputs, _IS_ALLOWED if has_open else (), tuple(data), tuple(terms))


def _alternatives(reproduced: Reproduced, oracle: GraphOracle) -> list[dict[str, AcceptedCells]]:
    if reproduced.is_graph:
        return accepted_of_graph(oracle, reproduced.variant)
    results = accepted(oracle, reproduced.variant, reproduced.layout)
    if reproduced.numbering is None or not reproduced.variant.has_indices:
        return results
    return [{**outputs, "Indices": _as_counted(reproduced, outputs["Indices"])} for outputs in results]


def _as_counted(reproduced: Reproduced, Indices: AcceptedCells) -> AcceptedCells:
    """The accepted Indices as the target numbers the cells."""
    rows = []
    for number in range(max(map(len, Indices.cells), default=0)):
        others = np.array([cell[number] if number < len(cell) else 0 for cell in Indices.cells], np.int64)
        rows.append(reproduced.as_counted(others.reshape(Indices.shape)).reshape(-1))
    cells = tuple(tuple(row[at] for row in rows[: len(cell)]) for at, cell in enumerate(Indices.cells))
    return replace(Indices, cells=cells)


def _is_open(cell: Sequence[np.generic], *, is_signed: bool) -> bool:
    """Whether a cell has other right values than one; zeros of either sign are one, unless signs are what is wrong."""
    texts = {number_text(value) for value in cell}
    return len(texts if is_signed else {text.replace("-0.0", "0.0") if text == "-0.0" else text for text in texts}) != 1


def _cells_text(output: AcceptedCells) -> str:
    return f"[{', '.join(f'[{chr(44).join(map(number_text, cell))}]'.replace(',', ', ') for cell in output.cells)}]"


def _reasons(reproduced: Reproduced, name: str, output: AcceptedCells) -> list[str]:
    """Why an output has cells in which several values are right, or any."""
    title = reproduced.case_run.case.specification.title
    several = [cell for cell in output.cells if len(cell) > 1]
    reasons = []
    if any(not cell for cell in output.cells):
        lacks = "index" if name == "Indices" else "value"
        reasons.append(f"{title} gives a window without a cell of X no {lacks}: an empty list allows any.")
    oracle = reproduced.oracle
    has_nan = isinstance(oracle, Oracle) and oracle.X.dtype.kind not in "iub" and bool((oracle.X != oracle.X).any())
    if several and has_nan:
        reasons.append(
            f"{title} does not say what a window with NaN gives: each value that is listed for a cell is right."
        )
    elif several and name == "Indices":
        reasons.append(
            f"{title} does not say which of several equal maxima Indices name: each that is listed is right."
        )
    elif several:
        reasons.append(f"{title} leaves the value of some cells open: each that is listed for a cell is right.")
    return reasons


def _prints(expected: Expectation) -> list[str]:
    """Prints of the expected and actual outputs; of float64 with all digits."""
    lines = []
    for name, value in expected.values.items():
        digits = ".tolist()" if value.dtype.name == "float64" else ""
        words = [f'"{word} {name}:"' for word in ("expected", "got")]
        if expected.compares_dtypes:
            words = [f'f"expected {name}, {{expected_{name}.dtype}}:"', f'f"got {name}, {{{name}.dtype}}:"']
        lines.append(f'print({words[0]}, expected_{name}{digits}, {words[1]}, {name}{digits}, sep="\\n")')
    return lines


def verdict_lines(expected: Expectation) -> list[str]:
    """The lines that print the outputs and end with the exit code."""
    line = f"sys.exit(0 if {' and '.join(expected.conditions)} else 1)"
    if len(line) <= WIDTH:
        return [*_prints(expected), line]
    first, *others = expected.conditions
    conditions = ["is_right = (", f"    {first}", *(f"    and {each}" for each in others), ")"]
    return [*_prints(expected), *conditions, "sys.exit(0 if is_right else 1)"]
