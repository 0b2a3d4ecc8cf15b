"""The pages of a site as blocks: their addresses, what each shows, and the same as data."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maxpool_check.judging.defects import Severity
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting.blocks import (
    Block,
    Bullets,
    Chart,
    Document,
    Heading,
    Inline,
    Paragraph,
    Section,
    Span,
    Table,
    slug,
)
from maxpool_check.reporting.finding_view import Detail, FindingView
from maxpool_check.reporting.matrix import FAULTS, cell, worst
from maxpool_check.reporting.site.collected import (
    CaseEntry,
    Collected,
    DefectEntry,
    History,
    Outcome,
    Run,
    Topic,
    release_of,
)
from maxpool_check.words import plural, some

SCHEMA = "maxpool-check/site/1"
"""The schema of ``index.json``, by which a folder is known as a site."""

TONES = {"conform": "good", "wrong": "bad", "crashed": "bad", "refused": "known", "inconsistent": "known"}
"""The tones of the words of a matrix; others are dim."""

_LONGEST_PART = 100
"""The longest part of an address that is a name as it is."""
_MOST_LINKS = 50
"""So many cases of a list are links."""
_MATRIX = (
    "A run is a target with the cases that it was given: a release of a runtime, or transform:TOOL:on:RUNTIME, models that a tool has "
    "rewritten and the runtime executed. Each cell has the worst that occurs, in the order wrong, crashed, refused, not implemented, "
    "inconsistent, with its number of executions; the page of the run has all numbers. All conform: every execution; 17 conform: all "
    "that could be compared, others are not expressible or undefined. Not run: no case of the document was in the run. Not "
    "expressible: no request to the runtime means the same as the cases. Refused: the runtime rejects what the document allows; not "
    "implemented: it says so of itself."
)
_SERIES = {
    "wrong": ("diverges", "unstable"),
    "crashed": ("crashes", "times-out"),
    "refused or not implemented": ("refuses",),
    "inconsistent": ("inconsistent",),
}
"""The verdicts of a history by the word of a chart."""


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


def _file_address(file: str) -> str:
    """The address of the JSON of the cases of a file: ``cases/edge/neg-inf.json``."""
    return "/".join(["cases", *map(part, filter(None, file.split("/")))]) + ".json"


@dataclass(frozen=True)
class Page:
    """A page of the site: its address, what sort it is, what it shows, and the same as data for the JSON beside it.

    ``json`` is the address of its JSON if that is shared with other pages; ``data`` is then empty. ``html`` is the text of a page of
    the documentation.
    """

    address: str
    sort: str
    document: Document
    data: Mapping[str, Any] = field(default_factory=dict)
    json: str = ""
    html: Any = ""


@dataclass(frozen=True)
class _Links:
    """Links of a page to others; ``root`` is the way to the site's folder."""

    root: str

    def to(self, folder: str, name: str, text: str = "") -> Span:
        return Span(text or name, href=f"{self.root}{address(folder, name)}")

    def run(self, run: Run) -> Span:
        return self.to("runs", run.name, run.title)

    def several(self, folder: str, names: Sequence[str], most: int | None = None) -> list[str | Span]:
        """Names with commas between them, so many of them links."""
        shown: list[str | Span] = []
        for number, name in enumerate(names):
            shown += [", "] if number else []
            shown.append(self.to(folder, name) if most is None or number < most else name)
        return shown

    def cases(self, names: Iterable[str]) -> Section:
        return Section("Cases", [Paragraph(self.several("cases", list(names), _MOST_LINKS))])


