"""Writing a site: its pages with their JSON, the runs, badges, the search index. A site that is there is replaced as a whole."""

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TextIO

from maxpool_check.reporting.matrix import cell, worst
from maxpool_check.reporting.run_view import document
from maxpool_check.reporting.site.pages import SCHEMA, Collected, History, Page, address, below, data, pages, part
from maxpool_check.reporting.writers import html
from maxpool_check.results.record import Record

_TONES = {"conform": "good", "wrong": "bad", "crashed": "bad", "refused": "known", "inconsistent": "known"}
"""The tones of the words of a matrix; others are dim."""

_ENTRIES = (
    "badges", "cases", "clauses", "defects", "index.html", "index.json", "kinds", "runs", "runtimes", "search-index.js",
    "search.html", "search.js", "style.css",
)  # fmt: skip
"""The files and folders at the top of a site; whatever else lies beside them is not the site's."""


class NotASite(Exception):
    """A folder that a site cannot be written to without a loss; the message says why and what to do."""


def check_folder(folder: Path, inputs: Iterable[Path]) -> None:
    """Raise :class:`NotASite` for a folder that holds something else than a site, or in whose pages an input lies.

    Names that begin with a dot, such as that of a repository, may be there already.
    """
    if folder.exists() and not folder.is_dir():
        raise NotASite(f"{folder} is no folder; name another one")
    for path in inputs:
        if any(path.resolve().is_relative_to((folder / name).resolve()) for name in _ENTRIES):
            raise NotASite(f"{path} lies in the pages of {folder}, which are replaced; move it, or name a new folder")
    if folder.exists() and any(not path.name.startswith(".") for path in folder.iterdir()):
        try:
            is_site = json.loads((folder / "index.json").read_bytes())["schema"] == SCHEMA
        except (OSError, ValueError, KeyError, TypeError):
            is_site = False
        if not is_site:
            raise NotASite(f"{folder} is not empty and is no site of maxpool-check; name a new folder")


def write_site(records: Iterable[tuple[str, Record]], histories: Sequence[History], folder: Path) -> int:
    """Write the site of records by name to a folder that was checked, and return the number of its pages.

    The pages of a site that is there are replaced when the new ones are complete; other files of the folder stay. Raises
    ``OSError``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".maxpool-check-", dir=folder) as temporary:
        new = Path(temporary)
        count = _write(Collected(records), histories, new)
        for name in _ENTRIES:
            old = folder / name
            if old.is_dir() and not old.is_symlink():
                shutil.rmtree(old)
            else:
                old.unlink(missing_ok=True)
        for path in new.iterdir():
            path.rename(folder / path.name)
    return count


def _write(collected: Collected, histories: Sequence[History], folder: Path) -> int:
    """Write all of it to a new folder; the number of its pages."""
    for name in ("style.css", "search.js"):
        (folder / name).write_text(html.asset(name), encoding="utf-8")
    about = {"collected": collected, "address": address, "part": part, "cell": cell, "tone": _tone}
    index = [(run.title, "run", address("runs", run.name), run.target.name) for run in collected.runs]
    count = len(index)
    for page in chain(pages(collected, histories), [Page("search.html", "search", "Search")]):
        with _opened(folder / page.address) as file:
            root = "../" * page.address.count("/")
            html.render_page("site.html", file, {"page": page, "root": root, "site": root, **about})
        count += 1
        if page.sort not in ("index", "list", "search"):
            index.append((page.title, page.sort, page.address, page.about))
    badges = []
    for run in collected.runs:
        with _opened(folder / address("runs", run.name)) as file:
            html.write(document(run.report, below), file, site="../")
        # In the form that shields.io reads from an endpoint.
        color = {"good": "brightgreen", "bad": "red", "known": "orange"}.get(_tone(run.total), "lightgrey")
        badge = {"schemaVersion": 1, "label": f"MaxPool on {run.title}", "message": cell(run.total), "color": color}
        badges.append((f"badges/{part(run.badge)}.json", badge))
    for place, content in chain(data(collected), badges):
        with _opened(folder / place) as file:
            file.write(json.dumps(content, separators=(",", ":")) + "\n")
    (folder / "search-index.js").write_text(f"const SEARCH_INDEX = {json.dumps(index)};\n", encoding="utf-8")
    return count


def _tone(words: Mapping[str, int]) -> str:
    return _TONES.get(worst(words), "dim")


def _opened(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w", encoding="utf-8")
