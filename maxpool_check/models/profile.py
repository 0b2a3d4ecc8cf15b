"""Whether a MaxPool of a model is inside SONNX's profile: each condition that it breaks, with its clause and what would fix it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from onnx import GraphProto

from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.models.model_file import UserModel, subgraphs
from maxpool_check.models.nodes import PoolNode
from maxpool_check.models.shapes import TensorType, Types
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Reason

_SONNX, _ONNX = specification("sonnx"), specification("onnx-22")

_GENERAL = "SONNX general restrictions, {} (linked by MaxPool's page)"

_CONSTRAINTS = {"auto_pad": "C1", "ceil_mode": "C1", "storage_order": "C1"}
"""The constraints on the value domains of attributes that have a few values."""


@dataclass(frozen=True)
class ProfileFinding:
    """A condition of SONNX's MaxPool that a node breaks: the short name of the clause, the clause, what is so, and what would fix it."""

    short: str
    clause: str
    message: str
    fix: str


def profile(node: PoolNode, model: UserModel, explicit: Types, known: Types) -> list[ProfileFinding]:
    """The conditions of SONNX's MaxPool that a node breaks, as the model writes it.

    ``explicit`` are the types that the model gives around the node, ``known`` those that follow from them as well.
    """
    if node.op != MAX_POOL or node.document is None or node.document.domain is not None:
        return []
    return list(_Check(node, model, explicit, known).findings())


