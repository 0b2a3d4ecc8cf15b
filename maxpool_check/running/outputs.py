"""Targets whose outputs were made elsewhere, on a board or in a simulator: what a program would have written, in a file.

The first message of the file is the program's ``ready``; before it, a serial line may have had other text. Each other line is a
message of the protocol, with the id of its ``case`` in the place of the request's ``id``, and perhaps the ``variant``.
"""

import codecs
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.problems import CorpusError, Problem, Structure
from maxpool_check.corpus.schema import read_schema
from maxpool_check.files import read_regular
from maxpool_check.graphs.operators import NEWEST
from maxpool_check.reference.dtypes import name_of
from maxpool_check.results.outcomes import Crashed, Failed, Inferred, NotExecuted, Outcome, Returned, TimedOut
from maxpool_check.results.variants import ALL_VARIANTS, Variant
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.jobs import Job
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.protocol import in_message, in_ready, outcome_of, parsed, text_of
from maxpool_check.targets.requests import unchanged_job
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target, TargetProfile
from maxpool_check.words import plural

MOST_BYTES = 2**31
"""The largest file that is read."""

NO_RESULT = "it has no result"
"""The message of an execution whose result is not in the file, and should be."""

SUMMARY = "summary"
"""The type of a line that is for people: what a harness says of its run."""

_SHOWN = 3
"""So many cases without a result are named."""

_SEARCHED = 100
"""A known id like an unknown one is searched for at most 100 unknown ids."""

_NO_READY = 'the first line must be that of the program: {"type": "ready", "protocol": 1}'

_EACH_LINE = "expected a JSON object on each line after the first of the program; other text may stand only before that"

_DEATHS = {"crash": "message", "timeout": "seconds"}
"""What else a line may report, and the key that says how: of a program that is running, the tool sees that itself."""

SCHEMA = read_schema(Path(__file__).with_name("outputs.schema.json"))
"""What all lines but the first have in common."""

_STRUCTURE = Structure(SCHEMA)

_KEYS = frozenset({*SCHEMA["properties"], "id", "outputs", "provider", "status", "message", "seconds"})
"""The keys that a line may have."""


@dataclass(frozen=True)
class GivenResult:
    """The outcome of a case on a line, in the variant of this name if it has one."""

    line: int
    outcome: Outcome
    variant: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class GivenResults:
    """What a file has: the ``ready`` of the target, and the results of each case by its id."""

    path: Path
    ready: Mapping[str, Any]
    by_case: Mapping[str, Sequence[GivenResult]]

    def by_variant(self, case: Case) -> dict[Variant, GivenResult]:
        """The results of a case; one without a variant is of the first whose outputs it has. Raises :class:`CorpusError`."""
        variants = {each.name: each for each in case.variants(ALL_VARIANTS)}
        found: dict[Variant, GivenResult] = {}
        problems = []
        given = self.by_case.get(case.id)
        if given is None:
            # The id of a case of a file that is named alone lacks the folders.
            longer = [results for name, results in self.by_case.items() if name.endswith(f"/{case.id}")]
            given = longer[0] if len(longer) == 1 else ()
        for result in given:
            outputs = result.outcome.outputs if isinstance(result.outcome, (Returned, Inferred)) else None
            if result.variant is not None:
                variant = variants.get(result.variant)
                hint = f"{nearest(result.variant, variants)}; it has {', '.join(variants)}"
                text = f"{case.id} has no variant '{text_of(result.variant)}'{hint}"
            else:
                plain = [each for each in variants.values() if _is_plain(each)]
                variant = next((each for each in plain if outputs is None or set(each.outputs) <= outputs.keys()), None)
                named = ", ".join(map(text_of, outputs or ())) or "nothing"
                text = (
                    f"'outputs' has {named}; {case.id} has {', or '.join(' and '.join(each.outputs) for each in plain)}"
                )
            if variant in found:
                text = f"{case.id} has a result of the variant {variant} on line {found[variant].line}"
            elif variant is not None:
                found[variant] = result
                continue
            problems.append(Problem(str(self.path), result.line, 1, text))
        if problems:
            raise CorpusError(problems)
        return found

    def check(self, read: Iterable[Case]) -> None:
        """Raise :class:`CorpusError` for results that are of none of the cases that were ``read``, or of none of their variants."""
        cases = {case.id: case for case in read}
        problems, unknown = [], 0
        for name, results in self.by_case.items():
            if name in cases:
                try:
                    self.by_variant(cases[name])
                except CorpusError as error:
                    problems += error.problems
            else:
                # The search for each of many takes minutes.
                hint = nearest(name[:1000], cases) if unknown < _SEARCHED else ""
                unknown += 1
                hint = hint or "; 'maxpool-check cases list' lists the cases"
                text = f"no case '{text_of(name)}' among those that were read{hint}"
                problems.append(Problem(str(self.path), results[0].line, 1, text))
        if problems:
            raise CorpusError(problems)


