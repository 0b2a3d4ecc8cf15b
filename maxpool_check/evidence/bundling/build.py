"""Builds bundles of evidence: the primary members from records and their cases, then the members that follow from them.

These are made again when a bundle is verified: each is a pure function of the primary members and of the tool, without
a time, a folder or a machine. Of those that are compressed, the content is; large lists are. Pages are the templates in
``templates``, each the member of its name.
"""

import io
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import maxpool_check
from maxpool_check import inert
from maxpool_check.corpus import document
from maxpool_check.corpus.case import Case, contradictions
from maxpool_check.corpus.collection import DEFECTS, FORMATS, Corpus, defect_files, located
from maxpool_check.corpus.defect_versions import FILE_NAME as VERSIONS
from maxpool_check.corpus.tensors import MOST_CELLS
from maxpool_check.evidence.bundling.archive import compressed, packed
from maxpool_check.evidence.bundling.contents import (
    CASES,
    DESCRIPTION,
    MANIFEST,
    RECORDS,
    BadBundle,
    BundleDescription,
    Contents,
    IncompleteRecord,
    TargetResults,
    ToolDescription,
    manifest,
    names_with,
    opened,
    page_name,
    record_members,
    report_of,
)
from maxpool_check.evidence.bundling.statements import attestations, bills
from maxpool_check.evidence.kills import to_json
from maxpool_check.evidence.proof import shipped_proof, sources
from maxpool_check.evidence.tracing import tools, view
from maxpool_check.evidence.tracing.trace import TracedClause
from maxpool_check.evidence.tracing.view import result
from maxpool_check.explaining import glossary
from maxpool_check.files import open_regular
from maxpool_check.reporting import markup, run_view
from maxpool_check.reporting.writers import html
from maxpool_check.reporting.writers.html import asset, source_of
from maxpool_check.results.record import COMPARED, Record, Verdict
from maxpool_check.results.storage import decompressed
from maxpool_check.results.variants import DEFAULT_VARIANTS, GRAPH_VARIANTS, VARIATIONS
from maxpool_check.running.header import tool_files
from maxpool_check.specifications.clauses import ClauseStatus, clause_files, clauses_of, editions
from maxpool_check.words import plural, some

if TYPE_CHECKING:
    from jinja2 import Environment

_LIBRARIES = ("cyclonedx-python-lib", "jinja2", "msgspec", "numpy")

_TOOL = {
    "clauses/": ("maxpool_check.specifications.clauses", (".yaml",)),
    "reference/": ("maxpool_check.reference", (".py",)),
    "wrong_kernels/": ("maxpool_check.evidence.wrong_kernels", (".py", ".yaml")),
}
"""The folders of files of the tool itself, which are to be read beside a bundle in years: they need not be executed."""

_PAGES = (
    "index.html",
    "limitations.md",
    "repeat.md",
    "qualification/1-operational-requirements.md",
    "qualification/2-verification-cases-and-procedures.md",
    "qualification/3-verification-results.md",
    "qualification/4-known-problems.md",
)

_NOT_READ = ("not in what was read", "outside of the text that was read")
"""A clause that points to something else has some of these words in its reason if that was not read."""


def build(records: Sequence[tuple[Path, Record]], corpus: Corpus, max_cells: int) -> dict[str, bytes]:
    """The members of the bundle of records, whose cases are in ``corpus``; its manifest too.

    Raises :class:`BadBundle` for records and cases that do not fit, ``BadArchive`` for files of a name that no bundle
    has, and ``OSError``.
    """
    check_targets(records)
    used = check_cases(records, corpus)
    members = {}
    for member, (path, _) in zip(record_members([record for _, record in records]), records, strict=True):
        with open_regular(path) as file:
            members[member] = compressed(decompressed(file).read())
    members = {**dict(sorted(members.items())), **_case_members(used, corpus)}
    packed(members)
    description = BundleDescription(tool=present_tool(), libraries=present_libraries(), max_cells=max_cells)
    members |= derived({**members, DESCRIPTION: description.json()}, max_cells)
    return {**members, MANIFEST: manifest(members)}


def present_libraries() -> dict[str, str]:
    """The versions of the libraries that write members. Raises :class:`BadBundle` if one is not installed."""
    try:
        return {name: metadata.version(name) for name in _LIBRARIES}
    except metadata.PackageNotFoundError as error:
        text = f"bundles of evidence need {error.name}, which is not installed"
        raise BadBundle(f"{text}: pip install 'maxpool-check[evidence]'") from error


def present_tool() -> ToolDescription:
    """The tool that is running. Raises :class:`BadBundle` if its files cannot be read."""
    own = tool_files()
    if own is None:
        raise BadBundle("the files of maxpool-check itself cannot be read; install it again")
    return ToolDescription(version=maxpool_check.__version__, files=own)


