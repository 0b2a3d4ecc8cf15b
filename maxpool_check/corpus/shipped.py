"""The files of defects that come with the tool."""

from pathlib import Path

from maxpool_check.corpus.collection import defect_files, root_of

_PACKAGE = Path(__file__).parents[1]


def catalogue_root() -> Path:
    """The folder whose ``defects`` are meant where the user names none: ``cases``, or the one that comes with the tool."""
    root = root_of(Path("cases"))
    return root if defect_files(root) else shipped_root()


def shipped_root() -> Path:
    """The folder that holds ``defects``: in an installed package beside its modules, in a checkout ``cases``."""
    installed = _PACKAGE / "corpus_data"
    return installed if installed.is_dir() else _PACKAGE.parent / "cases"
