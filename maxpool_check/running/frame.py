"""The first and the last line of a record, and what a run comes to."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from enum import IntEnum
from pathlib import Path

import maxpool_check
from maxpool_check.corpus.case import Case
from maxpool_check.judging.verdicts import COMPARED, Verdict
from maxpool_check.running import machine
from maxpool_check.running.record import Execution, Footer, Header, KnownEntry, Target
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.targets.description import Description


class ExitCode(IntEnum):
    """What a run comes to, for scripts."""

    AS_EXPECTED = 0
    UNEXPECTED = 1
    USAGE = 2
    INCOMPLETE = 3
    NOTHING_COMPARED = 4
    INTERRUPTED = 130


def header(cases: Sequence[Case], targets: Sequence[Description], known_files: Sequence[Path]) -> Header:
    """The first line: everything that an answer or a verdict can depend on."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(f"{case.id} {case.sha256}\n".encode())
    used = {case.spec for case in cases}
    return Header(
        tool=maxpool_check.__version__,
        started=_now(),
        python=machine.python(),
        system=machine.system(),
        cpu=machine.cpu(),
        libraries=machine.libraries(),
        targets=tuple(Target(**asdict(target)) for target in targets),
        profile={name: document.policies.names() for name, document in SPECIFICATIONS.items() if name in used},
        cases=len(cases),
        cases_sha256=digest.hexdigest(),
        known_sha256=_digest_of(known_files),
    )


def footer(
    executions: Iterable[Execution], known: Sequence[KnownEntry], errors: Sequence[str], *, strict: bool
) -> Footer:
    """The last line, with the exit code. ``strict``: differences that a document allows count as well."""
    done = list(executions)
    summary: dict[str, Counter[str]] = {}
    for execution in done:
        summary.setdefault(execution.target, Counter())[execution.verdict] += 1
    return Footer(
        finished=_now(),
        executions=len(done),
        summary={target: dict(counts) for target, counts in summary.items()},
        known=tuple(known),
        errors=tuple(errors),
        exit_code=_exit_code(done, known, errors, strict),
    )


def _exit_code(
    executions: Sequence[Execution], known: Sequence[KnownEntry], errors: Sequence[str], strict: bool
) -> ExitCode:
    verdicts: dict[str, set[str]] = {}
    for execution in executions:
        verdicts.setdefault(execution.target, set()).add(execution.verdict)
    if errors or any(Verdict.ERROR.value in found for found in verdicts.values()):
        return ExitCode.INCOMPLETE
    compared = {verdict.value for verdict in COMPARED}
    if not verdicts or any(not found & compared for found in verdicts.values()):
        # One target that was held to nothing is not made green by another.
        return ExitCode.NOTHING_COMPARED
    stale = any(entry.status in ("repaired", "expired") for entry in known)
    informative = strict and any(execution.information for execution in executions)
    if stale or informative or any(execution.unexpected for execution in executions):
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