def pages(collected: Collected, histories: Sequence[History]) -> Iterator[Page]:
    """All pages but those of runs, which are whole reports, and of the documentation."""
    by_runtime = {each.runtime: each for each in histories}
    charts = {name: _chart(name, runs, by_runtime.get(name)) for name, runs in collected.runtimes.items()}
    yield _index(collected, charts)
    links = _Links("../")
    for runtime, runs in collected.runtimes.items():
        yield _runtime(collected, links, runtime, runs, charts[runtime])
    for entry in collected.defects.values():
        yield _defect(collected, links, entry)
    for kind, description in DESCRIPTIONS.items():
        about = [description.sentence, *([f"Clause: {description.clause}."] if description.clause else [])]
        yield _topic(
            links,
            "kinds",
            "Kind of divergence",
            collected.kinds.get(kind.value, Topic(kind.value)),
            about,
            ["executions"],
        )
    for topic in collected.clauses.values():
        yield _topic(links, "clauses", "Clause", topic, [], ["compared", "conforming"])
    yield from map(_case, collected.cases.values())
    kinds = [
        (kind.value, each.sentence, _sum(collected.kinds.get(kind.value), "executions"))
        for kind, each in DESCRIPTIONS.items()
    ]
    yield _list(links, "kinds", "Kinds of divergence", kinds, "meaning", "executions")
    clauses = [
        (each.name, plural(len(each.cases), "case"), _sum(each, "compared"))
        for _, each in sorted(collected.clauses.items())
    ]
    yield _list(links, "clauses", "Clauses", clauses, "cases", "executions")
    cases = [(each.id, each.spec, len(each.results)) for each in collected.cases.values()]
    yield _list(links, "cases", "Cases", cases, "document", "runs")


def _sum(topic: Topic | None, word: str) -> int:
    return sum(each[word] for each in topic.numbers.values()) if topic is not None else 0


def _chart(runtime: str, runs: Sequence[Run], history: History | None) -> Chart | None:
    """The executions that do not conform, by release: of a history, or of those runs that executed the same cases.

    None of fewer than two releases, and where a release was run in several ways.
    """
    label = f"Executions that do not conform, by release of {runtime}"
    if history is not None:
        labels, numbers = list(history.verdicts), list(history.verdicts.values())
        series = {
            word: [sum(each.get(name, 0) for name in names) for each in numbers] for word, names in _SERIES.items()
        }
    else:
        digests = Counter(run.report.record.header.cases_sha256 for run in runs)
        digest = digests.most_common(1)[0][0]
        alike = [run for run in runs if run.report.record.header.cases_sha256 == digest]
        labels = [run.target.version for run in alike]
        if len(labels) < 2 or len(set(labels)) < len(labels):
            return None
        series = {word: [run.total[word] for run in alike] for word in FAULTS.values()}
    return Chart(labels, {word: values for word, values in series.items() if any(values)}, label)


def _matrix(collected: Collected, links: _Links, runs: Iterable[Run], label: str) -> Table:
    rows: list[list[Inline]] = []
    for run in runs:
        cells = [run.by_document.get(spec, Counter()) for spec in collected.documents]
        texts = [Span(cell(each), tone=TONES.get(worst(each), "dim")) for each in cells]
        rows.append([[links.run(run), Span(run.report.tested, tone="small")], *texts])
    return Table(["runtime", *collected.documents], rows, label=label, name="matrix")


def _index(collected: Collected, charts: Mapping[str, Chart | None]) -> Page:
    links, runs = _Links(""), [run for runs in collected.runtimes.values() for run in runs]
    ranks = list(Severity)
    defects = sorted(
        collected.defects.values(),
        key=lambda each: (ranks.index(Severity(each.entry.severity)) if each.entry.severity else 0, each.entry.id),
    )
    rows: list[list[Inline]] = [
        [
            Span(each.entry.severity or "", tone=each.entry.severity or ""),
            links.to("defects", each.entry.id),
            each.entry.title,
            ", ".join(some([release_of(run.target) for run in each.shown], 6)),
        ]
        for each in defects
    ]
    trends: list[Block] = [
        block
        for runtime, chart in charts.items()
        if chart is not None
        for block in (Heading(3, links.to("runtimes", runtime)), chart)
    ]
    matrix = _matrix(collected, links, runs, "Runtimes, releases and documents")
    by_runtime = Paragraph(["By runtime: ", *links.several("runtimes", list(collected.runtimes)), "."])
    headings = ["severity", "defect", "what is wrong", "shown by"]
    lists = {"kinds": "Kinds of divergence", "clauses": "Clauses", "cases": "Cases"}
    everything = Bullets([Span(title, href=f"{folder}/index.html") for folder, title in lists.items()])
    numbers = f"{len(runs)} runs of {len(collected.runtimes)} runtimes did with {len(collected.cases)} cases"
    about = f"What {numbers} of {len(collected.documents)} documents. Every result was compared with a reference bit by bit."
    content = [
        Section("Runtimes, releases and documents", [Paragraph(_MATRIX), matrix, by_runtime], "matrix"),
        *([Section("History", trends)] if trends else []),
        Section("Defects", [Table(headings, rows, label="Defects")], "defects"),
        Section("Everything", [everything]),
    ]
    by_run = []
    for run in runs:
        counts = {spec: run.by_document.get(spec, Counter()) for spec in collected.documents}
        texts = {spec: {"text": cell(numbers), **numbers} for spec, numbers in counts.items()}
        by_run.append({**_about(run), "runtime": run.target.distribution, "matrix": texts})
    entries = [{"id": each.entry.id, "page": address("defects", each.entry.id)} for each in defects]
    data = {"schema": SCHEMA, "documents": collected.documents, "runs": by_run, "defects": entries}
    return Page("index.html", "index", Document("", "MaxPool conformance", [Paragraph(about)], content), data)


