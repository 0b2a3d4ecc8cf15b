"""The members of a bundle that follow from the primary ones: made when it is built, and made again when it is verified.

Every member is a pure function of the primary members and of the tool: no time, no folder, no machine. Of those that are compressed,
the content is; large lists are.
"""

import io
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

from maxpool_check.evidence.bundling.attestations import attestations
from maxpool_check.evidence.bundling.bundle import compressed
from maxpool_check.evidence.bundling.contents import Contents, opened
from maxpool_check.evidence.bundling.environments import environments
from maxpool_check.evidence.bundling.index_page import index_page
from maxpool_check.evidence.bundling.notes import statements
from maxpool_check.evidence.bundling.qualification import qualification
from maxpool_check.evidence.bundling.target_results import report_of
from maxpool_check.evidence.tracing import tools
from maxpool_check.evidence.tracing.view import TraceReport, write_html
from maxpool_check.reporting.html import run as run_page

Derivation = Callable[[Contents], Iterator[tuple[str, bytes]]]
"""A function that makes some members, each with its name."""


def derived(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """All derived members, by name. Raises as :func:`~maxpool_check.evidence.bundling.contents.opened` does."""
    with opened(members) as contents:
        return derived_from(contents)


def derived_from(contents: Contents) -> dict[str, bytes]:
    """All derived members, by name."""
    return dict(member for derivation in _DERIVATIONS for member in derivation(contents))


def _reports(contents: Contents) -> Iterator[tuple[str, bytes]]:
    for name, record in contents.records.items():
        page = io.StringIO()
        run_page.write(report_of(record), page)
        yield f"reports/{name}.html", page.getvalue().encode()


def _traces(contents: Contents) -> Iterator[tuple[str, bytes]]:
    report, page = TraceReport(contents.trace), io.StringIO()
    write_html(report, page)
    yield "trace.html", page.getvalue().encode()
    for name, write in _TRACES.items():
        file = io.StringIO()
        write(report, file)
        yield name, compressed(file.getvalue().encode())


def _references(contents: Contents) -> Iterator[tuple[str, bytes]]:
    yield "references.json.gz", compressed(contents.references.encode())


_TRACES: Mapping[str, Callable[[TraceReport, TextIO], None]] = {
    "trace.json.gz": tools.write_json, "trace.sdoc.gz": tools.write_sdoc,
    "needs.json.gz": tools.write_needs,
}  # fmt: skip

_DERIVATIONS: tuple[Derivation, ...] = (
    index_page, _traces, _reports, _references, attestations, environments, statements, qualification,
)  # fmt: skip
