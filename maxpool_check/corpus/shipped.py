"""The corpus that comes with the tool, and its names: ``corpus``, ``corpus:onnx``, ``corpus:contexts/pad``."""

import shlex
from pathlib import Path, PurePosixPath

from maxpool_check.specifications.specification import nearest

NAME = "corpus"
"""The name of the whole corpus where a path is expected; unless there is a file or folder of that name."""

PREFIX = f"{NAME}:"
"""What a name of a part of it begins with: a folder or a file, whose suffix may be left out."""

SUFFIX = ".yaml"

_PACKAGE = Path(__file__).parents[1]


def shipped_root() -> Path:
    """The folder of the corpus: in an installed package beside its modules, in a checkout ``cases``."""
    installed = _PACKAGE / "corpus_data"
    return installed if installed.is_dir() else _PACKAGE.parent / "cases"


def is_shipped(path: Path) -> bool:
    """Whether a path is a name of the corpus or of a part of it."""
    text = str(path)
    return text.startswith(PREFIX) or (text == NAME and not path.exists())


def located(path: Path) -> Path:
    """Where a path leads: itself, or what it names in the corpus.

    Raises ``ValueError`` with the nearest name if the corpus has no such part.
    """
    if not is_shipped(path):
        return path
    root, name = shipped_root(), str(path).removeprefix(NAME).removeprefix(":").strip("/")
    if ".." not in PurePosixPath(name).parts:
        for candidate in (root / name, root / f"{name}{SUFFIX}"):
            if candidate.exists():
                return candidate
    parts = [each.relative_to(root).with_suffix("").as_posix() for each in sorted(root.rglob("*"))]
    similar = nearest(name, parts).replace("'", f"'{PREFIX}", 1)
    hint = meant_by(path) or similar or f"; it has {', '.join(sorted({part.partition('/')[0] for part in parts}))}"
    raise ValueError(f"the corpus has no '{name}'{hint}")


def meant_by(path: Path) -> str:
    """`` (did you mean 'corpus:edge'?)`` for a path that leads nowhere; empty unless a part of the corpus, or a case, is meant."""
    text = str(path)
    if _exists(f"{PREFIX}{text}"):
        return f" (did you mean '{PREFIX}{text}'?)"
    file, colon, short = text.rpartition(":")
    file = next((each for each in (file, f"{PREFIX}{file}") if colon and file and short and _exists(each)), "")
    return f" (did you mean '{file} -k {shlex.quote(short)}'?)" if file not in ("", NAME) else ""


def _exists(text: str) -> bool:
    path = Path(text)
    if not is_shipped(path):
        return path.exists()
    name = text.removeprefix(NAME).removeprefix(":").strip("/")
    return ".." not in PurePosixPath(name).parts and any(
        (shipped_root() / f"{name}{suffix}").exists() for suffix in ("", SUFFIX)
    )


def named(path: Path) -> Path:
    """The name of a file of the corpus, such as ``corpus:edge/ties.yaml``: the same on every machine."""
    return Path(f"{PREFIX}{path.relative_to(shipped_root()).as_posix()}")