def _about(run: Run) -> dict[str, Any]:
    """A run in the data of a page."""
    page, result = address("runs", run.name), run.report.result[0]
    return {"target": run.target.name, "version": run.target.version, "page": page, "result": result}


def _runtime(collected: Collected, links: _Links, runtime: str, runs: Sequence[Run], chart: Chart | None) -> Page:
    content: list[Block] = [_matrix(collected, links, runs, f"Releases and documents of {runtime}")]
    if chart is not None:
        about = Paragraph("Each release was run with the cases of its time; the runs above may have others.")
        content.append(Section("History", [about, chart]))
    content.append(Heading(2, "Runs"))
    for run in runs:
        badge = f"badges/{part(run.badge)}.json"
        word, sentence = run.report.result
        content += [
            Heading(3, links.run(run)),
            Paragraph([Span(word, strong=True), f" {sentence}."]),
            Paragraph(
                [
                    f"{run.target.software()}; {run.report.record.header.started[:10]}. Its ",
                    Span("badge", href=f"{links.root}{badge}"),
                    ", with the address of this site: ",
                    Span(f"![MaxPool](https://img.shields.io/endpoint?url=ADDRESS/{badge})", code=True),
                ]
            ),
        ]
    history = None if chart is None else {"releases": chart.labels, **chart.series}
    data = {"runtime": runtime, "runs": [{**_about(run), **run.total} for run in runs], "history": history}
    return Page(address("runtimes", runtime), "runtime", Document("Runtime", runtime, [], content), data)


def _defect(collected: Collected, links: _Links, defect: DefectEntry) -> Page:
    entry, results = defect.entry, [collected.cases[case].results for case in defect.cases]
    rows: list[list[Inline]] = []
    for run in (run for runs in collected.runtimes.values() for run in runs):
        if all(run.target.distribution != each.target.distribution for each in defect.shown):
            continue
        executed = plural(sum(run in each for each in results), "case")
        failing = sum(any(outcome.kinds for outcome in each.get(run, {}).values()) for each in results)
        text, tone = "not run", "dim"
        if run in defect.shown:
            text, tone = f"shown by {len(defect.shown[run].cases)} of {executed}", "bad"
        elif failing:
            text = f"{failing} of {executed} fail there; the run was not given the known defects, or names another one"
            tone = "known"
        elif any(run in each for each in results):
            text, tone = f"not seen in {executed}", "good"
        rows.append([links.run(run), Span(text, tone=tone)])
    last = list(defect.shown)[-1]
    view = FindingView(defect.shown[last], last.report.record.header, Detail.ALONE, pages=below)
    head = [
        Paragraph([Span(entry.severity or "", tone=entry.severity or ""), f" {entry.title}"]),
        Paragraph(["Kinds: ", *links.several("kinds", entry.kinds)]),
    ]
    content = [
        Section("Where it was seen", [Table(["run", "result"], rows, label="Where it was seen")]),
        Section(f"As {last.title} shows it", [view.block()]),
        links.cases(defect.cases),
    ]
    data = {
        "id": entry.id, "title": entry.title, "severity": entry.severity, "kinds": entry.kinds, "mechanism": entry.reason,
        "versions": entry.versions, "upstream": entry.issue, "reviewer": entry.reviewer, "reviewed": entry.reviewed,
        "runs": [_about(run) for run in defect.shown], "cases": defect.cases,
    }  # fmt: skip
    return Page(address("defects", entry.id), "defect", Document("Defect", entry.id, head, content), data)


