"""The editions of documents are those that CONTRIBUTING describes."""

from maxpool_check.specifications.clauses import edition_name, editions
from tests.conftest import ROOT


def test_the_editions_are_those_of_the_table():
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("\n## Editions\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{edition_name(name)}` | {edition.title} | {f'`{edition.sha256}`' if edition.sha256 else '-'} |"
        for name, edition in editions().items()
    ]
