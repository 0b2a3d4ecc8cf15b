"""The ways a case is asked."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from functools import cached_property


class Variation(str, Enum):
    """What may be different without making a difference to the answer."""

    OPTIMIZATION_OFF = "optimization-off"
    """The graph optimisations of the runtime are off; by default all of them are on."""
    OLDEST_OPSET = "oldest-opset"
    """The model is of the oldest operator set that means the same."""
    DEFAULT_THREADS = "default-threads"
    """The runtime takes as many threads as it likes; otherwise it is given one."""
    TWICE = "twice"
    """What has just answered is asked again."""
    BATCH_SPLIT = "batch-split"
    """Each image of the batch is asked for alone, and the answers are put together."""
    CHANNELS_PERMUTED = "channels-permuted"
    """The channels come in the reverse order, and the answer is put back."""


class Variant(str, Enum):
    """One way to ask. Runtimes have other kernels for Y and Indices than for Y alone, so each case is asked both.

    A document with an operator domain of its own is also asked about there, beside ONNX's. The others vary one of the
    first two, and their answers are held to its answer as well. They are asked in this order: twice is twice in a row.
    """

    INDICES = "indices"
    """For Y and Indices."""
    INDICES_TWICE = "indices-twice"
    Y_ONLY = "y-only"
    """For Y alone."""
    Y_ONLY_TWICE = "y-only-twice"
    INDICES_IN_DOMAIN = "indices-in-domain"
    """For Y and Indices, in the document's own operator domain."""
    Y_ONLY_IN_DOMAIN = "y-only-in-domain"
    """For Y alone, in the document's own operator domain."""
    INDICES_OPTIMIZATION_OFF = "indices-optimization-off"
    Y_ONLY_OPTIMIZATION_OFF = "y-only-optimization-off"
    INDICES_OLDEST_OPSET = "indices-oldest-opset"
    Y_ONLY_OLDEST_OPSET = "y-only-oldest-opset"
    INDICES_DEFAULT_THREADS = "indices-default-threads"
    Y_ONLY_DEFAULT_THREADS = "y-only-default-threads"
    INDICES_BATCH_SPLIT = "indices-batch-split"
    Y_ONLY_BATCH_SPLIT = "y-only-batch-split"
    INDICES_CHANNELS_PERMUTED = "indices-channels-permuted"
    Y_ONLY_CHANNELS_PERMUTED = "y-only-channels-permuted"

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The outputs asked for."""
        return ("Y", "Indices") if self.value.startswith("indices") else ("Y",)

    @cached_property
    def in_domain(self) -> bool:
        """Whether it is asked in the document's own operator domain."""
        return self in (Variant.INDICES_IN_DOMAIN, Variant.Y_ONLY_IN_DOMAIN)

    @cached_property
    def variation(self) -> Variation | None:
        """What is varied, if anything is."""
        return next((one for one in Variation if self.value.endswith(one.value)), None)

    @cached_property
    def base(self) -> Variant:
        """The variant that is varied; itself, if none is."""
        if self.variation is None:
            return self
        return Variant.INDICES if "Indices" in self.outputs else Variant.Y_ONLY


DEFAULT_VARIANTS = tuple(variant for variant in Variant if variant.variation is None)
"""The variants that are asked if nobody says which."""

PAIRS = ((Variant.INDICES, Variant.Y_ONLY), (Variant.INDICES_IN_DOMAIN, Variant.Y_ONLY_IN_DOMAIN))
"""Variants that differ in nothing but Indices: their Y are held against each other."""


def variants(
    outputs: tuple[str, ...], domain: str | None = None, wanted: Collection[Variant] = DEFAULT_VARIANTS
) -> tuple[Variant, ...]:
    """The wanted variants that a case with these outputs is asked, in order; ``domain`` is its document's own, if any."""
    return tuple(
        variant
        for variant in Variant
        if variant in wanted
        and (domain or not variant.in_domain)
        and ("Indices" in outputs or variant.outputs == ("Y",))
    )


def parse(text: str) -> frozenset[Variant]:
    """The variants of a list, as ``all`` or ``default,twice``: names of variants, and of variations for both of theirs.

    What a variation is held against is asked as well. ``ValueError`` for a name that there is not.
    """
    found: set[Variant] = set()
    for name in (part.strip() for part in text.split(",")):
        named = {
            variant
            for variant in Variant
            if name in ("all", variant.value, variant.variation) or (name == "default" and variant in DEFAULT_VARIANTS)
        }
        if not named:
            known = ["all", "default", *(one.value for one in Variation), *(one.value for one in DEFAULT_VARIANTS)]
            raise ValueError(f"no variant '{name}'; there are {', '.join(known)}, and the like of y-only-twice")
        found |= named
    return frozenset(found | {variant.base for variant in found})
