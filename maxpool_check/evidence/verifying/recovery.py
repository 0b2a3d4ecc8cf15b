"""Outputs recovered from what a record says of them: tensors whose digests are the recorded ones.

A record holds no outputs. Those that conform are the reference's, or differ from them in a few recorded cells, or follow one
rule where the document leaves a choice; wrong ones differ in a few recorded cells, or are those of a mistake. Each of these
is tried, and the digest decides.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np

from maxpool_check.graphs.context import BEHIND
from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.hypotheses import made_by
from maxpool_check.judging.mistakes import wrong_numbers
from maxpool_check.judging.oracle import ALL_INTERPRETATIONS, Oracle
from maxpool_check.reference.dtypes import bits, digest, is_float, lowest
from maxpool_check.results.record import Execution

_NAMES = ("Y", "Indices")
_MOST_CANDIDATES = 300
_MOST_PATTERNS = 4
_NAN = re.compile(r"nan(?: \(0x([0-9a-f]+)\))?")

Patch = tuple[tuple[int, ...], str]
"""A cell of an output and its value, as text."""


class NotInOutput(ValueError):
    """A recorded cell is none of the output, or its value is none of the dtype."""


def recovered(oracle: Oracle, execution: Execution) -> dict[str, np.ndarray | None]:
    """The outputs of an execution by name; None for one that is not recovered. Raises :class:`NotInOutput`."""
    return {
        name: next(
            (each for each in islice(_candidates(oracle, name, execution), _MOST_CANDIDATES) if digest(each) == wanted),
            None,
        )
        for name, wanted in execution.digests.items()
    }


def nearest(oracle: Oracle, cells: Mapping[str, Sequence[Patch]]) -> dict[str, np.ndarray]:
    """The reference's Y and Indices with other values in some cells. Raises :class:`NotInOutput`."""
    return {
        name: _of_graph(oracle, name, next(_patched(oracle.outputs[name], patches, oracle)))
        for name, patches in cells.items()
        if name in _NAMES
    }


def patched(oracle: Oracle, name: str, patches: Sequence[Patch]) -> np.ndarray:
    """The reference's output of MaxPool itself with other values in some cells. Raises :class:`NotInOutput`."""
    return next(_patched(oracle.outputs[name], patches, oracle))


def _candidates(oracle: Oracle, name: str, execution: Execution) -> Iterator[np.ndarray]:
    """What an output of the case can be, the most likely first."""
    if isinstance(oracle, GraphOracle) and name not in _NAMES:
        number = oracle.graph.context.side_outputs.get(name)
        if number is not None:
            yield oracle.graph.flow[number]
        elif name == BEHIND:
            yield from _candidates(oracle.plain, "Y", execution)
        return
    alternatives = oracle.graphs if isinstance(oracle, GraphOracle) and oracle.moves else oracle.alternatives
    patches = patches_of(name, execution)
    for tensors in (_plain, _by_rules):
        for alternative in alternatives:
            for tensor in tensors(alternative, name, execution, patches):
                yield _of_graph(alternative, name, tensor)


def _plain(oracle: Oracle, name: str, _: Execution, patches: Sequence[Patch]) -> Iterator[np.ndarray]:
    """The reference's output, and the same with the recorded cells."""
    yield oracle.outputs[name]
    if patches:
        yield from _patched(oracle.outputs[name], patches, oracle)


def _by_rules(oracle: Oracle, name: str, execution: Execution, patches: Sequence[Patch]) -> Iterator[np.ndarray]:
    """Outputs that follow one rule where the document leaves a choice, or a mistake; each also with the recorded cells."""
    kinds = {cause.kind for cause in execution.causes}
    of_output = _values_of_y if name == "Y" else _numbers_of_indices
    for tensor in of_output(oracle, patches, kinds):
        yield tensor
        if patches and tensor.shape == oracle.shape:
            yield from _patched(tensor, patches, oracle)


def _values_of_y(oracle: Oracle, patches: Sequence[Patch], kinds: Iterable[str]) -> Iterator[np.ndarray]:
    layout = oracle.pooling.layout
    for Y in _interpreted(oracle):
        yield from (layout.from_core(each) for each in _filled(Y, oracle, patches))
    with suppress(Inexact):
        yield from map(layout.from_core, _seeds_kept(oracle))
    for mistake in made_by(oracle, set(kinds)):
        with suppress(Inexact):
            for Y in _interpreted(mistake):
                yield from (layout.from_core(each) for each in _filled(Y, mistake, patches))


def _interpreted(oracle: Oracle) -> Iterator[np.ndarray]:
    """Y under every interpretation of a NaN, with each sign of zero, and with other bits of NaN."""
    several = [oracle.pooled.Y]
    if oracle.holds_nan.any():
        several += [oracle.with_nan(nan).Y for nan in ALL_INTERPRETATIONS]
    for Y in several:
        signed = [Y]
        if is_float(Y.dtype) and (Y == 0).any():
            zero = np.zeros((), Y.dtype)
            signed += [np.where(Y == 0, zero, Y), np.where(Y == 0, -zero, Y)]
            if oracle.pooling.activation is None:
                signed.append(np.where(Y == 0, oracle.core.reshape(-1)[oracle.last], Y))
        for each in signed:
            yield each
            if is_float(Y.dtype) and np.isnan(each).any():
                yield from (np.where(np.isnan(each), pattern, each) for pattern in _patterns(oracle, Y.dtype))


