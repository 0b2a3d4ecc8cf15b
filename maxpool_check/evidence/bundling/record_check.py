"""Whether a record follows: every line from its cases, the outputs that it holds and the judge, its footer from the lines.

Nothing is executed, and nothing is guessed: the record says how the run was made. Where it leaves out an output because of its size,
the execution is undecided.
"""

import contextlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np

import maxpool_check
from maxpool_check import inert
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, collect, defect_files, digest_of, is_shipped, shipped_root
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.graphs.context import BEHIND
from maxpool_check.judging.defects import Defect
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.naming import Observations
from maxpool_check.reference.dtypes import digest
from maxpool_check.results.outcomes import (
    Crashed,
    Failed,
    NotClaimed,
    NotExecuted,
    Outcome,
    RefusedByTarget,
    Returned,
    TimedOut,
)
from maxpool_check.results.outputs import MOST_BYTES, MOST_BYTES_IN_ALL
from maxpool_check.results.record import (
    FAULTS,
    Execution,
    ExitCode,
    Line,
    Record,
    RunFooter,
    RunHeader,
    TargetDescription,
    Verdict,
)
from maxpool_check.results.summary import RunSummary
from maxpool_check.results.variants import ALL_VARIANTS, OPTIMIZATION_OFF, Variant, variant_named
from maxpool_check.running.case_run import executions, judged_case
from maxpool_check.running.decisions import Decisions, RunPlan
from maxpool_check.running.executors import FailureBudget, TargetResult
from maxpool_check.running.header import digest_of_files, tool_files
from maxpool_check.running.run import contradicted, day_of
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.name import BadTarget, parse
from maxpool_check.targets.plans import VariantPlan, VariantResult
from maxpool_check.targets.requests import plan, plan_unchanged
from maxpool_check.targets.target import TargetProfile
from maxpool_check.words import plural

_ENCODER = msgspec.json.Encoder(order="sorted")
_LIMIT = re.compile(r"no result within ([0-9.e+]{1,20}) s")
_MOST_SHOWN = 100  # characters of a value

_BY_THE_CASE = ("title", "spec", "layout", "size", "clauses", "opset", "translation")
"""What an execution says of its case, whatever came out."""
_BY_DEFECTS = frozenset({"known", "status", "explained_by", "unexplained", "severity", "message"})
"""What an execution, and the footer, says that depends on known defects."""


@dataclass(frozen=True)
class Undecided:
    """An execution with outputs that are too large for the record: its place, and the verdict that the record has."""

    place: str
    verdict: Verdict


@dataclass
class Verification:
    """What came out of verifying a bundle.

    ``checks`` are sentences on what was found right. ``problems`` are what is not, each with its place: a member, and what is
    meant in it. ``unchecked`` is what could not be checked. ``undecided`` are executions with outputs that
    are too large for their record, which has their digests alone.
    """

    checks: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)

    @property
    def undecided_without_fault(self) -> int:
        """How many of the undecided executions do not fail a run by their verdict: they conform, or are inconsistent."""
        return sum(each.verdict not in FAULTS for each in self.undecided)

    @property
    def exit_code(self) -> ExitCode:
        """0 if all was checked and is right, 1 for a problem, 3 if something could not be checked."""
        if self.problems:
            return ExitCode.UNEXPECTED
        return ExitCode.INCOMPLETE if self.unchecked else ExitCode.AS_EXPECTED

    @contextlib.contextmanager
    def check(self, sentence: str, member: str) -> Iterator[None]:
        """Add a sentence to the checks, unless the block finds something, or raises.

        Whatever it raises is a problem at the member: nobody who made a bundle can end its verification. Files of this machine that
        cannot be read or written are no problem of the bundle.
        """
        before = len(self.problems), len(self.unchecked)
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            self.add(member, f"cannot be checked, since no run and no build writes such a member: {error!r}")
        if sentence and (len(self.problems), len(self.unchecked)) == before:
            self.checks.append(sentence)

    def add(self, place: str, message: str) -> None:
        """Add a problem."""
        self.problems.append((place, message))


