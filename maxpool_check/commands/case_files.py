"""Reads the case files that a user names, and says what is wrong with them."""

import contextlib
import difflib
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import click

from maxpool_check.commands import options
from maxpool_check.commands.output import Mistakes
from maxpool_check.corpus import collection
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import FORMATS, Corpus, ids_in, ids_of, located, shipped_root
from maxpool_check.corpus.collection import NAME as CORPUS
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import DefectVersions, read_versions
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.corpus.selection import ALL, NothingSelected, of_documents, select
from maxpool_check.files import not_found
from maxpool_check.judging.defects import Defect
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.name import TargetName


@contextlib.contextmanager
def mistakes(consequence: str = "there are no results") -> Iterator[None]:
    """Show the problems of a ``CorpusError``."""
    try:
        yield
    except CorpusError as error:
        raise Mistakes(error.problems, consequence) from error


@dataclass(frozen=True)
class CaseFiles:
    """The case files that a user names, and which of their cases to use.

    ``selected`` are the expressions of ``-k``. ``specs`` are the names of documents and families of ``--spec``, of which ``all``
    is one.
    """

    paths: Sequence[Path]
    selected: Sequence[str] = ()
    specs: Sequence[str] = ()

    def read(self, only: Container[Path] | None = None, *, check: bool = False) -> Corpus:
        """Read the files, or ``only`` these. Raises :class:`Mistakes`; with ``check``, also for cases that contradict the reference."""
        with mistakes():
            corpus = collection.collect(self.paths, options.setting("max_cells"), only, check=check)
        for problem in corpus.left_out:
            options.echo(f"left out: {problem.path}: {problem.message}", err=True)
        return corpus

    def claimed_by(self, targets: Iterable[TargetName]) -> tuple[TargetName, ...]:
        """The targets, the kernels among them claiming the documents of ``--spec``."""
        return tuple(target.claiming(name for name in self.specs if name != ALL) for target in targets)

    def select(self, corpus: Corpus, specs: Sequence[str] = ()) -> Collection[Case]:
        """The selected cases: of some documents, if the user names none. Raises ``click.UsageError`` if there are none."""

        def defects() -> list[Defect]:
            with mistakes():
                return read_all_defects(corpus.known_files)

        with options.raising(NothingSelected, about="-k: "):
            selected = select(corpus.cases, self.selected, defects)
        names = self.specs or specs
        cases = of_documents(selected, names)
        if not cases:
            others = sorted({case.spec for case in selected})
            hint = "" if self.specs else f"; '--spec {others[0]}' takes them all the same"
            raise click.UsageError(
                f"no selected case is of {' or '.join(names)}; they are of {', '.join(others)}{hint}"
            )
        return cases


def all_defects(path: Path | None, word: str = "") -> tuple[list[Defect], DefectVersions, list[str]]:
    """The defects of a corpus, the versions that show them, and the ids of all; ``word``: of files with this id alone.

    Without a path, these are the corpus here and the one that comes with the tool. Raises :class:`Mistakes`.
    """
    places = [*([Path(CORPUS)] if path is None else []), path or collection.default_path()]
    by_id, versions, ids = dict[str, Defect](), DefectVersions(), list[str]()
    for root in {root.resolve(): root for root in map(collection.root_of, places)}.values():
        named = {file: ids_in(file) for file in collection.defect_files(root)}
        with mistakes("nothing is shown"):
            files = [file for file, names in named.items() if not word or word in names]
            found = read_all_defects(collection.with_observed(files))
            versions = versions.merged_with(read_versions(root))
        by_id |= {each.id: each for each in found}
        ids += chain.from_iterable(named.values())
    return [*by_id.values()], versions, ids


def find(name: str, folder: Path | None, *, takes_models: bool = True) -> Case:
    """One case by its full id, or as FILE.yaml:ID, where the part of the id after the colon is enough if no other case has it.

    FILE may belong to another suite, or be a model. An id is looked for in ``folder``; None: in ``cases``, then in the corpus that
    comes with the tool. ``takes_models``: what the case is executed on takes models, so that a model's operator set counts.
    """
    parts = name.split(":")
    beginnings = [(":".join(parts[:number]), ":".join(parts[number:])) for number in range(1, len(parts))]
    in_file = [each for each in beginnings if Path(each[0]).suffix in (*collection.SUFFIXES, *FORMATS)]
    if in_file:
        # It is slow to import, and most commands read no model.
        from maxpool_check.commands import model_cases

        path, short = options.PATH.convert(in_file[0][0], None, None), in_file[0][1]
        if model_cases.is_model(path, short):
            return model_cases.named(model_cases.analysed(path, takes_models=takes_models), short)
    for given in [path] if in_file else [folder] if folder is not None else []:
        if not located(given).exists():
            raise click.UsageError(f"{not_found(given)}; pass the case files with -p PATH, or the case as FILE.yaml:ID")
    if in_file:
        return _named(CaseFiles([path]).read().cases, short, path)
    own, shipped = Path("cases"), Path(CORPUS)
    places = [own] if own.resolve() == shipped_root().resolve() else [own, shipped] if own.is_dir() else [shipped]
    ids: dict[str, list[str]] = {}
    for place in [folder] if folder is not None else places:
        files = ids_of(place)
        # No other file need be read: an id begins with the path of its file.
        likely = {
            file
            for file, (prefix, names) in files.items()
            if file.suffix in FORMATS or name.startswith(f"{prefix}:") or name in names
        }
        cases = CaseFiles([place]).read(likely).cases if likely or not files else ()
        if any(case.id == name for case in cases):
            return _named(cases, name, place)
        ids |= {prefix: [f"{prefix}:{each}" for each in names if "$" not in each] for prefix, names in files.values()}
    # Among the ids of all files, the search would take longer than all else.
    likely_file = difflib.get_close_matches(name.rpartition(":")[0], ids, 1)
    return _named(cases, name, place, ids[likely_file[0]] if likely_file else [])


def _named(cases: Collection[Case], name: str, where: Path, others: Sequence[str] = ()) -> Case:
    """The case with this id, or with this part of its id after the colon. Raises ``click.UsageError``."""
    for case in cases:
        if name in (case.id, case.name):
            return case
    hint = nearest(name, [*others, *(each for case in cases for each in (case.id, case.name))])
    raise click.UsageError(f"no case '{name}' in {where}{hint}; 'maxpool-check cases list {where}' lists the cases")
