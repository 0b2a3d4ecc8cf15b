"""Whether everything in a bundle follows from its primary members."""

import hashlib
import re
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import PurePosixPath

import msgspec

from maxpool_check import inert
from maxpool_check.corpus.case import contradictions
from maxpool_check.corpus.collection import DEFECTS, KNOWN_NAME, shipped_root
from maxpool_check.evidence.bundling.archive import BadArchive, decompressed
from maxpool_check.evidence.bundling.build import (
    MOST_KILLS,
    clauses_of_cases,
    present_libraries,
    present_tool,
    proof_member,
    tool_members,
    written,
)
from maxpool_check.evidence.bundling.bundle import (
    CASES,
    DESCRIPTION,
    KILLS,
    MANIFEST,
    PROOF,
    RECORDS,
    SCHEMA,
    SIGNATURE,
    TOOL,
    ToolDescription,
    compressed,
    is_primary,
)
from maxpool_check.evidence.bundling.contents import VERSIONS_MEMBER, Contents
from maxpool_check.evidence.bundling.derived import derived_from
from maxpool_check.evidence.kernels import wrong_kernels
from maxpool_check.evidence.kills import Kills, doubtful_kills, kills_by_clause
from maxpool_check.evidence.verifying.findings import Verification
from maxpool_check.evidence.verifying.record_checks import recheck
from maxpool_check.results.record import Line, RunFooter, RunHeader
from maxpool_check.words import plural

_GZIP = compressed(b"")[:10]
"""The header of a compressed member: without a name, a time and a comment."""

_OF_DEFECTS = re.compile(rb"^(defects|known):", re.MULTILINE)

_LONGEST = 120
"""How much of a differing line is shown."""


def check_contents(members: Mapping[str, bytes], contents: Contents, verification: Verification) -> None:
    """Check the primary members against each other, this tool and both references, and all others against what follows from them."""
    description = contents.description
    if description.schema != SCHEMA:
        verification.unchecked.append(f"bundle.json: the schema {description.schema}; this version verifies {SCHEMA}")
        return
    with verification.check("The description counts the records, executions and cases that are there.", DESCRIPTION):
        _check_description(members, contents, verification)
    if (other := _other_tool(description.tool, present_tool())) is not None:
        verification.unchecked.append(other)
        return
    with verification.check(
        "The clauses and the proof are those of this tool, and so are the wrong kernels that their cases notice.", KILLS
    ):
        _check_tool_files(members, contents, verification)
    with verification.guarded(CASES):
        _check_references(contents, verification)
    for each in contents.bundled:
        with verification.guarded(each.member):
            _recheck(each.name, each.member, contents, verification)
    with verification.check("All pages and tables, made again from the records, are the same, byte for byte.", "pages"):
        _check_derived(members, contents, verification)


def _check_references(contents: Contents, verification: Verification) -> None:
    references = contents.references
    with verification.check(
        f"Both references give the same for {plural(references.counts.computed, 'case')}; the documents exclude "
        f"{references.counts.refused} more.",
        CASES,
    ):
        for name in references.differing:
            verification.add(name, "the definition and the evaluator give different results")
        for case in contents.cases.values():
            for problem in contradictions(case):
                verification.add(case.origin.path, f"{problem.line}:{problem.column}: {problem.message}")


def _recheck(name: str, member: str, contents: Contents, verification: Verification) -> None:
    result = recheck(member, contents.records[name], contents)
    verification.problems += result.mistakes
    verification.unchecked += result.unchecked
    verification.undecided += result.undecided
    if not result.mistakes and not result.unchecked:
        follow = result.executions - len(result.undecided)
        rest = f"; {len(result.undecided)} have outputs that are too large for it" if result.undecided else ""
        verification.checks.append(
            f"{member}: {follow} of {plural(result.executions, 'execution')}, their verdicts and counts follow{rest}."
        )


