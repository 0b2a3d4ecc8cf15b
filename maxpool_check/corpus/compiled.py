"""Cases in a form that is read without YAML: what a file was read as, and what was computed of it, as bytes."""

import hashlib
import itertools
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, overload

import msgspec

from maxpool_check.corpus.case import Case, Expectation, Origin, Refusal, Shape, Undefined, Values
from maxpool_check.corpus.stored_tensor import StoredModel, StoredTensor
from maxpool_check.graphs.context import Context
from maxpool_check.graphs.node import Node
from maxpool_check.judging.conforming import ConformingOutputs
from maxpool_check.reference.policies import INTERPRETATIONS, Policies
from maxpool_check.specifications.refused import Reason

_MAGIC = b"maxpool-check cases 1\n"


class Damaged(ValueError):
    """Bytes that are not those of compiled cases."""


class Identity(NamedTuple):
    """What identifies a case, and whether it is that of an earlier run."""

    id: str
    spec: str
    sha256: str
    is_cached: bool


class _Expectation(msgspec.Struct, frozen=True, array_like=True):
    Y: StoredTensor | None = None
    Indices: StoredTensor | None = None
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
    X: StoredTensor
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
    conforming: tuple[ConformingOutputs, ...] | None
    models: tuple[StoredModel, ...]


class _Header(msgspec.Struct, frozen=True, array_like=True):
    """What precedes the cases: ``ends`` says where each ends, and ``ids``, ``specs`` and ``digests`` are theirs."""

    tensors: dict[str, str]
    cells: int
    checked: bool
    ends: tuple[int, ...]
    ids: tuple[str, ...]
    specs: tuple[str, ...]
    digests: bytes


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Case)
_HEADERS = msgspec.msgpack.Decoder(_Header)


def encoded(cases: Sequence[Case], tensors: dict[str, str]) -> bytes | None:
    """The cases of a file as bytes; None if there is a value that the form does not have.

    ``tensors`` has the digests of the files of tensors, by the names in the case file.
    """
    try:
        parts = [_ENCODER.encode(_of_case(case)) for case in cases]
        header = _ENCODER.encode(
            _Header(
                tensors,
                sum(case.X.size for case in cases),
                all(case.is_checked for case in cases),
                tuple(itertools.accumulate(map(len, parts))),
                tuple(case.id for case in cases),
                tuple(case.spec for case in cases),
                b"".join(bytes.fromhex(case.sha256) for case in cases),
            )
        )
    except (msgspec.MsgspecError, OverflowError, TypeError, ValueError, RecursionError):
        # Such as an integer of more than 64 bits, where its refusal is expected.
        return None
    content = b"".join([len(header).to_bytes(8, "little"), header, *parts])
    return _MAGIC + hashlib.sha256(content).digest() + content


