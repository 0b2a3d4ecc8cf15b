"""Writing a site: its pages with their JSON, the runs, badges, the search index. A site that is there is replaced as a whole."""

import json
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting.html.page import Filters, asset, render_page, write_page
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.site.addresses import address, case_address, part
from maxpool_check.reporting.site.collected import Collected, Run
from maxpool_check.reporting.site.documentation import documentation
from maxpool_check.reporting.site.history import History
from maxpool_check.reporting.site.pages import SCHEMA, Page, case_files, matrix_cell, pages
from maxpool_check.results.record import Record
from maxpool_check.words import plural

_FILTERS: Filters = {
    "part": part,
    "case_address": case_address,
    "defect_address": partial(address, "defects"),
    "kind_address": partial(address, "kinds"),
    "clause_address": partial(address, "clauses"),
    "runtime_address": partial(address, "runtimes"),
}


_ENTRIES = (
    "badges", "cases", "clauses", "defects", "docs", "index.html", "index.json", "kinds", "runs", "runtimes", "search-index.js",
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
    for name in ("style.css", "search.js"):
        (folder / name).write_text(asset(name), encoding="utf-8")
    index = []
    described = {*collected.defects, *(kind.value for kind in DESCRIPTIONS)}
    for page in chain(pages(collected, histories), documentation(described)):
        _write_page(collected, page, folder)
        index.append(
            [
                page.title.partition(":")[0] if page.sort == "defect" else page.title,
                page.sort,
                page.address,
                _about(page),
            ]
        )
    for place, data in case_files(collected):
        _write_json(folder / place, data)
    for run in collected.runs:
        _write_run(collected, run, folder)
        index.append([run.title, "run", address("runs", run.name), run.target.name])
    script = f"const SEARCH_INDEX = {json.dumps([entry for entry in index if entry[1] not in ('index', 'list')])};\n"
    (folder / "search-index.js").write_text(script, encoding="utf-8")
    search = Page("search.html", "Search", "search", "site_search.html", {}, {})
    _write_page(collected, search, folder)
    return len(index) + 1


def _about(page: Page) -> str:
    """What the search finds of a page beside its name."""
    return str(page.data.get("title") or page.data.get("about") or "")


def _write_page(collected: Collected, page: Page, folder: Path) -> None:
    path = folder / page.address
    path.parent.mkdir(parents=True, exist_ok=True)
    root = "../" * page.address.count("/")
    beside = root + (page.json or page.address.removesuffix(".html") + ".json")
    values = {
        "title": page.title,
        "sort": page.sort,
        "root": root,
        "json": beside,
        "collected": collected,
        "site": root,
    }
    with path.open("w", encoding="utf-8") as file:
        render_page(page.template, file, {**values, **page.values}, _FILTERS)
    if page.data:
        _write_json(path.with_suffix(".json"), page.data)


def _write_json(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")


def _write_run(collected: Collected, run: Run, folder: Path) -> None:
    """Write the page of a run with its JSON and its badge; of a record of several targets there is one page."""
    path = folder / address("runs", run.name)
    path.parent.mkdir(exist_ok=True)
    report = run.report
    with path.open("w", encoding="utf-8") as file:
        values = {"page": collected.pages[run.name], "report": report, "header": run.record.header, "site": "../"}
        write_page("run.html", file, values, _FILTERS)
    _write_json(path.with_suffix(".json"), _data(report))
    _write_json(folder / "badges" / f"{part(run.badge)}.json", badge(run))


def badge(run: Run) -> dict[str, object]:
    """The badge of a run in the form that shields.io reads from an endpoint."""
    cell = matrix_cell(run.total)
    color = {"good": "brightgreen", "bad": "red", "warn": "orange"}.get(cell.look, "lightgrey")
    label = f"MaxPool on {run.title}"
    return {"schemaVersion": 1, "label": label, "message": cell.text, "color": color}


def _data(report: RunReport) -> dict[str, object]:
    header = report.record.header
    return {
        "targets": [target.name for target in header.targets],
        "started": header.started,
        "cases": header.cases,
        "cases_sha256": header.cases_sha256,
        "result": list(report.result),
        "tested": f"{plural(len(report.record.executions), 'execution')}",
        "balance": report.balance,
        "severities": {severity.value: tally.executions for severity, tally in report.severities.items()},
        "findings": [
            {
                "target": each.target, "defect": each.defect.id if each.defect is not None else None, "title": each.title,
                "severity": each.severity.value, "status": each.status, "kinds": each.kinds, "cases": each.cases,
            }
            for each in report.findings
        ],
    }  # fmt: skip