class RecordCheck:
    """Checks a record, whose file is ``member``, against the cases and the known defects of a bundle."""

    def __init__(self, member: str, record: Record, contents: Contents, verification: Verification) -> None:
        self._member, self._header, self._footer = member, record.header, record.footer
        self._contents, self._verification = contents, verification
        self._settings = record.header.effective_settings
        self._variants = frozenset(map(variant_named, self._settings.variants))
        self._held = _HeldOutputs(record)
        self._budget = FailureBudget(self._variants)
        self._undecided: list[Undecided] = []
        self._known_differs, self._knows_stale = False, True
        self._by_case: dict[str, list[Execution]] = defaultdict(list)
        last = ""
        for execution in record.executions:
            if execution.case in self._by_case and execution.case != last:
                self._add(_place(execution), "is not beside the other executions of its case")
            self._by_case[execution.case].append(execution)
            last = execution.case
        self._cases = [contents.cases[name] for name in self._by_case if name in contents.cases]

    def check(self, lines: bytes) -> None:
        """Check all lines of the record, which are also given as they are."""
        before = len(self._verification.problems), len(self._verification.unchecked)
        self._check_form(lines)
        for name in self._by_case:
            if name not in self._contents.cases:
                self._add(name, "is no case of the bundle")
        self._check_header()
        try:
            self._check_executions()
        except BadTarget as error:
            self._cannot_check(f"its executions: {error}")
        if self._known_differs:
            what = "which divergences are known"
            self._cannot_check(f"{what}: the run had files of defects that the bundle does not have")
        is_right = before == (len(self._verification.problems), len(self._verification.unchecked))
        if not is_right and isinstance(self._header.settings, msgspec.UnsetType):
            what = "how the run was made, which the record does not say"
            self._cannot_check(f"{what}: it is judged as one without options")
        if is_right:
            total, undecided = sum(map(len, self._by_case.values())), len(self._undecided)
            rest = f"; {undecided} have outputs that are too large for it" if undecided else ""
            text = f"{total - undecided} of {plural(total, 'execution')}, their verdicts and counts follow{rest}."
            others = "" if self._has_known else " So does what is known, though the run had other files of defects."
            self._verification.checks.append(f"{self._member}: {text}{others}")
        self._verification.undecided += self._undecided

    def _add(self, place: str, message: str) -> None:
        self._verification.add(f"{self._member}: {place}", message)

    def _cannot_check(self, what: str) -> None:
        self._verification.unchecked.append(f"{self._member}: {what}")

    def _differ(self, place: str, stored: Any, expected: Any) -> None:
        """Add each field that differs; of those that depend on known defects, remember it where the run had others."""
        for name in stored.__struct_fields__:
            before, now = getattr(stored, name), getattr(expected, name)
            if before != now and name in _BY_DEFECTS and not self._has_known:
                self._known_differs = True
            elif before != now:
                self._add(place, f"{name} is {_shown(before)}; it follows {_shown(now)}")

    def _check_form(self, lines: bytes) -> None:
        """Check that a run writes these bytes: other readers may read a key that occurs twice, or a second header, differently."""
        stored = lines.split(b"\n")
        if stored.pop():
            self._add("its end", "something is behind its last line")
        for number, line in enumerate(stored, 1):
            decoded = msgspec.json.decode(line, type=Line)
            is_placed = isinstance(decoded, RunHeader) == (number == 1)
            if not is_placed or isinstance(decoded, RunFooter) != (number == len(stored)):
                text = "a record has one header, its first line, and one footer, its last"
                self._verification.add(f"{self._member}:{number}", text)
            if inert.ascii_json(msgspec.json.encode(decoded)) != line:
                self._verification.add(f"{self._member}:{number}", "the line is not in the form that a run writes")

    def _check_header(self) -> None:
        header, own = self._header, tool_files()
        used = {case.spec for case in self._cases}
        expected = msgspec.structs.replace(
            header,
            targets=tuple({target.name: target for target in header.targets}.values()),
            cases=len(self._by_case),
            cases_sha256=digest_of(self._cases) if len(self._cases) == len(self._by_case) else header.cases_sha256,
            profile={name: document.policies.names() for name, document in SPECIFICATIONS.items() if name in used},
        )
        if header.corpus is not None and header.corpus.cases <= header.cases:
            corpus = msgspec.structs.replace(header.corpus, cases=header.cases, sha256=header.cases_sha256)
            expected = msgspec.structs.replace(expected, corpus=corpus)
        self._differ("header", header, expected)
        is_own = own is not None and header.tool_files is not None and header.tool_files.sha256 == own.sha256
        if is_own and header.tool != maxpool_check.__version__:
            text = f"with the files of {maxpool_check.__version__}"
            self._add("header", f"maxpool-check {header.tool} made the record, it says, {text}")

    @cached_property
    def _has_known(self) -> bool:
        """Whether the defects that the run expected are those of the bundle, and those that it explained results by the tool's."""
        catalogue = self._settings.catalogue_sha256
        is_own = catalogue is None or catalogue == digest_of_files(defect_files(shipped_root()))
        return is_own and self._header.known_sha256 in (None, self._contents.known_sha256)

    def _plan(self) -> RunPlan:
        known = () if self._header.known_sha256 is None else self._contents.defects
        explains = self._settings.catalogue_sha256 is not None
        catalogue: Sequence[Defect] = read_all_defects(defect_files(shipped_root())) if explains else ()
        shipped, own = read_versions(shipped_root()), self._contents.versions
        spans = {each.id: shipped.span(each) for each in catalogue if shipped.showing(each)}
        spans |= {each.id: own.span(each) for each in known if own.showing(each)}
        corpus = Corpus(self._corpus, (), whole=self._settings.whole)
        return RunPlan(
            corpus,
            self._cases,
            (),
            known,
            variants=self._variants,
            tracebacks=True,
            versions=spans,
            catalogue=catalogue,
        )

    @cached_property
    def _corpus(self) -> Sequence[Case]:
        """The cases that those of the run were selected from, on which depends which known defects are stale."""
        described = self._header.corpus
        if described is None or described.cases <= len(self._cases):
            return self._cases
        parts = [Path(name) for name in described.name.split()] if described.version is not None else []
        # Nothing is read because of its name in a bundle.
        corpus = collect(parts).cases if parts and all(map(is_shipped, parts)) else self._contents.corpus
        if len(corpus) != described.cases and self._header.known_sha256 is not None:
            text = f"from {plural(described.cases, 'case')}, and the bundle has {len(corpus)}"
            self._cannot_check(f"which known defects are stale: the run selected its cases {text}")
            self._knows_stale = False
        return corpus

    def _check_executions(self) -> None:
        plan = self._plan()
        decisions = Decisions(plan, self._header.targets, day_of(self._header))
        summary, observations = RunSummary(), defaultdict[str, Observations](Observations)
        for number, case in enumerate(self._cases):
            stored = self._by_case[case.id]
            lines: Sequence[Execution] = stored
            try:
                lines = self._again(case, stored, decisions)
            except BadTarget:
                raise
            except Exception as error:  # A crafted record must be named, and the rest of it checked.
                self._add(case.id, f"cannot be judged again: {type(error).__name__}: {_shown(str(error))}")
            for line, expected in zip(stored, lines, strict=True):
                self._compare(case, line, expected)
                observations[expected.target].add(number, expected)
                summary.add(expected)
        for each in self._header.targets:
            if each.name not in summary.verdicts:
                self._add("header", f"the target {each.name} has no executions")
        if self._footer is None:
            self._add("footer", "is missing, or does not count the executions")
        else:
            self._check_footer(self._footer, decisions, summary, contradicted(observations, self._cases))

    def _again(self, case: Case, stored: Sequence[Execution], decisions: Decisions) -> Sequence[Execution]:
        """The executions of a case, judged again; those that are ``stored`` if they are not those of such a run."""
        plans: dict[str, Mapping[Variant, VariantPlan]] = {}
        expected = []
        for target in self._header.targets:
            if target.name in self._budget.given_up:
                expected += [(target.name, each.name) for each in case.variants(self._variants)]
                continue
            plans[target.name] = self._plans(case, target, stored)
            expected += [(target.name, each.name) for each in plans[target.name]]
        actual = [(each.target, each.variant) for each in stored]
        if actual != expected:
            given, wanted = Counter(actual), Counter(expected)
            for key in dict.fromkeys([*wanted, *given]):
                if given[key] != wanted[key]:
                    times = f"occurs {given[key]} times" if given[key] else "is missing"
                    text = times if wanted[key] else "is no execution of this run"
                    self._add(f"{case.id} ({key[1]}) on {key[0]}", text)
            if given == wanted:
                self._add(case.id, "its executions are in another order than those of a run")
            return stored
        if any(each.case_sha256 != case.sha256 for each in stored):
            return stored
        results = dict.fromkeys((target.name for target in self._header.targets), TargetResult())
        for name, by_variant in plans.items():
            own = {variant_named(each.variant): each for each in stored if each.target == name}
            results[name] = self._judged(case, name, by_variant, own)
        return list(decisions.take(case, self._budget.counted(case, results)))

    def _plans(
        self, case: Case, target: TargetDescription, stored: Sequence[Execution]
    ) -> Mapping[Variant, VariantPlan]:
        """How a target executes a case in each variant, as far as its description says."""
        own = {each.variant for each in stored if each.target == target.name}
        settings = target.settings
        if isinstance(settings, msgspec.UnsetType):
            named = (variant_named(name).variation for name in own)
            settings = tuple(each.name for each in named if each is not None)
        profile = TargetProfile(parse(target.name), target, settings=settings)
        if profile.name.outputs is not None:
            # The file has the variants that somebody wrote into it.
            variants = [each for each in case.variants(ALL_VARIANTS) if each.name in own]
            return {variant: plan_unchanged(case, variant, profile) for variant in variants}
        return {each.variant: each for each in plan(case, self._variants, profile)}

    def _judged(
        self, case: Case, target: str, plans: Mapping[Variant, VariantPlan], stored: Mapping[Variant, Execution]
    ) -> TargetResult:
        """The executions of a case on a target, as the judge makes them of the outcomes that the record tells."""
        oracle, why = case.oracle(), self._given_up.get(target)
        outcomes = {variant: self._outcome(oracle, variant, each, why) for variant, each in stored.items()}
        results = {
            # What its output was does not count where the record leaves it out.
            variant: _result(plans[variant], outcome or Crashed("", ""), stored[variant])
            for variant, outcome in outcomes.items()
        }
        judged = judged_case(case, target, oracle, results, _unoptimized(oracle, target, stored))
        lines = []
        for (variant, execution), line in zip(stored.items(), executions(judged), strict=True):
            kept = {name: getattr(execution, name) for name in ("origin", "seconds", "matched")}
            line = msgspec.structs.replace(line, **kept)
            plain = msgspec.structs.replace(execution, known=None, status="")
            # Where an output of another variant is missing, a verdict that compares the two may be right.
            may_compare = None in outcomes.values() and isinstance(outcomes[variant], Returned)
            if outcomes[variant] is None or (may_compare and not _is_same_line(line, plain)):
                self._undecided.append(Undecided(_place(execution), execution.verdict))
                line = msgspec.structs.replace(plain, **{name: getattr(line, name) for name in _BY_THE_CASE})
            lines.append(line)
        is_lost = any(line.verdict is Verdict.ERROR and line.message == why for line in lines)
        return TargetResult(tuple(lines), why if is_lost else None)

    def _outcome(
        self, oracle: GraphOracle | Refused, variant: Variant, execution: Execution, given_up: str | None
    ) -> Outcome | None:
        """The outcome that the record tells; None if it leaves out an output.

        The verdict says what a target did that returned nothing, and must follow from it in turn.
        """
        if execution.digests or execution.verdict is Verdict.DIVERGES:
            sides = oracle.graph.context.side_outputs if isinstance(oracle, GraphOracle) else ()
            if extra := sorted(execution.digests.keys() - {*variant.outputs, *sides, BEHIND}):
                self._add(_place(execution), f"has a digest of {', '.join(extra)}, which its variant does not return")
                return None
            outputs, missing = self._held.of(oracle, execution)
            for name in missing:
                self._add(_place(execution), f"{name} is not the reference's, and the record does not hold it")
            return Returned(outputs) if len(outputs) == len(execution.digests) else None
        message = execution.message
        match execution.verdict:
            case Verdict.CRASHES:
                return Crashed(message, "")
            case Verdict.TIMES_OUT:
                limit = _LIMIT.fullmatch(message)
                return TimedOut(float(limit[1]) if limit is not None else 0.0)
            case Verdict.NOT_EXPRESSIBLE:
                return NotExecuted(message)
            case Verdict.NOT_CLAIMED:
                return NotClaimed(message)
            case Verdict.ERROR:
                return Failed(message, final=message == given_up, traceback=execution.traceback)
        if isinstance(oracle, GraphOracle) and oracle.pooling.refusable:
            message = message.removesuffix(f" (allowed by {oracle.pooling.refusable})")
        status, _, rest = message.partition(": ")
        return RefusedByTarget(status, rest)

    @cached_property
    def _given_up(self) -> Mapping[str, str]:
        """Why targets were given up, by name."""
        parts = [
            text.partition(" was given up: ") for text in (self._footer.errors if self._footer is not None else ())
        ]
        return {name: why for name, separator, why in parts if separator}

    def _compare(self, case: Case, stored: Execution, expected: Execution) -> None:
        path, _, line = stored.origin.rpartition(":")
        own = PurePosixPath(case.origin.path).name
        if int(line) != case.origin.line or not path.replace(":", "/").endswith(own):
            self._add(_place(stored), f"the origin is {stored.origin}; it follows {own}:{case.origin.line}")
        if stored.case_sha256 != case.sha256:
            self._add(_place(stored), f"case_sha256 is {stored.case_sha256}; it follows {case.sha256}")
        if _is_same_line(stored, expected):
            return
        if stored.verdict is not expected.verdict:
            self._add(_place(stored), f"the verdict is {stored.verdict}; it follows {expected.verdict}")
            return
        self._differ(_place(stored), stored, expected)

    def _check_footer(
        self, footer: RunFooter, decisions: Decisions, summary: RunSummary, named: Mapping[str, Any]
    ) -> None:
        given_up = tuple(f"{name} was given up: {why}" for name, why in self._budget.given_up.items())
        expected = RunFooter(
            finished=footer.finished,
            executions=sum(map(len, self._by_case.values())),
            summary={target: dict(counts) for target, counts in summary.verdicts.items()},
            known=tuple(decisions.known_entries(self._budget.given_up, ended_early=False)),
            errors=footer.errors[: len(footer.errors) - len(given_up)] + given_up,
            exit_code=int(summary.exit_code(footer.known, footer.errors, strict=self._settings.strict)),
            contradicted=dict(named),
            outputs_left_out=len(self._held.left_out),
        )
        for sha256 in sorted(self._held.unnamed):
            self._add(f"output {sha256}", "is that of no execution")
        stored, possible = ({(each.id, each.target): each for each in side.known} for side in (footer, expected))
        for key in dict.fromkeys([*possible, *stored]) if self._has_known and self._knows_stale else ():
            if stored.get(key) != possible.get(key):
                fields = [msgspec.to_builtins(side.get(key)) or {} for side in (stored, possible)]
                names = [name for name in fields[0] | fields[1] if fields[0].get(name) != fields[1].get(name)]
                text = "; ".join(f"{name} is {fields[0].get(name)}, it follows {fields[1].get(name)}" for name in names)
                what = text if all(fields) else "is missing" if fields[1] else "is none of this run"
                self._add(f"footer: known defect {key[0]} on {key[1]}", what)
        same = stored == possible
        self._differ("footer", footer, expected if same else msgspec.structs.replace(expected, known=footer.known))
        self._known_differs |= not same and not self._has_known


