"""Writes the cases of models as case files."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.clauses import with_clauses
from maxpool_check.corpus.writing import write_with_inputs
from maxpool_check.models.cases import ModelCase

WRITTEN_BY = "Written by maxpool-check model --case."
"""The first line of the files."""


def write_cases(cases: Sequence[ModelCase], path: Path) -> dict[Path, int]:
    """Write cases to a file; those of another document than the first to a file beside it. The files, with the number of cases in each.

    Raises :class:`ForeignFile` for a file that something else has written, before anything is written.
    """
    groups: dict[str, list[tuple[Case, Mapping[str, Any]]]] = defaultdict(list)
    several = len({case.case.id.partition(":")[0] for case in cases}) > 1
    for each in cases:
        if each.fields is None:
            continue
        case = each.case
        model, _, name = case.id.partition(":")
        # The operator set decides which version of ONNX's document it is.
        document = "onnx" if not case.context.is_alone and case.spec.startswith("onnx-") else case.spec
        named = replace(case, id=f"{path.stem}:{f'{model}/' if several else ''}{name}")
        groups[document].append((with_clauses(named), each.fields))
    files = {}
    for number, (document, group) in enumerate(groups.items()):
        file = path if number == 0 else path.with_name(f"{path.stem}-{document}{path.suffix}")
        about = f"MaxPool nodes of {', '.join(dict.fromkeys(Path(case.origin.path).name for case, _ in group))}"
        write_with_inputs(group, file, about, WRITTEN_BY)
        files[file] = len(group)
    return files