@dataclass(frozen=True, eq=False)
class _Check:
    node: PoolNode
    model: UserModel
    explicit: Types
    known: Types

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes as they are written."""
        return self.node.attributes

    @property
    def source(self) -> TensorType | None:
        """The type of X as far as it is known."""
        return self.node.declared

    @cached_property
    def rank(self) -> int | None:
        """The number of spatial axes."""
        return max(len(self.source.sizes) - 2, 0) if self.source is not None and self.source.sizes is not None else None

    @cached_property
    def pooling(self) -> Pooling | None:
        """What the node computes by ONNX; None if a size is open, or ONNX excludes it."""
        X, document = self.source, self.node.document
        if X is None or X.shape is None or document is None:
            return None
        resolved = document.resolve(self.attributes, X.dtype, X.shape)
        return resolved if isinstance(resolved, Pooling) else None

    def findings(self) -> Iterator[ProfileFinding]:
        """All of them, in the order of the document."""
        yield from self._general()
        yield from self._types()
        yield from self._restrictions()
        yield from self._constraints()
        yield from self._shapes()

    def _general(self) -> Iterator[ProfileFinding]:
        if self.node.opset < 22:
            title = self.node.document.title if self.node.document is not None else "another MaxPool"
            yield ProfileFinding(
                "version", "SONNX MaxPool: based on ONNX MaxPool version 22",
                f"operator set {self.node.opset} has {title}",
                "convert the model to operator set 22 or later (onnx.version_converter)",
            )  # fmt: skip
        if sparse := next(_sparse(self.model.proto.graph), None):
            yield ProfileFinding(
                "GR1",
                _GENERAL.format("GR1"),
                f"the model has the sparse tensor '{sparse}'",
                "store it as a dense tensor",
            )
        tensors = {"X": self.node.input, "Y": self.node.output, "Indices": self.node.indices or ""}
        untyped = [name for name, tensor in tensors.items() if tensor and tensor not in self.explicit]
        if untyped:
            yield ProfileFinding(
                "GR2", _GENERAL.format("GR2"), f"the model gives no type for {' and '.join(untyped)}: it must be inferred",
                "save the model with the types of all tensors (onnx.shape_inference.infer_shapes)",
            )  # fmt: skip

    def _types(self) -> Iterator[ProfileFinding]:
        X = self.source
        if X is not None and X.dtype not in _SONNX.dtypes:
            yield ProfileFinding(
                "type", "SONNX MaxPool: types float16, float, double, int8, uint8", f"X is {X.dtype}",
                "cast X to one of these types",
            )  # fmt: skip
        Y = self.explicit.get(self.node.output)
        if X is not None and Y is not None and Y.dtype != X.dtype:
            yield ProfileFinding(
                "GR3", f"{_GENERAL.format('GR3')}: MaxPool converts no types", f"X is {X.dtype}, Y is declared as {Y.dtype}",
                f"declare Y as {X.dtype}",
            )  # fmt: skip
        indices = self.explicit.get(self.node.indices or "")
        if indices is not None and indices.dtype != "int64":
            yield ProfileFinding(
                "Indices",
                "SONNX MaxPool, Indices: int64",
                f"Indices are declared as {indices.dtype}",
                "declare them as int64",
            )

    def _restrictions(self) -> Iterator[ProfileFinding]:
        attributes = self.attributes
        if self.rank is not None and self.rank != 2:
            yield ProfileFinding(
                "R1", "SONNX MaxPool, R1, and X: C1", f"X has {self.rank} spatial axes, not 2",
                "reshape X so that two axes are spatial, or use another operator",
            )  # fmt: skip
        is_explicit = attributes.get("auto_pad", "NOTSET") == "NOTSET"
        absent = [name for name in _SONNX.attributes if name not in attributes]
        if absent:
            # Pads that stand for auto_pad are what R3 asks for.
            usual = {
                name: _ONNX.attributes[name].default_for(self.rank or 2)
                for name in absent
                if name != "pads" or is_explicit
            }
            lines = [f"{name}={_written(value)}" for name, value in usual.items() if value is not None]
            required = [name for name, value in usual.items() if value is None]
            fix = ", ".join([*(f"write {', '.join(lines)}" for _ in lines[:1]), *(f"give {name}" for name in required)])
            yield ProfileFinding("R2", "SONNX MaxPool, R2", f"{', '.join(absent)} not set explicitly", fix or "see R3")
        if not is_explicit:
            yield ProfileFinding(
                "R3",
                "SONNX MaxPool, R3, and auto_pad: C2",
                f"auto_pad is {attributes['auto_pad']}",
                self._explicit_pads(),
            )
        if attributes.get("ceil_mode", 0) != 0:
            yield ProfileFinding(
                "R4",
                "SONNX MaxPool, R4, and ceil_mode: C2",
                f"ceil_mode is {attributes['ceil_mode']}",
                self._floor_mode(),
            )
        if attributes.get("storage_order", 0) != 0:
            changes = (
                ", which changes the numbers in Indices: what takes them must change, too" if self.node.indices else ""
            )
            yield ProfileFinding(
                "R5", "SONNX MaxPool, R5, and storage_order: C1", f"storage_order is {attributes['storage_order']}",
                f"write storage_order=0{changes}",
            )  # fmt: skip

    def _explicit_pads(self) -> str:
        """How to write the pads that ``auto_pad`` stands for."""
        if self.pooling is None:
            return "write auto_pad=NOTSET, and the pads that it stands for at the shape of X"
        pads = [axis.begin for axis in self.pooling.geometry] + [axis.end for axis in self.pooling.geometry]
        return f"write auto_pad=NOTSET, pads={pads}, so that Y stays as it is"

    def _floor_mode(self) -> str:
        """How to write the node without rounding up."""
        if self.pooling is None:
            return "write ceil_mode=0, and end pads for the windows that this would leave out"
        geometry = self.pooling.geometry
        begins = [axis.begin for axis in geometry]
        ends = [max(axis.end, axis.reach - axis.size) for axis in geometry]
        if ends == [axis.end for axis in geometry]:
            return "write ceil_mode=0: Y stays as it is"
        return f"write ceil_mode=0, pads={[*begins, *ends]}, so that Y stays as it is"

    def _constraints(self) -> Iterator[ProfileFinding]:
        """What ONNX excludes, by the constraint of SONNX that says so, or by ONNX's clause where SONNX has none."""
        refused = self.node.refused
        if refused is None or refused.reason is Reason.INVALID_TYPE or "kernel_shape" not in self.attributes:
            # R2 and the types have said so.
            return
        name, rank = refused.attribute or "", self.rank
        value = self.attributes.get(name)
        lengths = {"kernel_shape": rank, "strides": rank, "dilations": rank, "pads": None if rank is None else 2 * rank}
        length = lengths.get(name)
        if isinstance(value, list) and length is not None and len(value) != length:
            constraint, fix = {"dilations": "C2", "pads": "C1"}.get(name), f"give {name} {length} values"
        elif name in ("strides", "dilations", "kernel_shape", "pads"):
            constraint = "C1" if name in ("strides", "dilations") else None
            fix = f"give {name} values of at least {0 if name == 'pads' else 1}"
        elif name in _CONSTRAINTS:
            constraint, fix = _CONSTRAINTS[name], f"give {name} one of its values"
        elif refused.axes:
            name, constraint, fix = "Y", "C1", "make the kernel smaller, or X larger"
        else:
            constraint, fix = None, f"correct {name or 'X'}"
        clause = (
            f"SONNX MaxPool, {name}: {constraint}"
            if constraint is not None
            else f"{refused.clause} (SONNX has no constraint on it)"
        )
        yield ProfileFinding(name or "X", clause, refused.message, fix)

    def _shapes(self) -> Iterator[ProfileFinding]:
        """Shapes that are open, or that contradict the document."""
        X, Y = self.source, self.explicit.get(self.node.output)
        indices = self.explicit.get(self.node.indices or "")
        if X is None or X.shape is None:
            yield ProfileFinding(
                "shapes", "SONNX MaxPool, Y: C1 (the consistency of shapes), which cannot be checked",
                f"the shape of X is not explicit: {'unknown' if X is None else X}", "export the model with fixed shapes",
            )  # fmt: skip
            return
        made = self.known.get(self.node.input)
        if made is not None and made.shape is not None and made.shape != X.shape:
            yield ProfileFinding(
                "X", "SONNX MaxPool, X: C2", f"X is declared as {list(X.shape)}; its shape is {list(made.shape)}",
                "correct the declared shape of X",
            )  # fmt: skip
            return
        if self.pooling is None:
            return
        batches = X.shape[:2]
        shapes = [(*batches, *each.output_sizes) for each in (self.pooling, *self.pooling.alternatives)]
        if Y is not None and Y.shape is not None and Y.shape not in shapes:
            spatial = Y.shape[:2] == batches
            clause = (
                "Y: C1 (with its erratum: the quotient of the strides, plus 1)"
                if spatial
                else "Y: batches dY0 and channels dY1"
            )
            yield ProfileFinding(
                "Y", f"SONNX MaxPool, {clause}", f"the model declares Y as {list(Y.shape)}; it is {list(shapes[0])}",
                "correct the declared shape of Y",
            )  # fmt: skip
        if indices is not None and indices.shape is not None and indices.shape not in shapes:
            yield ProfileFinding(
                "Indices", "SONNX MaxPool, Indices: C1",
                f"the model declares Indices as {list(indices.shape)}; they have the shape of Y, {list(shapes[0])}",
                "correct the declared shape of Indices",
            )  # fmt: skip


def _written(value: Any) -> str:
    return str(list(value) if isinstance(value, tuple) else value)


def _sparse(graph: GraphProto) -> Iterator[str]:
    """The names of the sparse tensors of a graph and the graphs inside it."""
    yield from (tensor.values.name or "unnamed" for tensor in graph.sparse_initializer)
    yield from (value.name for value in (*graph.input, *graph.value_info) if value.type.HasField("sparse_tensor_type"))
    for node in graph.node:
        if any(attribute.HasField("sparse_tensor") for attribute in node.attribute):
            yield next(iter(node.output), node.name)
        for _, inner in subgraphs(node):
            yield from _sparse(inner)
