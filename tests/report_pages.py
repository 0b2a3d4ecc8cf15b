"""``reports/documents.md`` and ``reports/kinds.md``: what ``explain`` shows, as Markdown. ``python -m tests.report_pages`` writes them."""

import io
from collections.abc import Iterable

from maxpool_check.explaining import terms
from maxpool_check.reporting.blocks import Block, Document, Paragraph
from maxpool_check.reporting.writers import markdown
from tests.conftest import ROOT, shipped

DOCUMENTS, KINDS = ROOT / "reports/documents.md", ROOT / "reports/kinds.md"

_KINDS = (
    "Each kind is decided from X, the attributes, the expected and the actual outputs. A mistake in all outputs is found by "
    "computing with it: it is named only if the result is the actual one in every cell. Tests check that the judge finds in each "
    "example exactly the kind above it."
)


def _page(title: str, blocks: Iterable[Block]) -> str:
    file = io.StringIO()
    markdown.write(Document("", title, (), list(blocks)), file)
    return file.getvalue()


def documents() -> str:
    """The documents side by side."""
    return _page("The documents side by side", terms.side_by_side(shipped().cases))


def kinds() -> str:
    """All kinds, each with its example."""
    return _page("The kinds of divergence", [Paragraph(_KINDS), *terms.kinds_listed(examples=True)])


if __name__ == "__main__":
    DOCUMENTS.write_text(documents())
    KINDS.write_text(kinds())
