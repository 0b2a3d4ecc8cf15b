"""Archives of evidence: written in one form, and read as what nobody trusts."""

import gzip
import io
import tarfile

import pytest

from maxpool_check.evidence.bundling import archive
from maxpool_check.evidence.bundling.archive import BadArchive, compressed, decompressed, members_of, packed

MEMBERS = {"bundle.json": b"{}\n", "cases/a.yaml": b"cases: []\n" * 100, "empty": b""}


def tar(*members, form=tarfile.USTAR_FORMAT):
    """An archive of names, each with other fields, as any program writes it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as file:
        for name, fields in members:
            info = tarfile.TarInfo(name)
            info.size = 0 if "type" in fields else 1
            for field, value in fields.items():
                setattr(info, field, value)
            file.addfile(info, io.BytesIO(b"x") if info.size else None)
    return buffer.getvalue()


def headed(size, kind=tarfile.REGTYPE):
    """A member that promises a size that it does not have."""
    info = tarfile.TarInfo("evidence/x")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def sparse(size):
    """A sparse member of this size as GNU tar writes it, without data."""
    info = tarfile.TarInfo("evidence/x")
    info.type = tarfile.GNUTYPE_SPARSE
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT)[:512])
    head[345:500], head[483:495] = bytes(155), b"%011o\0" % size
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + bytes(1024)


def test_what_is_written_is_read_and_any_tar_reads_it():
    content = packed(MEMBERS)
    assert members_of(content) == MEMBERS
    assert content == packed(dict(reversed(MEMBERS.items())))
    with tarfile.open(fileobj=io.BytesIO(content)) as file:
        assert [(each.name, each.mtime, each.mode, each.uid, each.uname) for each in file] == [
            (f"evidence/{name}", 0, 0o644, 0, "") for name in sorted(MEMBERS)
        ]
    assert tar(("evidence/a", {}), ("evidence/b", {})) == packed({"b": b"x", "a": b"x"})


NAMES = {
    "/etc/passwd": "/etc/passwd: is not below the top folder, evidence/",
    "other/x": "other/x: is not below the top folder",
    "evidence": "evidence: is not below the top folder",
    "evidence/../../x": "../../x: is no name of a file below",
    "evidence/..\\x": "..\\x: is no name of a file",
    "evidence//x": "/x: is no name of a file",
    "evidence/./x": "./x: is no name of a file",
    "evidence/\x1b[31mx": "\\x1b[31mx: is no name",
    "evidence/\u202ex": "\\u202ex: is no name",
}
OTHER_FORM, NO_ARCHIVE = "the archive is not in the form", "not an archive of evidence"
HOSTILE = [
    *((tar((name, {})), message) for name, message in NAMES.items()),
    *(
        (tar(("evidence/x", {"type": kind, "linkname": "/etc"})), "evidence/x: is no plain file")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE)
    ),
    *((tar(("evidence/x", fields)), OTHER_FORM) for fields in ({"mtime": 1}, {"uname": "me"}, {"mode": 0o4755})),
    (tar(("evidence/x", {}), ("evidence/x", {})), OTHER_FORM),
    (tar(("evidence/b", {}), ("evidence/a", {})), OTHER_FORM),
    (tar(("evidence/x", {}), ("evidence/x/y", {})), "x/: is a file and a folder"),
    (tar(), "it has no members"),
    (tar((f"evidence/{'x' * 200}", {}), form=tarfile.PAX_FORMAT), "cannot be the name of a member"),
    (packed(MEMBERS) + b"x", f"{OTHER_FORM} that 'evidence build' writes, from byte 10240 on"),
    (packed(MEMBERS)[:-512], OTHER_FORM),
    (packed(MEMBERS)[:700], "unexpected end of data"),
    (gzip.compress(packed(MEMBERS)), NO_ARCHIVE),
    (headed(2**40), ""),
    # A sparse member has no data, and takes the memory that it says it needs.
    (sparse(10**6), "evidence/x: is no plain file"),
    (headed(4, tarfile.CONTTYPE), "evidence/x: is no plain file"),
    # Readers that believe them come to no end.
    *((packed(MEMBERS)[:1024] + headed(-512, kind), "") for kind in (tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME)),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), HOSTILE, ids=map(str, range(len(HOSTILE))))
def test_a_hostile_archive_is_refused_by_the_name_of_its_member(content, message):
    with pytest.raises(BadArchive) as refused:
        members_of(content)
    assert message in str(refused.value)


def test_there_are_limits(monkeypatch):
    content = packed(MEMBERS)
    monkeypatch.setattr(archive, "MOST_MEMBERS", 2)
    with pytest.raises(BadArchive, match="more than 2 members"):
        members_of(content)
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    with pytest.raises(BadArchive, match="the limit is 1000"):
        packed({"x": bytes(1000)})


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
