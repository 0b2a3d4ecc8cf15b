"""Oracles of small cases, and their right outputs."""

import numpy as np

from maxpool_check.graphs.context import MAX_POOL_ALONE, MaxPoolGraph
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.policies import Nan, Policies, Tie, ZeroSign
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Refused

NAN, INF = np.nan, np.inf
BOTH = ("Y", "Indices")
STRICT = Policies(nan=Nan.AS_NEG_INF, tie=Tie.FIRST, zero_sign=ZeroSign.CHOSEN)
OPEN = Policies()


def oracle_for(X, policies=STRICT, spec="onnx-22", **attributes):
    """The oracle of one MaxPool, by default of windows of two cells along each axis. Raises ``Refused``."""
    X = np.asarray(X)
    attributes = {"kernel_shape": [2] * (X.ndim - 2), **attributes}
    resolved = specification(spec).resolve(attributes, X.dtype.name, X.shape, policies)
    if isinstance(resolved, Refused):
        raise resolved
    return Oracle(X, resolved)


def graph_oracle(X, spec="onnx-22", context=MAX_POOL_ALONE, policies=None, **attributes):
    """The oracle of a graph, or the refusal of its attributes; without ``policies``, with those of its document."""
    document = specification(spec)
    graph = MaxPoolGraph(X, context, document, attributes, policies or document.policies)
    return graph.resolved if isinstance(graph.resolved, Refused) else GraphOracle.of(graph)


def outputs_of(oracle):
    """A copy of the right outputs, in the layout of the document."""
    return {name: value.copy() for name, value in oracle.outputs.items()}
