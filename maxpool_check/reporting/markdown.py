"""What the reports for GitHub show of a run, in Markdown."""

from maxpool_check.reporting.markup import bullets, code, codes, escaped, short, table, wrapped
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import TargetDescription


def state(report: RunReport) -> list[str]:
    """The result of the run in a sentence, and what is wrong with the run itself."""
    label, result = report.result
    if report.record.footer is None:
        return ["**Incomplete: the run did not end.** This is the report of the part that is recorded."]
    if label == "INCOMPLETE":
        result = "incomplete: some executions failed"
    strong = "" if label == "CONFORMS" else "**"
    outdated = [
        f"**{entry.status}** on {escaped(entry.target)}: {code(entry.id)}, {escaped(short(entry.message, 240))}"
        for entry in report.outdated
    ]
    return [
        wrapped(f"{strong}{escaped(result[0].upper() + result[1:])}.{strong}"),
        bullets([*(escaped(short(problem, 300)) for problem in report.problems), *outdated]),
    ]


def tested(report: RunReport) -> list[str]:
    """What was tested: the targets, the documents, and how many cases and executions."""
    header = report.record.header
    targets = "; ".join(f"{code(target.name)} ({software(target)})" for target in header.targets)
    return [wrapped(f"Tested: {report.tested} on {targets}, by {codes(header.profile) or 'no document'}.")]


def summary_table(report: RunReport) -> str:
    """The number of executions by target and verdict."""
    rows = [
        [code(target.name), *[str(report.counts[target.name][verdict]) for verdict in report.verdicts]]
        for target in report.record.header.targets
    ]
    return table(["executions", *map(str, report.verdicts)], rows, right=range(1, len(report.verdicts) + 1))


def severity_table(report: RunReport) -> str:
    """The numbers of defects, executions and cases by severity."""
    rows = [
        [severity.value, str(tally.defects), str(tally.new), str(tally.executions), str(tally.cases)]
        for severity, tally in report.severities.items()
    ]
    return table(["severity", "defects", "new", "executions", "cases"], rows, right=range(1, 5)) if rows else ""


def software(target: TargetDescription) -> str:
    """The distribution, version, provider, Python and numpy of a target, as far as it has them, in Markdown."""
    return escaped(target.software(numpy=True))
