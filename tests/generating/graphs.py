"""Cases of MaxPool in graphs: every possible pair of bins of :data:`FACTORS` is in some case.

Each template is in each operator set that has it, with the bins of the other factors that cover the most pairs.
"""

import zlib
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.graph_fields import context_of
from maxpool_check.corpus.problems import BadValue
from maxpool_check.corpus.random_tensors import stream
from maxpool_check.corpus.tensors import recipe
from maxpool_check.graphs.node import Inexact
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from tests.generating.documents import TABLES, flow, head, input_with
from tests.generating.space import has


class Template(NamedTuple):
    """A graph around MaxPool: ``graph`` of a case file, in which ``$dtype`` is that of X, and the shape of X."""

    graph: Any
    shape: tuple[int, ...] = (1, 2, 5, 6)
    is_initializer: bool = False
    outputs: tuple[str, ...] = ("Y", "Indices")


TEMPLATES = {
    name: Template(**{key: tuple(value) if key in ("shape", "outputs") else value for key, value in fields.items()})
    for name, fields in TABLES["templates"].items()
}
GEOMETRIES, BESIDE = TABLES["geometries"], TABLES["beside"]
FACTORS = {"template": tuple(TEMPLATES), "dtype": (), "values": (), "geometry": tuple(GEOMETRIES), "opset": ()}
FACTORS |= {name: tuple(bins) for name, bins in TABLES["factors"].items()}

NAMES = list(FACTORS)
PAIRS = list(combinations(range(len(NAMES)), 2))
DTYPE, BFLOAT16 = NAMES.index("dtype"), FACTORS["dtype"].index("bfloat16")


def written():
    """The cases as a case file."""
    about = "Every possible pair of a graph around MaxPool, dtype, values, attributes and operator set, in some case."
    entries = []
    for row, fields in drawn_cases():
        title = "{template}: {dtype}, values {values}, attributes {geometry}, operator set {opset}".format(**row)
        texts = {key: flow(value) if key != "opset" else value for key, value in fields.items()}
        lines = {"title": f"'{title}'", **texts}
        entries.append(
            f"  - id: {'-'.join(row.values())}\n" + "".join(f"    {key}: {text}\n" for key, text in lines.items())
        )
    return head("onnx-22", about) + "".join(sorted(entries))


def drawn_case(row):
    """The fields of the case with these bins of :data:`FACTORS`; None if it has no exact result."""
    template, dtype, opset = TEMPLATES[row["template"]], row["dtype"], int(row["opset"])
    if not has(dtype, row["values"]):
        return None
    seed = zlib.crc32(f"0 {'-'.join(row.values())}".encode())
    X = input_with(dtype, row["values"], template.shape, Layout.CHANNELS_FIRST, seed)
    fields = {
        "opset": opset,
        "input": {**X, **({"as": "initializer"} if template.is_initializer else {})},
        "graph": with_dtype(template.graph, dtype),
        "attributes": dict(GEOMETRIES[row["geometry"]]),
    }
    if template.outputs != ("Y", "Indices"):
        fields["outputs"] = list(template.outputs)
    document = specification(f"onnx-{opset}")
    try:
        made = recipe(X, Path(), Path())
        context = context_of(fields, document, made.shape)
        case = Case("", document.name, made, fields["attributes"], template.outputs, document.policies, context=context)
        if not isinstance(case.resolved, Pooling):
            return None
        case.oracle().check_exact()
    except (BadValue, Inexact):
        return None
    return fields


def with_dtype(value, dtype):
    """A graph in which ``$dtype`` is this one."""
    if isinstance(value, dict):
        return {key: with_dtype(inner, dtype) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_dtype(inner, dtype) for inner in value]
    return dtype if value == "$dtype" else value


@cache
def possible_rows():
    """Which rows of :data:`FACTORS` are possible (boolean, an axis for each factor).

    Tried are a template with each dtype in each operator set and with all values, and attributes in each operator set.
    """

    def tried(*varied):
        """Whether some row with these bins is exact, with the first others that make it so."""
        table = np.zeros([len(FACTORS[name]) for name in varied], bool)
        for at in np.ndindex(*table.shape):
            bins = {name: (FACTORS[name][i],) for name, i in zip(varied, at, strict=True)}
            rows = product(*({**BESIDE, **bins}[name] for name in NAMES))
            table[at] = any(drawn_case(dict(zip(NAMES, row, strict=True))) for row in rows)
        return table.reshape([len(bins) if name in varied else 1 for name, bins in FACTORS.items()])

    return np.broadcast_to(
        tried("template", "dtype", "opset") & tried("template", "dtype", "values") & tried("geometry", "opset"),
        [len(bins) for bins in FACTORS.values()],
    )


def drawn_cases():
    """The bins and the fields of each case."""
    possible = possible_rows().copy()
    usual = possible.copy()
    usual[:, BFLOAT16] = False
    # What has bfloat16 alone is not uncovered, but for its pairs with bfloat16.
    uncovered = {axes: projected(possible if DTYPE in axes else usual, axes) for axes in PAIRS}
    for at in np.argwhere(projected(possible, (0, 4))):
        if case := best(possible, uncovered, dict(zip((0, 4), at, strict=True))):
            yield case
    for axes in PAIRS:
        while (left := uncovered[axes] & projected(possible, axes)).any():
            if case := best(possible, uncovered, dict(zip(axes, np.argwhere(left)[0], strict=True))):
                yield case


def best(possible, uncovered, bins):
    """The case of the possible rows with ``bins`` by axis that covers the most pairs, None if there is none.

    Rows without an exact result become impossible.
    """
    fixed = np.zeros(possible.shape, bool)
    fixed[tuple(bins.get(axis, slice(None)) for axis in range(fixed.ndim))] = True
    while (rows := np.argwhere(possible & fixed)).size:
        gains = sum(
            uncovered[axes][rows[:, axes[0]], rows[:, axes[1]]] & counts(axes, rows[:, DTYPE]) for axes in PAIRS
        )
        most = rows[gains == np.max(gains)]
        at = most[int(stream(int(fixed.argmax()), 1)[0] % np.uint64(len(most)))]
        row = {name: FACTORS[name][i] for name, i in zip(NAMES, at, strict=True)}
        fields = drawn_case(row)
        if fields is None:
            possible[tuple(at)] = False
            continue
        for axes in PAIRS:
            uncovered[axes][at[axes[0]], at[axes[1]]] &= not counts(axes, at[DTYPE])
        return row, fields
    return None


def counts(axes, dtypes):
    """Whether rows with these dtypes cover a pair: bfloat16, which most runtimes lack, covers pairs with itself alone."""
    return np.asarray((dtypes != BFLOAT16) | (DTYPE in axes), int)


def projected(possible, axes):
    """Which bins of some factors are in a possible row."""
    return np.asarray(possible.any(tuple(axis for axis in range(possible.ndim) if axis not in axes)))
