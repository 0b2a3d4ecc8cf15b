"""A case as com.microsoft.NhwcMaxPool, ONNX Runtime's own operator for int8 and uint8 with the channels last.

It has no document, only a schema without a text: auto_pad, ceil_mode, dilations, kernel_shape, pads and strides, with the names
and types of MaxPool's attributes, and Y alone. The optimizer of ONNX Runtime puts it in the place of a MaxPool between Transposes, in
any operator set and with its attributes unchanged; so a case is executed as this operator where it must mean the same. It is
not MaxPool of com.ms.internal.nhwc, which has other types, and the document of that one says nothing of it.
"""

from dataclasses import replace

from maxpool_check.corpus.case import Case
from maxpool_check.graphs.model import maxpool_model
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.target_names import parts_of
from maxpool_check.results.variants import NHWC_MAXPOOL_DTYPES, Variant
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.roles import NotExpressible
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.plans import PlannedRequest
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.translation import Translation, translate

_DOMAIN, _OPERATOR, _VERSION = "com.microsoft", "NhwcMaxPool", 1
_ATTRIBUTES = ("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides")
_CPU = "CPUExecutionProvider"


def has_operator(target: TargetDescription) -> bool:
    """Whether a target has the operator: ONNX Runtime on the CPU, whose models no tool rewrites."""
    match = parts_of(target.name)
    runtime = RUNTIMES.get(match["name"]) if match else None
    return target.provider == _CPU and runtime is not None and runtime.adapter == "onnxruntime"


def planned(case: Case, variant: Variant) -> PlannedRequest:
    """The request for a case of MaxPool alone. Raises ``NotExpressible``."""
    dtype, resolved = name_of(case.X.dtype), case.resolved
    if isinstance(resolved, Refused):
        raise NotExpressible(
            f"{case.specification.title} excludes the graph, and {_DOMAIN}.{_OPERATOR} has no document"
        )
    graph = translate(case.specification, case.attributes, dtype, case.X.shape, resolved, indices=False)
    _check_meaning(graph, dtype, case)
    attributes = {name: value for name, value in graph.attributes.items() if name in _ATTRIBUTES}
    shape = Layout.CHANNELS_LAST.arranged(graph.shape)
    transposed = f", X transposed to {Layout.CHANNELS_LAST.value.replace('-', ' ')}, Y back"
    step = f"as {_DOMAIN}.{_OPERATOR}{transposed if graph.source is not Layout.CHANNELS_LAST else ''}"
    graph = replace(graph, attributes=attributes, shape=shape, target=Layout.CHANNELS_LAST, steps=(*graph.steps, step))
    model = maxpool_model(_VERSION, attributes, dtype, shape, variant.outputs, domain=_DOMAIN, operator=_OPERATOR)
    return PlannedRequest(Request(graph.input(case.X.tensor()), variant.outputs, model, attributes), graph, _VERSION)


def _check_meaning(graph: Translation, dtype: str, case: Case) -> None:
    """Raise ``NotExpressible`` where the attributes do not mean the same in all versions of MaxPool that have bytes.

    A last window that begins in the end padding is dropped since version 22: nothing says which of the two it is here.
    """
    if graph.activation is not None:
        raise NotExpressible(f"{_DOMAIN}.{_OPERATOR} has no activation")
    if not graph.attributes.get("ceil_mode"):
        # They differ in how they round up alone.
        return
    versions = [version for version in VERSIONS if set(NHWC_MAXPOOL_DTYPES) <= set(version.dtypes)]
    meanings = [version.resolve(graph.attributes, dtype, graph.shape, case.policies) for version in versions]
    if len({meaning.output_sizes for meaning in meanings if isinstance(meaning, Pooling)}) > 1:
        raise NotExpressible(
            f"the versions of MaxPool differ here, and {_DOMAIN}.{_OPERATOR} does not say whose it follows"
        )