class _HeldOutputs:
    """The outputs that a record holds, by digest; ``left_out`` are digests of those that it may leave out, as far as met."""

    def __init__(self, record: Record) -> None:
        self._outputs = record.outputs
        self._size = sum(len(each.data) // 2 for each in record.outputs.values())
        self.unnamed = set(record.outputs)
        """Digests of the outputs that no execution names, as far as met."""
        self.left_out: set[str] = set()

    def of(self, oracle: GraphOracle | Refused, execution: Execution) -> tuple[Mapping[str, np.ndarray], Sequence[str]]:
        """The outputs of an execution by name, and the names of those that the record must hold and does not.

        Outputs that the record does not hold are the reference's; one that it may leave out is in neither.
        """
        expected = {} if isinstance(oracle, Refused) else oracle.expected
        tensors, missing = {}, []
        for name, sha256 in execution.digests.items():
            self.unnamed.discard(sha256)
            if sha256 in self._outputs:
                tensors[name] = self._outputs[sha256].tensor()
            elif name in expected and digest(expected[name]) == sha256:
                tensors[name] = expected[name]
            elif self._may_lack(name, expected, execution):
                self.left_out.add(sha256)
            else:
                missing.append(name)
        return tensors, missing

    def _may_lack(self, name: str, expected: Mapping[str, np.ndarray], execution: Execution) -> bool:
        """Whether an output is too large for the record, as far as its size is known."""
        if name not in expected or DivergenceKind.DTYPE.value in execution.kinds or name in execution.shapes:
            return True
        size = expected[name].nbytes
        return size > MOST_BYTES or self._size + size > MOST_BYTES_IN_ALL


def _result(planned: VariantPlan, outcome: Outcome, execution: Execution) -> VariantResult:
    """The result of a variant with an outcome: what it was executed as follows from the plan."""
    if planned.not_executed is not None:
        return VariantResult(planned.not_executed)
    # A target that was not given the case as planned, or not at all; one that was given it may say that it is unable.
    is_unable = isinstance(outcome, (NotExecuted, NotClaimed)) and (execution.opset, execution.translation) == (
        None,
        (),
    )
    if is_unable or isinstance(outcome, Failed):
        return VariantResult(outcome, execution.opset, execution.translation)
    part = planned.parts[-1]
    return VariantResult(outcome, part.opset, part.translation.steps, part.request)


def _unoptimized(
    oracle: GraphOracle | Refused, target: str, stored: Mapping[Variant, Execution]
) -> dict[Variant, VariantResult] | None:
    """The results of models that no tool rewrites, which conform where a verdict is about the tool."""
    if (
        parse(target).tool is None
        or not isinstance(oracle, GraphOracle)
        or not any(each.kinds for each in stored.values())
    ):
        return None
    return {
        variant: VariantResult(Returned({name: oracle.expected[name] for name in variant.outputs}))
        for variant in stored
        if variant.variation is None
        and not variant.in_domain
        and Variant(variant.outputs, OPTIMIZATION_OFF) not in stored
    }


def _is_same_line(a: Execution, b: Execution) -> bool:
    """Whether two executions are the same line of a record, which knows no infinity and no NaN."""
    return _ENCODER.encode(a) == _ENCODER.encode(b)


def _place(execution: Execution) -> str:
    return f"{execution.case} ({execution.variant}) on {execution.target}"


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode() if not isinstance(value, str) else value
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
