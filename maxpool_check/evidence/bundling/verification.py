"""Verifies a bundle: what in it was altered, is missing, was added, or does not follow from the rest of it.

Records follow from their cases and from the outputs that they hold; everything else is made again of them and compared byte for byte.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from maxpool_check.corpus.case import contradictions
from maxpool_check.corpus.collection import defect_files, shipped_root
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.corpus.tensors import MOST_CELLS
from maxpool_check.evidence.bundling.archive import BadArchive, decompressed, unpacked
from maxpool_check.evidence.bundling.build import (
    check_targets,
    derived_from,
    present_libraries,
    present_tool,
    tensors_of,
)
from maxpool_check.evidence.bundling.contents import (
    CASES,
    DESCRIPTION,
    MANIFEST,
    RECORDS,
    SCHEMA,
    SIGNATURE,
    VERSIONS_MEMBER,
    BadBundle,
    Contents,
    manifest,
    names_with,
    opened,
)
from maxpool_check.evidence.bundling.record_check import Verification, check_record
from maxpool_check.evidence.bundling.signing import CannotSign, WrongSignature, signer
from maxpool_check.results.storage import BadRecord
from maxpool_check.words import plural

_BY_LIBRARIES = (".html", ".md")
"""How the names of the pages end, which other versions of libraries may write differently."""

_LONGEST = 120
"""How much of a differing line is shown."""


@contextlib.contextmanager
def verified(
    path: Path, key: Path | None, most_cells: int = MOST_CELLS
) -> Iterator[tuple[Verification, Contents | None]]:
    """Verify a bundle, with the public ``key`` or the file of allowed signers that must have signed it.

    ``most_cells`` is the largest X or Y that a case of it may have.
    The contents of a bundle that can be read are open inside of the block. Raises ``OSError`` for a file that cannot be read.
    """
    verification, members, contents = Verification(), dict[str, bytes](), None
    with contextlib.ExitStack() as stack:
        try:
            members = unpacked(path)
            verification.checks.append(f"The archive has {plural(len(members), 'file')}, and nothing besides.")
            with verification.check("Every file has the SHA-256 of the manifest.", MANIFEST):
                _check_manifest(members, verification)
            _check_signature(members, key, verification)
            contents = stack.enter_context(opened(members, most_cells))
        except (BadArchive, BadBundle, BadRecord, CorpusError) as error:
            for message in map(str, error.problems if isinstance(error, CorpusError) else [error]):
                # It may have the temporary folder before the name of a member.
                place, _, text = message.partition(":")
                known = next((name for name in members if place.endswith(name)), "")
                verification.add(known or path.name, text.strip() if known else message)
        except OSError:
            raise
        except Exception as error:
            # Whoever made a bundle must not be able to end its verification.
            verification.add(path.name, f"cannot be read, since nothing writes such members: {error!r}")
        if contents is not None:
            with verification.check("", path.name):
                _check_contents(contents, verification)
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
    if SIGNATURE in members:
        try:
            verification.checks.append(signer(members.get(MANIFEST, b""), members[SIGNATURE], key))
        except WrongSignature as error:
            verification.add(SIGNATURE, str(error))
        except CannotSign as error:
            verification.unchecked.append(f"{SIGNATURE}: {error}")
    elif key is not None:
        verification.add(SIGNATURE, f"is missing: the bundle is not signed, by {key} or anybody")


def _check_contents(contents: Contents, verification: Verification) -> None:
    """Check the records against the cases and both references, and all else against what follows from them and this tool."""
    tool, own, why = contents.description.tool, present_tool(), ""
    if contents.description.schema != SCHEMA:
        why = f"{DESCRIPTION}: the schema {contents.description.schema}; this version verifies {SCHEMA}"
    elif (tool.version, tool.files.sha256) != (own.version, own.files.sha256):
        why = (
            f"verdicts, pages, clauses and kills: maxpool-check {tool.version} made the bundle, with files of the "
            f"SHA-256 {tool.files.sha256}, and this is {own.version} with {own.files.sha256}; "
            "verify it with the tool that made it"
        )
    try:
        present_libraries()
    except BadBundle as error:
        why = why or str(error)
    if why:
        verification.unchecked.append(why)
        return
    try:
        check_targets([(Path(member), record) for member, record in contents.records.items()])
    except BadBundle as error:
        verification.add(RECORDS, str(error))
    with verification.check("", CASES):
        _check_cases(contents, verification)
    counts = contents.references.counts
    sentence = f"Both references give the same for {plural(counts['computed'], 'case')}"
    with verification.check(f"{sentence}; the documents exclude {counts['refused']} more.", CASES):
        for name in contents.references.differing:
            verification.add(name, "the definition and the evaluator give different results")
        for case in contents.cases.values():
            for problem in contradictions(case):
                verification.add(case.origin.path, f"{problem.line}:{problem.column}: {problem.message}")
    for member, record in contents.records.items():
        lines = decompressed(member, contents.members[member])
        check_record(member, record, contents, verification, lines)
    sentence = "All other files, made again from the records, the cases and this tool, are the same, byte for byte."
    with verification.check(sentence, "pages"):
        _check_derived(contents, verification)


def _check_derived(contents: Contents, verification: Verification) -> None:
    members, expected = contents.members, derived_from(contents)
    given = {name for name in members if name.startswith((RECORDS, CASES)) or name in (MANIFEST, SIGNATURE)}
    for name in sorted({*expected, *members} - given):
        if name not in members:
            verification.add(name, "is missing: it follows from the records")
        elif name not in expected:
            verification.add(name, "is no file of such a bundle")
        elif members[name] != expected[name]:
            _compare(name, members[name], expected[name], contents, verification)


def _check_cases(contents: Contents, verification: Verification) -> None:
    """Check that the files of cases are those of the records, and say which are not of the tool."""
    own, root = names_with(contents.members, CASES), shipped_root()
    described = [each for each in (record.header.corpus for record in contents.records.values()) if each is not None]
    is_part = any(each.version is None and each.cases > len(contents.cases) for each in described)
    # A run that has selected some cases comes with all of them.
    used = {case.origin.path for case in (contents.corpus if is_part else contents.cases.values())}
    used |= {f"{CASES}{tensor}" for name in used for tensor in tensors_of(contents.folder / name, name)}
    used |= {path.relative_to(contents.folder).as_posix() for path in defect_files(contents.folder / CASES)}
    for name in own:
        if name not in used | {VERSIONS_MEMBER}:
            verification.add(name, "holds no case of the records")
    shipped = {name: root / name.removeprefix(CASES) for name in own}
    others = [
        name for name in own if not shipped[name].is_file() or shipped[name].read_bytes() != contents.members[name]
    ]
    text = (
        f"{plural(len(others), 'file')} of cases and defects not of this tool; read what they say: {', '.join(others)}"
    )
    verification.checks.append(f"{text if others else 'Cases and known defects are those that come with the tool'}.")
    if any(each.version == contents.description.tool.version for each in described):
        for name in others:
            verification.add(name, "is not in the corpus that comes with this tool, which the record names")


def _compare(name: str, stored: bytes, expected: bytes, contents: Contents, verification: Verification) -> None:
    """Add the first line of a member that is not what follows."""
    if name.endswith(".gz"):
        # Other builds of the compressor make other bytes.
        try:
            stored, expected = (decompressed(name, each) for each in (stored, expected))
        except BadArchive as error:
            verification.add(name, str(error).removeprefix(f"{name}: "))
            return
        if stored == expected:
            return
    pairs = enumerate(zip(stored, expected, strict=False))
    at = next((at for at, (a, b) in pairs if a != b), min(len(stored), len(expected)))
    begin, number = max(stored.rfind(b"\n", 0, at) + 1, at - 40), stored.count(b"\n", 0, at) + 1
    sides = (each[begin : begin + _LONGEST].split(b"\n")[0] for each in (stored, expected))
    shown = [side.decode(errors="replace").strip() for side in sides]
    place = f"{name}:{number}"
    text = f"does not follow from the records: it says '{shown[0]}'; it follows '{shown[1]}'"
    libraries = contents.description.libraries
    if libraries == present_libraries() or not name.endswith(_BY_LIBRARIES):
        verification.add(place, text)
    else:
        made_with = ", ".join(f"{library} {version}" for library, version in libraries.items())
        verification.unchecked.append(f"{place}: {text}; or it is so because it was made with {made_with}")
