"""Whether a record follows: its run is made again, with the outputs that it holds in the place of executions.

Nothing is executed, and nothing is guessed: the record says how the run was made. Where it leaves out an output because of its size,
the execution is undecided.
"""

import contextlib
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

import maxpool_check
from maxpool_check import inert
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, collect, defect_files, is_shipped, shipped_root
from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.graphs.context import BEHIND
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reference.dtypes import digest
from maxpool_check.results.details import CorpusDescription
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
from maxpool_check.results.outputs import MOST_BYTES, MOST_BYTES_IN_ALL, StoredOutput
from maxpool_check.results.record import (
    Execution,
    ExitCode,
    Line,
    Record,
    RunFooter,
    RunHeader,
    TargetDescription,
    Verdict,
)
from maxpool_check.results.storage import record_of
from maxpool_check.results.variants import ALL_VARIANTS, OPTIMIZATION_OFF, Variant, variant_named
from maxpool_check.running.case_run import CaseRun, judge_case, oracle_for
from maxpool_check.running.header import digest_of_files, header, tool_files
from maxpool_check.running.run import RunPlan, write_results
from maxpool_check.running.runner import FailureBudget
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.jobs import Job
from maxpool_check.targets.name import BadTarget, parse
from maxpool_check.targets.requests import jobs_of, unchanged_job
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import TargetProfile
from maxpool_check.words import plural

_LIMIT = re.compile(r"no result within ([0-9.e+]{1,20}) s")
_MOST_SHOWN = 100  # characters of a value

_BY_THE_CASE = ("title", "spec", "layout", "size", "clauses", "opset", "translation")
"""What an execution says of its case, whatever came out."""
_BY_DEFECTS = frozenset({"known", "status", "explained_by", "unexplained", "severity", "message", "exit_code"})
"""What an execution, and the footer, says that depends on known defects."""

_DEFECTS = "footer: known defect "
"""How the place of a known defect begins."""


@dataclass
class Verification:
    """What came out of verifying a bundle.

    ``checks`` are sentences on what was found right. ``problems`` are what is not, each with its place: a member, and what is
    meant in it. ``unchecked`` is what could not be checked. ``undecided`` are places and verdicts of
    executions with outputs that are too large for their record, which has their digests alone.
    """

    checks: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    undecided: list[tuple[str, str]] = field(default_factory=list)

    @property
    def exit_code(self) -> ExitCode:
        """0 if all was checked and is right, 1 for a problem, 3 if something could not be checked or decided."""
        if self.problems:
            return ExitCode.UNEXPECTED
        return ExitCode.INCOMPLETE if self.unchecked or self.undecided else ExitCode.AS_EXPECTED

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


def check_record(member: str, record: Record, contents: Contents, verification: Verification, lines: bytes) -> None:
    """Check a record, the ``lines`` of a ``member``, against the cases and the known defects of a bundle."""
    check, undecided = _RecordCheck(member, record, contents, verification), len(verification.undecided)
    with verification.check("", member):
        before = len(verification.problems), len(verification.unchecked)
        try:
            check.check(lines)
        except BadTarget as error:
            verification.unchecked.append(f"{member}: its executions: {error}")
        if before == (len(verification.problems), len(verification.unchecked)):
            total, left = len(record.executions), len(verification.undecided) - undecided
            rest = f"; {left} have outputs that are too large for it" if left else ""
            text = f"{total - left} of {plural(total, 'execution')}, their verdicts and counts follow{rest}."
            others = "" if check.has_known else " So does what is known, though the run had other files of defects."
            verification.checks.append(f"{member}: {text}{others}")


