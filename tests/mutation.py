"""What the tests kill: a sample of small changes of the package, each a mutant, and the tests that fail for it.

    python -m tests.mutation draw --seed 1 -n 300 -o tests/data/mutants-1.json
    python -m tests.mutation measure tests/data/mutants-1.json -o build/kills-1.json

``draw`` takes as many mutants of each room of :data:`ROOMS` as it has of all places that can be changed, of those in functions.
``measure`` runs the tests once with coverage (``pip install pytest-cov``), which says which tests execute a line, and how long each
takes. For each mutant it runs those that execute it in a copy of the checkout, the cheapest first, as many as take :data:`LIMIT`
seconds, up to the first that fails. A mutant that no test executes survives. The tests of CI count: those of ``make test`` and
``make test-slow``. It takes about two hours on two cores; what the output has already is not measured again.
"""

import ast
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from queue import Queue
from xml.etree import ElementTree

import click

ROOT = Path(__file__).parents[1]
ROOMS = ("reporting", "comparing", "commands", "evidence", "corpus", "running", "targets")
LIMIT = 60
COPIES = 2
TESTS = "MUTATION_TESTS"
"""The variable with the path of a list of tests: pytest with ``-p tests.mutation`` runs these, in this order."""
PYTEST = ("-m", "pytest", "-m", "not long and not runtimes", "-q")

OTHER = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
}  # fmt: skip

OTHER_VALUE = {bool: lambda value: not value, int: lambda value: value + 1, str: lambda value: f"{value}?"}


def changed(node: ast.AST) -> ast.AST | None:
    """The mutant of a node, or nothing where it has none."""
    match node:
        case ast.Compare(left, [op], comparators) if type(op) in OTHER:
            return ast.Compare(left, [OTHER[type(op)]()], comparators)
        case ast.BoolOp(op, values):
            return ast.BoolOp(OTHER[type(op)](), values)
        case ast.BinOp(left, op, right) if type(op) in OTHER:
            return ast.BinOp(left, OTHER[type(op)](), right)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.IfExp(test, body, orelse):
            return ast.IfExp(test, orelse, body)
        case ast.Constant(bool() | int() | str() as value):
            return ast.Constant(OTHER_VALUE[type(value)](value))
        case ast.Expr(ast.Call()):
            return ast.Pass()
        case ast.Return(ast.AST()):
            return ast.Return(ast.Constant(None))
    return None


def within(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a function that are executed; no annotations, docstrings or parts of f-strings."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not (
                isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            ):
                yield child
                yield from within(child)


