"""Locks: files that name every case of a corpus with its digest, so that a run can refuse another corpus."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from maxpool_check.corpus.case import Case, Values
from maxpool_check.corpus.collection import Corpus
from maxpool_check.files import read_regular
from maxpool_check.words import plural

SCHEMA = "maxpool-check/corpus-lock/1"

_MOST_BYTES = 2**27
_FEW = 3
"""How many cases a message names."""


class BadLock(ValueError):
    """A file that is no lock."""


class CorpusLock(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of a corpus by id, and its files of defects, each with its SHA-256; ``sha256`` is that of all cases.

    ``version`` is that of the tool whose corpus it is; None for another corpus.
    """

    schema: str
    name: str
    version: str | None
    sha256: str
    defects: dict[str, str]
    cases: dict[str, str]

    def json(self) -> str:
        """The content of the file; the same for the same corpus."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=1).decode() + "\n"


def lock_of(corpus: Corpus, version: str) -> CorpusLock:
    """The lock of a corpus as it was read by this version of the tool."""
    roots = {root: f"{root.name}/" if len(corpus.roots) > 1 else "" for root in corpus.roots}
    return CorpusLock(
        schema=SCHEMA,
        name=corpus.name,
        version=version if corpus.shipped else None,
        sha256=corpus.sha256,
        defects={
            f"{prefix}{file.relative_to(root).as_posix()}": hashlib.sha256(file.read_bytes()).hexdigest()
            for root, prefix in roots.items()
            for file in corpus.known_files
            if file.is_relative_to(root)
        },
        cases={case.id: _digest(case) for case in corpus.cases},
    )


def read_lock(path: Path) -> CorpusLock:
    """Read a lock. Raises :class:`BadLock`, and ``OSError`` for a file that cannot be read."""
    try:
        lock = msgspec.json.decode(read_regular(path, _MOST_BYTES), type=CorpusLock)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadLock(f"{path} is no lock of a corpus: {error}; 'maxpool-check cases lock' writes one") from error
    if lock.schema != SCHEMA:
        raise BadLock(f"{path} has the schema '{lock.schema}'; known is {SCHEMA}")
    return lock


def differences(lock: CorpusLock, corpus: Corpus) -> list[str]:
    """How a corpus differs from a lock, in words; empty if it is the same."""
    current = lock_of(corpus, "")
    return [
        *_differences(lock.cases, current.cases, "case", "cases"),
        *_differences(lock.defects, current.defects, "file of defects", "files of defects"),
    ]


def _differences(old: Mapping[str, str], new: Mapping[str, str], noun: str, nouns: str) -> Iterator[str]:
    named = {
        "missing": [name for name in old if name not in new],
        "added": [name for name in new if name not in old],
        "changed": [name for name, digest in new.items() if old.get(name, digest) != digest],
    }
    for how, names in named.items():
        if names:
            more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
            yield f"{plural(len(names), noun, nouns)} {how}: {', '.join(names[:_FEW])}{more}"


def _digest(case: Case) -> str:
    """The digest of what the result of a case depends on, and of what is expected of it, claimed and selected by."""
    stated = [*case.covers, "", *case.tags, "", case.erratum or "", *sorted(map(str, case.provenance.items()))]
    match case.expect:
        case Values(Y, Indices):
            stated += [f"{each.dtype} {each.shape} {each.tobytes().hex()}" for each in (Y, Indices) if each is not None]
        case expectation:
            stated.append(repr(expectation))
    return hashlib.sha256("\n".join([case.sha256, *stated]).encode()).hexdigest()
