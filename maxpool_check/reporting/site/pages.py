"""The pages of a site as blocks: their addresses, and what each shows; the results of cases as data."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    plain,
    slug,
)
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.finding_view import Detail, FindingView
from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.matrix import FAULTS, cell, worst
from maxpool_check.reporting.site.collected import ByRun, Collected, History, Run, release_of
from maxpool_check.results.record import COMPARED, Execution, KnownEntry, Verdict
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
_LISTS = {"kinds": "Kinds of divergence", "clauses": "Clauses", "cases": "Cases"}
_WORDS = {"kinds": ["executions"], "clauses": ["compared", "conforming"]}
"""The numbers of a kind or a clause."""
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


@dataclass(frozen=True)
class Page:
    """A page of the site: its address, what sort it is, what it shows, and what the search finds of it beside its title.

    ``json`` is the address of its data, if it has some. ``html`` is the text of a page of the documentation.
    """

    address: str
    sort: str
    document: Document
    about: str = ""
    json: str = ""
    html: Any = ""


@dataclass(frozen=True)
class _Pages:
    """Makes pages in a folder, or at the top; ``root`` is the way to the site's folder."""

    collected: Collected
    root: str = "../"

    def to(self, folder: str, name: str, text: str = "") -> Span:
        return Span(text or name, href=f"{self.root}{address(folder, name)}")

    def run(self, run: Run) -> Span:
        return self.to("runs", run.name, run.title)

    def several(self, folder: str, names: Sequence[str], most: int | None = None) -> list[str | Span]:
        """Names with commas between them, so many of them links."""
        shown: list[str | Span] = []
        for number, name in enumerate(names):
            shown += [", "] * bool(number) + [self.to(folder, name) if most is None or number < most else name]
        return shown

    def cases(self, names: Iterable[str]) -> Section:
        return Section("Cases", [Paragraph(self.several("cases", list(dict.fromkeys(names)), _MOST_LINKS))])

    def matrix(self, runs: Iterable[Run], label: str) -> Table:
        rows: list[list[Inline]] = []
        for run in runs:
            cells = [run.by_document.get(spec, Counter()) for spec in self.collected.documents]
            texts = [Span(cell(each), tone=TONES.get(worst(each), "dim")) for each in cells]
            rows.append([[self.run(run), Span(run.report.tested, tone="small")], *texts])
        return Table(["runtime", *self.collected.documents], rows, label=label, name="matrix")

    def index(self, charts: Mapping[str, Chart | None]) -> Page:
        collected, ranks = self.collected, [severity.value for severity in Severity]
        rows: list[list[Inline]] = []
        for name, shown in collected.defects.items():
            title, severity = _entry(shown).title, _entry(shown).severity or ranks[0]
            by = ", ".join(some([release_of(run.target) for run in shown], 6))
            rows.append([Span(severity, tone=severity), self.to("defects", name), title, by])
        rows.sort(key=lambda row: (ranks.index(plain(row[0])), plain(row[1])))
        trends: list[Block] = []
        for runtime, chart in charts.items():
            trends += [] if chart is None else [Heading(3, self.to("runtimes", runtime)), chart]
        by_runtime = Paragraph(["By runtime: ", *self.several("runtimes", list(collected.runtimes)), "."])
        lists = Bullets([Span(title, href=f"{folder}/index.html") for folder, title in _LISTS.items()])
        numbers = (
            f"{len(collected.runs)} runs of {len(collected.runtimes)} runtimes did with {len(collected.cases)} cases"
        )
        about = f"What {numbers} of {len(collected.documents)} documents. Every result was compared with a reference bit by bit."
        runs, title = [run for runs in collected.runtimes.values() for run in runs], "Runtimes, releases and documents"
        content = [
            Section(title, [Paragraph(_MATRIX), self.matrix(runs, title), by_runtime], "matrix"),
            *([Section("History", trends)] if trends else []),
            Section(
                "Defects",
                [Table(["severity", "defect", "what is wrong", "shown by"], rows, label="Defects")],
                "defects",
            ),
            Section("Everything", [lists]),
        ]
        document = Document("", "MaxPool conformance", [Paragraph(about)], content)
        return Page("index.html", "index", document, json="index.json")

    def runtime(self, runtime: str, runs: Sequence[Run], chart: Chart | None) -> Page:
        content: list[Block] = [self.matrix(runs, f"Releases and documents of {runtime}")]
        if chart is not None:
            about = Paragraph("Each release was run with the cases of its time; the runs above may have others.")
            content.append(Section("History", [about, chart]))
        content.append(Heading(2, "Runs"))
        for run in runs:
            badge, (word, sentence) = f"badges/{part(run.badge)}.json", run.report.result
            code = Span(f"![MaxPool](https://img.shields.io/endpoint?url=ADDRESS/{badge})", code=True)
            software = f"{run.target.software()}; {run.report.record.header.started[:10]}. Its "
            link = Span("badge", href=f"{self.root}{badge}")
            content += [Heading(3, self.run(run)), Paragraph([Span(word, strong=True), f" {sentence}."])]
            content.append(Paragraph([software, link, ", with the address of this site: ", code]))
        return Page(address("runtimes", runtime), "runtime", Document("Runtime", runtime, [], content))

    def defect(self, name: str, shown: Mapping[Run, Finding]) -> Page:
        entry, names = _entry(shown), list(dict.fromkeys(case for finding in shown.values() for case in finding.cases))
        results, rows = [self.collected.cases[case] for case in names], list[list[Inline]]()
        for run in (run for runs in self.collected.runtimes.values() for run in runs):
            if all(run.target.distribution != each.target.distribution for each in shown):
                continue
            executed = plural(sum(run in each for each in results), "case")
            failing = sum(any(execution.kinds for execution in each.get(run, [])) for each in results)
            text, tone = "not run", "dim"
            if run in shown:
                text, tone = f"shown by {len(shown[run].cases)} of {executed}", "bad"
            elif failing:
                text = (
                    f"{failing} of {executed} fail there; the run was not given the known defects, or names another one"
                )
                tone = "known"
            elif any(run in each for each in results):
                text, tone = f"not seen in {executed}", "good"
            rows.append([self.run(run), Span(text, tone=tone)])
        last, severity = list(shown)[-1], entry.severity or ""
        view = FindingView(shown[last], last.report.record.header, Detail.ALONE, pages=below)
        head = [Paragraph([Span(severity, tone=severity), f" {entry.title}"])]
        head.append(Paragraph(["Kinds: ", *self.several("kinds", entry.kinds)]))
        where = Section("Where it was seen", [Table(["run", "result"], rows, label="Where it was seen")])
        content = [where, Section(f"As {last.title} shows it", [view.block()]), self.cases(names)]
        return Page(address("defects", name), "defect", Document("Defect", name, head, content), entry.title)

    def topic(self, folder: str, kicker: str, name: str, by_run: ByRun, about: Sequence[str]) -> Page:
        """A kind or a clause."""
        words = _WORDS[folder]
        rows: list[list[Inline]] = [[self.run(run), *map(str, _numbers(words, each))] for run, each in by_run.items()]
        table = Table(["run", *words], rows, frozenset(range(1, len(words) + 1)), label="By run")
        content: list[Block] = [table if rows else Paragraph("No run shows it.")]
        every = [each for executions in by_run.values() for each in executions]
        if defects := sorted({each.known for each in every if each.known is not None and name in each.kinds}):
            content.append(Section("Defects", [Paragraph(self.several("defects", defects))]))
        content += [self.cases(each.case for each in every)] if every else []
        document = Document(kicker, name, list(map(Paragraph, about)), content)
        return Page(address(folder, name), kicker.partition(" ")[0].lower(), document, " ".join(about))

    def case(self, name: str, by_run: ByRun) -> Page:
        outcomes: dict[tuple[Any, ...], dict[Run, list[str]]] = defaultdict(lambda: defaultdict(list))
        for run, executions in by_run.items():
            for each in executions:
                evidence = (
                    str(each.cells[0]) if each.cells else each.message if each.verdict is Verdict.DIVERGES else ""
                )
                outcomes[each.verdict, each.kinds, each.known, evidence][run].append(each.variant)
        items: list[Inline] = []
        for (verdict, kinds, known, evidence), runs in sorted(
            outcomes.items(), key=lambda item: list(Verdict).index(item[0][0])
        ):
            item: list[str | Span] = [Span(verdict.value, strong=True)]
            names = [self.to("defects", known)] if known else self.several("kinds", kinds)
            item += [" ", *names] if names else []
            for number, (run, variants) in enumerate(runs.items()):
                # What is wrong leads to the run; links to all would be most of the site.
                item += ["; " if number else ": ", self.run(run) if evidence else run.title]
                item += [f" {', '.join(variants)}"] if len(variants) < len(by_run[run]) else []
            items.append([*item, f". {evidence}" if evidence else ""])
        newest = list(by_run.values())[-1]
        views = [ExecutionView(each) for executions in reversed(by_run.values()) for each in executions]
        settings = next((f": {view.settings}" for view in views if view.settings), "")
        about: list[str | Span] = [Span(newest[0].spec, code=True), f"{settings}. {newest[0].origin}"]
        about += [", ", *self.several("clauses", newest[0].clauses)] if newest[0].clauses else []
        note = "A run without a variant shows it in all; runs that are not named did not have the case."
        content: list[Block] = [Bullets(items), Paragraph(note)]
        if len(digests := list(dict.fromkeys(executions[0].case_sha256 for executions in by_run.values()))) > 1:
            content.append(Paragraph(f"The case was changed between these runs: SHA-256 {', then '.join(digests)}."))
        document = Document("Case", name, [Paragraph(newest[0].title), Paragraph(about)], content)
        return Page(address("cases", name), "case", document, json=_file_address(name.rpartition(":")[0]))

    def listing(self, folder: str, about: str, number: str, rows: Iterable[tuple[str, str, int]]) -> Page:
        cells: list[list[Inline]] = [[self.to(folder, name), text, str(count)] for name, text, count in rows]
        table = Table(["name", about, number], cells, frozenset({2}), label=_LISTS[folder])
        return Page(f"{folder}/index.html", "list", Document("", _LISTS[folder], [], [table]))