def _check_description(members: Mapping[str, bytes], contents: Contents, verification: Verification) -> None:
    description = contents.description

    def differ(place: str, name: str, stored: object, expected: object) -> None:
        if stored != expected:
            verification.add(f"bundle.json: {place}", f"{name} is {stored}; it follows {expected}")

    if members[DESCRIPTION] != description.json():
        verification.add(DESCRIPTION, "is not in the form that 'evidence build' writes")
    _check_compression(members, verification)
    differ("cases", "the number", description.cases, len(contents.cases))
    described = [each.member for each in description.records]
    differ("records", "the list", described, sorted(name for name in members if name.startswith(RECORDS)))
    for each in description.records:
        record = contents.records[each.name]
        place = f"record {each.name}"
        if each.member != f"{RECORDS}{each.name}.jsonl.gz":
            verification.add(f"bundle.json: {place}", f"the member is {each.member}, which is not its name")
            continue
        lines = decompressed(each.member, members[each.member])
        differ(place, "sha256", each.sha256, hashlib.sha256(lines).hexdigest())
        differ(place, "targets", each.targets, tuple(target.name for target in record.header.targets))
        differ(place, "cases", each.cases, record.header.cases)
        differ(place, "executions", each.executions, len(record.executions))
        _check_form(each.member, lines, contents.records[each.name].header, description.tool, verification)
        if lines[-1:] != b"\n":
            verification.add(each.member, "has something behind its last line")
    used = {case.origin.path for case in contents.cases.values()}
    for name in members:
        if name.startswith(CASES) and name not in used and not _belongs(name, members, used):
            verification.add(name, "holds no case of the records")


def _check_compression(members: Mapping[str, bytes], verification: Verification) -> None:
    for name, content in members.items():
        if name.endswith(".gz") and content[: len(_GZIP)] != _GZIP:
            verification.add(name, "its header of gzip says more than 'evidence build' writes")


def _check_form(member: str, lines: bytes, header: RunHeader, own: ToolDescription, verification: Verification) -> None:
    """Check the lines of a record, if the tool of the bundle has made it."""
    tool, files = header.tool, header.tool_files
    if (tool, files and files.sha256) != (own.version, own.files.sha256):
        verification.unchecked.append(
            f"{member}: the form of its lines: maxpool-check {tool} made the record, with other files than {own.version} "
            "that made the bundle"
        )
    else:
        _check_lines(member, lines, verification)


def _check_lines(member: str, lines: bytes, verification: Verification) -> None:
    """Check that a run writes these bytes: other readers may read a key that occurs twice, or a second header, differently."""
    stored = lines.removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(stored, 1):
        decoded = msgspec.json.decode(line, type=Line)
        if isinstance(decoded, RunHeader) != (number == 1) or isinstance(decoded, RunFooter) != (number == len(stored)):
            verification.add(f"{member}:{number}", "a record has one header, its first line, and one footer, its last")
        if inert.ascii_json(msgspec.json.encode(decoded)) != line:
            verification.add(f"{member}:{number}", "the line is not in the form that a run writes")


def _belongs(name: str, members: Mapping[str, bytes], used: set[str]) -> bool:
    """Whether a file is one of defects, or a tensor that a case file names."""
    path = PurePosixPath(name.removeprefix(CASES))
    if path.suffix == ".npy":
        return any(path.name.encode() in members[each] for each in used)
    return name in (f"{CASES}{KNOWN_NAME}", VERSIONS_MEMBER) or (
        str(path.parent) == DEFECTS and path.suffix == ".yaml" and _OF_DEFECTS.search(members[name]) is not None
    )


def _other_tool(tool: ToolDescription, own: ToolDescription) -> str | None:
    """What cannot be compared because another tool has made the bundle; None if it is this one."""
    if (tool.version, tool.files.sha256) == (own.version, own.files.sha256):
        return None
    return (
        f"verdicts, pages, clauses and kills: maxpool-check {tool.version} made the bundle, with files of the SHA-256 {tool.files.sha256}, "
        f"and this is {own.version} with {own.files.sha256}; verify it with the tool that made it"
    )


def _check_tool_files(members: Mapping[str, bytes], contents: Contents, verification: Verification) -> None:
    expected = tool_members()
    is_shipped = any(
        record.header.corpus is not None and record.header.corpus.version == contents.description.tool.version
        for record in contents.records.values()
    )
    for name in sorted({name for name in members if name.startswith(TOOL)} | expected.keys()):
        if name not in members:
            verification.add(name, "is missing: this tool has it")
        elif members[name] != expected.get(name):
            verification.add(_at_line(name, members[name], expected.get(name, b"")), "is not that of this tool")
    if members[PROOF] != proof_member():
        verification.add(_at_line(PROOF, members[PROOF], proof_member()), "is not that of this tool")
    _check_kills(members, contents, verification)
    of_cases = [name for name in members if name.startswith(CASES)]
    others = [name for name in of_cases if not _is_shipped(name, members[name])]
    verification.checks.append(
        f"{plural(len(others), 'file')} of cases and defects {'is' if len(others) == 1 else 'are'} not of this tool; read them as well."
        if others
        else "Cases and known defects are those that come with the tool."
    )
    for name in members if is_shipped else ():
        if name in others:
            verification.add(name, "is not in the corpus that comes with this tool, which the record names")


