"""What a runner must know of a model to decide whether it can run it."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import NodeProto

_OWN_DOMAINS = ("", "ai.onnx")


def about_model(content: bytes) -> dict[str, object]:
    """The operator set, and the operators, those of other domains as ``DOMAIN.OPERATOR``."""
    import onnx

    model = onnx.ModelProto.FromString(content)
    functions = {(each.domain, each.name) for each in model.functions}
    nodes = [*_nodes(model.graph.node), *(node for each in model.functions for node in _nodes(each.node))]
    operators = {
        node.op_type if node.domain in _OWN_DOMAINS else f"{node.domain}.{node.op_type}"
        for node in nodes
        if (node.domain, node.op_type) not in functions
    }
    return {
        "opset": next(entry.version for entry in model.opset_import if entry.domain in _OWN_DOMAINS),
        "operators": sorted(operators),
        **({"functions": True} if functions else {}),
    }


def _nodes(nodes: "Iterable[NodeProto]") -> "Iterator[NodeProto]":
    """The nodes of a graph, and those of the graphs in their attributes."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _nodes(graph.node)
