"""The files of defects that come with the tool."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def shipped_root() -> Path:
    """The folder that holds ``defects``: in an installed package beside its modules, in a checkout ``cases``."""
    installed = _PACKAGE / "corpus_data"
    return installed if installed.is_dir() else _PACKAGE.parent / "cases"
