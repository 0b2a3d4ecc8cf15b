"""Whether everything that a record says follows from its executions, and these from its cases and both references."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import Any

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, defect_files, digest_of, shipped_root
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.evidence.verifying.findings import Undecided
from maxpool_check.evidence.verifying.rejudging import HeldOutputs, is_same_line, rejudged
from maxpool_check.judging.defects import Defect
from maxpool_check.judging.naming import Observations
from maxpool_check.results.record import Execution, KnownEntry, Record, RunFooter, Verdict
from maxpool_check.results.summary import RunSummary
from maxpool_check.results.variants import ALL_VARIANTS, NHWC_MAXPOOL, Variant, variant_named
from maxpool_check.running.decisions import Decisions, RunPlan
from maxpool_check.running.executors import FailureBudget, TargetResult
from maxpool_check.running.run import contradicted, day_of
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.targets.requests import has_nhwc_maxpool
from maxpool_check.words import plural

_MOST_SHOWN = 100  # characters of a value


@dataclass
class Recheck:
    """What came out of checking one record.

    ``mistakes`` are statements of it that do not follow, each with its place; ``unchecked`` what could not be checked at all.
    ``undecided`` executions have outputs that are too large for the record.
    """

    executions: int = 0
    undecided: list[Undecided] = field(default_factory=list)
    mistakes: list[tuple[str, str]] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


def recheck(member: str, record: Record, contents: Contents) -> Recheck:
    """Check a record, whose file is ``member``, against the cases and the known defects of a bundle."""
    return _Rechecking(member, record, contents).done()


class _Rechecking:
    def __init__(self, member: str, record: Record, contents: Contents) -> None:
        self._member, self._header, self._footer = member, record.header, record.footer
        self._contents = contents
        is_older = record.footer is not None and record.footer.outputs_left_out is None
        self._held = HeldOutputs(record.outputs, complete=not is_older)
        self._by_case: dict[str, list[Execution]] = defaultdict(list)
        self._result = Recheck()
        last = ""
        for execution in record.executions:
            if execution.case in self._by_case and execution.case != last:
                self._add(_place(execution), "is not beside the other executions of its case")
            self._by_case[execution.case].append(execution)
            last = execution.case
            self._result.executions += 1
        self._cases = [contents.cases[name] for name in self._by_case if name in contents.cases]

    def done(self) -> Recheck:
        """Check all lines."""
        for name in self._by_case:
            if name not in self._contents.cases:
                self._add(name, "is no case of the bundle")
        try:
            today = day_of(self._header)
        except ValueError:
            self._add("header", f"'{self._header.started}' is no time")
            return self._result
        self._check_header()
        self._check_executions(today)
        return self._result

    def _add(self, place: str, message: str) -> None:
        self._result.mistakes.append((f"{self._member}: {place}", message))

    def _differ(self, place: str, name: str, stored: Any, expected: Any) -> None:
        if stored != expected:
            self._add(place, f"{name} is {_shown(stored)}; it follows {_shown(expected)}")

    def _check_header(self) -> None:
        header = self._header
        used = {case.spec for case in self._cases}
        names = [target.name for target in header.targets]
        self._differ("header", "the targets", names, list(dict.fromkeys(names)))
        self._differ("header", "cases", header.cases, len(self._by_case))
        if len(self._cases) == len(self._by_case):
            self._differ("header", "cases_sha256", header.cases_sha256, digest_of(self._cases))
        profile = {name: document.policies.names() for name, document in SPECIFICATIONS.items() if name in used}
        self._differ("header", "profile", header.profile, profile)
        if header.corpus is not None and header.corpus.cases == header.cases:
            self._differ("header", "the SHA-256 of the corpus", header.corpus.sha256, header.cases_sha256)
        if header.corpus is not None and header.corpus.cases < header.cases:
            self._add("header", f"the corpus has {plural(header.corpus.cases, 'case')}, and the run {header.cases}")

    @cached_property
    def _known(self) -> Sequence[Defect]:
        """The defects that the run expected."""
        return () if self._header.known_sha256 is None else self._contents.defects

    @property
    def _has_known(self) -> bool:
        """Whether the bundle has the files of defects that the run expected."""
        return self._header.known_sha256 in (None, self._contents.known_sha256)

    def _plan(self) -> RunPlan:
        corpus = Corpus(tuple(self._cases), (), whole=True)
        catalogue = self._catalogue()
        shipped, own = read_versions(shipped_root()), self._contents.versions
        spans = {each.id: shipped.span(each) for each in catalogue if shipped.showing(each)}
        spans |= {each.id: own.span(each) for each in self._known if own.showing(each)}
        return RunPlan(
            corpus, self._cases, (), self._known, variants=self._selected, tracebacks=True, versions=spans,
            catalogue=catalogue,
        )  # fmt: skip

    def _catalogue(self) -> Sequence[Defect]:
        """The defects that the run explained executions by, though it did not expect them: those of the tool."""
        header = self._header
        is_shipped = header.corpus is not None and header.corpus.version is not None
        if is_shipped or header.corpus is None or {"--no-known", "none"} & set(header.command):
            return ()
        return _shipped_defects()

    @cached_property
    def _selected(self) -> Collection[Variant]:
        """The variants of the run: all that were executed, and those that apply to none of its cases."""
        plain = [case for case in self._cases if not case.context.has_nodes] or self._cases
        executed: set[Variant] = set()
        applicable: set[Variant] = set()
        for case in plain:
            executed |= {variant_named(each.variant) for each in self._by_case[case.id] if _is_variant(each)}
            applicable |= set(case.variants(ALL_VARIANTS))
        return executed | (set(ALL_VARIANTS) - applicable)

    def _check_executions(self, today: date) -> None:
        plan = self._plan()
        decisions = Decisions(plan, self._header.targets, today)
        summary, observations = RunSummary(), defaultdict[str, Observations](Observations)
        for number, case in enumerate(self._cases):
            stored = self._by_case[case.id]
            if (digest := next((each for each in stored if each.case_sha256 != case.sha256), None)) is not None:
                self._differ(_place(digest), "case_sha256", digest.case_sha256, case.sha256)
                continue
            lines: Sequence[Execution] = stored
            if self._is_whole(case, stored):
                try:
                    results = self._budget.counted(case, self._results(case, stored, self._budget.given_up))
                    lines = list(decisions.take(case, results))
                except Exception as error:  # A crafted record must be named, and the rest of it checked.
                    self._add(case.id, f"cannot be judged again: {type(error).__name__}: {_shown(str(error))}")
            for line, expected in zip(stored, lines, strict=True):
                self._compare(case, line, expected)
                observations[expected.target].add(number, expected)
                summary.add(expected)
        for each in self._header.targets:
            if each.name not in summary.verdicts:
                self._add("header", f"the target {each.name} has no executions")
        self._check_footer(decisions, summary, contradicted(observations, self._cases))

    def _is_whole(self, case: Case, stored: Sequence[Execution]) -> bool:
        """Whether a case has the executions that it has in such a run, in order; what it lacks is a mistake."""
        expected = [
            (target.name, each.name)
            for target in self._header.targets
            for each in case.variants(self._selected)
            if each.variation is not NHWC_MAXPOOL or has_nhwc_maxpool(target)
        ]
        found = [(each.target, each.variant) for each in stored]
        for target, variant in dict.fromkeys([*expected, *found]) if found != expected else ():
            count, place = found.count((target, variant)), f"{case.id} ({variant}) on {target}"
            if (target, variant) not in expected:
                self._add(place, "is no execution of this run")
            elif count != 1:
                self._add(place, "is missing" if not count else f"occurs {count} times")
        if found != expected and sorted(found) == sorted(expected):
            self._add(case.id, "its executions are in another order than those of a run")
        return found == expected

    def _results(
        self, case: Case, stored: Sequence[Execution], given_up: Collection[str]
    ) -> Mapping[str, TargetResult]:
        """The executions of a case, judged again, by target; none on targets that are ``given_up``."""
        results = {target.name: TargetResult() for target in self._header.targets}
        for target in self._header.targets:
            if target.name in given_up:
                continue
            why = self._given_up.get(target.name)
            own = {variant_named(each.variant): each for each in stored if each.target == target.name}
            lines = []
            for variant, each in rejudged(case, target, own, self._held, why).items():
                lines.append(each.execution)
                if each.contradiction:
                    self._add(_place(own[variant]), each.contradiction)
                elif not each.is_certain:
                    self._result.undecided.append(Undecided(_place(own[variant]), own[variant].verdict))
            is_lost = any(line.verdict is Verdict.ERROR and line.message == why for line in lines)
            results[target.name] = TargetResult(tuple(lines), why if is_lost else None)
        return results

    @cached_property
    def _budget(self) -> FailureBudget:
        """What gives up targets by the executions that are judged again."""
        return FailureBudget(self._selected)

    @cached_property
    def _given_up(self) -> Mapping[str, str]:
        """Why targets were given up, by name."""
        texts = self._footer.errors if self._footer is not None else ()
        parts = [text.partition(" was given up: ") for text in texts]
        return {name: why for name, separator, why in parts if separator}

    def _compare(self, case: Case, stored: Execution, expected: Execution) -> None:
        path, _, line = stored.origin.rpartition(":")
        own = PurePosixPath(case.origin.path).name
        if int(line) != case.origin.line or not path.replace(":", "/").endswith(own):
            self._differ(_place(stored), "the origin", stored.origin, f"{own}:{case.origin.line}")
        if is_same_line(stored, expected):
            return
        if stored.verdict is not expected.verdict:
            self._add(_place(stored), f"the verdict is {stored.verdict}; it follows {expected.verdict}")
            return
        names = ("known", "status")
        for name in stored.__struct_fields__:
            if name not in names or self._has_known:
                self._differ(_place(stored), name, getattr(stored, name), getattr(expected, name))

    def _check_footer(self, decisions: Decisions, summary: RunSummary, named: Mapping[str, Any]) -> None:
        footer = self._footer
        if footer is None:
            self._add("footer", "is missing, or does not count the executions")
            return
        expected = {target: dict(counts) for target, counts in summary.verdicts.items()}
        self._differ("footer", "executions", footer.executions, self._result.executions)
        self._differ("footer", "summary", footer.summary, expected)
        self._differ("footer", "contradicted", footer.contradicted, named)
        if footer.outputs_left_out is None:
            self._result.unchecked.append(f"{self._member}: the outputs: a record of this older version holds none")
        else:
            self._differ("footer", "outputs_left_out", footer.outputs_left_out, len(self._held.left_out))
        for sha256 in sorted(self._held.unnamed):
            self._add(f"output {sha256}", "is that of no execution")
        given_up = [f"{name} was given up: {why}" for name, why in self._budget.given_up.items()]
        self._differ("footer", "errors", list(footer.errors[len(footer.errors) - len(given_up) :]), given_up)
        if not self._has_known:
            self._result.unchecked.append(
                f"{self._member}: which divergences are known: the run had files of defects that the bundle does not have"
            )
            return
        self._check_known(footer, decisions, summary)

    def _check_known(self, footer: RunFooter, decisions: Decisions, summary: RunSummary) -> None:
        entries = next((each for each in self._entries(decisions) if each == footer.known), None)
        if entries is None:
            possible = {(each.id, each.target): each for each in next(self._entries(decisions))}
            found = {(each.id, each.target): each for each in footer.known}
            for key in dict.fromkeys([*possible, *found]):
                place = f"footer: known defect {key[0]} on {key[1]}"
                if key not in found:
                    self._add(place, "is missing")
                elif key not in possible:
                    self._add(place, "is none of this run")
                else:
                    for name in KnownEntry.__struct_fields__:
                        self._differ(place, name, getattr(found[key], name), getattr(possible[key], name))
            if list(found) != list(possible) and set(found) == set(possible):
                self._add("footer", "the known defects are in another order than those of a run")
        strict = "--strict" in self._header.command
        exit_code = int(summary.exit_code(footer.known, footer.errors, strict=strict))
        self._differ("footer", "exit_code", footer.exit_code, exit_code)

    def _entries(self, decisions: Decisions) -> Iterator[tuple[KnownEntry, ...]]:
        """The statuses of the known defects, for each set of cases that those of the run may have been selected from."""
        for cases in (tuple(self._cases), self._contents.files_cases):
            for whole in (True, False):
                corpus = Corpus(cases, (), whole=whole)
                yield tuple(decisions.known_entries(self._budget.given_up, ended_early=False, corpus=corpus))


@cache
def _shipped_defects() -> Sequence[Defect]:
    return read_all_defects(defect_files(shipped_root()))


def _is_variant(execution: Execution) -> bool:
    return execution.variant in {each.name for each in ALL_VARIANTS}


def _place(execution: Execution) -> str:
    return f"{execution.case} ({execution.variant}) on {execution.target}"


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode() if not isinstance(value, str) else value
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
