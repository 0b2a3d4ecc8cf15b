"""The variants in which a case is executed: which outputs are requested, and what is varied."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from maxpool_check.words import Term

Y_AND_INDICES = ("Y", "Indices")
Y_ALONE = ("Y",)
INDICES_ALONE = ("Indices",)


@dataclass(frozen=True)
class Variation:
    """A change of the execution that must not change the outputs.

    ``sentence`` completes "Y differs ..."; ``subject`` names its kinds of divergence, ``y-depends-on-SUBJECT`` and
    ``indices-depend-on-SUBJECT``; without a subject a difference is ``unstable``. ``is_setting``: the target's program
    must list it in its description; if it does not, a ``required`` variation is not executed, and another has no effect.
    """

    name: str
    sentence: str
    subject: str | None = None
    is_setting: bool = False
    required: bool = True


TWICE = Variation("twice", "when the same session runs again", is_setting=True, required=False)
OPTIMIZATION_OFF, OPTIMIZATION_BASIC, OPTIMIZATION_EXTENDED, OPTIMIZATION_LAYOUT = LEVELS = tuple(
    Variation(
        f"optimization-{level}", "at another level of graph optimization", subject="optimization", is_setting=True
    )
    for level in ("off", "basic", "extended", "layout")
)
"""The levels of graph optimization besides the default, all. A level that is wrong diverges; a right one does not."""
OLDEST_OPSET = Variation("oldest-opset", "in the oldest operator set that means the same", subject="opset")
DEFAULT_THREADS = Variation(
    "default-threads", "with the runtime's default number of threads", subject="threads", is_setting=True
)
NHWC_MAXPOOL = Variation(
    "nhwc-maxpool", "when com.microsoft.NhwcMaxPool computes it with the channels last", subject="operator"
)
"""ONNX Runtime's own operator for int8 and uint8, which its optimizer puts in the place of a MaxPool between Transposes."""

NHWC_MAXPOOL_DTYPES = ("int8", "uint8")

OTHER_KERNELS = (*LEVELS, NHWC_MAXPOOL)
"""Variations that other kernels may compute: the one that is wrong diverges from the document, and the right one does not."""

VARIATIONS = (TWICE, *LEVELS, OLDEST_OPSET, DEFAULT_THREADS, NHWC_MAXPOOL)
"""All variations. ``twice`` executes the same request again, in the session of the first execution."""


@dataclass(frozen=True)
class Variant:
    """A way to execute a case.

    ``outputs`` are the requested outputs: runtimes have other kernels for Y alone than for Y and Indices.
    ``in_domain``: the model uses the operator domain of the document, not ONNX's.
    """

    outputs: tuple[str, ...] = Y_AND_INDICES
    variation: Variation | None = None
    in_domain: bool = False

    @property
    def name(self) -> str:
        """The name in records and on the command line, such as ``y-only-oldest-opset``."""
        changed = "-in-domain" if self.in_domain else f"-{self.variation.name}" if self.variation else ""
        return _REQUESTED[self.outputs] + changed

    @property
    def has_indices(self) -> bool:
        """Whether Indices are requested."""
        return "Indices" in self.outputs

    @property
    def base(self) -> "Variant":
        """The variant whose outputs it must reproduce; itself without a variation."""
        return Variant(self.outputs) if self.variation else self

    def __str__(self) -> str:
        return self.name

    def __lt__(self, other: "Variant") -> bool:
        return _ORDER[self] < _ORDER[other]


class Requested(Term):
    """The outputs that a variant requests, as the first part of its name."""

    INDICES = "indices", "Y and Indices are requested"
    Y_ONLY = "y-only", "Y alone is requested, for which runtimes have other kernels"
    INDICES_ONLY = "indices-only", "Indices alone are requested, of a graph that has no other output"


_REQUESTED = dict(zip((Y_AND_INDICES, Y_ALONE, INDICES_ALONE), Requested, strict=True))

WITH_INDICES, Y_ONLY, INDICES_ONLY = Variant(Y_AND_INDICES), Variant(Y_ALONE), Variant(INDICES_ALONE)

