"""The header of a record: everything that an output or a verdict can depend on."""

import hashlib
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

import maxpool_check
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, digest_of
from maxpool_check.results.provenance import CorpusDescription, DocumentEdition, ReferenceAgreement
from maxpool_check.results.record import RunHeader, TargetDescription
from maxpool_check.running.provenance import machine, processor, tool_files
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.clauses import edition_name, editions


def header(
    cases: Sequence[Case],
    targets: Sequence[TargetDescription],
    known_files: Sequence[Path],
    command: Sequence[str] = (),
    corpus: Corpus | None = None,
    seeds: Mapping[str, int] | None = None,
    references: ReferenceAgreement | None = None,
) -> RunHeader:
    """The first line of a record: everything that an output or a verdict can depend on."""
    used = {case.spec for case in cases}
    return RunHeader(
        tool=maxpool_check.__version__,
        started=now(),
        python=platform.python_version(),
        # The release without what a distributor adds.
        system=f"{platform.system()} {platform.release().partition('-')[0]}",
        cpu=processor()[0],
        libraries={name: version(name) for name in ("numpy", "ml_dtypes", "onnx")},
        targets=tuple(targets),
        profile={name: document.policies.names() for name, document in SPECIFICATIONS.items() if name in used},
        cases=len(cases),
        cases_sha256=digest_of(cases),
        known_sha256=digest_of_files(known_files),
        command=tuple(command) or (Path(sys.argv[0]).name, *sys.argv[1:]),
        corpus=CorpusDescription(
            name=corpus.name,
            version=maxpool_check.__version__ if corpus.shipped else None,
            cases=len(corpus.cases),
            sha256=corpus.sha256,
        )
        if corpus is not None and corpus.name
        else None,
        tool_files=tool_files(),
        machine=machine(),
        editions={
            name: DocumentEdition(name=edition_name(name), sha256=edition.sha256)
            for name, edition in sorted(editions().items())
            if name in used
        },
        references=references,
        seeds=dict(seeds or {}),
    )


def digest_of_files(known_files: Sequence[Path]) -> str | None:
    """The digest of files of known defects; None without such files."""
    return hashlib.sha256(b"".join(map(Path.read_bytes, known_files))).hexdigest() if known_files else None


def now() -> str:
    """The time, in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
