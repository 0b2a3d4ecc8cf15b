"""The header of a record: everything that an output or a verdict can depend on."""

import contextlib
import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import onnx

import maxpool_check
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, digest_of
from maxpool_check.results.details import (
    CorpusDescription,
    DocumentEdition,
    ReferenceAgreement,
    RunSettings,
    ToolFiles,
    ToolMachine,
)
from maxpool_check.results.record import RunHeader, TargetDescription
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.clauses import edition_name, editions

_PACKAGE = Path(maxpool_check.__file__).parent
_SHIPPED_CASES = "corpus_data"
"""The folder of the cases that come with an installed tool: a checkout has them elsewhere, and a record has their digest."""

_GIT_SECONDS = 10.0

_VARIABLES = re.compile(
    r"""(CUDA_VISIBLE_DEVICES|CUBLAS_WORKSPACE_CONFIG|NVIDIA_TF32_OVERRIDE|GLIBC_TUNABLES|LD_PRELOAD|LD_LIBRARY_PATH
    |DYLD_INSERT_LIBRARIES|DYLD_LIBRARY_PATH|PYTHONHASHSEED|PYTHONPATH|PYTHONHOME|XLA_FLAGS
    |VK_ICD_FILENAMES|VK_DRIVER_FILES|VECLIB_MAXIMUM_THREADS|NUMEXPR_NUM_THREADS
    |(ATEN|BLIS|DNNL|GOMP|GOTO|HIP|JAX|KMP|MAXPOOL_CHECK|MIGRAPHX|MKL|MKLDNN|NPY|OMP|ONEDNN|ONNX|ONNXRUNTIME
      |OPENBLAS|OPENVINO|ORT|OV|PYTORCH|QNN|ROCR|TBB|TORCH|TRACT)_\w+)""",
    re.VERBOSE,
)
"""The variables that can change what a runtime computes, or which libraries are loaded."""

_SECRET = re.compile("TOKEN|SECRET|PASS|KEY|CREDENTIAL|AUTH", re.IGNORECASE)


@cache
def tool_files() -> ToolFiles | None:
    """The tool's own files: their digest, and their revision if they are in a checkout. None if they cannot be read."""
    folders = os.walk(_PACKAGE)
    paths = sorted(Path(folder, name) for folder, _, names in folders for name in names if not name.endswith(".pyc"))
    names = {path.relative_to(_PACKAGE).as_posix(): path for path in paths}
    try:
        lines = [
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n"
            for name, path in sorted(names.items())
            if not name.startswith(f"{_SHIPPED_CASES}/")
        ]
    except OSError:
        return None
    revision, modified = _revision(_PACKAGE.parent)
    return ToolFiles(sha256=hashlib.sha256("".join(lines).encode()).hexdigest(), revision=revision, modified=modified)


def _revision(root: Path) -> tuple[str | None, bool | None]:
    """The commit of a checkout of this project, and whether the package differs from it.

    A repository of the user's that has the tool in an environment, or in a folder, is none.
    """
    try:
        project = (root / "pyproject.toml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None, None
    if not (root / ".git").exists() or not re.search(r'^name = "maxpool-check"$', project, re.MULTILINE):
        return None, None
    # A hook of git sets variables that name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    status = ["status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--", _PACKAGE.name]
    try:
        process = subprocess.run(
            ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", *status],
            capture_output=True,
            text=True,
            errors="replace",
            cwd=root,
            env=environment,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None, None
    lines = process.stdout.splitlines()
    commit = next((line.rpartition(" ")[2] for line in lines if line.startswith("# branch.oid ")), "")
    if not re.fullmatch("[0-9a-f]{40,64}", commit):
        return None, None
    return commit, any(not line.startswith("#") for line in lines)


@cache
def processor() -> tuple[str, tuple[str, ...]]:
    """The name of the processor, and its features: those that Linux lists, or those that numpy knows of elsewhere."""
    fields: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            fields.setdefault(name.strip(), value.strip())
    name = fields.get("model name") or platform.processor() or "unknown"
    features = (fields.get("flags") or fields.get("Features") or "").split()
    if not features:
        extensions: Any = np.show_config(mode="dicts")
        features = [*extensions["SIMD Extensions"]["baseline"], *extensions["SIMD Extensions"]["found"]]
    return f"{name} ({platform.machine()})", tuple(features)


def machine() -> ToolMachine:
    """The machine of this process, besides its processor and system."""
    return ToolMachine(
        features=processor()[1],
        kernel=platform.release(),
        libc=" ".join(filter(None, platform.libc_ver())),
        environment={
            name: os.fsencode(value).decode(errors="backslashreplace")
            for name, value in sorted(os.environ.items())
            if _VARIABLES.fullmatch(name) and not _SECRET.search(name)
        },
    )


@dataclass(frozen=True)
class CommandLine:
    """The words of a command line, none for those of the process; and the SHA-256 of the file of its configuration, None without one."""

    words: tuple[str, ...] = ()
    configuration_sha256: str | None = None


OF_PROCESS = CommandLine()
"""The command line of the process."""


def header(
    cases: Collection[Case],
    targets: Sequence[TargetDescription],
    known_files: Sequence[Path],
    command: CommandLine = OF_PROCESS,
    corpus: Corpus | None = None,
    seeds: Mapping[str, int] | None = None,
    references: ReferenceAgreement | None = None,
    settings: RunSettings | msgspec.UnsetType = msgspec.UNSET,
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
        libraries={library.__name__: library.__version__ for library in (np, ml_dtypes, onnx)},
        targets=tuple(targets),
        profile={name: document.policies.names() for name, document in SPECIFICATIONS.items() if name in used},
        cases=len(cases),
        cases_sha256=corpus.sha256 if corpus is not None and cases is corpus.cases else digest_of(cases),
        known_sha256=digest_of_files(known_files),
        command=command.words or (Path(sys.argv[0]).name, *sys.argv[1:]),
        configuration_sha256=command.configuration_sha256 or msgspec.UNSET,
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
        settings=settings,
    )


def digest_of_files(known_files: Sequence[Path]) -> str | None:
    """The digest of files of known defects; None without such files."""
    return hashlib.sha256(b"".join(map(Path.read_bytes, known_files))).hexdigest() if known_files else None


def now() -> str:
    """The time, in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