def check_targets(records: Sequence[tuple[Path, Record]]) -> None:
    """Raise :class:`BadBundle` for an incomplete record, and for a target that two records have."""
    first: dict[str, Path] = {}
    for number, (path, record) in enumerate(records):
        if path in [other for other, _ in records[:number]]:
            raise BadBundle(f"{path} is named twice")
        if record.footer is None:
            raise IncompleteRecord(f"{path} is incomplete: the run did not end; run it again")
        for target in record.header.targets:
            if not target.computes:
                text = f"{target.name} decides {target.decides} only, and a bundle is evidence of values"
                raise BadBundle(f"{path}: {text}; leave it out")
            if (other := first.setdefault(target.name, path)) != path:
                text = f"{other} and {path} are both of {target.name}; a bundle has one record of a target"
                raise BadBundle(f"{text}: build two bundles, or run all cases in one run")


def check_cases(records: Iterable[tuple[Path, Record]], corpus: Corpus) -> list[Case]:
    """The cases of records, in the order of the corpus, or all of them if a run has selected some of it.

    Raises :class:`BadBundle` if a record has others: it must follow from the bundle, with the places and the words of
    its cases.
    """
    known, used = {case.id: case for case in corpus.cases}, set[str]()
    stated = {case.id: (case.sha256, case.title, case.covers, str(case.origin.line)) for case in corpus.cases}
    for path, record in records:
        described = record.header.corpus
        if described is None and "model" in record.header.command:
            text = "write them with 'maxpool-check model MODEL.onnx --cases FILE.yaml', and run that"
            raise BadBundle(f"{path} is of a model, whose cases are in no file; {text}")
        own = {
            each.case: (each.case_sha256, each.title, each.clauses, each.origin.rpartition(":")[2])
            for each in record.executions
        }
        for ids, what in (
            ([case for case in own if case not in known], "not"),
            ([case for case in own if stated.get(case, own[case]) != own[case]], "different"),
        ):
            if ids:
                number = plural(len(ids), "case of the record is", "cases of the record are")
                text = f"{number} {what} in {corpus.name}"
                hint = "name the case files of the run with --cases, or run these again"
                raise BadBundle(f"{path}: {text}: {', '.join(some(ids, 10))}; {hint}")
        used |= own.keys()
        if described is not None and described.version is None and described.cases > len(own):
            # Which known defects are stale depends on what the run has selected from; of the tool's own corpus, the tool knows.
            used |= known.keys()
    return [case for case in corpus.cases if case.id in used]


def _case_members(cases: Iterable[Case], corpus: Corpus) -> dict[str, bytes]:
    """The files that cases come from, with their tensors, and the files of defects of the corpus."""
    members: dict[str, bytes] = {}

    def add(name: str, path: Path) -> None:
        if members.setdefault(name, path.read_bytes()) != path.read_bytes():
            raise BadBundle(f"{path} and another file have the same name in a bundle, {name}; build two bundles")

    for case in {case.origin.path: case for case in cases}.values():
        path = located(Path(case.origin.path))
        if path.suffix in FORMATS and case.provenance:
            text = "write a case file of it with 'maxpool-check cases import', and run that"
            raise BadBundle(f"{case.id} comes from {path}, a file of another suite; {text}")
        name = f"{CASES}{case.id.rpartition(':')[0]}{path.suffix}"
        add(name, path)
        for tensor, file in tensors_of(path, name).items():
            add(f"{CASES}{tensor}", file)
    for root in map(located, corpus.roots):
        versions = root / DEFECTS / VERSIONS
        for path in [*defect_files(root), *([versions] if versions.is_file() else [])]:
            add(f"{CASES}{path.relative_to(root).as_posix()}", path)
    return members


def tensors_of(path: Path, member: str) -> Mapping[str, Path]:
    """The .npy files that a case file names, by what they are called in the folder of the cases of a bundle."""

    def named(data: Any) -> Iterator[str]:
        if isinstance(data, Mapping):
            if isinstance(data.get("npy"), str):
                yield data["npy"]
            data = list(data.values())
        for each in data if isinstance(data, list) else ():
            yield from named(each)

    folder = PurePosixPath(member.removeprefix(CASES)).parent
    return {os.path.normpath(folder / tensor): path.parent / tensor for tensor in named(document.read(path).data)}


def derived(members: Mapping[str, bytes], most_cells: int = MOST_CELLS) -> dict[str, bytes]:
    """All derived members, by name; ``most_cells`` is the largest X or Y of a case.

    Raises as :func:`~maxpool_check.evidence.bundling.contents.opened` does.
    """
    with opened(members, most_cells) as contents:
        return derived_from(contents)


