"""The cases of a user's model, as commands name them: ``MODEL.onnx:NODE/alone/negative``."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from maxpool_check.commands.output import Mistakes
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.importers import onnx_testdata
from maxpool_check.models.analysis import ModelAnalysis, analyse
from maxpool_check.models.flow import ModelRun
from maxpool_check.models.inputs import CannotRun, read_inputs
from maxpool_check.models.model_file import BadModel, read_model
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.session import TargetSession

_FLOWS = "/flows"


def is_model(path: Path) -> bool:
    """Whether a file is a model of the user's own, and not a test of another suite, which has data next to it."""
    return path.suffix == ".onnx" and path.is_file() and not onnx_testdata.has_data(path)


def analysed(
    path: Path, inputs: Path | None = None, shapes: Mapping[str, tuple[int, ...]] | None = None, *, name: str = "", **about: Any
) -> ModelAnalysis:  # fmt: skip
    """The analysis of a model, with inputs from a file or a folder, and sizes. Raises :class:`Mistakes`."""
    try:
        model = read_model(path)
        model = replace(model, name=name or model.name)
        given = None if inputs is None else read_inputs(inputs, model)
        return analyse(model, shapes=shapes, inputs=given, **about)
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