def places(path: Path) -> Iterator[ast.AST]:
    """The nodes in the functions of a module that have a mutant."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    outer = [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, functions)]
    inner = {id(each) for function in outer for each in ast.walk(function) if each is not function}
    for function in outer:
        if id(function) not in inner:
            yield from (node for node in within(function) if changed(node) is not None)


def mutated(text: str, mutant: dict) -> str:
    """The text of a module with the mutant in it. Raises ``click.ClickException`` where the module has changed since the draw."""
    lines = text.encode().splitlines(keepends=True)
    (line, column), (last, end) = mutant["from"], mutant["to"]
    before = b"".join(lines[: line - 1]) + lines[line - 1][:column]
    after = lines[last - 1][end:] + b"".join(lines[last:])
    if text.encode()[len(before) : -len(after) or None].decode() != mutant["old"]:
        raise click.ClickException(f"{mutant['path']} is not that of the sample; draw another")
    return (before + mutant["new"].encode() + after).decode()


@click.group()
def cli() -> None:
    """What the tests kill."""


@cli.command()
@click.option("--seed", type=int, required=True)
@click.option("-n", "count", type=int, default=300, show_default=True)
@click.option("-o", "output", type=click.Path(path_type=Path), required=True)
def draw(seed: int, count: int, output: Path) -> None:
    """Write a sample of mutants."""
    every = []
    for path in sorted(each for room in ROOMS for each in (ROOT / "maxpool_check" / room).rglob("*.py")):
        text = path.read_text()
        for node in places(path):
            new, old = ast.unparse(changed(node)), ast.get_source_segment(text, node)
            every.append(
                {
                    "path": str(path.relative_to(ROOT)), "from": [node.lineno, node.col_offset],
                    "to": [node.end_lineno, node.end_col_offset], "old": old,
                    "new": f"({new})" if isinstance(node, ast.expr) else new,
                }
            )  # fmt: skip
    sample = random.Random(seed).sample(every, count)
    sample.sort(key=lambda each: (each["path"], each["from"]))
    output.write_text("[\n" + ",\n".join(map(json.dumps, sample)) + "\n]\n")
    click.echo(f"{count} of {len(every)} mutants")


def covering(folder: Path) -> tuple[dict[tuple[str, int], set[str]], dict[str, float]]:
    """The tests that execute each line, by path and line; and the seconds of each test that passes in a copy."""
    data, report = ROOT / "build/tests.coverage", ROOT / "build/tests.xml"
    if not data.exists():
        options = ("-n", str(COPIES), "--cov=maxpool_check", "--cov-context=test", "--cov-report=")
        subprocess.run(
            [sys.executable, *PYTEST, *options, f"--junitxml={report}"],
            cwd=folder, check=False, env=variables(folder) | {"COVERAGE_FILE": str(data)},
        )  # fmt: skip
    from coverage.numbits import numbits_to_nums

    tests: dict[tuple[str, int], set[str]] = {}
    rows = sqlite3.connect(data).execute(
        "select path, context, numbits from line_bits join file on file.id = file_id join context on context.id = context_id"
    )
    for path, context, numbits in rows:
        test = context.partition("|")[0]
        # One that is named after a path of a copy has another name in another copy.
        if test and f"/{folder.name}/" not in test:
            for line in numbits_to_nums(numbits):
                tests.setdefault((path.rpartition(f"/{folder.name}/")[2], line), set()).add(test)
    return tests, {
        f"{case.get('classname')}.{case.get('name')}": float(case.get("time", 0))
        for case in ElementTree.parse(report).iter("testcase")
        if case.find("failure") is None and case.find("error") is None and case.find("skipped") is None
    }


def variables(folder: Path) -> dict[str, str]:
    """Environment variables with which the package of a copy is executed, also by commands that tests start."""
    return os.environ | {"PYTHONPATH": str(folder)}


def cheapest(tests: set[str], seconds: dict[str, float]) -> list[str]:
    """As many of the tests as take :data:`LIMIT` seconds."""

    def time_of(test: str) -> float:
        file, _, name = test.partition(".py::")
        name, bracket, parameters = name.partition("[")
        return seconds.get(f"{file.replace('/', '.')}.{name.replace('::', '.')}{bracket}{parameters}", LIMIT + 1)

    ordered = sorted(tests, key=lambda test: (time_of(test), test))
    sums = accumulate(map(time_of, ordered))
    return [test for test, total in zip(ordered, sums, strict=True) if total <= LIMIT]


def pytest_collection_modifyitems(items: list) -> None:
    """Keep the tests of :data:`TESTS`: words of a command line are slow to find where there are hundreds."""
    if TESTS in os.environ:
        place = {name: number for number, name in enumerate(Path(os.environ[TESTS]).read_text().splitlines())}
        items[:] = sorted((each for each in items if each.nodeid in place), key=lambda each: place[each.nodeid])


def killer(mutant: dict, tests: list[str], folder: Path) -> str:
    """The first test that fails for the mutant; empty where none does."""
    path, report, names = folder / mutant["path"], folder / "build/mutant.xml", folder / "build/mutant.txt"
    names.write_text("\n".join(tests))
    files = sorted({test.partition("::")[0] for test in tests})
    original = path.read_text()
    report.unlink(missing_ok=True)
    path.write_text(mutated(original, mutant))
    options = ("-x", "-p", "no:cacheprovider", "-p", "tests.mutation", f"--junitxml={report}")
    command, environment = [sys.executable, *PYTEST, *options, *files], variables(folder) | {TESTS: str(names)}
    try:
        subprocess.run(command, cwd=folder, env=environment, timeout=4 * LIMIT, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        # One that hangs is found as well.
        return "the time limit"
    finally:
        path.write_text(original)
    if not report.exists():
        return "the import"
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            return f"{case.get('classname')}::{case.get('name')}"
    return ""


@cli.command()
@click.argument("sample", type=click.Path(path_type=Path))
@click.option("-o", "output", type=click.Path(path_type=Path), required=True)
def measure(sample: Path, output: Path) -> None:
    """Run the tests of each mutant of a sample, and print how many of each room are killed."""
    mutants = json.loads(sample.read_text())
    done = json.loads(output.read_text()) if output.exists() else {}
    folders: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(COPIES) as pool:
        for number in range(COPIES):
            folder = Path(place, str(number), "checkout")
            shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".venv*", "build", ".git"))
            (folder / "build").mkdir()
            (ROOT / "build").mkdir(exist_ok=True)
            folders.put(folder)
        tests, seconds = covering(folder)

        def measured(number: int) -> tuple[str, str]:
            mutant, folder = mutants[number], folders.get()
            lines = range(mutant["from"][0], mutant["to"][0] + 1)
            names = cheapest({test for line in lines for test in tests.get((mutant["path"], line), ())}, seconds)
            try:
                return str(number), killer(mutant, names, folder) if names else ""
            finally:
                folders.put(folder)

        for number, name in pool.map(measured, [n for n in range(len(mutants)) if str(n) not in done]):
            done[number] = name
            output.write_text(json.dumps(done, indent=1))
    killed, every = Counter(), Counter()
    for number, mutant in enumerate(mutants):
        room = mutant["path"].split("/")[1]
        every[room] += 1
        killed[room] += bool(done[str(number)])
    for room, count in every.items():
        click.echo(f"{room}: {killed[room]} of {count}")


if __name__ == "__main__":
    cli()
