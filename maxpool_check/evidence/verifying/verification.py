"""Verifies a bundle: what in it was altered, is missing, was added, or does not follow from the rest of it."""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from maxpool_check.corpus.problems import CorpusError
from maxpool_check.evidence.bundling.archive import MOST_UNPACKED, BadArchive, decompressed, unpacked
from maxpool_check.evidence.bundling.bundle import MANIFEST, RECORDS, SIGNATURE, manifest
from maxpool_check.evidence.bundling.contents import BadBundle, Contents, opened
from maxpool_check.evidence.verifying.content_checks import check_contents
from maxpool_check.evidence.verifying.findings import Verification
from maxpool_check.evidence.verifying.signatures import CannotVerify, WrongSignature, signer
from maxpool_check.results.storage import BadRecord
from maxpool_check.words import plural


@contextlib.contextmanager
def verified(path: Path, key: Path | None) -> Iterator[tuple[Verification, Contents | None]]:
    """Verify a bundle, with the public ``key`` or the file of allowed signers that must have signed it.

    The contents of a bundle that can be read are open inside of the block. Raises ``OSError`` for a file that cannot be read.
    """
    verification = Verification()
    try:
        members = unpacked(path)
    except BadArchive as error:
        verification.add(path.name, str(error))
        yield verification, None
        return
    verification.checks.append(f"The archive has {plural(len(members), 'file')}, and nothing besides.")
    with verification.check("Every file has the SHA-256 of the manifest.", MANIFEST):
        _check_manifest(members, verification)
    _check_signature(members, key, verification)
    with contextlib.ExitStack() as stack:
        contents = None
        try:
            _check_records(members)
            contents = stack.enter_context(opened(members))
        except (BadArchive, BadBundle, BadRecord) as error:
            verification.add("bundle", _without_folder(str(error), members))
        except CorpusError as error:
            for problem in error.problems:
                verification.add(
                    _member_of(problem.path, members), f"{problem.line}:{problem.column}: {problem.message}"
                )
        except OSError:
            raise
        except Exception as error:
            # Whoever made a bundle must not be able to end its verification.
            verification.add("bundle", f"cannot be read, since nothing writes such members: {error!r}")
        if contents is not None:
            with verification.guarded("bundle"):
                check_contents(members, contents, verification)
        yield verification, contents


def _check_manifest(members: Mapping[str, bytes], verification: Verification) -> None:
    if MANIFEST not in members:
        verification.add(MANIFEST, "is missing")
        return
    text = members[MANIFEST].decode(errors="replace")
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}
    actual = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    for name in sorted({*listed, *actual} - {MANIFEST, SIGNATURE}):
        if name not in actual:
            verification.add(name, f"is missing: {MANIFEST} has it")
        elif name not in listed:
            verification.add(name, f"was added: {MANIFEST} does not have it")
        elif listed[name] != actual[name]:
            verification.add(name, f"was altered: its SHA-256 is {actual[name]}, and {MANIFEST} has {listed[name]}")
    if not verification.problems and members[MANIFEST] != manifest(members):
        verification.add(MANIFEST, "is not in the form that 'evidence build' writes")


def _check_signature(members: Mapping[str, bytes], key: Path | None, verification: Verification) -> None:
    signature = members.get(SIGNATURE)
    if signature is None:
        if key is not None:
            verification.add(SIGNATURE, f"is missing: the bundle is not signed, by {key} or anybody")
        return
    if MANIFEST not in members:
        return
    try:
        verification.checks.append(signer(members[MANIFEST], signature, key))
    except WrongSignature as error:
        verification.add(SIGNATURE, str(error))
    except CannotVerify as error:
        verification.unchecked.append(f"{SIGNATURE}: {error}")


def _check_records(members: Mapping[str, bytes]) -> None:
    """Raise :class:`BadArchive` for records that have too many bytes when they are decompressed."""
    left = MOST_UNPACKED
    for name, content in members.items():
        if name.startswith(RECORDS):
            left -= len(decompressed(name, content, left))


def _member_of(path: str, members: Mapping[str, bytes]) -> str:
    """The member of a path in a temporary folder."""
    return next((name for name in members if path.endswith(f"/{name}")), path)


def _without_folder(text: str, members: Mapping[str, bytes]) -> str:
    """A message without the temporary folder before the name of a member."""
    for name in members:
        before, found, after = text.partition(f"/{name}")
        if found and " " not in before:
            return f"{name}{after}"
    return text
