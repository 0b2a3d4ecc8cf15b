"""The header of a record: everything that an output or a verdict can depend on."""

import contextlib
import hashlib
import platform
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

import maxpool_check
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, digest_of
from maxpool_check.results.record import CorpusDescription, RunHeader, TargetDescription
from maxpool_check.specifications import SPECIFICATIONS


def header(
    cases: Sequence[Case],
    targets: Sequence[TargetDescription],
    known_files: Sequence[Path],
    command: Sequence[str] = (),
    corpus: Corpus | None = None,
) -> RunHeader:
    """The first line of a record: everything that an output or a verdict can depend on."""
    used = {case.spec for case in cases}
    return RunHeader(
        tool=maxpool_check.__version__,
        started=now(),
        python=platform.python_version(),
        # The release without what a distributor adds.
        system=f"{platform.system()} {platform.release().partition('-')[0]}",
        cpu=_cpu(),
        libraries={name: version(name) for name in ("numpy", "ml_dtypes", "onnx")},
        targets=tuple(targets),
        profile={name: document.policies.names() for name, document in SPECIFICATIONS.items() if name in used},
        cases=len(cases),
        cases_sha256=digest_of(cases),
        known_sha256=hashlib.sha256(b"".join(map(Path.read_bytes, known_files))).hexdigest() if known_files else None,
        command=tuple(command) or (Path(sys.argv[0]).name, *sys.argv[1:]),
        corpus=CorpusDescription(
            name=corpus.name,
            version=maxpool_check.__version__ if corpus.shipped else None,
            cases=len(corpus.cases),
            sha256=corpus.sha256,
        )
        if corpus is not None and corpus.name
        else None,
    )


def _cpu() -> str:
    """The name of the processor."""
    name = platform.processor() or "unknown"
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    return f"{name} ({platform.machine()})"


def now() -> str:
    """The time, in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
