"""The catalogue of defects as pages in Markdown: one for each, and an index."""

from collections.abc import Iterable, Sequence

from maxpool_check.corpus.defect_versions import DefectVersions
from maxpool_check.explaining.defects import conditions
from maxpool_check.judging.defects import Defect, Severity
from maxpool_check.reporting.markdown import software
from maxpool_check.reporting.markdown_execution import execution_blocks, input_blocks
from maxpool_check.reporting.markup import bullets, code, codes, escaped, joined, link, table
from maxpool_check.results.record import Execution, TargetDescription

SHOWN = (Severity.WRONG_ON_FINITE,)
"""The severities of defects that have a page: ordinary data show them."""

_INDEX = """\
Defects of released runtimes by cause, as `maxpool-check defects` lists them; each was reviewed, and its mechanism is said as far
as it is known. *Live*: the newest version that was tested shows it. A page has the smallest example with its wrong cells, the
versions that were tested, a script that reproduces it, and the text of an issue. Nothing here is a statement of the projects
concerned. `make defects` writes these pages by running the examples."""


def page(
    defect: Defect, versions: DefectVersions, target: TargetDescription, executions: Sequence[Execution], files: Sequence[str]
) -> str:  # fmt: skip
    """The page of a defect: ``executions`` are those of its example on ``target`` that show it.

    ``files`` are those beside the page: ``repro.py``, ``ISSUE.md``, the model of a script that does not build it, or none.
    """
    upstream = defect.upstream
    found = "not searched"
    if upstream is not None:
        found = f"{link(upstream.issue)}, {upstream.state}" if upstream.issue else "no issue found"
        found = f"{found}, as seen {upstream.seen}. {escaped(upstream.note)}".strip()
    facts = {
        "Runtime": codes(defect.runtimes),
        "Severity": defect.severity.value,
        "Versions": escaped(versions.span(defect)),
        "Violates": codes(defect.documents),
        "Conditions": escaped("; ".join(conditions(defect.conditions))),
        "Upstream": found,
        "Reviewed": f"by {escaped(defect.reviewer)}, {defect.reviewed}" if defect.reviewed is not None else "",
    }
    blocks = [
        f"# {escaped(defect.id)}: {escaped(defect.title)}",
        bullets(f"{name}: {text}" for name, text in facts.items() if text),
        escaped(" ".join(defect.mechanism.split())),
        f"How this is known: {escaped(' '.join(defect.established.split()))}" if defect.established else "",
        "## Example",
        f"{code(executions[0].case)} on {code(target.name)} ({software(target)}): {escaped(executions[0].title)}",
        *input_blocks(executions[0]),
    ]
    for execution in executions:
        blocks += execution_blocks(execution)
    blocks += ["## Versions", _timeline(defect, versions)]
    if files:
        about = {
            "repro.py": "a script that exits with 1 while the defect is there, 0 once it is fixed, 125 if it cannot tell",
            "ISSUE.md": "the text of an issue, with what other runtimes return",
        }
        blocks += ["## Reproduction", bullets(f"[{name}]({name}): {about[name]}" for name in files if name in about)]
    blocks.append(f"`maxpool-check repro {defect.id} -t {target.name} -o DIR` writes it again.")
    return joined(blocks) + "\n"


def index(defects: Sequence[Defect], versions: DefectVersions, pages: Iterable[str]) -> str:
    """The index: how many live defects of each severity each runtime has, and all of them."""
    shown, runtimes = set(pages), sorted({defect.runtime for defect in defects})
    rows = []
    for runtime in runtimes:
        live = [each.severity for each in defects if each.runtime == runtime and versions.is_live(each)]
        tested = max((versions.tested(each) for each in defects if each.runtime == runtime), key=len, default=[])
        counts = [str(live.count(severity) or "") for severity in Severity]
        rows.append([code(runtime), escaped(tested[-1] if tested else "-"), *counts])
    blocks = [
        "# Defects",
        _INDEX,
        "Live defects by severity, in the newest version that was tested:",
        table(["runtime", "version", *(each.value for each in Severity)], rows, right=range(2, len(Severity) + 2)),
    ]
    for runtime in runtimes:
        of = [each for each in defects if each.runtime == runtime]
        of.sort(key=lambda each: (not versions.is_live(each), each.severity.rank, each.id))
        rows = [
            [
                f"[{escaped(each.id)}]({each.id}/README.md)" if each.id in shown else escaped(each.id),
                each.severity.value,
                escaped(versions.since(each) or "-"),
                escaped(versions.until(each) or ""),
                escaped(each.title),
                link(each.upstream.issue) + f" {each.upstream.state}" if each.upstream and each.upstream.issue else "",
            ]
            for each in of
        ]
        blocks += [f"## {escaped(runtime)}", table(["id", "severity", "since", "until", "title", "upstream"], rows)]
    return joined(blocks) + "\n"


def _timeline(defect: Defect, versions: DefectVersions) -> str:
    """The tested versions in ascending order, and whether each shows it."""
    tested, showing = versions.tested(defect), set(versions.showing(defect))
    if not tested:
        return "No version was tested."
    return table(
        [escaped(version) for version in tested], [["shows it" if each in showing else "-" for each in tested]]
    )