class _RecordCheck:
    """The record of a member, the cases that it has in the bundle, and what is found in it."""

    def __init__(self, member: str, record: Record, contents: Contents, verification: Verification) -> None:
        self._member, self._record, self._contents, self._verification = member, record, contents, verification
        self._settings = record.header.effective_settings
        named = dict.fromkeys(execution.case for execution in record.executions)
        self._cases = [contents.cases[name] for name in named if name in contents.cases]
        known, catalogue = record.header.known_sha256, self._settings.catalogue_sha256
        is_own = catalogue is None or catalogue == digest_of_files(defect_files(shipped_root()))
        self.has_known = is_own and known in (None, contents.known_sha256)
        """Whether the defects that the run expected are those of the bundle, and those that it explained results by the tool's."""

    def _add(self, place: str, message: str) -> None:
        self._verification.add(f"{self._member}: {place}", message)

    def check(self, lines: bytes) -> None:
        """Check the form of the lines, make all of them again, and compare them."""
        self._check_form(lines)
        head, own, made = self._record.header, tool_files(), list[Line]()
        is_own = own is not None and head.tool_files is not None and head.tool_files.sha256 == own.sha256
        if is_own and head.tool != maxpool_check.__version__:
            text = f"with the files of {maxpool_check.__version__}"
            self._add("header", f"maxpool-check {head.tool} made the record, it says, {text}")
        self._check_header()
        replay, settings = _Replay(self._record, self._add, self._verification.undecided), self._settings
        known = () if head.known_sha256 is None else self._contents.defects
        versions = self._contents.versions
        plan = RunPlan(
            Corpus(self._corpus(), (), whole=settings.whole),
            self._cases,
            (),
            known,
            strict=settings.strict,
            stops=settings.stops,
            variants=frozenset(map(variant_named, settings.variants)),
            tracebacks=True,
            versions={each.id: versions.summary(each) for each in known if versions.showing(each)},
            explains=settings.catalogue_sha256 is not None,
        )
        write_results(plan, head, replay.runs(self._cases), lambda: replay.given_up, made.append)
        if self._record.footer is None:
            self._add("footer", "is missing, or does not count the executions")
        again = record_of([header(self._cases, [*{each.name: each for each in head.targets}.values()], ()), *made])
        stored, expected, is_other = self._parts(self._record), self._parts(again), False
        for place in dict.fromkeys([*expected, *stored]):
            was, now = stored.get(place, {}), expected.get(place, {})
            texts = {"": "is nothing that this run writes" if was else "is missing"}
            if was and now:
                names = ["verdict"] if was.get("verdict") != now.get("verdict") else [*now]
                # Line by line first: it is quicker.
                differing = [] if _is_same(was, now) else [each for each in names if not _is_same(was[each], now[each])]
                texts = {name: f"{name} is {_shown(was[name])}; it follows {_shown(now[name])}" for name in differing}
            for name, text in texts.items():
                if not self.has_known and (name in _BY_DEFECTS or place.startswith(_DEFECTS)):
                    is_other = True
                else:
                    self._add(place, text)
        if stored.keys() == expected.keys() and [*stored] != [*expected]:
            place = next(place for place, other in zip(stored, expected, strict=True) if place != other)
            self._add(place, "is in another order than that of a run")
        if is_other:
            what = "which divergences are known: the run had files of defects that the bundle does not have"
            self._verification.unchecked.append(f"{self._member}: {what}")

    def _check_header(self) -> None:
        """Check that the versions of a target agree, and that the corpus is one that its cases can come from."""
        for target in self._record.header.targets:
            versions = _versions(target)
            if len(set(versions.values())) > 1:
                text = ", ".join(f"{what} {version}" for what, version in versions.items())
                self._add(f"header: {target.name}", f"its versions differ: {text}")
            name = parse(target.name)
            if name.is_released and "python" not in name.options and name.tool is None:
                expected = RUNTIMES[name.runtime].distribution
                if target.distribution != expected:
                    self._add(f"header: {target.name}", f"is of the distribution {expected}, not {target.distribution}")
        if (corpus := self._record.header.corpus) is None:
            self._add("header: corpus", "is missing")
        elif corpus.version is None:
            self._check_own_corpus(corpus)
        else:
            self._check_shipped_corpus(corpus)

    def _check_own_corpus(self, corpus: CorpusDescription) -> None:
        """Check the number of cases of a corpus that did not come with the tool."""
        files = {each.origin.path for each in self._cases}
        beside = sum(each.origin.path in files for each in self._contents.corpus)
        count = len(self._contents.corpus)
        if corpus.cases < beside:
            text = f"is of {plural(corpus.cases, 'case')}, and the files of its cases have {beside}"
            self._add("header: corpus", text)
        elif len(self._contents.records) == 1 and corpus.cases != count:
            # Where a bundle has several records, another record may have more cases.
            text = f"is of {plural(corpus.cases, 'case')}, and the bundle has {count}"
            if corpus.cases < count:
                self._add("header: corpus", text)
            else:
                self._verification.unchecked.append(f"{self._member}: header: corpus: {text}")

    def _check_shipped_corpus(self, corpus: CorpusDescription) -> None:
        own, head = tool_files(), self._record.header
        if own is None or head.tool_files is None or head.tool_files.sha256 != own.sha256:
            # The corpus of another version of the tool has had other cases.
            return
        made = self._shipped
        if made is None or corpus != header((), (), (), corpus=made).corpus:
            self._add("header: corpus", f"is not the one that comes with maxpool-check {maxpool_check.__version__}")

    def _check_form(self, lines: bytes) -> None:
        """Check that a run writes these bytes: other readers may read a key that occurs twice, or a second header, differently."""
        stored, outputs = lines.split(b"\n"), set[str]()
        if stored.pop():
            self._add("its end", "something is behind its last line")
        for number, line in enumerate(stored, 1):
            decoded = msgspec.json.decode(line, type=Line)
            is_placed = isinstance(decoded, RunHeader) == (number == 1)
            if not is_placed or isinstance(decoded, RunFooter) != (number == len(stored)):
                text = "a record has one header, its first line, and one footer, its last"
                self._verification.add(f"{self._member}:{number}", text)
            if isinstance(decoded, StoredOutput):
                if decoded.sha256 in outputs:
                    self._verification.add(f"{self._member}:{number}", "the output occurs twice")
                outputs.add(decoded.sha256)
            # Earlier versions wrote "matched", which nothing reads any more.
            if inert.ascii_json(msgspec.json.encode(decoded)) not in (line, line.replace(b'"matched":true,', b"")):
                self._verification.add(f"{self._member}:{number}", "the line is not in the form that a run writes")

    def _parts(self, record: Record) -> dict[str, dict[str, Any]]:
        """What is compared of a record, or of what was made again, by place."""
        head, footer, given = record.header, record.footer, self._record
        parts = {"header": {name: getattr(head, name) for name in ("targets", "profile", "cases", "cases_sha256")}}
        parts["header"]["editions"] = head.editions
        corpus, described = self._corpus(), given.header.corpus
        if described is not None and described.cases <= given.header.cases:
            whole = head.corpus or msgspec.structs.replace(described, cases=head.cases, sha256=head.cases_sha256)
            parts["header"]["corpus"] = whole
        for each in record.executions:
            place = _place(each)
            path, _, line = each.origin.rpartition(":")
            # It was in another folder, and its time was another one.
            other = {"origin": f"{PurePosixPath(path.replace(':', '/')).name}:{line}", "seconds": 0.0}
            parts[f"{place}, again" if place in parts else place] = {**asdict(each), **other}
        parts |= {f"output {name}": asdict(output) for name, output in record.outputs.items()}
        if footer is None or given.footer is None:
            return parts
        errors, code = given.footer.errors, footer.exit_code
        if footer is not given.footer:
            # Why targets did not start stands there alone.
            errors = errors[: len(errors) - len(footer.errors)] + footer.errors
            code = ExitCode.INCOMPLETE if errors else footer.exit_code
        other = {"known": (), "finished": "", "conclusion": None}
        parts["footer"] = {**asdict(footer), "errors": errors, "exit_code": int(code), **other}
        if given.header.known_sha256 and described is not None and len(corpus) < described.cases:
            text = f"from {plural(described.cases, 'case')}, and the bundle has {len(corpus)}"
            what = f"{self._member}: which known defects are stale: the run selected its cases {text}"
            self._verification.unchecked += [what] if what not in self._verification.unchecked else []
            del parts["footer"]["exit_code"]
        else:
            parts |= {f"{_DEFECTS}{each.id} on {each.target}": asdict(each) for each in footer.known}
        return parts

    @cached_property
    def _shipped(self) -> Corpus | None:
        """The corpus of the tool, or the part of it, that the header names. Nothing is read because of its name in a bundle."""
        described = self._record.header.corpus
        parts = [Path(name) for name in described.name.split()] if described is not None and described.version else []
        return collect(parts) if parts and all(map(is_shipped, parts)) else None

    def _corpus(self) -> Collection[Case]:
        """The cases that those of the run were selected from, on which depends which known defects are stale."""
        described = self._record.header.corpus
        if described is None or described.cases <= len(self._cases):
            return self._cases
        return self._shipped.cases if self._shipped is not None else self._contents.corpus


