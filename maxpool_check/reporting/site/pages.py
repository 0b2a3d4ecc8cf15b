"""The pages of a site: their addresses, what each shows, and the same as data."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maxpool_check.judging.defects import Severity
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting.html.charts import BarChart
from maxpool_check.reporting.matrix import cell, worst
from maxpool_check.reporting.site.addresses import address, case_address, case_file_address
from maxpool_check.reporting.site.collected import CaseEntry, Collected, DefectEntry, Outcome, Run, Topic
from maxpool_check.reporting.site.history import History, chart_of
from maxpool_check.words import plural

SCHEMA = "maxpool-check/site/1"
"""The schema of ``index.json``, by which a folder is known as a site."""

_LOOKS = {"conform": "good", "wrong": "bad", "crashed": "bad", "refused": "warn", "inconsistent": "warn"}
"""The classes of words in the style sheet; others are dim."""


@dataclass(frozen=True)
class Page:
    """A page of the site: its address, its template with the values, and the same as data for the JSON beside it.

    ``json`` is the address of its JSON if that is shared with other pages; ``data`` is then empty.
    """

    address: str
    title: str
    sort: str
    template: str
    values: Mapping[str, Any]
    data: Mapping[str, Any]
    json: str = ""


@dataclass(frozen=True)
class MatrixCell:
    """A cell of the matrix: the worst in a number and a word, its class in the style sheet, and all numbers."""

    text: str
    look: str
    counts: Mapping[str, int]


def matrix_cell(counts: Mapping[str, int]) -> MatrixCell:
    """A cell of the matrix."""
    return MatrixCell(cell(counts), _LOOKS.get(worst(counts), ""), counts)


def pages(collected: Collected, histories: Sequence[History]) -> Iterator[Page]:
    """All pages but those of runs, which are whole reports."""
    by_runtime = {each.runtime: each for each in histories}
    charts = {
        name: by_runtime[name].chart if name in by_runtime else chart_of(runs)
        for name, runs in collected.runtimes.items()
    }
    yield _index(collected, charts)
    for runtime, runs in collected.runtimes.items():
        yield _runtime(collected, runtime, runs, charts[runtime])
    for entry in collected.defects.values():
        yield _defect(collected, entry)
    for kind, description in DESCRIPTIONS.items():
        topic = collected.kinds.get(kind.value, Topic(kind.value))
        about = [description.sentence, f"Clause: {description.clause}." if description.clause else ""]
        yield _topic("kinds", "Kind of divergence", topic, [text for text in about if text], ("executions",))
    for topic in collected.clauses.values():
        yield _topic("clauses", "Clause", topic, [], ("compared", "conforming"))
    for case in collected.cases.values():
        yield _case(case)
    yield from _lists(collected)


def _index(collected: Collected, charts: Mapping[str, BarChart | None]) -> Page:
    rows = [
        (run, [matrix_cell(run.by_document.get(spec, {})) for spec in collected.documents])
        for runs in collected.runtimes.values()
        for run in runs
    ]
    ranks = list(Severity)
    defects = sorted(
        collected.defects.values(),
        key=lambda each: (ranks.index(Severity(each.entry.severity)) if each.entry.severity else 0, each.entry.id),
    )
    data = {
        "schema": SCHEMA,
        "documents": collected.documents,
        "runs": [
            {
                "target": run.target.name, "runtime": run.runtime, "version": run.target.version,
                "page": address("runs", run.name), "result": run.report.result[0],
                "matrix": {
                    spec: {"text": each.text, **each.counts} for spec, each in zip(collected.documents, cells, strict=True)
                },
            }
            for run, cells in rows
        ],
        "defects": [{"id": each.entry.id, "page": address("defects", each.entry.id)} for each in defects],
    }  # fmt: skip
    values = {
        "rows": rows,
        "defects": defects,
        "charts": {name: each for name, each in charts.items() if each is not None},
    }
    return Page("index.html", "MaxPool conformance", "index", "site_index.html", values, data)


def _runtime(collected: Collected, runtime: str, runs: Sequence[Run], chart: BarChart | None) -> Page:
    rows = [(run, [matrix_cell(run.by_document.get(spec, {})) for spec in collected.documents]) for run in runs]
    data = {
        "runtime": runtime,
        "runs": [
            {
                "target": run.target.name,
                "version": run.target.version,
                "result": " ".join(run.report.result),
                **run.total,
            }
            for run in runs
        ],
        "history": None if chart is None else {"releases": chart.labels, **chart.series},
    }
    return Page(
        address("runtimes", runtime),
        runtime,
        "runtime",
        "site_runtime.html",
        {"rows": rows, "chart": chart, "runtime": runtime},
        data,
    )


def _defect(collected: Collected, defect: DefectEntry) -> Page:
    cases, shown = defect.cases, dict(defect.shown)
    executed = Counter(result.run for case in cases for result in collected.cases[case].results)
    failing = Counter(
        result.run
        for case in cases
        for result in collected.cases[case].results
        if any(outcome.kinds for outcome in result.outcomes.values())
    )
    runtimes, table = {run.runtime for run in shown}, []
    for run in (run for runtime, runs in collected.runtimes.items() if runtime in runtimes for run in runs):
        if run in shown:
            table.append((run, f"shown by {len(shown[run].cases)} of {plural(executed[run], 'case')}", "bad"))
        elif failing[run]:
            text = f"{failing[run]} of {plural(executed[run], 'case')} fail there; the run was not given the known defects, or names another one"
            table.append((run, text, "warn"))
        elif executed[run]:
            table.append((run, f"not seen in {plural(executed[run], 'case')}", "good"))
        else:
            table.append((run, "not run", ""))
    data = {
        "id": defect.entry.id, "title": defect.entry.title, "severity": defect.entry.severity, "kinds": defect.entry.kinds,
        "mechanism": defect.entry.reason, "versions": defect.entry.versions, "upstream": defect.entry.issue, "reviewer": defect.entry.reviewer, "reviewed": defect.entry.reviewed,
        "runs": [{"target": run.target.name, "page": address("runs", run.name), "text": text} for run, text, _ in table],
        "cases": cases,
    }  # fmt: skip
    title = f"{defect.entry.id}: {defect.entry.title}"
    values = {"defect": defect, "table": table}
    return Page(address("defects", defect.entry.id), title, "defect", "site_defect.html", values, data)


def _topic(folder: str, sort: str, topic: Topic, about: Sequence[str], heads: Sequence[str]) -> Page:
    data = {
        "id": topic.name, "about": " ".join(about), "defects": sorted(topic.defects), "cases": list(topic.cases),
        "runs": [{"target": run.target.name, "page": address("runs", run.name), **numbers} for run, numbers in topic.numbers.items()],
    }  # fmt: skip
    values = {"topic": topic, "about": about, "heads": heads, "kicker": sort}
    return Page(
        address(folder, topic.name), topic.name, sort.partition(" ")[0].lower(), "site_topic.html", values, data
    )


def _case(case: CaseEntry) -> Page:
    file = case.id.rpartition(":")[0]
    return Page(case_address(case.id), case.id, "case", "site_case.html", {"case": case}, {}, case_file_address(file))


def case_files(collected: Collected) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON of the cases of each file: its address and its data.

    ``results`` are in the order of ``runs``: a place in ``outcomes``, or one for each variant where they differ; None: not run.
    """
    files: dict[str, list[CaseEntry]] = defaultdict(list)
    for case in collected.cases.values():
        files[case.id.rpartition(":")[0]].append(case)
    for file, cases in files.items():
        runs = [run for run in collected.runs if any(result.run is run for case in cases for result in case.results)]
        outcomes: dict[str, int] = {}
        yield case_file_address(file), {
            "file": file,
            "runs": [{"target": run.target.name, "page": address("runs", run.name)} for run in runs],
            "cases": {
                case.id.rpartition(":")[2]: {
                    "title": case.title, "document": case.spec, "clauses": case.clauses, "origin": case.origin,
                    "sha256": case.digests, "results": [_results(case, run, outcomes) for run in runs],
                }
                for case in cases
            },
            "outcomes": list(outcomes),
        }  # fmt: skip


