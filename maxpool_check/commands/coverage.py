"""``maxpool-check coverage``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxpool_check.commands import executing, options, records

if TYPE_CHECKING:
    from maxpool_check.corpus.bins import Bins
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.coverage import FactorCoverage
    from maxpool_check.corpus.space import Together
    from maxpool_check.results.record import Execution, Record, TargetDescription

_NAMED_BINS, _NAMED_PAIRS, _NAMED_GROUPS = 20, 5, 10


@click.command("coverage")
@options.paths
@click.option(
    "-t", "--target", metavar="TARGET",
    help="Whom to ask, or whose answers in the record count.  [default: onnxruntime, the installed one]",
)  # fmt: skip
@click.option(
    "--record", "record_path", type=click.Path(path_type=Path), metavar="RECORD.jsonl",
    help="Count what this record holds; ask nobody.",
)  # fmt: skip
@options.selection
@options.document(required=False)
@click.option(
    "--strength", type=click.IntRange(1, 2), default=2, metavar="N",
    help="Count bins (1), or pairs of bins as well (2).  [default: 2]",
)  # fmt: skip
@executing.jobs
@executing.timeout
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="What to print.  [default: text]"
)
@options.max_cells
def command(
    paths: tuple[Path, ...],
    target: str | None,
    record_path: Path | None,
    selected: tuple[str, ...],
    spec: str | None,
    strength: int,
    jobs: int,
    timeout: float,
    form: str,
    max_cells: int,
) -> int:
    """Count what the cases of PATH... really execute on a target.

    A case counts where the target answered or refused and was compared; its rank, sizes, attributes, element type and
    values are put in bins. What the document excludes is not counted as possible. Exit codes: 0, 3 if the run is not
    complete, 4 if nothing was executed.
    """
    from maxpool_check.corpus.collection import select
    from maxpool_check.results.record import ExitCode

    cases = select(options.collect(paths, max_cells).cases, selected)
    if record_path is None:
        record = executing.run_cases(paths, selected, [target or "onnxruntime"], max_cells, jobs=jobs, timeout=timeout)
    else:
        record = records.read(record_path)
    errors = list(record.footer.errors) if record.footer else ["the record is incomplete: its run did not end"]
    asked = _target(record, target, record_path)
    found = _counted(record, asked, cases)
    documents = [_Document.of(name, found, strength) for name in _names(cases, spec)]
    executions = sum(document.executions for document in documents)
    code = ExitCode.AS_EXPECTED
    if errors:
        code = ExitCode.INCOMPLETE
    elif not executions:
        code = ExitCode.NOTHING_COMPARED
    if form == "json":
        click.echo(json.dumps(_as_json(asked, documents, strength, errors, code), indent=1))
        return code
    for error in errors:
        click.echo(f"error: {error}", err=True)
    if asked is not None and executions:
        click.echo(f"{asked.name}  {asked.distribution} {asked.version}, {asked.provider}")
        _print(documents, strength)
    if not executions:
        click.echo("NOTHING COMPARED no case of PATH was executed" + (f" by {spec}" if spec else ""))
    return code


@dataclass(frozen=True)
class _Executed:
    """One execution that was compared."""

    case: Case
    bins: Bins


@dataclass(frozen=True)
class _Document:
    """What is covered of one document; ``groups`` by the number of factors."""

    name: str
    cases: int
    executions: int
    groups: Mapping[int, Sequence[FactorCoverage]]

    @classmethod
    def of(cls, name: str, found: Iterable[_Executed], strength: int) -> _Document:
        """What some executions cover."""
        from maxpool_check.corpus.coverage import coverage
        from maxpool_check.corpus.space import space

        own = [one for one in found if one.case.spec == name]
        groups = {size: coverage(space(name), [one.bins for one in own], size) for size in range(1, strength + 1)}
        return cls(name, len({one.case.id for one in own}), len(own), groups)

    def total(self, size: int) -> str:
        """How many combinations of so many factors are covered, of how many."""
        groups = self.groups[size]
        return f"{sum(one.covered for one in groups)} of {sum(one.possible for one in groups)}"


def _names(cases: Sequence[Case], spec: str | None) -> list[str]:
    from maxpool_check.specifications import SPECIFICATIONS

    there = {case.spec for case in cases}
    return [name for name in SPECIFICATIONS if (name == spec if spec else name in there)]


def _target(record: Record, name: str | None, path: Path | None) -> TargetDescription | None:
    """The target to count, None if none could be started."""
    targets = {target.name: target for target in record.header.targets}
    there = ", ".join(targets)
    if path is not None and name is not None and name not in targets:
        raise click.UsageError(f"{path} has no target '{name}'; it has {there or 'none'}")
    if path is not None and name is None and len(targets) > 1:
        raise click.UsageError(f"{path} has several targets; choose one with -t: {there}")
    return next((target for target in targets.values() if name in (None, target.name)), None)


def _counted(record: Record, target: TargetDescription | None, cases: Sequence[Case]) -> list[_Executed]:
    """The executions of these cases that were compared. Cases that have changed since are not."""
    from maxpool_check.corpus.bins import OUTPUTS, bins, outputs_bin
    from maxpool_check.results.record import COMPARED
    from maxpool_check.results.variants import variant_named

    known = {case.id: case for case in cases}
    compared = {verdict.value for verdict in COMPARED}
    own: dict[str, Bins] = {}
    found = []
    changed: list[Execution] = []
    for one in record.executions:
        case = known.get(one.case)
        if target is None or one.target != target.name or one.verdict not in compared or case is None:
            continue
        if case.sha256 != one.case_sha256:
            changed.append(one)
            continue
        if case.id not in own:
            own[case.id] = bins(case)
        if not own[case.id]:
            # Its document excludes it: there is nothing to execute.
            continue
        found.append(_Executed(case, {**own[case.id], OUTPUTS: outputs_bin(variant_named(one.variant))}))
    if changed:
        count = len({one.case for one in changed})
        click.echo(
            f"{count} case{'s have' if count != 1 else ' has'} changed since the record was made, and "
            f"{'are' if count != 1 else 'is'} not counted; the first is {changed[0].case}",
            err=True,
        )
    return found


def _print(documents: Sequence[_Document], strength: int) -> None:
    for document in documents:
        covered = f"{document.total(1)} bins"
        if strength > 1:
            covered += f", {document.total(2)} pairs"
        _paragraph(f"{document.name}  {covered}; {document.executions} executions of {document.cases} cases", 2)
    if len(documents) != 1:
        if documents:
            click.echo("\n--spec NAME shows what is not covered")
        return
    (document,) = documents
    click.echo("\nbins")
    widest = max(len(one.factors[0]) for one in document.groups[1])
    for one in document.groups[1]:
        _paragraph(f"  {one.factors[0].ljust(widest)}  {one.covered} of {one.possible}{_without(one, _NAMED_BINS)}", 6)
    if strength > 1:
        _pairs(document.groups[2])


def _pairs(groups: Sequence[FactorCoverage]) -> None:
    short = sorted((one for one in groups if one.uncovered), key=lambda one: -len(one.uncovered))
    whole = len(groups) - len(short)
    click.echo("\npairs of bins" + (", the most uncovered first" if short else ""))
    for one in short[:_NAMED_GROUPS]:
        _paragraph(f"  {' x '.join(one.factors)}  {one.covered} of {one.possible}{_without(one, _NAMED_PAIRS)}", 6)
    if len(short) > _NAMED_GROUPS:
        rest = sum(len(one.uncovered) for one in short[_NAMED_GROUPS:])
        more = len(short) - _NAMED_GROUPS
        _paragraph(
            f"  {rest} more in {more} other pair{'s' if more != 1 else ''} of factors; --format json has them all", 6
        )
    _paragraph(f"  {whole} of {len(groups)} pairs of factors are covered", 6)


def _without(group: FactorCoverage, most: int) -> str:
    if not group.uncovered:
        return ""
    named = [" + ".join(one for _, one in together) for together in group.uncovered[:most]]
    more = len(group.uncovered) - len(named)
    return "; not " + ", ".join(named) + (f" and {more} more" if more else "")


def _paragraph(text: str, indent: int) -> None:
    """One paragraph within the terminal, hung from its first line."""
    import textwrap

    lead = text[: len(text) - len(text.lstrip())]
    click.echo(
        textwrap.fill(
            text.lstrip(), options.width(), initial_indent=lead, subsequent_indent=" " * indent, break_on_hyphens=False
        )
    )


def _as_json(
    target: TargetDescription | None, documents: Sequence[_Document], strength: int, errors: Sequence[str], code: int
) -> dict[str, Any]:
    who = None
    if target is not None:
        who = {name: getattr(target, name) for name in ("name", "distribution", "version", "provider")}
    return {
        "schema": "maxpool-check/coverage/1",
        "exit_code": code,
        "target": who,
        "strength": strength,
        "documents": [
            {
                "spec": document.name,
                "cases": document.cases,
                "executions": document.executions,
                **{
                    name: [
                        {
                            "factors": one.factors,
                            "possible": one.possible,
                            "covered": one.covered,
                            "uncovered": [_chosen(together) for together in one.uncovered],
                        }
                        for one in document.groups[size]
                    ]
                    for name, size in (("bins", 1), ("pairs", 2))
                    if size in document.groups
                },
            }
            for document in documents
        ],
        "errors": [{"message": error} for error in errors],
    }


def _chosen(together: Together) -> dict[str, str]:
    return dict(together)
