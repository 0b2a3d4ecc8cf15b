"""The command lines that repeat what a record shows, by the kind of target, and what a user can do next."""

import shlex
from collections.abc import Iterable

from maxpool_check.judging.target_selector import OUTPUTS, RESULTS
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import Execution, ExitCode, RunHeader

_PROGRAM, _FUNCTION = "command:", "python:"
"""How the names of targets begin that are kernels of the user."""

_NEXT: dict[int, str] = {
    ExitCode.UNEXPECTED: "correct the file of defects and run again",
    ExitCode.INCOMPLETE: "maxpool-check targets check NAME shows whether a runtime starts",
    ExitCode.NOTHING_COMPARED: "maxpool-check cases list PATH lists the cases",
}


def commands(execution: Execution, header: RunHeader) -> list[tuple[str, str]]:
    """Command lines that repeat an execution of a run, each with what it does; the first executes it again."""
    path, _, line = execution.origin.rpartition(":")
    target = execution.target
    if line == "0":
        # A case of a user's model, which has no lines.
        again = [("test the model again", ["maxpool-check", "model", path, "-t", target])]
        place = f"{path}:{execution.case.partition('/')[0].partition(':')[2]}"
    else:
        known = ["--known", "none"] if header.known_sha256 is None else []
        again = [("run the example", ["maxpool-check", "run", path, "-t", target, "-k", execution.case, *known])]
        again = [*(again if _can_run(target) else []), ("draw its windows", explain_again(execution))]
        place = place_of(execution.case, path)
    if can_start(target):
        repro = ["maxpool-check", "repro", place, "-t", target, "-o", "repro"]
        again.append(("write a script that runs without maxpool-check", repro))
    return [(about, shlex.join(words)) for about, words in again]


def run_on(execution: Execution, targets: Iterable[str]) -> list[str]:
    """The command that executes the case of an execution on those targets that can be named, or draws it."""
    path, _, line = execution.origin.rpartition(":")
    names = list(filter(_can_run, dict.fromkeys(targets)))
    chosen = [word for name in names for word in ("-t", name)]
    if line == "0":
        # A case of a user's model, which has no lines.
        return ["maxpool-check", "model", path, *chosen]
    if not names:
        return explain_again(execution)
    return ["maxpool-check", "run", path, "-k", execution.case, "--known", "none", *chosen]


def explain_again(execution: Execution) -> list[str]:
    """The command that draws a case, with what is wrong on its target where that can be named."""
    path = execution.origin.rpartition(":")[0]
    place = execution.case if _is_shipped(execution) else place_of(execution.case, path)
    return ["maxpool-check", "explain", place, *(["-t", execution.target] if _can_run(execution.target) else [])]


def next_step(report: RunReport) -> str:
    """The command line that shows more of the result, or what to do; empty if there is nothing."""
    if report.record.footer is None or report.record.footer.conclusion:
        # Another command than 'run' has said what comes next.
        return ""
    is_empty = report.exit_code == ExitCode.NOTHING_COMPARED
    faults = report.unexpected or ([] if report.outdated or is_empty else report.accepted)
    if faults and report.exit_code in (ExitCode.UNEXPECTED, ExitCode.AS_EXPECTED, ExitCode.NOTHING_COMPARED):
        first = faults[0]
        is_reviewed = first.is_expected and _is_shipped(first.example)
        return shlex.join(["maxpool-check", "explain", first.name] if is_reviewed else explain_again(first.example))
    if report.exit_code == ExitCode.INCOMPLETE:
        targets = [target.name for target in report.record.header.targets]
        problem = next(iter(report.problems), "")
        failed = next((name for name in targets if problem.startswith(name) or f" in {name}: " in problem), "")
        if failed.startswith(_PROGRAM):
            return shlex.join(["maxpool-check", "targets", "check", failed])
        if failed.startswith(_FUNCTION):
            return f"correct {failed.removeprefix(_FUNCTION).rpartition(':')[0]} and run again"
        if failed.startswith(OUTPUTS):
            return f"complete {failed.removeprefix(OUTPUTS)} and run again"
        if report.failures and not problem:
            return shlex.join(explain_again(report.failures[0].example))
    return _NEXT.get(report.exit_code, "")


def place_of(case: str, file: str) -> str:
    """What names a case of a file on the command line."""
    return f"{file}:{case.rpartition(':')[2]}"


def _is_shipped(execution: Execution) -> bool:
    """Whether its case comes with the tool, so that its id alone names it."""
    return execution.origin.startswith("corpus:")


def can_start(target: str) -> bool:
    """Whether a target is a runtime or a program: the outputs of others were made elsewhere."""
    return not target.startswith((OUTPUTS, RESULTS))


def _can_run(target: str) -> bool:
    """Whether the name of a target says what it is: older records do not say where the outputs were."""
    return not target.startswith(RESULTS)
