"""The cases of a user's model, as commands name them: ``MODEL.onnx:NODE/alone/negative``."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from maxpool_check.commands.output import Mistakes
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.importers import onnx_testdata
from maxpool_check.judging.defects import is_glob
from maxpool_check.models.analysis import ModelAnalysis, analyse
from maxpool_check.models.cases import Way, identifier
from maxpool_check.models.flow import ModelRun
from maxpool_check.models.inputs import CannotRun, read_inputs
from maxpool_check.models.model_file import BadModel, read_model
from maxpool_check.models.ranges import Range
from maxpool_check.models.shapes import names_of_sizes
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.session import TargetSession

_FLOWS = "/flows"


def is_model(path: Path, case: str = "") -> bool:
    """Whether a file is a model of the user's own, and not a test of another suite, which has data next to it.

    Where ``case`` names a test of a node, as ``pool/alone/negative``, it is one, also with data next to it.
    """
    names_node = any(f"/{way.value}/" in case for way in Way)
    return path.suffix == ".onnx" and path.is_file() and (names_node or not onnx_testdata.has_data(path))


def model_files(paths: Sequence[Path]) -> tuple[list[Path], list[object]]:
    """The models that paths name, each once, and what is wrong with the paths.

    A folder stands for the .onnx files in it and in its folders, also those with test data next to them; a path with
    wildcards, which is not a file itself, for the files that match it. Both in the order of their names, without hidden ones
    that are not named, and without following links to folders.
    """
    files, named, problems = dict[str, Path](), set[str](), list[object]()
    for path in paths:
        try:
            is_file = not path.is_dir() and (path.exists() or not is_glob(str(path)))
            found = [path] if is_file else _found(path)
        except (OSError, ValueError) as error:
            problems.append(f"{path}: {error.strerror if isinstance(error, OSError) else error}")
            continue
        identity = os.path.realpath(path)
        if is_file and identity in named:
            problems.append(f"{path} is named twice")
        if not found:
            problems.append(f"{path}: no .onnx file is in this folder" if path.is_dir() else f"{path} matches no file")
        named |= {identity} if is_file else set()
        for file in found:
            files.setdefault(os.path.realpath(file), file)
    return [*files.values()], problems


def _found(path: Path) -> list[Path]:
    """The models of a folder, or the files that match a path with wildcards."""
    root, pattern = Path(path.anchor), str(path.relative_to(path.anchor))
    if path.is_dir():
        root, pattern = path, "**/*.onnx"
    # A link to a file that is missing is a mistake to report.
    files = (file for file in root.glob(pattern) if not file.is_dir())
    return sorted(file for file in files if not any(part.startswith(".") for part in {*file.parts} - {*path.parts}))


def names_of(files: Sequence[Path]) -> list[str]:
    """A name for each model: that of its file, without the suffix, with as many of its folders as tell it from the others.

    Models whose folders do not tell them apart in the ids of cases have the same name.
    """
    parts = [file.absolute().with_suffix("").parts for file in files]
    ids = [tuple(map(identifier, each)) for each in parts]
    counts = Counter(each[-depth:] for each in ids for depth in range(1, len(each) + 1))
    depths = [next((d for d in range(1, len(each) + 1) if counts[each[-d:]] == 1), 1) for each in ids]
    return ["/".join(each[-depth:]) for each, depth in zip(parts, depths, strict=True)]


def analysed(
    path: Path, inputs: Path | None = None, shapes: Mapping[str, tuple[int, ...]] | None = None, *, name: str = "",
    input_ranges: Mapping[str, Range] | None = None, is_one_of_several: bool = False, **about: Any,
) -> ModelAnalysis:  # fmt: skip
    """The analysis of a model, with inputs from a file or a folder, sizes, and ranges of inputs. Raises :class:`Mistakes`.

    ``is_one_of_several``: sizes and ranges of names that it does not have are those of other models.
    """
    try:
        model = read_model(path)
        model = replace(model, name=name or model.name)
        given = None if inputs is None else read_inputs(inputs, model)
        if is_one_of_several:
            known, fed = names_of_sizes(model), {value.name for value in model.inputs}
            shapes = {name: sizes for name, sizes in (shapes or {}).items() if name in known}
            input_ranges = {name: of for name, of in (input_ranges or {}).items() if name in fed}
        return analyse(model, shapes=shapes, inputs=given, input_ranges=input_ranges, **about)
    except BadModel as error:
        raise Mistakes([error]) from error


def named(analysis: ModelAnalysis, name: str) -> Case:
    """The case of a model with this name. Raises ``click.UsageError`` with those that there are."""
    path = analysis.model.path
    cases = [each.case for node in analysis.nodes for each in node.cases]
    for case in cases:
        if case.name == name:
            return case
    of_node = [case.name for case in cases if case.name.startswith(f"{name}/")]
    if of_node:
        raise click.UsageError(f"'{name}' has the tests {', '.join(of_node)}; name one, as {path}:{of_node[0]}")
    for node in analysis.nodes:
        if node.untested and node.node.name in (name, name.rsplit("/", 2)[0]):
            raise click.UsageError(f"'{name}' is not tested: {node.untested}")
    nodes = dict.fromkeys(each.name.rsplit("/", 2)[0] for each in cases)
    if name.endswith(_FLOWS) and name.rsplit("/", 2)[0] in nodes:
        raise click.UsageError(
            f"what flows in {path} is known only when it runs: maxpool-check repro {path}:{name} runs it"
        )
    raise click.UsageError(
        f"no node '{name}' in {path}{nearest(name, nodes)}; its MaxPool nodes are {', '.join(nodes) or 'none'}"
    )


def refuse_without_node(path: Path) -> None:
    """Refuse a model where a node of it is needed. Raises ``click.UsageError`` with its nodes."""
    if is_model(path):
        nodes = [node.node.name for node in analysed(path).nodes if node.cases]
        if not nodes:
            raise click.UsageError(f"{path} is a model without a MaxPool that could be tested")
        raise click.UsageError(
            f"{path} is a model; name one of its nodes, as {path}:{nodes[0]}; its MaxPool nodes are {', '.join(nodes)}"
        )


def candidates(analysis: ModelAnalysis, name: str, session: TargetSession) -> Iterator[Case]:
    """The case of this name, or the cases of the node of this name: first those with the nodes around it.

    What flows in the model is computed on the target. Raises ``click.UsageError``.
    """
    cases = [each.case for node in analysis.nodes for each in node.cases]
    stem = name.removesuffix("/in-place/flows")
    if stem != name:
        # Cut out of the model it is a case of the nodes around MaxPool, or of MaxPool alone.
        has_graph = any(case.name.startswith(f"{stem}/graph/") for case in cases)
        name = f"{stem}/{'graph' if has_graph else 'alone'}/flows"
    of_node = [case for case in cases if case.name.rsplit("/", 2)[0] == name]
    is_flow = name.endswith(_FLOWS) and name.rsplit("/", 2)[0] in {case.name.rsplit("/", 2)[0] for case in cases}
    if not of_node and not is_flow:
        yield named(analysis, name)
        return
    yield from sorted(of_node, key=lambda case: "/graph/" not in case.name)
    try:
        flowing = ModelRun(session, analysis).flowing
    except (CannotRun, BadModel) as error:
        if is_flow:
            raise click.UsageError(f"{analysis.model.path} cannot be run: {error}") from error
        return
    yield from (case for case in flowing if name in (case.name, case.name.rsplit("/", 2)[0]))
