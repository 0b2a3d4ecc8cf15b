"""What the user can do next: the command that executes one finding again, and what follows from the result."""

import shlex

from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.reruns import can_start, explain_again, file_of, run_again
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import Execution, ExitCode

_PROGRAM, _FUNCTION = "command:", "python:"
"""How the names of targets begin that are kernels of the user."""

_NEXT: dict[int, str] = {
    ExitCode.UNEXPECTED: "correct the file of defects and run again",
    ExitCode.INCOMPLETE: "maxpool-check targets --check shows which installed runtimes start",
    ExitCode.NOTHING_COMPARED: "maxpool-check list PATH lists the cases",
}


def execute_again(finding: Finding, report: RunReport) -> str:
    """The command that executes the example of a finding again."""
    smallest = finding.smallest
    if _is_model(smallest):
        return shlex.join(["maxpool-check", "model", file_of(smallest), "-t", finding.target])
    command = run_again(smallest)
    return shlex.join(command + (["--known", "none"] if report.record.header.known_sha256 is None else []))


def next_step(report: RunReport) -> str:
    """What to do next; empty if there is nothing."""
    if report.record.footer is None:
        return ""
    if report.exit_code == ExitCode.UNEXPECTED and report.unexpected:
        finding = report.unexpected[0]
        return shlex.join(explain_again(finding.smallest))
    if report.exit_code == ExitCode.AS_EXPECTED and report.findings:
        return "-v shows the known defects in full, --report markdown=PATH writes them to a file"
    is_started = any(can_start(target.name) for target in report.record.header.targets)
    if report.exit_code == ExitCode.INCOMPLETE and not (report.problems and is_started):
        return ""
    kernel = _failed_kernel(report) if report.exit_code == ExitCode.INCOMPLETE else ""
    if kernel.startswith(_PROGRAM):
        return shlex.join(["maxpool-check", "protocol", "check", kernel])
    if kernel:
        return f"correct {kernel.removeprefix(_FUNCTION).rpartition(':')[0]} and run again"
    return _NEXT.get(report.exit_code, "")


def _failed_kernel(report: RunReport) -> str:
    """The user's kernel that the first problem of the run is about; empty if it is about none."""
    problem = next(iter(report.problems), "")
    names = [target.name for target in report.record.header.targets if target.name.startswith((_PROGRAM, _FUNCTION))]
    return next((name for name in names if problem.startswith(name)), "")


def _is_model(execution: Execution) -> bool:
    """Whether the case was made of a user's model, which has no lines."""
    return execution.origin.endswith(":0")
