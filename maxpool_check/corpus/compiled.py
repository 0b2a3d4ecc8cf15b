"""Cases in a form that is read without YAML: what a file was read as, and what was computed of it, as bytes."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from maxpool_check.corpus.case import Case, Expectation, Origin, Refusal, Shape, Undefined, Values
from maxpool_check.graphs.context import Context
from maxpool_check.graphs.node import Node
from maxpool_check.judging.conforming import ConformingOutputs
from maxpool_check.reference.dtypes import NUMPY, name_of
from maxpool_check.reference.policies import INTERPRETATIONS, Policies
from maxpool_check.specifications.refused import Reason

_MAGIC = b"maxpool-check cases 1\n"


class Damaged(ValueError):
    """Bytes that are not those of compiled cases."""


class _Tensor(msgspec.Struct, frozen=True, array_like=True):
    dtype: str
    shape: tuple[int, ...]
    data: bytes


class _Expectation(msgspec.Struct, frozen=True, array_like=True):
    Y: _Tensor | None = None
    Indices: _Tensor | None = None
    shape: tuple[int, ...] | None = None
    reason: str | None = None
    what: str | None = None


class _Node(msgspec.Struct, frozen=True, array_like=True):
    op: str
    fields: dict[str, Any]
    constants: str
    consumers: int


class _Context(msgspec.Struct, frozen=True, array_like=True):
    opset: int
    before: tuple[_Node, ...]
    after: tuple[_Node, ...]
    consumers: int
    initializer: bool
    dimensions: tuple[str | int, ...] | None
    inside: str | None


class _Case(msgspec.Struct, frozen=True, array_like=True):
    id: str
    spec: str
    X: _Tensor
    attributes: dict[str, Any]
    outputs: tuple[str, ...]
    policies: tuple[str, ...]
    inapplicable: tuple[str, ...]
    title: str
    covers: tuple[str, ...]
    tags: tuple[str, ...]
    expect: _Expectation | None
    erratum: str | None
    line: int
    column: int
    provenance: dict[str, Any]
    context: _Context | None
    sha256: bytes
    conforming: tuple[ConformingOutputs, ...]


class _Header(msgspec.Struct, frozen=True, array_like=True):
    """``tensors`` has the digests of the files of tensors, by the names in the case file; ``cells`` is the number of cells of all X."""

    tensors: dict[str, str]
    cells: int
    ends: tuple[int, ...]


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Case)
_HEADERS = msgspec.msgpack.Decoder(_Header)


def encoded(cases: Sequence[Case], tensors: dict[str, str]) -> bytes | None:
    """The checked cases of a file as bytes; None if there is a value that the form does not have."""
    try:
        parts = [_ENCODER.encode(_of_case(case)) for case in cases]
    except (msgspec.MsgspecError, OverflowError, TypeError, ValueError, RecursionError):
        # Such as an integer of more than 64 bits, where its refusal is expected.
        return None
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    header = _ENCODER.encode(_Header(tensors, sum(case.X.size for case in cases), tuple(ends.tolist())))
    content = b"".join([len(header).to_bytes(8, "little"), header, *parts])
    return _MAGIC + hashlib.sha256(content).digest() + content


class CompiledCases:
    """The compiled cases of one file. Raises :class:`Damaged`, unless the bytes are as they were written."""

    def __init__(self, data: bytes) -> None:
        begin = len(_MAGIC) + 32
        content = memoryview(data)[begin:]
        if data[:begin] != _MAGIC + hashlib.sha256(content).digest():
            raise Damaged
        length = int.from_bytes(content[:8], "little")
        try:
            self._header = _HEADERS.decode(content[8 : 8 + length])
        except msgspec.MsgspecError as error:
            raise Damaged from error
        self._cases = content[8 + length :]

    @property
    def tensors(self) -> dict[str, str]:
        """The digests of the files of tensors, by the names in the case file."""
        return self._header.tensors

    @property
    def cells(self) -> int:
        """The number of cells of all X."""
        return self._header.cells

    def cases(self, path: str) -> tuple[Case, ...]:
        """The cases, of which ``path`` is the file. Raises :class:`Damaged`."""
        ends = self._header.ends
        try:
            return tuple(
                _case(_DECODER.decode(self._cases[begin:end]), path)
                for begin, end in zip((0, *ends), ends, strict=False)
            )
        except (msgspec.MsgspecError, ValueError, KeyError) as error:
            raise Damaged from error


def _of_case(case: Case) -> _Case:
    assert case.checked is not None
    return _Case(
        case.id, case.spec, _of_tensor(case.X), dict(case.attributes), case.outputs,
        tuple(getattr(case.policies, point).value for point in INTERPRETATIONS), tuple(sorted(case.policies.inapplicable)),
        case.title, case.covers, case.tags, _of_expectation(case.expect), case.erratum, case.origin.line, case.origin.column,
        dict(case.provenance), _of_context(case.context), bytes.fromhex(case.sha256), tuple(case.checked),
    )  # fmt: skip


def _case(stored: _Case, path: str) -> Case:
    case = Case(
        stored.id, stored.spec, _tensor(stored.X), stored.attributes, stored.outputs,
        _policies(stored.policies, stored.inapplicable), stored.title, stored.covers, stored.tags,
        _expectation(stored.expect), stored.erratum, Origin(path, stored.line, stored.column), stored.provenance,
        _context(stored.context),
    )  # fmt: skip
    return case.with_results(stored.sha256.hex(), stored.conforming)


def _of_tensor(tensor: np.ndarray) -> _Tensor:
    return _Tensor(name_of(tensor.dtype), tensor.shape, tensor.tobytes())


def _tensor(stored: _Tensor) -> np.ndarray:
    # A copy, which can be written to, as that of a case file.
    return np.frombuffer(stored.data, NUMPY[stored.dtype]).reshape(stored.shape).copy()


@lru_cache(256)
def _policies(names: tuple[str, ...], inapplicable: tuple[str, ...]) -> Policies:
    values: dict[str, Any] = {
        point: kind(name) for (point, kind), name in zip(INTERPRETATIONS.items(), names, strict=True)
    }
    return Policies(**values, inapplicable=frozenset(inapplicable))


def _of_expectation(expect: Expectation | None) -> _Expectation | None:
    match expect:
        case Values(Y, Indices):
            return _Expectation(None if Y is None else _of_tensor(Y), None if Indices is None else _of_tensor(Indices))
        case Shape(shape):
            return _Expectation(shape=shape)
        case Refusal(reason):
            return _Expectation(reason=reason.value)
        case Undefined(what):
            return _Expectation(what=what)
    return None


def _expectation(stored: _Expectation | None) -> Expectation | None:
    if stored is None:
        return None
    if stored.shape is not None:
        return Shape(stored.shape)
    if stored.reason is not None:
        return Refusal(Reason(stored.reason))
    if stored.what is not None:
        return Undefined(stored.what)
    return Values(*(None if tensor is None else _tensor(tensor) for tensor in (stored.Y, stored.Indices)))


def _of_context(context: Context | None) -> _Context | None:
    if context is None:
        return None
    before, after = (
        tuple(_Node(node.op, dict(node.fields), node.constants, node.consumers) for node in nodes)
        for nodes in (context.before, context.after)
    )
    return _Context(
        context.opset, before, after, context.consumers, context.initializer, context.dimensions, context.inside
    )


def _context(stored: _Context | None) -> Context | None:
    if stored is None:
        return None
    before, after = (
        tuple(Node(node.op, node.fields, node.constants, node.consumers) for node in nodes)
        for nodes in (stored.before, stored.after)
    )
    return Context(stored.opset, before, after, stored.consumers, stored.initializer, stored.dimensions, stored.inside)
