"""What a bundle of evidence is made of: the names of its members, its description, and its manifest."""

import gzip
import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from maxpool_check.results.details import ToolFiles

SCHEMA = "maxpool-check/evidence/1"

DESCRIPTION = "bundle.json"
KILLS = "kills.json"
PROOF = "proof.json"
MANIFEST = "MANIFEST.sha256"
SIGNATURE = "MANIFEST.sha256.sig"

RECORDS, CASES = "records/", "cases/"
"""The folders of the records, and of the case files and defects that belong to them."""

CLAUSES, REFERENCE, WRONG_KERNELS = "clauses/", "reference/", "wrong_kernels/"
TOOL = (CLAUSES, REFERENCE, WRONG_KERNELS)
"""The folders of files of the tool itself: clauses, the source of both references, the kernels that are wrong on purpose."""

_LONGEST = 50
"""A name of a member has 100 characters at most."""

NAMESPACE = "maxpool-check-evidence"
"""What a signature is for, in the words of ``ssh-keygen -n``."""


class ToolDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The tool that made a bundle."""

    version: str
    files: ToolFiles


class BundledRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record of a bundle: ``name`` is that of its pages, ``member`` its file, ``sha256`` the digest of its lines.

    ``cases`` and ``executions`` are numbers.
    """

    name: str
    member: str
    sha256: str
    targets: tuple[str, ...]
    cases: int
    executions: int


class BundleDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The first member: the tool, the records, and how many cases they have together.

    ``libraries`` are the versions of those that write members: another version may write other bytes. ``max_cells`` is the limit of cells with which the cases were read.
    """

    schema: str = SCHEMA
    tool: ToolDescription
    libraries: dict[str, str]
    records: tuple[BundledRecord, ...]
    cases: int
    max_cells: int

    def json(self) -> bytes:
        """The member; the same bytes for the same description."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


def is_primary(name: str) -> bool:
    """Whether a member is evidence itself, from which the others follow."""
    return name in (DESCRIPTION, KILLS, PROOF) or name.startswith((RECORDS, CASES, *TOOL))


def primary(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The primary members."""
    return {name: content for name, content in members.items() if is_primary(name)}


def manifest(members: Mapping[str, bytes]) -> bytes:
    """The manifest of members, in the form that ``sha256sum -c`` reads: all but itself and its signature."""
    names = sorted(name for name in members if name not in (MANIFEST, SIGNATURE))
    return "".join(f"{sha256_of(members[name])}  {name}\n" for name in names).encode()


def compressed(content: bytes) -> bytes:
    """A member that is compressed by gzip, without a name and a time.

    Other builds of the compressor may make other bytes of the same content.
    """
    stream = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, stream, 0) as file:
        file.write(content)
    return stream.getvalue()


def sha256_of(content: bytes) -> str:
    """The digest of a member."""
    return hashlib.sha256(content).hexdigest()


def names_with(names: Iterable[str], folder: str) -> list[str]:
    """The names in a folder, in order."""
    return sorted(name for name in names if name.startswith(folder))


def member_names(texts: Sequence[str]) -> list[str]:
    """A name for the members of each target or record, whatever the order: ``onnxruntime==1.31.1`` is onnxruntime-1.31.1."""
    short = [
        re.sub("[^A-Za-z0-9._-]+", "-", text.replace("==", "-")).strip("-.")[:_LONGEST] or "target" for text in texts
    ]
    return [
        f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}" if short.count(name) > 1 else name
        for name, text in zip(short, texts, strict=True)
    ]