def derived_from(contents: Contents) -> dict[str, bytes]:
    """All derived members, by name, and the description."""
    members = {
        DESCRIPTION: contents.description.json(),
        "kills.json": f"{inert.dumps(to_json(contents.kills), indent=1)}\n".encode(),
        "proof.json": files("maxpool_check.evidence").joinpath("proof.json").read_bytes(),
        "references.json.gz": compressed(contents.references.encode()),
        **_of_tool(),
        **dict(attestations(contents)),
        **dict(bills(contents)),
    }
    pages = {"trace.html": view.document(contents.trace)}
    for member, record in contents.records.items():
        pages[f"reports/{page_name(member)}.html"] = run_view.document(report_of(record))
    for name, page_of in pages.items():
        page = io.StringIO()
        html.write(page_of, page)
        members[name] = page.getvalue().encode()
    text = io.StringIO()
    tools.write_json(contents.trace, text)
    members["trace.json.gz"] = compressed(text.getvalue().encode())
    values = _values(contents)
    for name in _PAGES:
        rendered = _environment().get_template(name).render(values)
        members[name] = re.sub(r"\n{3,}", "\n\n", f"{rendered.strip()}\n").encode()
    return members


def _of_tool() -> dict[str, bytes]:
    return {
        f"{folder}{path.name}": path.read_bytes()
        for folder, (package, suffixes) in _TOOL.items()
        for path in sorted(files(package).iterdir(), key=lambda path: path.name)
        if path.name.endswith(suffixes)
    }


def _values(contents: Contents) -> dict[str, Any]:
    """What pages show."""
    results, cases, trace, proof = contents.results, contents.cases.values(), contents.trace, shipped_proof()
    expecting, style = [case for case in cases if case.expect is not None], asset("style.css")

    def uncompared(targets: Collection[str]) -> list[TracedClause]:
        """The testable clauses of which no execution was compared with a document on any of the targets."""
        testable = [clause for clause in trace.clauses if clause.status is ClauseStatus.TESTABLE]
        return [clause for clause in testable if not clause.cases or {*targets} <= {*clause.not_compared}]

    return {
        "contents": contents,
        "description": contents.description,
        "results": results,
        "trace": trace,
        "trace_result": result(trace),
        "started": sorted({each.record.header.started[:10] for each in results}),
        "documents": [
            (name, editions().get(name), Counter(clause.status for clause in clauses_of(name)))
            for name in sorted({case.spec for case in cases})
        ],
        "verdicts": [verdict for verdict in Verdict if any(each.executions[verdict] for each in results)],
        "compared": COMPARED,
        "statuses": tuple(ClauseStatus),
        "clause_files": clause_files().values(),
        "uncompared": uncompared,
        "not_read": [each for each in trace.clauses if any(words in each.reason for words in _NOT_READ)],
        "not_varied": lambda names: [
            each.name for each in VARIATIONS if not any(name.endswith(f"-{each.name}") for name in names)
        ],
        "proof": proof,
        "proof_is_current": proof.sources == sources(),
        "kernels": len({kernel for by_kernel in contents.kills.values() for kernel in by_kernel}),
        "noticed": sum(any(by_kernel.values()) for by_kernel in contents.kills.values()),
        "expecting": expecting,
        "contradicted": sum(bool(contradictions(case)) for case in expecting),
        "again": _again,
        "pages": _PAGES,
        "files": {folder: names_with({*contents.members, *_of_tool()}, folder) for folder in (RECORDS, CASES, *_TOOL)},
        "style": style,
        "style_source": source_of(style),
    }


def _again(results: TargetResults) -> list[str]:
    """The commands that repeat a run, in the folder of the bundle."""
    target, used = results.target, {execution.variant for execution in results.record.executions}
    is_usual = used <= {variant.name for variant in (*DEFAULT_VARIANTS, *GRAPH_VARIANTS)}
    variants = [] if is_usual else ["--variants", ",".join(sorted(used))]
    again = f"{results.name}.again.jsonl"
    # A target without a version is what was installed.
    installed = [f"pip install {target.distribution}=={target.version}"] if target.name == target.distribution else []
    return [
        *installed,
        shlex.join(["maxpool-check", "run", "cases", "-t", target.name, *variants, "-q", "-o", again]),
        shlex.join(["maxpool-check", "gate", results.member, again]),
    ]


@cache
def _environment() -> "Environment":
    """What renders pages: whatever is printed in them and is not made of markup is escaped, in HTML and in Markdown."""
    # Only those who build or verify bundles wait for it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_eval_context, select_autoescape
    from jinja2.nodes import EvalContext
    from markupsafe import Markup

    @pass_eval_context
    def shown(context: EvalContext, value: object) -> object:
        if isinstance(value, Markup):
            return value
        return inert.block(value) if context.autoescape else Markup(markup.escaped(str(value)))

    def cell(value: object) -> Markup:
        """A cell of a table of Markdown."""
        text = value if isinstance(value, Markup) else markup.escaped(" ".join(str(value).split()))
        return Markup(str(text).replace("\\|", "\\x7c").replace("|", "\\|"))

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.tests["contains"] = lambda names, name: name in names
    environment.filters |= {
        "cell": cell,
        "code": lambda text: Markup(markup.code(text)),
        "codes": lambda names: Markup(", ".join(map(markup.code, names))),
    }
    environment.globals |= {
        "fenced": lambda lines, language: Markup(markup.fenced(lines, language)),
        "plural": plural,
        "shell": shlex.join,
        "table": lambda name: Markup(glossary.tables()[name].markdown()),
    }
    return environment
