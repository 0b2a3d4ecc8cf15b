"""The members of a bundle that follow from the primary ones: made when it is built, and made again when it is verified.

Every member is a pure function of the primary members and of the tool: no time, no folder, no machine.
"""

import io
from collections.abc import Callable, Iterator, Mapping

from maxpool_check.evidence.attestations import attestations
from maxpool_check.evidence.contents import Contents, opened
from maxpool_check.evidence.environments import environments
from maxpool_check.evidence.qualification import qualification
from maxpool_check.evidence.statements import statements
from maxpool_check.reporting.html import run as run_page
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import ExitCode, Record

Derivation = Callable[[Contents], Iterator[tuple[str, bytes]]]
"""A function that makes some members, each with its name."""


def derived(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """All derived members, by name. Raises as :func:`~maxpool_check.evidence.contents.opened` does."""
    with opened(members) as contents:
        return dict(member for derivation in _DERIVATIONS for member in derivation(contents))


def report_of(record: Record) -> RunReport:
    """The report of a record, as the pages of a bundle show it."""
    return RunReport(record, record.footer.exit_code if record.footer else ExitCode.INCOMPLETE)


def _reports(contents: Contents) -> Iterator[tuple[str, bytes]]:
    for name, record in contents.records.items():
        page = io.StringIO()
        run_page.write(report_of(record), page)
        yield f"reports/{name}.html", page.getvalue().encode()


def _references(contents: Contents) -> Iterator[tuple[str, bytes]]:
    yield "references.json", contents.references.encode()


_DERIVATIONS: tuple[Derivation, ...] = (_reports, _references, attestations, environments, statements, qualification)
