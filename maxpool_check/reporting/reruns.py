"""The command lines that repeat what a record shows of a case, by the kind of target."""

from collections.abc import Iterable

from maxpool_check.judging.target_selector import OUTPUTS, RESULTS
from maxpool_check.results.record import Execution


def run_again(execution: Execution) -> list[str]:
    """The command that executes a case of the corpus again, or draws it where its target cannot be named."""
    if not _can_run(execution.target):
        return explain_again(execution)
    return ["maxpool-check", "run", file_of(execution), "-t", execution.target, "-k", execution.case]


def run_on(execution: Execution, targets: Iterable[str]) -> list[str]:
    """The command that executes the case of an execution on those targets that can be named, or draws it."""
    names = list(filter(_can_run, dict.fromkeys(targets)))
    chosen = [word for name in names for word in ("-t", name)]
    if execution.origin.endswith(":0"):
        # A case of a user's model, which has no lines.
        return ["maxpool-check", "model", file_of(execution), *chosen]
    if not names:
        return explain_again(execution)
    return ["maxpool-check", "run", file_of(execution), "-k", execution.case, "--known", "none", *chosen]


def explain_again(execution: Execution) -> list[str]:
    """The command that draws a case, with what is wrong on its target where that can be named."""
    place = place_of(execution.case, file_of(execution))
    return ["maxpool-check", "explain", place, *(["-t", execution.target] if _can_run(execution.target) else [])]


def place_of(case: str, file: str) -> str:
    """What names a case of a file on the command line."""
    return f"{file}:{case.rpartition(':')[2]}"


def file_of(execution: Execution) -> str:
    """The file of its case."""
    return execution.origin.rpartition(":")[0]


def can_start(target: str) -> bool:
    """Whether a target is a runtime or a program: the outputs of others were made elsewhere."""
    return not target.startswith((OUTPUTS, RESULTS))


def _can_run(target: str) -> bool:
    """Whether the name of a target says what it is: older records do not say where the outputs were."""
    return not target.startswith(RESULTS)