_IN_DOMAIN = (Variant(Y_AND_INDICES, in_domain=True), Variant(Y_ALONE, in_domain=True))

_AS_NHWC_MAXPOOL = Variant(Y_ALONE, NHWC_MAXPOOL)

DEFAULT_VARIANTS = (WITH_INDICES, Y_ONLY, *_IN_DOMAIN, _AS_NHWC_MAXPOOL, INDICES_ONLY)
"""The variants that are executed by default, with those of :data:`GRAPH_VARIANTS` for a graph of several nodes."""

GRAPH_VARIANTS = tuple(Variant(outputs, OPTIMIZATION_OFF) for outputs in _REQUESTED)
"""The variants that show whether it is the optimization of a graph that makes its outputs wrong."""

PAIRS = ((WITH_INDICES, Y_ONLY), _IN_DOMAIN)
"""Variants that differ only in Indices: their Y are compared."""

ALL_VARIANTS = (
    WITH_INDICES,
    Variant(Y_AND_INDICES, TWICE),
    Y_ONLY,
    Variant(Y_ALONE, TWICE),
    *_IN_DOMAIN,
    _AS_NHWC_MAXPOOL,
    INDICES_ONLY,
    *(
        Variant(outputs, variation)
        for variation in VARIATIONS
        if variation not in (TWICE, NHWC_MAXPOOL)
        for outputs in (Y_AND_INDICES, Y_ALONE, *((INDICES_ALONE,) if variation in LEVELS else ()))
    ),
)
"""All variants in the order of execution: ``twice`` follows what it repeats."""

_ORDER = {variant: number for number, variant in enumerate(ALL_VARIANTS)}
_BY_NAME = {variant.name: variant for variant in ALL_VARIANTS}


def variant_named(name: str) -> Variant:
    """The variant of this name; ``KeyError`` if there is none."""
    return _BY_NAME[name]


@cache
def variants_of(
    outputs: tuple[str, ...],
    domain: str | None = None,
    selected: Collection[Variant] = DEFAULT_VARIANTS,
    *,
    is_graph: bool = False,
    dtype: str | None = None,
) -> tuple[Variant, ...]:
    """The selected variants that apply to a case with these outputs, in order of execution.

    ``domain`` is the operator domain of the case's document, if it has one. ``is_graph``: the case has other nodes besides
    MaxPool, or its own operator set, so that the default variants are also executed without optimization. ``dtype`` is that of X, if MaxPool is alone.
    """
    if is_graph and (set(DEFAULT_VARIANTS) <= set(selected) or any(each.variation in LEVELS for each in selected)):
        # A level is wrong or right compared with none.
        requested = {each.outputs for each in selected}
        selected = {*selected, *(each for each in GRAPH_VARIANTS if each.outputs in requested)}
    return tuple(
        variant
        for variant in ALL_VARIANTS
        if variant in selected
        and (domain or not variant.in_domain)
        and (dtype in NHWC_MAXPOOL_DTYPES or variant is not _AS_NHWC_MAXPOOL)
        and (variant.outputs == INDICES_ALONE) == (outputs == INDICES_ALONE)
        and ("Indices" in outputs or not variant.has_indices)
    )


def parse_variants(text: str) -> frozenset[Variant]:
    """The variants of a list of names such as ``default,twice``; the name of a variation means both of its variants.

    The variants that variations are compared with are included. ``ValueError`` for an unknown name.
    """
    selected: set[Variant] = set()
    for name in (part.strip() for part in text.split(",")):
        named = {
            variant
            for variant in ALL_VARIANTS
            if name in ("all", variant.name)
            or (name == "default" and variant in DEFAULT_VARIANTS)
            or (variant.variation is not None and name == variant.variation.name)
        }
        if not named:
            names = ["all", "default", *(each.name for each in VARIATIONS), *(each.name for each in DEFAULT_VARIANTS)]
            raise ValueError(f"unknown variant '{name}'; known: {', '.join(names)}, and combinations: y-only-twice")
        selected |= named
    return frozenset(selected | {variant.base for variant in selected})
