"""Verifies a bundle: what in it was altered, is missing, was added, or does not follow from the rest of it.

Records follow from their cases and from the outputs that they hold; everything else is made again of them and compared byte for byte.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from maxpool_check.corpus.case import contradictions
from maxpool_check.corpus.collection import defect_files, shipped_root
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.evidence.bundling.archive import BadArchive, decompressed, unpacked
from maxpool_check.evidence.bundling.build import present_libraries, present_tool, tensors_of
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
from maxpool_check.evidence.bundling.derived import derived_from
from maxpool_check.evidence.bundling.record_check import RecordCheck, Verification
from maxpool_check.evidence.bundling.signing import CannotSign, WrongSignature, signer
from maxpool_check.results.storage import BadRecord
from maxpool_check.words import plural

_LONGEST = 120
"""How much of a differing line is shown."""


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
        # A message may have the temporary folder before the name of a member.
        try:
            contents = stack.enter_context(opened(members))
        except (BadArchive, BadBundle, BadRecord) as error:
            place, _, text = str(error).partition(":")
            known = next((name for name in members if place.endswith(name)), "")
            verification.add(known or "bundle", text.strip() if known else str(error))
        except CorpusError as error:
            for problem in error.problems:
                place = next((name for name in members if problem.path.endswith(f"/{name}")), problem.path)
                verification.add(place, f"{problem.line}:{problem.column}: {problem.message}")
        except OSError:
            raise
        except Exception as error:
            # Whoever made a bundle must not be able to end its verification.
            verification.add("bundle", f"cannot be read, since nothing writes such members: {error!r}")
        if contents is not None:
            with verification.check("", "bundle"):
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
    signature = members.get(SIGNATURE)
    if signature is None:
        if key is not None:
            verification.add(SIGNATURE, f"is missing: the bundle is not signed, by {key} or anybody")
        return
    try:
        verification.checks.append(signer(members.get(MANIFEST, b""), signature, key))
    except WrongSignature as error:
        verification.add(SIGNATURE, str(error))
    except CannotSign as error:
        verification.unchecked.append(f"{SIGNATURE}: {error}")


def _check_contents(contents: Contents, verification: Verification) -> None:
    """Check the records against the cases and both references, and all else against what follows from them and this tool."""
    tool, own = contents.description.tool, present_tool()
    if contents.description.schema != SCHEMA:
        text = f"the schema {contents.description.schema}; this version verifies {SCHEMA}"
        verification.unchecked.append(f"{DESCRIPTION}: {text}")
        return
    if (tool.version, tool.files.sha256) != (own.version, own.files.sha256):
        text = f"maxpool-check {tool.version} made the bundle, with files of the SHA-256 {tool.files.sha256}"
        here = f"this is {own.version} with {own.files.sha256}; verify it with the tool that made it"
        verification.unchecked.append(f"verdicts, pages, clauses and kills: {text}, and {here}")
        return
    try:
        present_libraries()
    except BadBundle as error:
        verification.unchecked.append(str(error))
        return
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
        with verification.check("", member):
            lines = decompressed(member, contents.members[member])
            RecordCheck(member, record, contents, verification).check(lines)
    sentence = "All other files, made again from the records, the cases and this tool, are the same, byte for byte."
    with verification.check(sentence, "pages"):
        _check_derived(contents, verification)


def _check_derived(contents: Contents, verification: Verification) -> None:
    expected = derived_from(contents)
    given = {name for name in contents.members if name.startswith((RECORDS, CASES)) or name in (MANIFEST, SIGNATURE)}
    for name in sorted({*expected, *contents.members} - given):
        if name not in contents.members:
            verification.add(name, "is missing: it follows from the records")
        elif name not in expected:
            verification.add(name, "is no file of such a bundle")
        else:
            _compare(name, contents.members[name], expected[name], contents, verification)


def _check_cases(contents: Contents, verification: Verification) -> None:
    """Check that the files of cases are those of the records, and say which are not of the tool."""
    own, root = names_with(contents.members, CASES), shipped_root()
    described = [record.header.corpus for record in contents.records.values()]
    is_part = any(each is not None and each.version is None and each.cases > len(contents.cases) for each in described)
    # A run that has selected some cases comes with all of them.
    used = {case.origin.path for case in (contents.corpus if is_part else contents.cases.values())}
    tensors = {f"{CASES}{tensor}" for name in used for tensor in tensors_of(contents.folder / name, name)}
    files = defect_files(contents.folder / CASES)
    defects = {path.relative_to(contents.folder).as_posix() for path in files}
    for name in own:
        if name not in used | tensors | defects | {VERSIONS_MEMBER}:
            verification.add(name, "holds no case of the records")
    shipped = {name: root / name.removeprefix(CASES) for name in own}
    others = [
        name for name in own if not shipped[name].is_file() or shipped[name].read_bytes() != contents.members[name]
    ]
    verb = "is" if len(others) == 1 else "are"
    verification.checks.append(
        f"{plural(len(others), 'file')} of cases and defects {verb} not of this tool; read them as well."
        if others
        else "Cases and known defects are those that come with the tool."
    )
    if any(each is not None and each.version == contents.description.tool.version for each in described):
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
    pairs = enumerate(zip_longest(stored.split(b"\n"), expected.split(b"\n"), fillvalue=b""), 1)
    number, lines = next((number, lines) for number, lines in pairs if lines[0] != lines[1])
    differing = (at for at, (a, b) in enumerate(zip(*lines, strict=False)) if a != b)
    at = max(0, next(differing, min(map(len, lines))) - 40)
    shown = [line[at : at + _LONGEST].decode(errors="replace").strip() for line in lines]
    text = f"does not follow from the records: it says '{shown[0]}'; it follows '{shown[1]}'"
    libraries = contents.description.libraries
    if libraries == present_libraries():
        verification.add(f"{name}:{number}", text)
    else:
        made_with = ", ".join(f"{library} {version}" for library, version in libraries.items())
        verification.unchecked.append(f"{name}:{number}: {text}; or it is so because it was made with {made_with}")
