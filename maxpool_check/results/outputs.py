"""The outputs that a record holds: those that differ from the reference's."""

import base64
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np

from maxpool_check.reference.dtypes import NUMPY, digest, name_of

MOST_BYTES = 2**19
"""The largest output that a record holds; of a larger one it has the digest alone."""

MOST_BYTES_IN_ALL = 64 * 2**20
"""How much a record holds of outputs; of what comes after that it has the digests alone."""


class StoredOutput(msgspec.Struct, frozen=True, kw_only=True, tag="output"):
    """An output that differs from the reference's. The executions that returned it name it by its digest.

    ``sha256`` is that of its dtype, its shape and its bytes, as in the ``digests`` of executions. ``data`` are the bytes of its
    values, row-major and little-endian, in hexadecimal: a compressed record is smaller than with base64.
    """

    sha256: str
    dtype: str
    shape: tuple[int, ...]
    data: str

    @classmethod
    def of(cls, tensor: np.ndarray, sha256: str) -> "StoredOutput | None":
        """An output with its digest; None if it is too large, or no tensor of numbers."""
        if tensor.nbytes > MOST_BYTES or (dtype := name_of(tensor.dtype)) not in NUMPY:
            return None
        data = tensor.astype(tensor.dtype.newbyteorder("<"), copy=False).tobytes().hex()
        return cls(sha256=sha256, dtype=dtype, shape=tensor.shape, data=data)

    def tensor(self) -> np.ndarray:
        """The output. Raises ``ValueError`` if it is not the one of its digest."""
        dtype = NUMPY.get(self.dtype)
        if dtype is None:
            raise ValueError(f"an output of the unknown dtype {self.dtype}")
        content = bytes.fromhex(self.data)
        if content.hex() != self.data:
            raise ValueError("an output is not written as 'run' writes it")
        if min(self.shape, default=0) < 0 or len(content) != math.prod(self.shape) * dtype.itemsize:
            raise ValueError(f"an output of {len(content)} bytes is not one of the shape {list(self.shape)}")
        tensor = np.frombuffer(content, dtype.newbyteorder("<")).reshape(self.shape).astype(dtype)
        if digest(tensor) != self.sha256:
            raise ValueError(f"the output {self.sha256} has another digest")
        return tensor


def packed(cells: np.ndarray) -> str:
    """Marked cells (boolean, of any shape) in row-major order, compressed, in base64."""
    return base64.b64encode(zlib.compress(np.packbits(cells).tobytes(), 9)).decode()


def unpacked(text: str) -> np.ndarray:
    """The marked cells of :func:`packed`, as bits in a row (uint8): up to seven more than there were cells. Raises ``ValueError``."""
    content, stream = base64.b64decode(text, validate=True), zlib.decompressobj()
    try:
        marked = stream.decompress(content, MOST_BYTES_IN_ALL)
    except zlib.error as error:
        raise ValueError(f"marked cells that are not compressed: {error}") from error
    if not marked or not stream.eof:
        raise ValueError(f"marked cells are none, not complete, or more than {8 * MOST_BYTES_IN_ALL}")
    return np.unpackbits(np.frombuffer(marked, np.uint8))


@dataclass
class RecordedOutputs:
    """The outputs that a record holds so far, and those of which it has the digest alone."""

    kept: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    size: int = 0

    def new(self, outputs: Mapping[str, StoredOutput | None]) -> Iterator[StoredOutput]:
        """Those of the outputs that the record does not hold yet, as far as it may; None is one that it may not."""
        for sha256, output in outputs.items():
            if sha256 in self.kept or sha256 in self.left_out:
                continue
            if output is None or self.size + len(output.data) // 2 > MOST_BYTES_IN_ALL:
                self.left_out.add(sha256)
                continue
            self.kept.add(sha256)
            self.size += len(output.data) // 2
            yield output