class CompiledFile(Sequence[Case]):
    """The cases of one file, which are in memory, or read when they are used.

    Raises :class:`Damaged`, unless the bytes are as they were written; ``origin`` is how messages name the file of the cases.
    ``is_cached``: an earlier run has written them.
    """

    def __init__(self, path: Path, data: bytes, origin: str, *, is_cached: bool = False) -> None:
        begin = len(_MAGIC) + 32
        content = memoryview(data)[begin:]
        self._beginning = _MAGIC + hashlib.sha256(content).digest()
        if data[:begin] != self._beginning:
            raise Damaged
        self._begin = begin + 8 + int.from_bytes(content[:8], "little")
        header = _header(content[8 : self._begin - begin])
        self._path, self._origin, self._is_cached = path, origin, is_cached
        self._ends = array("Q", (0, *header.ends))
        self._loaded: tuple[Case, ...] | None = None
        self.tensors, self.cells, self.is_checked = header.tensors, header.cells, header.checked
        self._data: memoryview | None = memoryview(data)

    def load(self, cases: tuple[Case, ...]) -> None:
        """Have the cases in memory, which were read already."""
        self._loaded, self._data = cases, None

    def unload(self) -> None:
        """Have no cases in memory."""
        self._loaded = self._data = None

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> Case: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Case]: ...
    def __getitem__(self, number: int | slice) -> Case | Sequence[Case]:
        if self._loaded is not None:
            return self._loaded[number]
        numbers = range(len(self))[number]
        if isinstance(numbers, int):
            return self.read(numbers, numbers + 1)[0]
        if not numbers:
            return ()
        first = min(numbers)
        cases = self.read(first, max(numbers) + 1)
        return tuple(cases[each - first] for each in numbers)

    def read(self, begin: int, end: int) -> tuple[Case, ...]:
        """The cases of these numbers. Raises :class:`Damaged`, also where the file is gone."""
        first = self._ends[begin]
        data = self._bytes(self._begin + first, self._ends[end] - first)
        ends = [each - first for each in self._ends[begin : end + 1]]
        try:
            return tuple(
                _case(_DECODER.decode(data[a:b]), self._origin, self._is_cached) for a, b in itertools.pairwise(ends)
            )
        except (msgspec.MsgspecError, ValueError, KeyError) as error:
            raise Damaged(self._path) from error

    def identities(self) -> Iterator[Identity]:
        """What identifies the cases. Raises :class:`Damaged`."""
        begin = len(_MAGIC) + 40
        header = _header(self._bytes(begin, self._begin - begin))
        for number, (name, spec) in enumerate(zip(header.ids, header.specs, strict=True)):
            yield Identity(name, spec, header.digests[32 * number : 32 * number + 32].hex(), self._is_cached)

    def _bytes(self, begin: int, size: int) -> memoryview:
        if self._data is not None:
            return self._data[begin : begin + size]
        try:
            with self._path.open("rb") as file:
                # The cases of the same file with other tensors are in the same place.
                if file.read(len(self._beginning)) != self._beginning:
                    raise Damaged(self._path)
                file.seek(begin)
                data = file.read(size)
        except OSError as error:
            raise Damaged(self._path) from error
        return memoryview(data)


def _header(data: memoryview) -> _Header:
    try:
        return _HEADERS.decode(data)
    except msgspec.MsgspecError as error:
        raise Damaged from error


def _of_case(case: Case) -> _Case:
    return _Case(
        case.id, case.spec, StoredTensor.of(case.X), dict(case.attributes), case.outputs,
        tuple(getattr(case.policies, point).value for point in INTERPRETATIONS), tuple(sorted(case.policies.inapplicable)),
        case.title, case.covers, case.tags, _of_expectation(case.expect), case.erratum, case.origin.line, case.origin.column,
        dict(case.provenance), _of_context(case.context), bytes.fromhex(case.sha256), None if case.conforming_outputs is None else tuple(case.conforming_outputs),
        tuple(StoredModel.of(*each) for each in case.models.items()),
    )  # fmt: skip


def _case(stored: _Case, path: str, is_cached: bool) -> Case:
    case = Case(
        stored.id, stored.spec, stored.X.tensor, stored.attributes, stored.outputs,
        _policies(stored.policies, stored.inapplicable), stored.title, stored.covers, stored.tags,
        _expectation(stored.expect), stored.erratum, Origin(path, stored.line, stored.column), stored.provenance,
        _context(stored.context),
    )  # fmt: skip
    models = {each.outputs: each.graph_model for each in stored.models}
    return case.with_results(stored.sha256.hex(), stored.conforming, models, is_cached=is_cached)


@lru_cache(256)
def _policies(names: tuple[str, ...], inapplicable: tuple[str, ...]) -> Policies:
    values: dict[str, Any] = {
        point: kind(name) for (point, kind), name in zip(INTERPRETATIONS.items(), names, strict=True)
    }
    return Policies(**values, inapplicable=frozenset(inapplicable))


def _of_expectation(expect: Expectation | None) -> _Expectation | None:
    match expect:
        case Values(Y, Indices):
            return _Expectation(
                None if Y is None else StoredTensor.of(Y), None if Indices is None else StoredTensor.of(Indices)
            )
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
    return Values(*(None if tensor is None else tensor.tensor for tensor in (stored.Y, stored.Indices)))


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