def read_results(path: Path) -> GivenResults:
    """Read a file of results. Raises ``OSError``, and :class:`CorpusError` with every mistake in the file."""
    ready: Mapping[str, Any] | None = None
    by_case: dict[str, list[GivenResult]] = defaultdict(list)
    problems = []
    for number, line in enumerate(_utf_8(read_regular(path, MOST_BYTES)).split(b"\n"), 1):
        mistakes: Iterable[str] = ()
        try:
            message = parsed(line, _EACH_LINE) if line.strip() else None
            if message is not None and ready is None:
                ready = message
                found = [text if key == "ready" else f"'{key}': {text}" for key, text in in_ready(message)]
                mistakes = found if message.get("type") == "ready" else [_NO_READY]
            elif message is not None and message.get("type") != SUMMARY:
                result = _result(message, number)
                by_case[message["case"]].append(result)
        except ValueError as error:
            # Before the first message, it may be other text.
            mistakes = [] if ready is None else [str(error)]
        problems += [Problem(str(path), number, 1, text_of(mistake)) for mistake in mistakes]
    if problems or ready is None:
        raise CorpusError(problems or [Problem(str(path), 1, 1, _NO_READY)])
    return GivenResults(path, ready, by_case)


def _utf_8(content: bytes) -> bytes:
    """The content of a file in UTF-8, without a byte order mark: what Windows writes may have one, or be in UTF-16."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace").encode()
    return content.removeprefix(codecs.BOM_UTF8)


def _result(message: Mapping[str, Any], line: int) -> GivenResult:
    """The result that a message reports. Raises ``ValueError``."""
    for path, _, text in _STRUCTURE.mistakes(message):
        raise ValueError(f"'{path[0]}': {text}" if path else text)
    kind = message["type"]
    for key in message.keys() - _KEYS:
        # Others may be those of a later version, or of the harness.
        if near := get_close_matches(key, _KEYS, 1, 0.8):
            raise ValueError(f"unknown key '{key}' (did you mean '{near[0]}'?)")
    try:
        seconds = float(message.get("seconds", 0))
    except OverflowError as error:
        raise ValueError("'seconds': the number is too large") from error
    outcome: Outcome
    if kind not in _DEATHS:
        answer = {**message, "id": 0}
        if mistake := in_message(answer, 0):
            raise ValueError(mistake)
        outcome = outcome_of(answer, 0)
    elif _DEATHS[kind] not in message:
        raise ValueError(f"'{_DEATHS[kind]}' is missing")
    else:
        outcome = TimedOut(seconds) if kind == "timeout" else Crashed(text_of(message["message"]), "")
    return GivenResult(line, outcome, message.get("variant"), seconds)


def _is_plain(variant: Variant) -> bool:
    """Whether a variant differs from others in its outputs alone."""
    return variant.variation is None and not variant.in_domain


class OutputsSession(TargetSession):
    """The session of a target whose results are in a file: nothing is started."""

    def __init__(self, target: Target) -> None:
        """Prepare a session; the file is read later."""
        super().__init__(target)
        self._results = GivenResults(Path(), {}, {})

    @property
    def profile(self) -> TargetProfile:
        """What the target is and what it accepts, as the first line says; reads the file. Raises :class:`CannotStart`."""
        if self._profile is None:
            try:
                self._results = read_results(Path(str(self.target.name.outputs)))
            except (OSError, CorpusError) as error:
                raise CannotStart(f"{self.target.name} cannot be read: {error}") from error
            self._profile = self.target.described(self._results.ready, lambda: NEWEST)
        return self._profile

    def jobs_of(self, case: Case, variants: Collection[Variant]) -> list[Job]:
        """What the file has of a case, in these variants: of those that vary more than the outputs, only what it has."""
        profile = self.profile
        applicable = case.variants(variants)
        try:
            results = self._results.by_variant(case)
        except CorpusError as error:
            results = dict.fromkeys(filter(_is_plain, applicable), GivenResult(0, Failed(str(error))))
        jobs, is_given = [], any(map(_is_plain, results))
        for variant in applicable:
            if variant not in results and (not _is_plain(variant) or (is_given and not variant.has_indices)):
                # A result with Indices says no less than one without.
                continue
            job = unchanged_job(case, variant, profile)
            if job.request is not None and variant in results:
                job = job.finished(results[variant].outcome, results[variant].seconds, profile)
            elif job.request is not None:
                why = _why_none(case, variant, profile) or ("its result has no Indices" if is_given else NO_RESULT)
                job = Job(variant, outcome=NotExecuted(why))
            jobs.append(job)
        return jobs


def _why_none(case: Case, variant: Variant, profile: TargetProfile) -> str | None:
    """Why a target has no result of a case, by what it says of itself; None if it should have one."""
    newest = profile.description.graphs
    if case.context.has_nodes and (newest is None or case.context.opset > newest):
        return (
            "it executes MaxPool alone, without other nodes"
            if newest is None
            else f"it has no operator set after {newest}"
        )
    if variant.has_indices and profile.description.indices is None:
        return "it gives no Indices"
    axes = len(case.specification.layout.sizes(case.X.shape)) - 2 if case.X.ndim > 2 else case.X.ndim - 2
    return profile.exclude(name_of(case.X.dtype), axes)


def session_of(target: Target) -> TargetSession:
    """A session of a target, which may have its results in a file."""
    return TargetSession(target) if target.name.outputs is None else OutputsSession(target)


def missing_results(missing: Mapping[str, Iterable[str]], cases: int) -> Iterator[str]:
    """What to say of the ids of cases without a result, by the name of their target."""
    for target, ids in missing.items():
        names = list(ids)
        shown = ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
        yield f"{target} has no result of {len(names)} of {plural(cases, 'case')}: {shown}; select cases with PATH and -k, or say of them that they are unable"
