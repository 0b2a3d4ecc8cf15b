"""The pages of a site as data, which a template shows: their addresses, and what each has; the results of cases as JSON.

They are made from the runs, and from the executions of each by case, kind and clause.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from packaging.version import InvalidVersion, Version

from maxpool_check.judging.defects import Severity
from maxpool_check.judging.faults import Fault
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting.blocks import Matrix, slug
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.fault_view import FaultView
from maxpool_check.reporting.matrix import cell, counts
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import COMPARED, Execution, KnownEntry, Record, TargetDescription, Verdict
from maxpool_check.words import plural, some

SCHEMA = "maxpool-check/site/1"
"""The schema of ``index.json``, by which a folder is known as a site."""

_LONGEST_PART = 100
"""The longest part of an address that is a name as it is."""
_SERIES = {
    "wrong": ("diverges", "unstable"),
    "crashed": ("crashes", "times-out"),
    "refused or not implemented": ("refuses",),
    "inconsistent": ("inconsistent",),
}
"""The verdicts of a history by the word of a row."""


@dataclass(frozen=True)
class History:
    """What releases of a runtime showed, from the JSON of ``maxpool-check history``: executions by version and verdict."""

    runtime: str
    verdicts: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, eq=False)
class Run:
    """A target of a record. ``name`` is that of the record, as its page is called; ``title`` is the runtime with its version."""

    name: str
    title: str
    target: TargetDescription
    report: RunReport

    @property
    def badge(self) -> str:
        """The name of its badge: that of the record, with the target if the record has several."""
        return self.name if len(self.report.record.header.targets) == 1 else f"{self.name}-{self.target.name}"

    @cached_property
    def by_document(self) -> dict[str, Counter[str]]:
        """The number of executions by document and word of :mod:`maxpool_check.reporting.matrix`."""
        return counts(self.report.record, self.target.name, self.report.faults, lambda each: each.spec)

    @cached_property
    def total(self) -> Counter[str]:
        """The number of executions by word."""
        return sum(self.by_document.values(), Counter[str]())


ByRun = dict[Run, list[Execution]]
"""Executions of the same case, kind or clause by run."""


class Collected:
    """Everything that records say, by what pages are about. ``records`` by name; runs are in the order of their times."""

    def __init__(self, records: Iterable[tuple[str, Record]]) -> None:
        self.runs: list[Run] = []
        self.defects: dict[str, dict[Run, Fault]] = defaultdict(dict)
        self.cases, self.kinds, self.clauses = (dict[str, ByRun]() for _ in range(3))
        ordered = sorted(records, key=lambda item: item[1].header.started)
        releases = Counter(target.release or target.name for _, record in ordered for target in record.header.targets)
        for name, record in ordered:
            report, runs = RunReport(record, record.exit_code), dict[str, Run]()
            for target in record.header.targets:
                title = target.release or target.name
                if releases[title] > 1:
                    rest = target.name.removeprefix(f"{target.distribution}=={target.version}").lstrip("?@")
                    title += f" ({rest or target.provider})"
                runs[target.name] = Run(name, title, target, report)
            self.runs += runs.values()
            for fault in report.faults:
                if fault.defect is not None:
                    self.defects[fault.defect.id].setdefault(runs[fault.target], fault)
            for each in record.executions:
                topics = [(self.cases, each.case), *((self.kinds, kind) for kind in each.kinds)]
                for table, topic in [*topics, *((self.clauses, clause) for clause in each.clauses)]:
                    if each.target in runs:
                        table.setdefault(topic, {}).setdefault(runs[each.target], []).append(each)

    @cached_property
    def runtimes(self) -> dict[str, list[Run]]:
        """The runs by runtime, the distribution that it is installed from, those of the newest version last."""

        def order(run: Run) -> tuple[str, Version, str]:
            try:
                return run.target.distribution, Version(run.target.version), run.name
            except InvalidVersion:
                return run.target.distribution, Version("0"), run.name

        result: dict[str, list[Run]] = defaultdict(list)
        for run in sorted(self.runs, key=order):
            result[run.target.distribution].append(run)
        return dict(result)

    @cached_property
    def entries(self) -> dict[str, KnownEntry]:
        """The known defects that a run shows, each as the newest of these has it."""
        newest = {name: list(shown.values())[-1].defect for name, shown in self.defects.items()}
        return {name: entry for name, entry in newest.items() if entry is not None}

    @property
    def documents(self) -> list[str]:
        """The documents that any run has cases of."""
        known = dict.fromkeys(spec for run in self.runs for spec in run.report.record.header.profile)
        return [*known, *sorted({spec for run in self.runs for spec in run.by_document} - known.keys())]


def part(text: str) -> str:
    """The text as one part of an address: as it is, or with a digest if that cannot be."""
    name = slug(text)[:_LONGEST_PART].strip(".")
    return name if name == text else f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def address(folder: str, name: str) -> str:
    """The address of a page, which its name alone decides: ``kinds/shape.html``, ``cases/edge/neg-inf/one-cell.html``."""
    file, _, last = name.rpartition(":") if folder == "cases" else ("", "", name)
    return "/".join([folder, *map(part, filter(None, file.split("/"))), f"{part(last)}.html"])


def below(folder: str, name: str) -> str:
    """The address of a page, relative to a page in a folder of the site."""
    return f"../{address(folder, name)}"


@dataclass(frozen=True)
class Page:
    """A page of the site: its address, what sort it is, its title, and what the search finds of it beside that.

    ``values`` are what the template shows of this sort. ``json`` is the address of its data, if it has some.
    """

    address: str
    sort: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    json: str = ""


def pages(collected: Collected, histories: Sequence[History]) -> Iterator[Page]:
    """All pages but those of runs, which are whole reports."""
    charts = {each.runtime: _trend(each) for each in histories if each.runtime in collected.runtimes}
    defects = [(each.severity, name, each.title, collected.defects[name]) for name, each in collected.entries.items()]
    ranks = [severity.value for severity in Severity]
    defects.sort(key=lambda each: (ranks.index(each[0]) if each[0] else 0, each[1]))
    rows = [
        (*about, ", ".join(some([run.target.release or run.target.name for run in by], 6))) for *about, by in defects
    ]
    yield Page("index.html", "index", "MaxPool conformance", {"charts": charts, "defects": rows}, json="index.json")
    for name, runs in collected.runtimes.items():
        yield Page(address("runtimes", name), "runtime", name, {"runs": runs, "chart": charts.get(name)})
    yield from (_defect(collected, name, shown) for name, shown in collected.defects.items())
    lists: dict[str, list[tuple[str, str, int]]] = {"kinds": [], "clauses": [], "cases": []}
    for kind, description in DESCRIPTIONS.items():
        about = [description.sentence, *([f"Clause: {description.clause}."] if description.clause else [])]
        by_run = collected.kinds.get(kind.value, {})
        lists["kinds"].append((kind.value, description.sentence, sum(map(len, by_run.values()))))
        yield _topic("kinds", kind.value, by_run, about)
    for name, by_run in sorted(collected.clauses.items()):
        every = [each for executions in by_run.values() for each in executions]
        lists["clauses"].append((name, plural(len({each.case for each in every}), "case"), _compared(every)))
        yield _topic("clauses", name, by_run, [])
    for name, by_run in collected.cases.items():
        lists["cases"].append((name, list(by_run.values())[-1][0].spec, len(by_run)))
        yield _case(name, by_run)
    headings = {
        "kinds": ("Kinds of divergence", "meaning", "executions"),
        "clauses": ("Clauses", "cases", "executions"),
        "cases": ("Cases", "document", "runs"),
    }
    for folder, (title, *columns) in headings.items():
        values = {"folder": folder, "columns": columns, "rows": lists[folder]}
        yield Page(f"{folder}/index.html", "list", title, values)


def _defect(collected: Collected, name: str, shown: Mapping[Run, Fault]) -> Page:
    cases = list(dict.fromkeys(case for fault in shown.values() for case in fault.cases))
    results, rows = [collected.cases[case] for case in cases], []
    for run in (run for runs in collected.runtimes.values() for run in runs):
        if all(run.target.distribution != each.target.distribution for each in shown):
            continue
        executed = plural(sum(run in each for each in results), "case")
        failing = sum(any(execution.kinds for execution in each.get(run, [])) for each in results)
        if run in shown:
            rows.append((run, "bad", f"shown by {len(shown[run].cases)} of {executed}"))
        elif failing:
            why = "the run was not given the known defects, or names another one"
            rows.append((run, "known", f"{failing} of {executed} fail there; {why}"))
        elif any(run in each for each in results):
            rows.append((run, "good", f"not seen in {executed}"))
        else:
            rows.append((run, "dim", "not run"))
    last, entry = list(shown)[-1], collected.entries[name]
    fault = FaultView(shown[last], last.report.record.header, pages=below).block()
    values = {"entry": entry, "rows": rows, "last": last, "fault": fault, "cases": cases}
    return Page(address("defects", name), "defect", name, values, entry.title)


def _topic(folder: str, name: str, by_run: ByRun, about: Sequence[str]) -> Page:
    """A kind, with the number of its executions, or a clause, with those that were compared and that conform."""
    numbers = {"executions": len} if folder == "kinds" else {"compared": _compared, "conforming": _conforming}
    every = [each for executions in by_run.values() for each in executions]
    defects = sorted({each.known for each in every if each.known is not None and name in each.kinds})
    values = {
        "kicker": "Clause" if folder == "clauses" else "Kind of divergence",
        "about": about,
        "columns": list(numbers),
        "rows": [(run, [number(each) for number in numbers.values()]) for run, each in by_run.items()],
        "defects": defects,
        "cases": list(dict.fromkeys(each.case for each in every)),
    }
    return Page(address(folder, name), folder.removesuffix("s"), name, values, " ".join(about))


def _case(name: str, by_run: ByRun) -> Page:
    outcomes: dict[tuple[Any, ...], dict[Run, list[str]]] = defaultdict(lambda: defaultdict(list))
    for run, executions in by_run.items():
        for each in executions:
            message = each.message if each.verdict is Verdict.DIVERGES else ""
            evidence = str(each.cells[0]) if each.cells else message
            outcomes[each.verdict, each.kinds, each.known, evidence][run].append(each.variant)
    views = [ExecutionView(each) for executions in reversed(by_run.values()) for each in executions]
    order = list(Verdict)
    values = {
        "newest": list(by_run.values())[-1][0],
        "settings": next((view.settings for view in views if view.settings), ""),
        "outcomes": sorted(outcomes.items(), key=lambda item: order.index(item[0][0])),
        "by_run": by_run,
        "digests": list(dict.fromkeys(executions[0].case_sha256 for executions in by_run.values())),
    }
    return Page(address("cases", name), "case", name, values, json=_file_address(name.rpartition(":")[0]))


def _compared(executions: Sequence[Execution]) -> int:
    return sum(each.verdict in COMPARED for each in executions)


def _conforming(executions: Sequence[Execution]) -> int:
    return sum(each.verdict is Verdict.CONFORMS for each in executions)


def _trend(history: History) -> Matrix:
    """The executions that do not conform, by release."""
    numbers = list(history.verdicts.values())
    series = {word: [sum(each.get(name, 0) for name in names) for each in numbers] for word, names in _SERIES.items()}
    label = f"Executions that do not conform, by release of {history.runtime}"
    rows = [(word, "", values) for word, values in series.items() if any(values)]
    return Matrix("executions", list(history.verdicts), rows, label)


def data(collected: Collected) -> Iterator[tuple[str, dict[str, Any]]]:
    """The matrix as data, and the results of the cases of each file, with their addresses.

    ``results`` of a case are in the order of ``runs``: a place in ``outcomes``, or one for each variant where they differ; None: not run.
    """
    matrix = []
    for run in collected.runs:
        cells = {spec: run.by_document.get(spec, Counter[str]()) for spec in collected.documents}
        about = {"target": run.target.name, "page": address("runs", run.name), "result": run.report.result[0]}
        matrix.append({**about, "matrix": {spec: {"text": cell(each), **each} for spec, each in cells.items()}})
    defects = [{"id": name, "page": address("defects", name)} for name in collected.defects]
    yield "index.json", {"schema": SCHEMA, "documents": collected.documents, "runs": matrix, "defects": defects}
    files: dict[str, list[str]] = defaultdict(list)
    for case in collected.cases:
        files[case.rpartition(":")[0]].append(case)
    for file, cases in files.items():
        runs = [run for run in collected.runs if any(run in collected.cases[case] for case in cases)]
        outcomes: dict[str, int] = {}
        entries = {}
        for case in cases:
            by_run, results = collected.cases[case], list[Any]()
            for run in runs:
                words = {
                    each.variant: " ".join([each.verdict.value, each.known or " ".join(each.kinds)])
                    for each in by_run.get(run, [])
                }
                places = {variant: outcomes.setdefault(text.rstrip(), len(outcomes)) for variant, text in words.items()}
                results.append(places if len(set(places.values())) > 1 else next(iter(places.values()), None))
            newest, digests = list(by_run.values())[-1][0], [each[0].case_sha256 for each in by_run.values()]
            entries[case.rpartition(":")[2]] = {
                "title": newest.title,
                "document": newest.spec,
                "clauses": newest.clauses,
                "origin": newest.origin,
                "sha256": list(dict.fromkeys(digests)),
                "results": results,
            }
        listed = [{"target": run.target.name, "page": address("runs", run.name)} for run in runs]
        yield _file_address(file), {"file": file, "runs": listed, "cases": entries, "outcomes": list(outcomes)}


def _file_address(file: str) -> str:
    """The address of the JSON of the cases of a file: ``cases/edge/neg-inf.json``."""
    return "/".join(["cases", *map(part, filter(None, file.split("/")))]) + ".json"