def _is_shipped(name: str, content: bytes) -> bool:
    own = shipped_root() / name.removeprefix(CASES)
    return own.is_file() and own.read_bytes() == content


def _check_kills(members: Mapping[str, bytes], contents: Contents, verification: Verification) -> None:
    cases = list(contents.cases.values())
    doubtful = list(doubtful_kills(contents.kills, cases, clauses_of_cases(cases), MOST_KILLS))
    # A kernel may remember what it was executed on before, so that only all of them together give the same again.
    again = _by_name(kills_by_clause(cases, clauses_of_cases(cases), MOST_KILLS)) if doubtful else {}
    stored = _by_name(contents.kills)
    for key in doubtful:
        if key not in again or again[key] != stored.get(key):
            clause, kernel = key
            verification.add(f"{KILLS}: {clause}, {kernel}", "the cases that notice the kernel are others")
    kernels = {str(kernel): kernel for kernel in wrong_kernels()}
    kills = {
        clause: {kernels.get(str(kernel), kernel): killing for kernel, killing in by_kernel.items()}
        for clause, by_kernel in contents.kills.items()
    }
    if members[KILLS] != written(kills):
        verification.add(KILLS, "is not in the form that 'evidence build' writes, or says otherwise what kernels do")


def _by_name(kills: Kills) -> dict[tuple[str, str], tuple[str, ...]]:
    return {
        (clause, str(kernel)): tuple(cases)
        for clause, by_kernel in kills.items()
        for kernel, cases in by_kernel.items()
    }


def _check_derived(members: Mapping[str, bytes], contents: Contents, verification: Verification) -> None:
    try:
        expected = derived_from(contents)
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        # Pages rely on what a run writes; somebody may have written something else.
        verification.add("pages", f"cannot be made of these records: {error}")
        return
    for name in sorted({*expected, *members}):
        if is_primary(name) or name in (MANIFEST, SIGNATURE):
            continue
        if name not in members:
            verification.add(name, "is missing: it follows from the records")
        elif name not in expected:
            verification.add(name, "is no file of such a bundle")
        elif members[name] != expected[name]:
            _compare(name, members[name], expected[name], contents, verification)


def _compare(name: str, stored: bytes, expected: bytes, contents: Contents, verification: Verification) -> None:
    if name.endswith(".gz"):
        # Other builds of the compressor make other bytes.
        try:
            stored, expected = (decompressed(name, each) for each in (stored, expected))
        except BadArchive as error:
            verification.add(name, str(error))
            return
    if stored == expected:
        return
    place, difference = _at_line(name, stored, expected), _difference(stored, expected)
    if contents.description.libraries == present_libraries():
        verification.add(place, difference)
    else:
        libraries = ", ".join(f"{library} {version}" for library, version in contents.description.libraries.items())
        verification.unchecked.append(f"{place}: {difference}; or it is so because it was made with {libraries}")


def _first_difference(stored: bytes, expected: bytes) -> tuple[int, bytes, bytes]:
    pairs = zip_longest(stored.split(b"\n"), expected.split(b"\n"), fillvalue=b"")
    return next(((number, a, b) for number, (a, b) in enumerate(pairs, 1) if a != b), (1, b"", b""))


def _at_line(name: str, stored: bytes, expected: bytes) -> str:
    return f"{name}:{_first_difference(stored, expected)[0]}"


def _difference(stored: bytes, expected: bytes) -> str:
    _, a, b = _first_difference(stored, expected)
    at = max(0, next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))) - 40)
    shown = (each[at : at + _LONGEST].decode(errors="replace").strip() for each in (a, b))
    return "does not follow from the records: it says '{}'; it follows '{}'".format(*shown)
