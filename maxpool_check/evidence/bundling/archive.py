"""Archives of evidence: POSIX tar in one form only, so that a file can be written in one way and nothing hides in it.

What is read is not trusted: nothing is ever extracted by the names in an archive, and everything has a limit.
"""

import itertools
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from maxpool_check import inert
from maxpool_check.files import read_regular
from maxpool_check.words import plural

TOP = "evidence"
"""The folder that holds every member; what this module calls a name is below it."""

MOST_BYTES = 2**28
"""The largest archive that is read."""
MOST_MEMBER = 2**27
"""The largest member."""
MOST_MEMBERS = 20_000
"""The most members."""
MOST_UNPACKED = 2**30
"""The most bytes that the compressed members may have together when they are decompressed."""

_TYPES = {
    tarfile.LNKTYPE: "a hard link", tarfile.SYMTYPE: "a symbolic link", tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device", tarfile.DIRTYPE: "a folder", tarfile.FIFOTYPE: "a pipe",
}  # fmt: skip


class BadArchive(ValueError):
    """A file that is no archive of evidence, or one in another form than it is written in."""


def packed(members: Mapping[str, bytes]) -> bytes:
    """The archive of some members; the same bytes for the same members. Raises :class:`BadArchive` for one that none can read."""
    parts: list[bytes] = []
    for name in sorted(members):
        content = members[name]
        parts += [_header(name, len(content)), content, bytes(-len(content) % tarfile.BLOCKSIZE)]
    archive = b"".join(parts)
    archive += bytes(_end(len(archive)))
    if len(archive) > MOST_BYTES:
        raise BadArchive(f"the archive would have {len(archive)} bytes; the limit is {MOST_BYTES}")
    members_of(archive)
    return archive


def unpacked(path: Path) -> dict[str, bytes]:
    """The members of an archive, by name. Raises :class:`BadArchive`, and ``OSError`` as ``read_regular`` does."""
    return members_of(read_regular(path, MOST_BYTES))


def members_of(content: bytes) -> dict[str, bytes]:
    """The members of an archive. Raises :class:`BadArchive`."""
    members: dict[str, bytes] = {}
    at, previous = 0, ""
    while (block := content[at : at + tarfile.BLOCKSIZE]).strip(b"\0"):
        name, size = _member(block, at, members)
        end = at + tarfile.BLOCKSIZE + size
        padding = content[end : end + -size % tarfile.BLOCKSIZE]
        if len(content) < end or len(padding) < -size % tarfile.BLOCKSIZE:
            raise BadArchive(f"{inert.line(name)}: the archive is cut off inside of this member")
        if padding.strip(b"\0"):
            raise BadArchive(f"{inert.line(name)}: there is something behind the end of this member")
        if name <= previous:
            raise BadArchive(f"{inert.line(name)}: is not where it belongs in the order of the members")
        members[name] = content[at + tarfile.BLOCKSIZE : end]
        at, previous = end + len(padding), name
    if not members:
        raise BadArchive("not an archive of evidence: it has no members")
    rest = content[at:]
    if rest != bytes(_end(at)):
        what = "is cut off after" if len(rest) < _end(at) and not rest.strip(b"\0") else "has something behind"
        raise BadArchive(f"the archive {what} its last member, {inert.line(previous)}")
    _check_names(list(members))
    return members


def decompressed(name: str, content: bytes, most_bytes: int = MOST_UNPACKED) -> bytes:
    """A member that is compressed by gzip. Raises :class:`BadArchive`, also if it has more than ``most_bytes``."""
    decompressor = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        result = decompressor.decompress(content, most_bytes + 1)
    except zlib.error as error:
        raise BadArchive(f"{inert.line(name)}: cannot be decompressed: {error}") from error
    if len(result) > most_bytes:
        raise BadArchive(f"{inert.line(name)}: has more than {most_bytes} bytes when it is decompressed")
    if not decompressor.eof or decompressor.unused_data:
        where = "is cut off" if not decompressor.eof else "has something behind its end"
        raise BadArchive(f"{inert.line(name)}: the compressed data {where}")
    return result


def write_members(members: Mapping[str, bytes], folder: Path) -> None:
    """Write members, whose names were checked, into an empty folder. Raises ``OSError``."""
    for name, content in members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)


def _member(block: bytes, at: int, members: dict[str, bytes]) -> tuple[str, int]:
    """The name and the size of the member with this header, which must be the one that :func:`packed` writes."""
    last = f" after {inert.line(next(reversed(members)))}" if members else ""
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError) as error:
        what = "not an archive of evidence" if not members else "the archive is broken"
        raise BadArchive(f"{what}: no member begins at byte {at}{last} ({error})") from error
    name, shown = info.name, inert.line(info.name)
    if info.type != tarfile.REGTYPE:
        raise BadArchive(
            f"{shown}: is {_TYPES.get(info.type, 'no plain file')}; an archive of evidence has files alone"
        )
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or "\\" in name or inert.line(name) != name:
        raise BadArchive(f"{shown}: is no name of a file below the top folder, {TOP}/")
    if parts[:1] != (TOP,) or len(parts) < 2 or "/".join(parts) != name:
        raise BadArchive(f"{shown}: is not below the top folder, {TOP}/")
    below = name.removeprefix(f"{TOP}/")
    if below in members:
        raise BadArchive(f"{shown}: occurs twice")
    if len(members) == MOST_MEMBERS:
        raise BadArchive(f"{shown}: the archive has more than {plural(MOST_MEMBERS, 'member')}")
    if not 0 <= info.size <= MOST_MEMBER:
        raise BadArchive(f"{shown}: has {info.size} bytes; the limit is {MOST_MEMBER}")
    if block != _header(below, info.size):
        raise BadArchive(f"{shown}: its header says more than name and size (times, owners or modes)")
    return below, info.size


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(f"{TOP}/{name}")
    info.size = size
    try:
        return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        raise BadArchive(f"{inert.line(name)}: cannot be the name of a member: {error}") from error


def _end(size: int) -> int:
    """The number of zeros behind the last member: two blocks at least, until a record of tar is full."""
    least = 2 * tarfile.BLOCKSIZE
    return least + -(size + least) % tarfile.RECORDSIZE


def _check_names(names: list[str]) -> None:
    """Refuse a name that is the folder of another."""
    for name, following in itertools.pairwise(sorted(f"{each}/" for each in names)):
        if following.startswith(name):
            raise BadArchive(f"{inert.line(name)}: is a file and a folder")