def _seeds_kept(oracle: Oracle) -> Iterator[np.ndarray]:
    """Y of a scan that starts at the lowest finite value, and takes a cell only if it is greater."""
    for greatest in (oracle.nan_as_neg_inf.maxima, oracle.pooled.maxima):
        maxima = np.where(_keeps_seed(oracle), lowest(oracle.core.dtype), greatest)
        activation = oracle.pooling.activation
        yield maxima if activation is None else activation.of(maxima)


def _keeps_seed(oracle: Oracle) -> np.ndarray:
    """Where a scan that starts at the lowest finite value finds nothing greater."""
    return oracle.pooled.empty | ~(oracle.nan_as_neg_inf.maxima > lowest(oracle.core.dtype))


def _filled(tensor: np.ndarray, oracle: Oracle, patches: Sequence[Patch]) -> Iterator[np.ndarray]:
    """A tensor, and the same with one of the recorded values in all windows without a cell of X."""
    yield tensor
    if oracle.has_empty:
        for text in list(dict.fromkeys(text for _, text in patches))[:_MOST_PATTERNS]:
            yield np.where(oracle.pooled.empty, _value(text, tensor.dtype, None), tensor)


def _numbers_of_indices(oracle: Oracle, patches: Sequence[Patch], kinds: Iterable[str]) -> Iterator[np.ndarray]:
    layout, numbering, shape = oracle.pooling.layout, oracle.pooling.numbering, oracle.core.shape
    dtype, kinds = oracle.dtype("Indices"), set(kinds)
    if not oracle.core.size:
        return
    for each in (oracle, *made_by(oracle, kinds)):
        chosen = [*each.choices, each.last, each.column_first]
        numbers = [np.where(each.pooled.empty, -1, numbering.number(np.maximum(cells, 0), shape)) for cells in chosen]
        planes = (*shape[:2], *[1] * (oracle.core.ndim - 2))
        kept, seeds = _keeps_seed(each), numbering.before_planes(shape).reshape(planes)
        numbers += [np.where(kept, seeds, tensor) for tensor in numbers]
        for tensor in (*numbers, *wrong_numbers(each, kinds)):
            yield from (layout.from_core(filled) for filled in _filled(tensor.astype(dtype), each, patches))


def _of_graph(oracle: Oracle, name: str, tensor: np.ndarray) -> np.ndarray:
    """The output of the graph from that of MaxPool and the functions behind it."""
    if name != "Y" or not isinstance(oracle, GraphOracle) or not oracle.moves or tensor.shape != oracle.shape:
        return tensor
    return np.where(oracle.sources < 0, oracle.output, tensor.reshape(-1)[np.maximum(oracle.sources, 0)])


def patches_of(name: str, execution: Execution) -> list[Patch]:
    """The recorded cells of an output that are not the reference's."""
    differences = [(each.at, each.got) for each in execution.differences if each.output == name]
    return differences + [(each.at, each.got) for each in execution.cells if each.output == name]


def _patched(tensor: np.ndarray, patches: Sequence[Patch], oracle: Oracle) -> Iterator[np.ndarray]:
    """A tensor with recorded cells; several where their text leaves the bits of a NaN open."""
    unknown = any(text == "nan" for _, text in patches)
    patterns: Sequence[np.generic | None] = [None]
    if unknown and is_float(tensor.dtype):
        patterns = _patterns(oracle, tensor.dtype)
    for pattern in patterns:
        patched = tensor.copy()
        for at, text in patches:
            if len(at) != tensor.ndim or any(not 0 <= i < size for i, size in zip(at, tensor.shape, strict=True)):
                raise NotInOutput(f"{list(at)} is no cell of an output of the shape {list(tensor.shape)}")
            patched[at] = _value(text, tensor.dtype, pattern)
        yield patched


def _patterns(oracle: Oracle, dtype: np.dtype) -> list[np.generic]:
    """The bits that NaN is likely to have: the usual ones with either sign, and those of X."""
    usual = np.array([np.nan, -np.nan], dtype)
    usual = np.concatenate([usual, -usual])
    if oracle.core.dtype == dtype:
        usual = np.concatenate([usual, oracle.core[np.isnan(oracle.core)]])
    distinct = np.unique(bits(usual)).astype(f"u{dtype.itemsize}")[: 2 * _MOST_PATTERNS]
    return [distinct[i : i + 1].view(dtype)[0] for i in range(len(distinct))]


def _value(text: str, dtype: np.dtype, nan: np.generic | None) -> np.generic:
    """The value of its text, exact. Raises :class:`NotInOutput`."""
    match = _NAN.fullmatch(text)
    try:
        if match is None:
            value = float(text) if is_float(dtype) else int(text)
            return np.array(
                [value], np.float64 if is_float(dtype) else np.int64 if value < 2**63 else np.uint64
            ).astype(dtype)[0]
        if match[1] is not None:
            return np.array([int(match[1], 16)], f"u{dtype.itemsize}").view(dtype)[0]
    except (ValueError, OverflowError) as error:
        raise NotInOutput(f"'{text}' is no value of {dtype.name}") from error
    return dtype.type(np.nan) if nan is None else nan
