"""Archives of evidence: written in one form, and read as what nobody trusts."""

import gzip
import io
import tarfile

import pytest

from maxpool_check.evidence.bundling import archive
from maxpool_check.evidence.bundling.archive import (
    BadArchive,
    compressed,
    decompressed,
    members_of,
    packed,
    unpacked,
    write_members,
)

MEMBERS = {"bundle.json": b"{}\n", "cases/a.yaml": b"cases: []\n" * 100, "empty": b""}


def tar(*members, form=tarfile.USTAR_FORMAT):
    """An archive of (name, content or None, other fields), as any program writes it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as file:
        for name, content, fields in members:
            info = tarfile.TarInfo(name)
            info.size = len(content or b"")
            for field, value in fields.items():
                setattr(info, field, value)
            file.addfile(info, None if content is None else io.BytesIO(content))
    return buffer.getvalue()


def plain(name, content=b"x", **fields):
    return name, content, fields


def test_what_is_written_is_read_and_any_tar_reads_it():
    content = packed(MEMBERS)
    assert members_of(content) == MEMBERS
    assert content == packed(dict(reversed(MEMBERS.items())))
    with tarfile.open(fileobj=io.BytesIO(content)) as file:
        assert [(each.name, each.mtime, each.mode, each.uid, each.uname) for each in file] == [
            (f"evidence/{name}", 0, 0o644, 0, "") for name in sorted(MEMBERS)
        ]


def test_a_plain_tar_of_the_same_files_is_the_same_archive():
    assert tar(*(plain(f"evidence/{name}", MEMBERS[name]) for name in sorted(MEMBERS))) == packed(MEMBERS)


HOSTILE = {
    "an absolute path": ([plain("/etc/passwd")], "/etc/passwd: is not below the top folder, evidence/"),
    "a path upwards": ([plain("evidence/../../x")], "../../x: is no name of a file below"),
    "a path of Windows": ([plain("evidence/..\\x")], "..\\x: is no name"),
    "another folder": ([plain("other/x")], "other/x: is not below the top folder, evidence/"),
    "no folder": ([plain("evidence")], "evidence: is not below the top folder"),
    "two slashes": ([plain("evidence//x")], "/x: is no name of a file below the top folder"),
    "a dot": ([plain("evidence/./x")], "./x: is no name of a file below the top folder"),
    "a control character": ([plain("evidence/\x1b[31mx")], "\\x1b[31mx: is no name"),
    "a right-to-left mark": ([plain("evidence/\u202ex")], "\\u202ex: is no name"),
    "a symbolic link": ([plain("evidence/x", None, type=tarfile.SYMTYPE, linkname="/etc")], "evidence/x: is no plain file"),
    "a hard link": ([plain("evidence/x", None, type=tarfile.LNKTYPE, linkname="evidence/y")], "evidence/x: is no plain file"),
    "a device": ([plain("evidence/x", None, type=tarfile.CHRTYPE)], "evidence/x: is no plain file"),
    "a pipe": ([plain("evidence/x", None, type=tarfile.FIFOTYPE)], "evidence/x: is no plain file"),
    "a folder": ([plain("evidence", None, type=tarfile.DIRTYPE)], "evidence: is no plain file"),
    "twice": ([plain("evidence/x"), plain("evidence/x", b"y")], "the archive is not in the form"),
    "another order": ([plain("evidence/b"), plain("evidence/a")], "the archive is not in the form"),
    "a time": ([plain("evidence/x", mtime=1)], "the archive is not in the form"),
    "an owner": ([plain("evidence/x", uname="me")], "the archive is not in the form"),
    "a mode": ([plain("evidence/x", mode=0o4755)], "the archive is not in the form"),
    "a file that is a folder": ([plain("evidence/x"), plain("evidence/x/y")], "x/: is a file and a folder"),
    "nothing": ([], "it has no members"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_is_refused_by_the_name_of_its_member(what):
    members, message = HOSTILE[what]
    with pytest.raises(BadArchive) as refused:
        members_of(tar(*members))
    assert message in str(refused.value)


def test_headers_that_other_programs_add_are_refused():
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        with pytest.raises(BadArchive, match="not in the form|cannot be the name"):
            members_of(tar(plain("evidence/" + "x" * 200), form=form))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content + b"x", "the archive is not in the form .* from byte 10240 on"),
        (lambda content: content + bytes(512), "the archive is not in the form"),
        (lambda content: content[:-512], "the archive is not in the form"),
        (lambda content: content[:700], "unexpected end of data|the archive is not"),
        (lambda content: content[:100], "not an archive of evidence"),
        (lambda content: content[:520] + b"x" + content[521:], "the archive is not in the form"),
        (lambda content: content[:1100] + b"x" + content[1101:], "the archive is not in the form"),
        (lambda content: gzip.compress(content), "not an archive of evidence"),
        (lambda content: b"PK\3\4" + content, "not an archive of evidence"),
    ],
)  # fmt: skip
def test_a_damaged_archive_is_refused(damage, message):
    with pytest.raises(BadArchive, match=message):
        members_of(damage(packed(MEMBERS)))


def test_every_byte_of_an_archive_counts():
    content = packed(MEMBERS)
    for at in range(0, len(content), 7):
        flipped = bytearray(content)
        flipped[at] ^= 1
        try:
            read = members_of(bytes(flipped))
        except BadArchive:
            continue
        assert read != MEMBERS


def test_there_are_limits(monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr(archive, "MOST_MEMBERS", 2)
        with pytest.raises(BadArchive, match="more than 2 members"):
            members_of(tar(*(plain(f"evidence/{name}", MEMBERS[name]) for name in sorted(MEMBERS))))
        with pytest.raises(BadArchive, match="more than 2 members"):
            packed(MEMBERS)
    path = tmp_path / "evidence.tar"
    path.write_bytes(packed(MEMBERS))
    assert unpacked(path) == MEMBERS
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    with pytest.raises(OSError, match="the limit is 1000"):
        unpacked(path)
    with pytest.raises(BadArchive, match="the limit is 1000"):
        packed(MEMBERS)


def test_a_header_cannot_promise_more_than_there_is():
    info = tarfile.TarInfo("evidence/x")
    info.size = 2**40
    with pytest.raises(BadArchive, match="not an archive of evidence|the archive is not in the form"):
        members_of(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))


def test_headers_of_negative_sizes_end():
    for kind in (tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_SPARSE):
        info = tarfile.TarInfo("evidence/x")
        info.type, info.size = kind, -512
        for content in (bytes(1024), packed(MEMBERS)):
            with pytest.raises(BadArchive):
                members_of(packed(MEMBERS)[:1024] + info.tobuf(tarfile.GNU_FORMAT) + content)


def test_what_is_compressed_has_a_limit_and_one_end():
    content = compressed(b"x" * 1000)
    assert decompressed("x.gz", content, 1000) == b"x" * 1000
    for data, message in [
        (compressed(b"x" * 1001), "x.gz: has more than 1000 bytes when it is decompressed"),
        (content[:-1], "x.gz: the compressed data is cut off"),
        (content + content, "x.gz: the compressed data has something behind its end"),
        (b"text", "x.gz: cannot be decompressed"),
        (gzip.compress(b"x" * 1000), "x.gz: its header of gzip says more"),
    ]:
        with pytest.raises(BadArchive, match=message):
            decompressed("x.gz", data, 1000)


def test_members_are_written_into_a_folder_and_nowhere_else(tmp_path):
    folder = tmp_path / "here"
    write_members(MEMBERS, folder)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == set(MEMBERS)
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
    with pytest.raises(FileExistsError):
        write_members(MEMBERS, folder)