def pages(collected: Collected, histories: Sequence[History]) -> Iterator[Page]:
    """All pages but those of runs, which are whole reports, and of the documentation."""
    by_runtime = {each.runtime: each for each in histories}
    charts = {name: _chart(name, runs, by_runtime.get(name)) for name, runs in collected.runtimes.items()}
    make = _Pages(collected)
    yield _Pages(collected, "").index(charts)
    yield from (make.runtime(name, runs, charts[name]) for name, runs in collected.runtimes.items())
    yield from (make.defect(name, shown) for name, shown in collected.defects.items())
    kinds = {kind.value: description for kind, description in DESCRIPTIONS.items()}
    for name, description in kinds.items():
        about = [description.sentence, *([f"Clause: {description.clause}."] if description.clause else [])]
        yield make.topic("kinds", "Kind of divergence", name, collected.kinds.get(name, {}), about)
    for name, by_run in collected.clauses.items():
        yield make.topic("clauses", "Clause", name, by_run, [])
    for name, by_run in collected.cases.items():
        yield _Pages(collected, "../" * address("cases", name).count("/")).case(name, by_run)
    sums = {name: sum(map(len, collected.kinds.get(name, {}).values())) for name in kinds}
    yield make.listing(
        "kinds", "meaning", "executions", ((name, kinds[name].sentence, count) for name, count in sums.items())
    )
    rows = []
    for name, by_run in sorted(collected.clauses.items()):
        every = [each for executions in by_run.values() for each in executions]
        rows.append((name, plural(len({each.case for each in every}), "case"), _numbers(_WORDS["clauses"], every)[0]))
    yield make.listing("clauses", "cases", "executions", rows)
    cases = ((name, list(by_run.values())[-1][0].spec, len(by_run)) for name, by_run in collected.cases.items())
    yield make.listing("cases", "document", "runs", cases)


def _entry(shown: Mapping[Run, Finding]) -> KnownEntry:
    """A known defect as the newest run has it."""
    entry = list(shown.values())[-1].defect
    assert entry is not None
    return entry


def _numbers(words: Sequence[str], executions: Sequence[Execution]) -> list[int]:
    compared = sum(each.verdict in COMPARED for each in executions)
    conforming = sum(each.verdict is Verdict.CONFORMS for each in executions)
    return [{"executions": len(executions), "compared": compared, "conforming": conforming}[word] for word in words]


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
        digest = Counter(run.report.record.header.cases_sha256 for run in runs).most_common(1)[0][0]
        alike = [run for run in runs if run.report.record.header.cases_sha256 == digest]
        labels = [run.target.version for run in alike]
        if len(labels) < 2 or len(set(labels)) < len(labels):
            return None
        series = {word: [run.total[word] for run in alike] for word in FAULTS.values()}
    return Chart(labels, {word: values for word, values in series.items() if any(values)}, label)


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
