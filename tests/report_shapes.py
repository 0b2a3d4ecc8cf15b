"""``reports/shapes.md``: what decides without computing, by theme and by defect.

``python -m tests.report_shapes`` writes it again, from the records of ``reports/shapes/`` alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from maxpool_check.reporting.markup import code, codes, escaped, joined, table
from maxpool_check.results.record import Execution, KnownEntry, Record, TargetDescription, Verdict
from tests.conftest import ROOT
from tests.report_matrix import record_at, theme

PAGE = ROOT / "reports/shapes.md"
RECORDS = sorted((ROOT / "reports/shapes").glob("*.jsonl.xz"))

_INTRODUCTION = """\
What decides about MaxPool without computing it: shape inference, which planners of memory and compilers believe, and checkers.
**Shapes only**: no value was computed and none was compared. A target is asked for the shape and the element type of each output,
or for a refusal, on the cases of the corpus with MaxPool alone, those that a document excludes included; where all it does is
accept or refuse, that alone is judged. `make shapes` writes the records, in [shapes/](shapes/), and this page. What the verdicts
mean: [verdicts.md](../maxpool_check/docs/verdicts.md#shapes-only)."""

_COLUMNS = """\
Each case counts once, by the worst of its variants, in this order: `wrong`, the inferred shape is wrong; `accepted`, although the
document excludes the graph; `refused`, although it allows it; `unknown`, sizes or the whole shape; `undefined`, what the document
leaves open; `right`, the shape, or the refusal; `not expressible`."""

_WORDS = ("wrong", "accepted", "refused", "died", "unknown", "undefined", "right", "not expressible")
_BY_VERDICT = {
    Verdict.CONFORMS: "right", Verdict.UNDEFINED: "undefined", Verdict.UNKNOWN: "unknown", Verdict.REFUSES: "refused",
    Verdict.NOT_EXPRESSIBLE: "not expressible",
}  # fmt: skip


def word_of(execution: Execution) -> str:
    """What a target did with a case in a variant, in a word of the page."""
    if execution.verdict is Verdict.DIVERGES:
        return "accepted" if "accepts-invalid" in execution.kinds else "wrong"
    return _BY_VERDICT.get(execution.verdict, "died")


def worst_by_case(executions: Iterable[Execution], target: str) -> dict[str, Execution]:
    """The worst execution of each case on a target; the first of several."""
    worst: dict[str, Execution] = {}
    for execution in executions:
        if execution.target == target:
            known = worst.setdefault(execution.case, execution)
            if _WORDS.index(word_of(execution)) < _WORDS.index(word_of(known)):
                worst[execution.case] = execution
    return worst


def cell(words: Mapping[str, int]) -> str:
    """The worst of some cases, with their number."""
    word = next((word for word in _WORDS if words.get(word)), "")
    if not word:
        return "-"
    total = sum(words.values())
    if word == "right":
        return "all right" if words[word] == total else f"{words[word]} right"
    return f"**{words[word]} {word}**" if word == "wrong" else f"{words[word]} {word}"


def page(records: Iterable[Record]) -> str:
    """The page of some records."""
    by_target: dict[str, dict[str, Execution]] = {}
    targets: dict[str, TargetDescription] = {}
    known: dict[tuple[str, str], KnownEntry] = {}
    for record in records:
        for target in record.header.targets:
            targets[target.name] = target
            by_target[target.name] = worst_by_case(record.executions, target.name)
        for entry in record.footer.known if record.footer else ():
            known[entry.target, entry.id] = entry
    blocks = ["# Shapes only", _INTRODUCTION, _COLUMNS, _totals(targets, by_target)]
    blocks += ["## By theme", _themes(by_target), "## What is wrong", *_wrong(by_target, known)]
    return joined(blocks) + "\n"


def _totals(targets: Mapping[str, TargetDescription], by_target: Mapping[str, dict[str, Execution]]) -> str:
    counts = {name: Counter(map(word_of, cases.values())) for name, cases in by_target.items()}
    shown = [word for word in _WORDS if any(each[word] for each in counts.values())]
    rows = [
        [
            code(name),
            escaped(f"{targets[name].distribution} {targets[name].version}"),
            targets[name].decides,
            *(str(each[word]) for word in shown),
        ]
        for name, each in counts.items()
    ]
    return table(["target", "release", "decides", *shown], rows, right=range(3, len(shown) + 3))


def _themes(by_target: Mapping[str, dict[str, Execution]]) -> str:
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for target, cases in by_target.items():
        for execution in cases.values():
            counts[theme(execution)][target][word_of(execution)] += 1
    rows = [[code(name), *(cell(columns[target]) for target in by_target)] for name, columns in sorted(counts.items())]
    return table(["theme", *map(code, by_target)], rows)


def _wrong(by_target: Mapping[str, dict[str, Execution]], known: Mapping[tuple[str, str], KnownEntry]) -> Iterator[str]:
    """For each target, its defects with the smallest case of each."""
    for target, cases in by_target.items():
        groups: dict[tuple[str, str], list[Execution]] = defaultdict(list)
        for execution in cases.values():
            if execution.kinds:
                groups[execution.known or "", word_of(execution)].append(execution)
        rows = []
        for (defect, word), group in sorted(groups.items(), key=lambda item: (_WORDS.index(item[0][1]), item[0])):
            smallest = min(group, key=lambda each: (each.size, each.case))
            entry = known.get((target, defect))
            kinds = sorted({kind for each in group for kind in each.kinds})
            rows.append(
                [
                    word, codes(kinds), str(len(group)), escaped(defect or "new"),
                    escaped(entry.title or entry.reason) if entry else "", code(smallest.case), escaped(_said(smallest)),
                ]
            )  # fmt: skip
        yield f"### {escaped(target)}"
        heads = ["", "kinds", "cases", "defect", "", "smallest", "what it says"]
        yield table(heads, rows, right=[2]) if rows else "Nothing is wrong."


def _said(execution: Execution) -> str:
    """What a target inferred, and what is right."""
    said = ", ".join(f"{name} {output}" for name, output in execution.inferred.items()) or execution.verdict.value
    expected = next((list(shape.expected) for shape in execution.shapes.values()), None)
    return f"{said}; right: {expected}" if expected is not None else said


if __name__ == "__main__":
    PAGE.write_text(page(map(record_at, RECORDS)))
