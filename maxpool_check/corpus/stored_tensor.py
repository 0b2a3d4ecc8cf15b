"""Tensors, and models with tensors, in a form of few bytes, for compiled cases."""

import msgspec
import numpy as np

from maxpool_check.graphs.context import GraphModel
from maxpool_check.reference.dtypes import NUMPY, bits, name_of

_DTYPES = {**NUMPY, "bool": np.dtype(bool)}
"""By name; the condition of an If is bool."""

_LARGE = 2**16
"""Larger tensors are stored by the cells that differ from the first one, if those are few."""


class StoredTensor(msgspec.Struct, frozen=True, array_like=True):
    """The bits of a tensor.

    ``data`` are all cells; if there are ``positions``, the first cell and those at the positions, while all others equal the first.
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes
    positions: bytes | None = None

    @classmethod
    def of(cls, tensor: np.ndarray) -> "StoredTensor":
        """A tensor in this form."""
        name = name_of(tensor.dtype)
        if tensor.size >= _LARGE:
            # Such as X of a case about large indices: 16 million cells, of which one is not 1.
            cells, patterns = tensor.reshape(-1), bits(tensor).reshape(-1)
            positions = np.flatnonzero(patterns != patterns[0])
            if positions.size < tensor.size // _LARGE:
                data = cells[np.concatenate(([0], positions))]
                return cls(name, tensor.shape, data.tobytes(), positions.astype("<i8").tobytes())
        return cls(name, tensor.shape, tensor.tobytes())

    @property
    def tensor(self) -> np.ndarray:
        """A new tensor, which can be written to, as that of a case file. Raises ``ValueError`` or ``KeyError`` for other bytes."""
        cells = np.frombuffer(self.data, _DTYPES[self.dtype])
        if self.positions is None:
            return cells.reshape(self.shape).copy()
        tensor = np.full(self.shape, cells[:1])
        tensor.reshape(-1)[np.frombuffer(self.positions, "<i8")] = cells[1:]
        return tensor


class StoredModel(msgspec.Struct, frozen=True, array_like=True):
    """The model of a graph, and its outputs."""

    outputs: tuple[str, ...]
    model: bytes
    inputs: dict[str, StoredTensor]

    @classmethod
    def of(cls, outputs: tuple[str, ...], model: GraphModel) -> "StoredModel":
        """A model in this form."""
        return cls(outputs, model.model, {name: StoredTensor.of(value) for name, value in model.inputs.items()})

    @property
    def graph_model(self) -> GraphModel:
        """The model. Raises ``ValueError`` or ``KeyError`` for other bytes."""
        return GraphModel(self.model, {name: stored.tensor for name, stored in self.inputs.items()})
