"""The clauses of the documents: what each of them states, where, and whether a case can test it.

A file ``NAME.yaml`` of this folder has the clauses of one document, or of the versions of one operator, behind its editions. A
clause is one statement of the document in our own words, never the document's text.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any

import msgspec
import yaml


class ClauseKind(str, Enum):
    """What a statement is in its document."""

    DEFINITION = "definition"
    CONSTRAINT = "constraint"
    RESTRICTION = "restriction"
    EXAMPLE = "example"
    NOTE = "note"


class ClauseStatus(str, Enum):
    """What a statement asks of a test."""

    TESTABLE = "testable"
    """A runtime can violate it, and a case notices."""
    OPEN = "open"
    """The document does not decide; a policy does."""
    ERRATUM = "erratum"
    """Printed by mistake; the erratum of that number says what holds."""
    INFORMATIVE = "informative"
    """It demands nothing of a runtime that a case could test."""


class Edition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The text of a document that was read. ``name`` follows the document's own after ``@``, as in ``sonnx@seed``.

    ``date`` is that of the text or of its commit, ``source`` says where it is published. ``sha256`` is the digest of the
    text that was read; None for a text that its version or commit identifies. ``follows`` is the document of the edition
    before.
    """

    name: str
    title: str
    date: str | None = None
    source: str = ""
    sha256: str | None = None
    follows: str | None = None


class Erratum(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mistake of a document: what is printed, and what holds. ``cases`` recompute it.

    ``proposal`` is a text for its place. ``reviewer`` is the person who confirmed it, ``reviewed`` the day, YYYY-MM-DD; None until
    somebody has.
    """

    number: int
    where: str
    printed: str
    correct: str
    proposal: str = ""
    cases: tuple[str, ...] = ()
    reviewer: str | None = None
    reviewed: str | None = None


class Clause(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One statement of a document.

    ``where`` is the place, ``anchor`` the document's own name of it. ``documents`` are those of the file in which it holds,
    all unless given. ``reason`` says why a clause is informative. ``origin`` are the ids of the clauses that it follows
    from, as a constraint of SONNX follows from a restriction. ``policy`` is the point of an open clause, ``erratum`` the
    number of the erratum. A generated or imported case is about the clause if one of ``bins`` matches: each is a
    mapping of factors to bins, all of which the case has. ``violated_by`` are names of the wrong kernels that
    violate it, ``MODULE:NAME`` or ``MODULE`` for all of a module.
    """

    id: str
    where: str
    states: str
    kind: ClauseKind
    status: ClauseStatus = ClauseStatus.TESTABLE
    anchor: str = ""
    documents: tuple[str, ...] = ()
    reason: str = ""
    origin: tuple[str, ...] = ()
    policy: str | None = None
    erratum: int | None = None
    bins: tuple[dict[str, tuple[str, ...]], ...] = ()
    violated_by: tuple[str, ...] = ()


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What ``clauses`` say of the document itself: of its sizes, of every window, or of what a precondition ensures.

    ``holds`` is the statement as a predicate over one spatial axis in the names of :mod:`~maxpool_check.specifications.claims`,
    ``given`` the axes that it is about, those of size 0 only if it says ``n == 0``. One that fails is in the ``erratum`` of that
    number, or left as it is for a ``reason``; ``mended`` is what holds instead. Without ``holds`` it cannot be executed, for its
    ``reason``. ``documents`` are those in which it is said, all that have the first clause unless given.
    """

    clauses: tuple[str, ...]
    states: str
    holds: str = ""
    given: str = "True"
    mended: str = ""
    documents: tuple[str, ...] = ()
    erratum: int | None = None
    reason: str = ""


class ClauseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The clauses of one document, or of the versions of one operator; ``editions`` by the name of a document."""

    editions: dict[str, Edition]
    errata: tuple[Erratum, ...] = ()
    clauses: tuple[Clause, ...]
    claims: tuple[Claim, ...] = ()


def _parts() -> Iterator[tuple[str, Iterator[Any]]]:
    """The name of each clause file, and its two YAML documents: with the editions, and with all else, which is long."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for path in sorted(resources.files(__name__).iterdir(), key=lambda path: path.name):
        if path.name.endswith(".yaml"):
            yield path.name.removesuffix(".yaml"), yaml.load_all(path.read_bytes(), loader)


@cache
def clause_files() -> Mapping[str, ClauseFile]:
    """All clause files, by name."""
    return {name: msgspec.convert({**editions, **others}, ClauseFile) for name, (editions, others) in _parts()}


@cache
def clauses() -> Mapping[str, Clause]:
    """Every clause by its id; ``documents`` are filled in."""
    return {
        clause.id: msgspec.structs.replace(clause, documents=clause.documents or tuple(file.editions))
        for file in clause_files().values()
        for clause in file.clauses
    }


@cache
def clauses_of(document: str) -> tuple[Clause, ...]:
    """The clauses that hold in a document, in its order."""
    return tuple(clause for clause in clauses().values() if document in clause.documents)


def file_of(document: str) -> ClauseFile:
    """The clause file of a document."""
    return next(file for file in clause_files().values() if document in file.editions)


@cache
def editions() -> Mapping[str, Edition]:
    """The edition of each document that was read, by the name of the document."""
    found = [msgspec.convert(next(parts)["editions"], dict[str, Edition]) for _, parts in _parts()]
    return {name: edition for editions_of_file in found for name, edition in editions_of_file.items()}


def edition_name(document: str) -> str:
    """The name of a document with that of its edition, such as ``sonnx@seed``."""
    return document if "@" in document else f"{document}@{editions()[document].name}"
