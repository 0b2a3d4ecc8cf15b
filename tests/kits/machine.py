"""Wrong kernels that are made by machine: small changes of the right ones, as :mod:`tests.mutation` makes them of the package.

``python -m tests.kits.machine COUNT OUTPUT`` draws some and writes which cases of the corpus notice each: about a second for each. One
that no case notices may be right; one that more than half of all cases notice is no test of a choice, and one that hangs takes too long.
What a kernel raises counts as a refusal.
"""

import ast
import json
import multiprocessing
import random
import resource
import signal
import sys
import types
import warnings
from functools import cache
from pathlib import Path

from maxpool_check.evidence.kernels import WrongKernel
from maxpool_check.evidence.kills import LoadedKernel
from maxpool_check.evidence.wrong_kernels import correct, scan
from maxpool_check.exporting.export import too_large
from maxpool_check.exporting.kit import MOST_CELLS
from tests.kits.kills import Kernels
from tests.mutants.in_process import tasks
from tests.mutation import changed, within

AXIS = ("size", "kernel", "stride", "dilation", "begin", "end", "output")
NAMES = {"max": "min", "argmax": "argmin", "all": "any", "any": "all", "minimum": "maximum", "maximum": "minimum"}
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr)
SAMPLE, SECONDS, MOST_SLOW, MEMORY = 80, 1, 3, 6 << 30
KERNELS = {kernel.__name__: kernel for kernel in correct.KERNELS}
USED_BY = {"one_by_one": "backwards", "pair_by_pair": "halves_of_halves", "last_maximum": None}
"""The kernels that use a step of the scan which ``gathered`` does not."""

SHARED = ("separable", "padded_with_a_mask", "looped", "channels_last")
"""Kernels that use what ``correct.py`` has beside them."""


def others(node):
    """The changes of a node: those of :mod:`tests.mutation`, and more of numbers, operators, statements and names."""
    usual = changed(node)
    yield from [] if usual is None else [usual]
    yield from of_operations(node)
    yield from of_statements(node)


def of_operations(node):
    match node:
        case ast.Compare(left, [op], [right]):
            yield ast.Compare(right, [op], [left])
            yield from (ast.Compare(left, [other()], [right]) for other in COMPARISONS if isinstance(op, COMPARISONS))
        case ast.BinOp(left, op, right):
            yield from (left, right, ast.BinOp(right, op, left))
            yield from (ast.BinOp(left, other(), right) for other in OPERATORS)
            yield from (ast.BinOp(node, other(), ast.Constant(1)) for other in (ast.Add, ast.Sub))
        case ast.BoolOp(_, values):
            yield from (values[0], values[-1])
        case ast.UnaryOp(ast.Invert() | ast.USub(), operand):
            yield operand
        case ast.Call(func, [first, second, *args], keywords):
            yield ast.Call(func, [second, first, *args], keywords)


def of_statements(node):
    match node:
        case ast.Constant(int() as value) if not isinstance(value, bool):
            yield from map(ast.Constant, (value - 1, value + 2, 0))
        case ast.IfExp(_, body, _):
            yield body
        case ast.Subscript(value, ast.Slice()):
            yield value
        case ast.If(_, _, orelse):
            yield orelse[0] if orelse else ast.Pass()
        case ast.Assign() | ast.AugAssign():
            yield ast.Pass()
        case ast.Attribute(value, attribute, ast.Load()) if attribute in AXIS:
            yield from (ast.Attribute(value, other, ast.Load()) for other in AXIS)
        case ast.Attribute(value, attribute) if attribute in NAMES:
            yield ast.Attribute(value, NAMES[attribute], ast.Load())


@cache
def mutants():
    """All changes of the functions of ``correct.py`` and ``scan.py``."""
    found = {}
    for module in (correct, scan):
        text = Path(module.__file__).read_text()
        for function in ast.parse(text).body:
            for node in within(function) if isinstance(function, ast.FunctionDef) else ():
                old = ast.get_source_segment(text, node)
                for new in map(ast.unparse, others(node)) if old else ():
                    if new != ast.unparse(node):
                        at = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
                        written = f"({new})" if isinstance(node, ast.expr) else new
                        found[module.__name__, function.name, at, old, written] = None
    return [*found]


def loaded(mutant):
    """The kernel with the change; None if no kernel uses it."""
    module, function, (line, column, last, end), _, new = mutant
    path = Path(sys.modules[module].__file__)
    lines = path.read_bytes().splitlines(keepends=True)
    text = b"".join(
        [*lines[: line - 1], lines[line - 1][:column], new.encode(), lines[last - 1][end:], *lines[last:]]
    ).decode()
    sources = {each.__name__: Path(each.__file__).read_text() for each in (scan, correct)} | {module: text}
    made = types.ModuleType("mutated_scan"), types.ModuleType("mutated_correct")
    sys.modules["mutated_scan"] = made[0]
    for each, name in zip(made, (scan.__name__, correct.__name__), strict=True):
        source = sources[name].replace(f"from {scan.__name__} import", "from mutated_scan import")
        exec(compile(source, name, "exec"), each.__dict__)
    if module == scan.__name__:
        name = USED_BY.get(function, "gathered")
    else:
        name = function if function in KERNELS else random.Random(str(mutant)).choice(SHARED)
    return name and getattr(made[1], name)


class _Slow(Exception):
    """A call takes too long."""


def _too_slow(*_):
    raise _Slow


class Mutated(LoadedKernel):
    """A kernel with a change: whatever it raises is its refusal. Raises :class:`_Slow` where it hangs again and again."""

    def __init__(self, function) -> None:
        self.function, self.slow = function, 0

    def run(self, request, inputs):
        try:
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            return super().run(request, inputs)
        except _Slow:
            self.slow += 1
            if self.slow > MOST_SLOW:
                raise
            return {"type": "refusal", "status": "SLOW", "message": ""}
        except Exception as error:
            return {"type": "refusal", "status": "RAISES", "message": type(error).__name__}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


MEASURED = Kernels()


@cache
def small():
    return [task for task in tasks() if not too_large(task.case, MOST_CELLS)]


def kills(mutant):
    """The cases that notice a mutant; None if it counts for nothing."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _too_slow)
    kernel = WrongKernel("machine", "mutant", "")
    sample = random.Random(7).sample(small(), SAMPLE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function = loaded(mutant)
            if function is None or len(MEASURED.kills(kernel, sample, Mutated(function))) > 0.6 * SAMPLE:
                return None
            found = MEASURED.kills(kernel, small(), Mutated(function))
        except (_Slow, Exception):
            return None
    return [*found] if 0 < len(found) <= len(small()) / 2 else None


def main(count, output):
    """Draw mutants until so many count, and write them with the cases that notice each."""
    drawn = random.Random(1).sample(mutants(), len(mutants()))
    small()
    found = []
    with multiprocessing.get_context("fork").Pool(maxtasksperchild=100) as pool:
        for mutant, cases in zip(drawn, pool.imap(kills, drawn), strict=False):
            if cases:
                found.append({"mutant": mutant, "cases": cases})
            if len(found) == count:
                break
        pool.terminate()
    output.write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n")
    print(f"{len(found)} of {len(drawn)} mutants count")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
