"""The first and the last line of a record, and what a run comes to."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import IntEnum
from pathlib import Path

import maxpool_check
from maxpool_check.corpus.case import Case
from maxpool_check.results.record import (
    COMPARED,
    Execution,
    KnownEntry,
    RunFooter,
    RunHeader,
    TargetDescription,
    Verdict,
)
from maxpool_check.running import machine
from maxpool_check.specifications import SPECIFICATIONS


class ExitCode(IntEnum):
    """What a run comes to, for scripts."""

    AS_EXPECTED = 0
    UNEXPECTED = 1
    USAGE = 2
    INCOMPLETE = 3
    NOTHING_COMPARED = 4
    INTERRUPTED = 130


def header(cases: Sequence[Case], targets: Sequence[TargetDescription], known_files: Sequence[Path]) -> RunHeader:
    """The first line: everything that an answer or a verdict can depend on."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(f"{case.id} {case.sha256}\n".encode())
    used = {case.spec for case in cases}
    return RunHeader(
        tool=maxpool_check.__version__,
        started=_now(),
        python=machine.python(),
        system=machine.system(),
        cpu=machine.cpu(),
        libraries=machine.libraries(),
        targets=tuple(targets),
        profile={name: document.policies.names() for name, document in SPECIFICATIONS.items() if name in used},
        cases=len(cases),
        cases_sha256=digest.hexdigest(),
        known_sha256=_digest_of(known_files),
    )


@dataclass
class Tally:
    """What must be known of the executions of a run at its end; they themselves need not be kept."""

    executions: int = 0
    summary: dict[str, Counter[str]] = field(default_factory=dict)
    unexpected: bool = False
    informative: bool = False

    def add(self, execution: Execution) -> None:
        """Count one."""
        self.executions += 1
        self.summary.setdefault(execution.target, Counter())[execution.verdict] += 1
        self.unexpected |= execution.unexpected
        self.informative |= bool(execution.information)


def footer(tally: Tally, known: Sequence[KnownEntry], errors: Sequence[str], *, strict: bool) -> RunFooter:
    """The last line, with the exit code. ``strict``: differences that a document allows count as well."""
    return RunFooter(
        finished=_now(),
        executions=tally.executions,
        summary={target: dict(counts) for target, counts in tally.summary.items()},
        known=tuple(known),
        errors=tuple(errors),
        exit_code=_exit_code(tally, known, errors, strict),
    )


def _exit_code(tally: Tally, known: Sequence[KnownEntry], errors: Sequence[str], strict: bool) -> ExitCode:
    verdicts = tally.summary.values()
    if errors or any(Verdict.ERROR.value in found for found in verdicts):
        return ExitCode.INCOMPLETE
    compared = {verdict.value for verdict in COMPARED}
    if not verdicts or any(not found.keys() & compared for found in verdicts):
        # One target that was held to nothing is not made green by another.
        return ExitCode.NOTHING_COMPARED
    stale = any(entry.status in ("stale", "expired") for entry in known)
    if stale or (strict and tally.informative) or tally.unexpected:
        return ExitCode.UNEXPECTED
    return ExitCode.AS_EXPECTED


def _digest_of(files: Sequence[Path]) -> str | None:
    if not files:
        return None
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