def _results(case: CaseEntry, run: Run, outcomes: dict[str, int]) -> int | dict[str, int] | None:
    result = next((each for each in case.results if each.run is run), None)
    if result is None:
        return None
    places = {
        variant: outcomes.setdefault(_words(outcome), len(outcomes)) for variant, outcome in result.outcomes.items()
    }
    return next(iter(places.values())) if len(set(places.values())) == 1 else places


def _words(outcome: Outcome) -> str:
    return " ".join([outcome.verdict, outcome.known or " ".join(outcome.kinds)]).rstrip()


def _lists(collected: Collected) -> Iterator[Page]:
    """The pages that list all kinds, clauses and cases."""
    described = {kind.value: description.sentence for kind, description in DESCRIPTIONS.items()}
    yield _list("kinds", "Kinds of divergence", [
        (name, address("kinds", name), text, _executions(collected.kinds.get(name))) for name, text in described.items()
    ], "meaning", "executions")  # fmt: skip
    yield _list("clauses", "Clauses", [
        (name, address("clauses", name), plural(len(topic.cases), "case"), sum(each["compared"] for each in topic.numbers.values()))
        for name, topic in sorted(collected.clauses.items())
    ], "cases", "executions")  # fmt: skip
    yield _list("cases", "Cases", [
        (case.id, case_address(case.id), case.spec, len(case.results)) for case in collected.cases.values()
    ], "document", "runs")  # fmt: skip


def _executions(topic: Topic | None) -> int:
    return sum(each["executions"] for each in topic.numbers.values()) if topic is not None else 0


def _list(folder: str, title: str, rows: Sequence[tuple[str, str, str, int]], about: str, number: str) -> Page:
    data = {"title": title, "pages": {name: page for name, page, _, _ in rows}}
    values = {"rows": rows, "number": number, "heading": title, "about": about}
    return Page(f"{folder}/index.html", title, "list", "site_list.html", values, data)