def _topic(
    links: _Links, folder: str, kicker: str, topic: Topic, about: Sequence[str], words: Sequence[str]
) -> Page:  # fmt: skip
    rows: list[list[Inline]] = [
        [links.run(run), *(str(numbers[word]) for word in words)] for run, numbers in topic.numbers.items()
    ]
    table = Table(["run", *words], rows, frozenset(range(1, len(words) + 1)), label="By run")
    content: list[Block] = [table if rows else Paragraph("No run shows it.")]
    defects = sorted(topic.defects)
    content += [Section("Defects", [Paragraph(links.several("defects", defects))])] if defects else []
    content += [links.cases(topic.cases)] if topic.cases else []
    runs = [{**_about(run), **numbers} for run, numbers in topic.numbers.items()]
    data = {"id": topic.name, "about": " ".join(about), "defects": defects, "cases": list(topic.cases), "runs": runs}
    document = Document(kicker, topic.name, list(map(Paragraph, about)), content)
    return Page(address(folder, topic.name), kicker.partition(" ")[0].lower(), document, data)


def _case(case: CaseEntry) -> Page:
    place, file = address("cases", case.id), case.id.rpartition(":")[0]
    links = _Links("../" * place.count("/"))
    items: list[Inline] = []
    for outcome, runs in case.outcomes.items():
        item: list[str | Span] = [Span(outcome.verdict, strong=True)]
        names = [links.to("defects", outcome.known)] if outcome.known else links.several("kinds", outcome.kinds)
        item += [" ", *names] if names else []
        for number, (run, variants) in enumerate(runs.items()):
            # What is wrong leads to the run; links to all would be most of the site.
            item += ["; " if number else ": ", links.run(run) if outcome.evidence else run.title]
            item += [f" {', '.join(variants)}"] if variants else []
        items.append([*item, f". {outcome.evidence}" if outcome.evidence else ""])
    clauses = [", ", *links.several("clauses", case.clauses)] if case.clauses else []
    settings = f": {case.settings}" if case.settings else ""
    head = [Paragraph(case.title), Paragraph([Span(case.spec, code=True), f"{settings}. {case.origin}", *clauses])]
    content: list[Block] = [
        Bullets(items),
        Paragraph("A run without a variant shows it in all; runs that are not named did not have the case."),
    ]
    if len(digests := list(dict.fromkeys(case.digests.values()))) > 1:
        content.append(Paragraph(f"The case was changed between these runs: SHA-256 {', then '.join(digests)}."))
    return Page(place, "case", Document("Case", case.id, head, content), {}, _file_address(file))


def case_files(collected: Collected) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON of the cases of each file: its address and its data.

    ``results`` are in the order of ``runs``: a place in ``outcomes``, or one for each variant where they differ; None: not run.
    """
    files: dict[str, list[CaseEntry]] = defaultdict(list)
    for case in collected.cases.values():
        files[case.id.rpartition(":")[0]].append(case)
    for file, cases in files.items():
        runs = [run for run in collected.runs if any(run in case.results for case in cases)]
        outcomes: dict[str, int] = {}

        def place(outcome: Outcome, outcomes: dict[str, int] = outcomes) -> int:
            words = " ".join([outcome.verdict, outcome.known or " ".join(outcome.kinds)]).rstrip()
            return outcomes.setdefault(words, len(outcomes))

        entries = {}
        for case in cases:
            found = [{name: place(each) for name, each in case.results.get(run, {}).items()} for run in runs]
            entries[case.id.rpartition(":")[2]] = {
                "title": case.title, "document": case.spec, "clauses": case.clauses, "origin": case.origin,
                "sha256": list(dict.fromkeys(case.digests.values())),
                "results": [each if len(set(each.values())) > 1 else next(iter(each.values()), None) for each in found],
            }  # fmt: skip
        runs_of = [{"target": run.target.name, "page": address("runs", run.name)} for run in runs]
        yield _file_address(file), {"file": file, "runs": runs_of, "cases": entries, "outcomes": list(outcomes)}


def _list(
    links: _Links, folder: str, title: str, rows: Sequence[tuple[str, str, int]], about: str, number: str
) -> Page:
    cells: list[list[Inline]] = [[links.to(folder, name), text, str(count)] for name, text, count in rows]
    table = Table(["name", about, number], cells, frozenset({2}), label=title)
    data = {"title": title, "pages": {name: address(folder, name) for name, _, _ in rows}}
    return Page(f"{folder}/index.html", "list", Document("", title, [], [table]), data)
