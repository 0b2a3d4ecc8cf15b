"""The command lines that repeat what a record shows of a case, by the kind of target."""

from collections.abc import Iterable

from maxpool_check.results.record import Execution, Record
from maxpool_check.results.target_names import RESULTS


def run_again(record: Record, execution: Execution) -> list[str]:
    """The command that executes a case of the corpus again, or judges its results."""
    return [*_program(record, execution), "-k", execution.case]


def run_on(execution: Execution, targets: Iterable[str]) -> list[str]:
    """The command that executes the case of an execution on those targets that can be started, or draws it."""
    names = [name for name in dict.fromkeys(targets) if not is_given(name)]
    chosen = [word for name in names for word in ("-t", name)]
    if execution.origin.endswith(":0"):
        # A case of a user's model, which has no lines.
        return ["maxpool-check", "model", file_of(execution), *chosen]
    if not names:
        return explain_again(execution)
    return ["maxpool-check", "run", file_of(execution), "-k", execution.case, "--no-known", *chosen]


def explain_again(execution: Execution) -> list[str]:
    """The command that draws a case, with what is wrong on its target where that can be started."""
    place = place_of(execution.case, file_of(execution))
    return ["maxpool-check", "explain", place, *([] if is_given(execution.target) else ["-t", execution.target])]


def place_of(case: str, file: str) -> str:
    """What names a case of a file on the command line."""
    return f"{file}:{case.rpartition(':')[2]}"


def file_of(execution: Execution) -> str:
    """The file of its case."""
    return execution.origin.rpartition(":")[0]


def is_given(target: str) -> bool:
    """Whether the results of a target were made elsewhere, so that it cannot be started."""
    return target.startswith(RESULTS)


def _program(record: Record, execution: Execution) -> list[str]:
    if not is_given(execution.target):
        return ["maxpool-check", "run", file_of(execution), "-t", execution.target]
    target = next((each for each in record.header.targets if each.name == execution.target), None)
    path = target.session_options.get("results", "RESULTS.jsonl") if target is not None else "RESULTS.jsonl"
    return ["maxpool-check", "judge", str(path), file_of(execution)]