class _Replay:
    """The runner of a run whose outcomes are those that its record tells, judged again.

    Outputs that the record does not hold are the reference's.
    """

    def __init__(self, record: Record, add: Callable[[str, str], None], undecided: list[tuple[str, str]]) -> None:
        """``add`` gets the place and the message of each problem."""
        self._targets, self._outputs = record.header.targets, record.outputs
        self._add, self._undecided = add, undecided
        self._variants = frozenset(map(variant_named, record.header.effective_settings.variants))
        self._budget = FailureBudget(self._variants)
        self.given_up = self._budget.given_up
        errors = record.footer.errors if record.footer is not None else ()
        self._why = {name: why for name, _, why in (text.partition(" was given up: ") for text in errors)}
        self._size = sum(len(each.data) // 2 for each in record.outputs.values())
        self._differing: dict[str, StoredOutput | None] = {}
        """The outputs of the last case that differ, as of a :class:`CaseRun`."""
        self._stored: dict[tuple[str, str], dict[str, Execution]] = defaultdict(dict)
        for each in record.executions:
            self._stored[each.case, each.target][each.variant] = each

    def runs(self, cases: Iterable[Case]) -> Iterator[CaseRun]:
        """The runs of each case on the targets, in order."""
        return self._budget.counted(self._executed(cases))

    def _executed(self, cases: Iterable[Case]) -> Iterator[CaseRun]:
        for case, target in itertools.product(cases, self._targets):
            if target.name in self.given_up:
                yield CaseRun(case, target.name)
            else:
                yield self._judged(case, target, self._stored[case.id, target.name])

    def _judged(self, case: Case, target: TargetDescription, stored: Mapping[str, Execution]) -> CaseRun:
        """The run of a case on a target, as the judge makes it of the outcomes that the record tells."""
        outcomes, jobs, self._differing = dict[Variant, Outcome | None](), list[Job](), {}
        oracle = oracle_for(case, target)
        for job in self._jobs(case, target, stored):
            line = stored.get(job.variant.name)
            outcome = self._outcome(oracle, job.variant, line) if line is not None else Failed("no line")
            outcomes[job.variant] = outcome
            # What its output was does not count where the record leaves it out.
            jobs.append(_finished(job, outcome or Crashed("", ""), line))
        judged = judge_case(case, target.name, oracle, jobs, _unoptimized(oracle, target.name, stored))
        lines = []
        for (variant, outcome), line in zip(outcomes.items(), judged.executions, strict=True):
            own = stored.get(variant.name)
            if own is not None:
                plain = msgspec.structs.replace(own, known=None, status="")
                kept = {name: getattr(own, name) for name in ("origin", "seconds")}
                is_same = _is_same(msgspec.structs.replace(line, **kept), plain)
                # Where an output of another variant is missing, a verdict that compares the two may be right.
                compares = any("depend" in kind or kind == DivergenceKind.UNSTABLE for kind in own.kinds)
                if outcome is None or (None in outcomes.values() and compares and not is_same):
                    self._undecided.append((_place(own), own.verdict.value))
                    of_case = {name: getattr(line, name) for name in (*_BY_THE_CASE, "case_sha256", "origin")}
                    line = msgspec.structs.replace(plain, **of_case)
            lines.append(line)
        why = self._why.get(target.name)
        is_lost = any(line.verdict is Verdict.ERROR and line.message == why for line in lines)
        return CaseRun(case, target.name, tuple(lines), self._differing, why if is_lost else None)

    def _jobs(self, case: Case, target: TargetDescription, stored: Mapping[str, Execution]) -> Sequence[Job]:
        """The jobs of a case on a target, as far as its description says."""
        settings = target.settings
        if isinstance(settings, msgspec.UnsetType):
            named = (variant_named(name).variation for name in stored)
            settings = tuple(each.name for each in named if each is not None)
        profile = TargetProfile(parse(target.name), target, settings=settings)
        if profile.name.outputs is not None:
            # The file has the variants that somebody wrote into it.
            variants = [each for each in case.variants(ALL_VARIANTS) if each.name in stored]
            return [unchanged_job(case, variant, profile) for variant in variants]
        return jobs_of(case, self._variants, profile)

    def _outcome(self, oracle: GraphOracle | Refused, variant: Variant, execution: Execution) -> Outcome | None:
        """The outcome that the record tells; None if it leaves out an output. Outputs that differ are remembered.

        The verdict says what a target did that returned nothing, and must follow from it in turn.
        """
        message, why = execution.message, self._why.get(execution.target)
        if execution.digests or execution.verdict is Verdict.DIVERGES:
            return self._returned(oracle, variant, execution)
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
                return Failed(message, final=message == why, traceback=execution.traceback)
        if isinstance(oracle, GraphOracle) and oracle.pooling.refusable:
            message = message.removesuffix(f" (allowed by {oracle.pooling.refusable})")
        status, _, rest = message.partition(": ")
        return RefusedByTarget(status, rest)

    def _returned(self, oracle: GraphOracle | Refused, variant: Variant, execution: Execution) -> Returned | None:
        place, expected = _place(execution), {}
        if isinstance(oracle, GraphOracle):
            expected = oracle.expected
        sides = expected.keys() - {"Y", "Indices"}
        if extra := sorted(execution.digests.keys() - {*variant.outputs, *sides, BEHIND}):
            self._add(place, f"has a digest of {', '.join(extra)}, which its variant does not return")
            return None
        tensors = {}
        for name, sha256 in execution.digests.items():
            if name in expected and digest(expected[name]) == sha256:
                tensors[name] = expected[name]
                continue
            self._differing[sha256] = self._outputs.get(sha256)
            if sha256 in self._outputs:
                tensors[name] = self._outputs[sha256].tensor()
            elif not self._may_lack(name, expected, execution):
                self._add(place, f"{name} is not the reference's, and the record does not hold it")
        return Returned(tensors) if len(tensors) == len(execution.digests) else None

    def _may_lack(self, name: str, expected: Mapping[str, np.ndarray], execution: Execution) -> bool:
        """Whether an output may be too large for the record.

        On a line that does not say that it diverges, only the reference's own size makes it so: the line is what is checked.
        """
        size = expected[name].nbytes if name in expected else 0
        if execution.verdict is Verdict.DIVERGES:
            if name not in expected or DivergenceKind.DTYPE.value in execution.kinds:
                # Nothing tells its size.
                return True
            got = execution.shapes[name].got if name in execution.shapes else ()
            size = max(size, math.prod(got) * np.dtype(np.float64).itemsize)
        return size > MOST_BYTES or self._size + size > MOST_BYTES_IN_ALL


def _finished(job: Job, outcome: Outcome, execution: Execution | None) -> Job:
    """A job with an outcome: what it was executed as follows from the job."""
    if job.request is None:
        return job
    # A target may not have been given the case at all; one that was given it may say that it is unable.
    is_given = execution is not None and (execution.opset, execution.translation) != (None, ())
    if execution is None or (isinstance(outcome, (Failed, NotExecuted, NotClaimed)) and not is_given):
        return Job(job.variant, outcome=outcome)
    return replace(job, outcome=outcome)


def _unoptimized(oracle: GraphOracle | Refused, target: str, stored: Mapping[str, Execution]) -> list[Job]:
    """The jobs of models that no tool rewrites, which conform where a verdict is about the tool."""
    is_about_a_tool = parse(target).tool is not None and any(each.kinds for each in stored.values())
    if not is_about_a_tool or not isinstance(oracle, GraphOracle):
        return []
    return [
        Job(variant, outcome=Returned({name: oracle.expected[name] for name in variant.outputs}))
        for variant in map(variant_named, stored)
        if variant.variation is None
        and not variant.in_domain
        and Variant(variant.outputs, OPTIMIZATION_OFF).name not in stored
    ]


def _versions(target: TargetDescription) -> dict[str, Version]:
    """The versions of the distribution that a target is tested in, by where the record has them."""
    name, found = parse(target.name), dict[str, Version]()
    if not name.is_released:
        return found
    installed = [each for environment in target.environments for each in environment.distributions]
    texts = {"name": (name.tool or name).version}
    for each in installed:
        if canonicalize_name(each.name) == canonicalize_name(name.distribution):
            texts["installed"] = each.version
            with contextlib.suppress(InvalidWheelFilename):
                found["wheel"] = Version(parse_wheel_filename(each.wheel or "")[1].public)
    if name.tool is None:
        texts["reported"] = target.version
    for what, text in texts.items():
        with contextlib.suppress(InvalidVersion):
            found |= {what: Version(Version(text).public)} if text else {}
    return found


def _place(execution: Execution) -> str:
    return f"{execution.case} ({execution.variant}) on {execution.target}"


def _is_same(a: Any, b: Any) -> bool:
    """Whether two values are the same in a record, which knows no infinity and no NaN."""
    return msgspec.json.encode(a, order="sorted") == msgspec.json.encode(b, order="sorted")


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode() if not isinstance(value, str) else value
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
