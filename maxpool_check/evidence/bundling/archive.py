"""Archives of evidence: POSIX tar in one form only, so that a file can be written in one way and nothing hides in it.

What is read is not trusted: nothing is ever extracted by the names in an archive, and everything has a limit.
"""

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from maxpool_check import inert
from maxpool_check.files import read_regular
from maxpool_check.words import plural

TOP = "evidence"
"""The folder that holds every member; what this module calls a name is below it."""

MOST_BYTES = 2**28
"""The largest archive that is read."""
MOST_MEMBERS = 20_000
"""The most members."""
MOST_UNPACKED = 2**30
"""The most bytes that the compressed members may have together when they are decompressed."""


class BadArchive(ValueError):
    """A file that is no archive of evidence, or one in another form than it is written in."""


def packed(members: Mapping[str, bytes]) -> bytes:
    """The archive of some members; the same bytes for the same members. Raises :class:`BadArchive` for one that none can read."""
    if len(members) > MOST_MEMBERS:
        raise BadArchive(f"the archive has more than {plural(MOST_MEMBERS, 'member')}")
    for name in members:
        path = PurePosixPath(name)
        if path.is_absolute() or {"..", "."} & {*path.parts} or str(path) != name or "\\" in name:
            raise BadArchive(f"{inert.line(name)}: is no name of a file below the top folder, {TOP}/")
        if inert.line(name) != name:
            raise BadArchive(f"{inert.line(name)}: is no name of a file, but has characters that do not show")
        if folder := next((str(folder) for folder in path.parents if str(folder) in members), ""):
            raise BadArchive(f"{inert.line(folder)}/: is a file and a folder")
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT, encoding="utf-8") as file:
        for name, content in sorted(members.items()):
            info = tarfile.TarInfo(f"{TOP}/{name}")
            info.size = len(content)
            try:
                file.addfile(info, io.BytesIO(content))
            except ValueError as error:
                raise BadArchive(f"{inert.line(name)}: cannot be the name of a member: {error}") from error
    if stream.tell() > MOST_BYTES:
        raise BadArchive(f"the archive would have {stream.tell()} bytes; the limit is {MOST_BYTES}")
    return stream.getvalue()


def unpacked(path: Path) -> dict[str, bytes]:
    """The members of an archive, by name. Raises :class:`BadArchive`, and ``OSError`` as ``read_regular`` does."""
    return members_of(read_regular(path, MOST_BYTES))


def members_of(content: bytes) -> dict[str, bytes]:
    """The members of an archive, which must be what :func:`packed` makes of them. Raises :class:`BadArchive`."""
    try:
        members = dict(_read(content))
    except BadArchive:
        raise
    except (tarfile.TarError, ValueError, TypeError, LookupError, ArithmeticError, EOFError, RecursionError) as error:
        raise BadArchive(f"not an archive of evidence: {error}") from error
    if not members:
        raise BadArchive("not an archive of evidence: it has no members")
    if (again := packed(members)) != content:
        pairs = enumerate(zip(again, content, strict=False))
        at = next((place for place, (a, b) in pairs if a != b), min(len(again), len(content)))
        raise BadArchive(f"the archive is not in the form that 'evidence build' writes, from byte {at} on")
    return members


def _read(content: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:", encoding="utf-8", errors="strict") as file:
        for number, info in enumerate(file):
            shown = inert.line(info.name)
            if info.type != tarfile.REGTYPE or info.issparse() or not 0 <= info.size <= len(content):
                raise BadArchive(f"{shown}: is no plain file; an archive of evidence has files alone")
            if not info.name.startswith(f"{TOP}/"):
                raise BadArchive(f"{shown}: is not below the top folder, {TOP}/")
            if number == MOST_MEMBERS:
                raise BadArchive(f"{shown}: the archive has more than {plural(MOST_MEMBERS, 'member')}")
            stream = file.extractfile(info)
            assert stream is not None
            yield info.name.removeprefix(f"{TOP}/"), stream.read()


def compressed(content: bytes) -> bytes:
    """A member that is compressed by gzip, without a name and a time.

    Other builds of the compressor may make other bytes of the same content.
    """
    stream = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, stream, 0) as file:
        file.write(content)
    return stream.getvalue()


_GZIP = compressed(b"")[:10]
"""The header of a compressed member."""


def decompressed(name: str, content: bytes, most_bytes: int = MOST_UNPACKED) -> bytes:
    """A member that :func:`compressed` made. Raises :class:`BadArchive`, also if it has more than ``most_bytes``."""
    decompressor = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        result = decompressor.decompress(content, most_bytes + 1)
    except zlib.error as error:
        raise BadArchive(f"{inert.line(name)}: cannot be decompressed: {error}") from error
    for is_wrong, text in (
        (len(result) > most_bytes, f"has more than {most_bytes} bytes when it is decompressed"),
        (not decompressor.eof, "the compressed data is cut off"),
        (decompressor.unused_data, "the compressed data has something behind its end"),
        (not content.startswith(_GZIP), "its header of gzip says more than 'evidence build' writes"),
    ):
        if is_wrong:
            raise BadArchive(f"{inert.line(name)}: {text}")
    return result
