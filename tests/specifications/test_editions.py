"""The editions of documents are those that CONTRIBUTING describes."""

from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.editions import EDITIONS
from tests.conftest import ROOT


def test_the_editions_are_those_of_the_table():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert EDITIONS.keys() < SPECIFICATIONS.keys()
    for name, each in EDITIONS.items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` |") and each["sha256"] in line]
        assert f"| {each['edition']} | `{each['sha256']}` |" in row.replace("`", "").replace(
            each["sha256"], f"`{each['sha256']}`"
        )
