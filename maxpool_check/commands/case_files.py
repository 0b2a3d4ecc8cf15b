"""Reads the case files that a user names, and says what is wrong with them."""

import contextlib
import gc
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from maxpool_check.commands import model_cases, options
from maxpool_check.commands.problems import Mistakes
from maxpool_check.corpus import collection
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import FORMATS, Corpus
from maxpool_check.corpus.lock import BadLock, CorpusLock, differences, read_lock
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.corpus.shipped import NAME as CORPUS
from maxpool_check.corpus.shipped import is_shipped, located, named
from maxpool_check.corpus.tensors import MOST_CELLS
from maxpool_check.specifications.specification import nearest


def _path(text: str) -> Path:
    located(Path(text))
    return Path(text)


PATH = options.Parsed("PATH", _path)
"""A file, a folder, or a name of the corpus that comes with the tool or of a part of it."""

folder = click.option(
    "-p", "--path", type=PATH, default=collection.default_path, metavar="PATH",
    help="Where to look for the case.  [default: cases, or the corpus that comes with the tool]",
)  # fmt: skip
max_cells = click.option(
    "--max-cells", type=options.COUNT, default=MOST_CELLS, metavar="N",
    help=f"The largest X or Y a case may have.  [default: {MOST_CELLS}]",
)  # fmt: skip


def _or_corpus(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    return paths or (Path(CORPUS),)


_paths = click.argument("paths", nargs=-1, type=PATH, metavar="[PATH]...", callback=_or_corpus)
_selection = click.option(
    "-k",
    "selected",
    multiple=True,
    metavar="EXPR",
    help="Only these cases: a glob on the id, or tag:NAME. Repeatable: those that match any.",
)

corpus_lock = click.option(
    "--corpus-lock", "lock", type=options.FILE, metavar="FILE",
    help="Refuse another corpus than the one of this lock; see 'corpus lock'.",
)  # fmt: skip


@contextlib.contextmanager
def mistakes(consequence: str = "nothing was run") -> Iterator[None]:
    """Show the problems of a ``CorpusError``."""
    try:
        yield
    except CorpusError as error:
        raise Mistakes(error.problems, consequence) from error


@dataclass(frozen=True)
class CaseFiles:
    """The case files that a user names, and which of their cases to use."""

    paths: Sequence[Path]
    max_cells: int = MOST_CELLS
    selected: Sequence[str] = ()
    lock: Path | None = None

    def read(self) -> Corpus:
        """Read the files. Raises :class:`Mistakes`, also for another corpus than that of the lock."""
        expected = _lock(self.lock) if self.lock is not None else None
        # Cases live to the end: the time of garbage collections among them grows with their number, for each case.
        gc.disable()
        try:
            with mistakes():
                corpus = collection.collect(self.paths, self.max_cells)
        finally:
            gc.freeze()
            gc.enable()
        for problem in corpus.left_out:
            left_out(problem)
        if expected is not None and (found := differences(expected, corpus)):
            whole = f"the corpus '{corpus.name}' is not the one of {self.lock}"
            again = f"to lock this one: {shlex.join(['maxpool-check', 'corpus', 'lock', *map(str, self.paths), '-o', str(self.lock)])}"
            raise Mistakes([f"{whole}: {difference}" for difference in found], f"nothing was run; {again}")
        return corpus

    def select(self, corpus: Corpus) -> tuple[Case, ...]:
        """The selected cases; prints to stderr that there are none."""
        cases = collection.select(corpus.cases, self.selected)
        if not cases:
            patterns = " or ".join(f"'{expression}'" for expression in self.selected)
            options.echo(f"none of the {len(corpus.cases)} cases is selected by {patterns}", err=True)
        return cases


def _lock(path: Path) -> CorpusLock:
    try:
        return read_lock(path)
    except BadLock as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise click.UsageError(f"cannot read the lock {path}: {error.strerror}") from error


def every(command: Callable[..., int]) -> Callable[..., int]:
    """``PATH...`` and ``--max-cells``, as ``files``."""
    return _paths(max_cells(options.bundled(files=CaseFiles)(command)))


def selected(command: Callable[..., int]) -> Callable[..., int]:
    """``PATH...``, ``-k`` and ``--max-cells``, as ``files``."""
    return _selection(every(command))


def left_out(problem: Problem) -> None:
    """Print the test of another suite that is skipped, and the reason."""
    options.echo(f"left out: {problem.path}: {problem.message}", err=True)


def find(name: str, folder: Path, cells: int, *, takes_models: bool = True) -> Case:
    """One case by its full id, or as FILE.yaml:ID; FILE may belong to another suite, or be a model.

    ``takes_models``: what the case is executed on takes models, so that a model's operator set counts.
    """
    file, _, short = name.rpartition(":")
    is_file = Path(file).suffix in (*collection.SUFFIXES, *FORMATS)
    path = PATH.convert(file, None, None) if is_file else folder
    if model_cases.is_model(path):
        return model_cases.named(model_cases.analysed(path, takes_models=takes_models), short)
    # The other files need not be read, if this one has the case.
    alone = located(folder) / f"{file}.yaml"
    if not is_file and alone.is_file():
        files = CaseFiles([named(alone) if is_shipped(folder) else alone], cells)
        own = [case for case in files.read().cases if case.id == name]
        if own:
            return own[0]
    if not located(path).exists():
        raise click.UsageError(f"'{path}' not found; pass the case files with -p PATH, or the case as FILE.yaml:ID")
    cases = CaseFiles([path], cells).read().cases
    if is_file:
        name = next((case.id for case in cases if case.name == short), name)
    return case_named(cases, name, path)


def case_named(cases: Sequence[Case], name: str, where: Path) -> Case:
    """The case with this full id."""
    for case in cases:
        if case.id == name:
            return case
    hint = nearest(name, [case.id for case in cases])
    raise click.UsageError(f"no case '{name}' in {where}{hint}; 'maxpool-check list {where}' lists the cases")
