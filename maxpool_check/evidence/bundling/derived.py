"""The members of a bundle that follow from the primary ones: made when it is built, and made again when it is verified.

Every member is a pure function of the primary members and of the tool: no time, no folder, no machine. Of those that are compressed,
the content is; large lists are. Pages are the templates in ``templates``, each the member of its name.
"""

import io
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxpool_check import inert
from maxpool_check.corpus.case import contradictions
from maxpool_check.docs import topics
from maxpool_check.evidence.bundling.archive import compressed
from maxpool_check.evidence.bundling.contents import (
    CASES,
    DESCRIPTION,
    RECORDS,
    Contents,
    names_with,
    opened,
    page_name,
)
from maxpool_check.evidence.bundling.statements import attestations, bills
from maxpool_check.evidence.bundling.target_results import TargetResults, report_of
from maxpool_check.evidence.kills import to_json
from maxpool_check.evidence.proof import shipped_proof, sources
from maxpool_check.evidence.tracing import tools
from maxpool_check.evidence.tracing.trace import Trace, TracedClause
from maxpool_check.evidence.tracing.view import TraceReport, result, write_html
from maxpool_check.reporting import markup, run_view
from maxpool_check.reporting.writers.html import asset, source_of
from maxpool_check.results.record import COMPARED, Verdict
from maxpool_check.results.variants import DEFAULT_VARIANTS, GRAPH_VARIANTS, VARIATIONS
from maxpool_check.specifications.clauses import ClauseStatus, clause_files, clauses_of, editions
from maxpool_check.words import plural

if TYPE_CHECKING:
    from jinja2 import Environment

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
_TEMPLATES = Path(__file__).parent / "templates"

_NOT_READ = ("not in what was read", "outside of the text that was read")
"""A clause that points to something else has some of these words in its reason if that was not read."""

_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def derived(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """All derived members, by name. Raises as :func:`~maxpool_check.evidence.bundling.contents.opened` does."""
    with opened(members) as contents:
        return derived_from(contents)


def derived_from(contents: Contents) -> dict[str, bytes]:
    """All derived members, by name, and the description."""
    return {
        DESCRIPTION: contents.description.json(),
        "kills.json": f"{inert.dumps(to_json(contents.kills), indent=1)}\n".encode(),
        "proof.json": files("maxpool_check.evidence").joinpath("proof.json").read_bytes(),
        "references.json.gz": compressed(contents.references.encode()),
        **{name: content for derivation in _DERIVATIONS for name, content in derivation(contents)},
    }


def _tool_files(_: Contents) -> Iterator[tuple[str, bytes]]:
    for folder, (package, suffixes) in _TOOL.items():
        for path in sorted(files(package).iterdir(), key=lambda path: path.name):
            if path.name.endswith(suffixes):
                yield f"{folder}{path.name}", path.read_bytes()


def _reports(contents: Contents) -> Iterator[tuple[str, bytes]]:
    for member, record in contents.records.items():
        page = io.StringIO()
        run_view.write_html(report_of(record), page)
        yield f"reports/{page_name(member)}.html", page.getvalue().encode()
    report, page, document = TraceReport(contents.trace), io.StringIO(), io.StringIO()
    write_html(report, page)
    tools.write_json(report, document)
    yield "trace.html", page.getvalue().encode()
    yield "trace.json.gz", compressed(document.getvalue().encode())


def _pages(contents: Contents) -> Iterator[tuple[str, bytes]]:
    values = _values(contents)
    for name in _PAGES:
        text = _environment().get_template(name).render(values)
        yield name, re.sub(r"\n{3,}", "\n\n", f"{text.strip()}\n").encode()


_DERIVATIONS: Sequence[Callable[[Contents], Iterator[tuple[str, bytes]]]] = (
    _tool_files,
    _reports,
    _pages,
    attestations,
    bills,
)


def _values(contents: Contents) -> dict[str, Any]:
    """What pages show."""
    results, cases, style = contents.results, contents.cases.values(), asset("style.css")
    expecting = [case for case in cases if case.expect is not None]
    specs = sorted({case.spec for case in cases})
    of_tool = [name for name, _ in _tool_files(contents)]
    proof = shipped_proof()
    return {
        "contents": contents,
        "description": contents.description,
        "results": results,
        "trace": contents.trace,
        "trace_result": result(contents.trace),
        "started": sorted({each.record.header.started[:10] for each in results}),
        "documents": [
            (name, editions().get(name), Counter(clause.status for clause in clauses_of(name))) for name in specs
        ],
        "verdicts": [verdict for verdict in Verdict if any(each.executions[verdict] for each in results)],
        "compared": COMPARED,
        "statuses": tuple(ClauseStatus),
        "clause_files": clause_files().values(),
        "uncompared": lambda targets: _uncompared(contents.trace, targets),
        "why": _why,
        "not_read": [each for each in contents.trace.clauses if any(words in each.reason for words in _NOT_READ)],
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
        "files": {
            folder: names_with(of_tool if folder in _TOOL else contents.members, folder)
            for folder in (RECORDS, CASES, *_TOOL)
        },
        "style": style,
        "style_source": source_of(style),
    }


def _uncompared(trace: Trace, targets: Collection[str]) -> list[TracedClause]:
    """The testable clauses of which no execution was compared with a document on any of the targets."""
    return [
        clause
        for clause in trace.clauses
        if clause.status is ClauseStatus.TESTABLE and (not clause.cases or {*targets} <= {*clause.not_compared})
    ]


def _why(clauses: Iterable[TracedClause], target: str) -> str:
    """What the executions of these clauses came to instead, in words, each with the number of clauses."""
    numbers = Counter(
        " or ".join(clause.results[target].verdicts)
        if target in clause.results
        else "not executed"
        if clause.cases
        else "no case"
        for clause in clauses
    )
    return ", ".join(f"{count} {words}" for words, count in numbers.items())


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


def _passage(page: str, heading: str) -> str:
    """The text below a heading of the second level of the documentation, without links; ``KeyError`` if there is none."""
    _, *sections = re.split(r"^## ", topics()[page].text, flags=re.MULTILINE)
    texts = dict(section.split("\n", 1) for section in sections)
    return _LINK.sub(r"\1", texts[heading]).strip()


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
        loader=FileSystemLoader(_TEMPLATES),
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
        "codes": lambda names: Markup(markup.codes(names)),
    }
    environment.globals |= {
        "fenced": lambda lines, language: Markup(markup.fenced(lines, language)),
        "passage": lambda page, heading: Markup(_passage(page, heading)),
        "plural": plural,
        "shell": shlex.join,
    }
    return environment
