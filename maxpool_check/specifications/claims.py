"""The claims of the documents, executed: each is a predicate that is checked on every small spatial axis.

The predicates are data of this package, in ``clauses/NAME.yaml``. Their names are

  ``n k s d b e``  sizes as in :mod:`~maxpool_check.reference.geometry`; with ``auto_pad`` the pads that it adds
  ``K``            the effective kernel
  ``size``         the size of Y by the document's formula, which may be negative
  ``starts``       the position of the first tap of each window on X
  ``cells``        the number of cells of X in each window
  ``auto_pad``     explicit, valid, same-upper or same-lower
  ``rounding``     floor, ceil or ceil-torch
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from maxpool_check.reference import geometry
from maxpool_check.reference.geometry import AutoPad, Axis, Placement
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.clauses import Claim, clauses, file_of
from maxpool_check.specifications.roles import Role, RoundingType, meanings
from maxpool_check.specifications.specification import Specification

SIZES, KERNELS, STRIDES, DILATIONS, PADS = range(5), range(1, 4), range(1, 4), range(1, 4), range(3)
SMALL = (
    "Claims are checked on all spatial axes of a size n up to 4, a kernel k, stride s and dilation d up to 3 and pads b and e up to 2, "
    "as far as the document has them; K is the dilated kernel, cells are those of X in each window. Examples are compared as printed."
)
"""What small is. Windows step over cells and over all of X; paddings exceed kernels; dilated taps step over X."""

_NAMES = {"__builtins__": {each.__name__: each for each in (abs, all, any, enumerate, len, max, min)}}

SmallAxis = Mapping[str, Any]
"""What a predicate sees of a spatial axis, by name."""


@dataclass(frozen=True)
class CheckedClaim:
    """A claim on the small axes: how many it is about, and the smallest that refutes it."""

    claim: Claim
    axes: int = 0
    counterexample: SmallAxis | None = None


@cache
def checked_claims(document: str) -> tuple[CheckedClaim, ...]:
    """What a document says of itself, executed as far as it can be."""
    axes, said = small_axes(document), file_of(document).claims
    own = (each for each in said if document in (each.documents or clauses()[each.clauses[0]].documents))
    return tuple(checked(claim, axes) if claim.holds else CheckedClaim(claim) for claim in own)


def described(axis: SmallAxis) -> str:
    """A small axis in words: its numbers, those that are 1 or 0 by default left out, and its windows."""
    words = [f"size {axis['n']}, kernel {axis['k']}"]
    words += [f"{word} {axis[name]}" for name, word in (("s", "stride"), ("d", "dilation")) if axis[name] != 1]
    words += [f"pads ({axis['b']}, {axis['e']})"] if axis["b"] or axis["e"] else []
    words += [axis[name] for name in ("auto_pad", "rounding") if axis[name] not in ("explicit", "floor")]
    windows = f", cells of X in its windows: {', '.join(map(str, axis['cells']))}" if axis["cells"] else ""
    return f"{', '.join(words)}: Y has size {axis['size']}{windows}"


def checked(claim: Claim, axes: Sequence[SmallAxis]) -> CheckedClaim:
    """A claim, executed on axes of which the smallest come first."""
    given, holds = (compile(predicate, "<claim>", "eval") for predicate in (claim.given, claim.holds))
    about = [axis for axis in axes if (axis["n"] or "n == 0" in claim.given) and eval(given, {**_NAMES, **axis})]
    return CheckedClaim(claim, len(about), next((axis for axis in about if not eval(holds, {**_NAMES, **axis})), None))


@cache
def small_axes(document: str) -> tuple[SmallAxis, ...]:
    """Every small axis as a document places its windows, the smallest first."""
    axes = _placed(SPECIFICATIONS[document])
    return tuple(sorted(axes, key=lambda axis: (sum(map(abs, axis["numbers"])), axis["numbers"])))


def _placed(document: Specification) -> Iterator[SmallAxis]:
    """Axes by the formulas of a document, or with each start and number of windows where its attributes say them."""
    if Role.START in document.roles:
        for placed in itertools.product(SIZES, KERNELS, STRIDES, PADS, range(1, 4)):
            yield _small(geometry.placed_axis(*placed), AutoPad.EXPLICIT, RoundingType.FLOOR)
        return
    dilations = DILATIONS if Role.DILATION in document.roles else range(1, 2)
    auto_pads = meanings(document, Role.AUTO_PAD) or (AutoPad.EXPLICIT,)
    roundings = dict(
        zip(RoundingType, (geometry.floor_output, geometry.clipped_ceil_output, document.round_up), strict=True)
    )
    for auto_pad, rounding in itertools.product(auto_pads, meanings(document, Role.ROUNDING) or (RoundingType.FLOOR,)):
        placement, pads = Placement(auto_pad, roundings[rounding]), PADS if auto_pad is AutoPad.EXPLICIT else range(1)
        for numbers in itertools.product(SIZES, KERNELS, STRIDES, dilations, pads, pads):
            axis = placement.axis(*numbers) if placement.is_same else Axis(*numbers, placement.rounding(*numbers))
            yield _small(axis, auto_pad, rounding)


def _small(axis: Axis, auto_pad: AutoPad, rounding: RoundingType) -> SmallAxis:
    windows, K = range(max(0, axis.output)), geometry.effective_kernel(axis.kernel, axis.dilation)
    numbers = (axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end)
    placed = {
        "starts": [*map(axis.start, windows)],
        "cells": [len(axis.window(i)) for i in windows],
        "K": K,
        "size": axis.output,
    }
    choices = {"auto_pad": auto_pad.value, "rounding": rounding.value, "numbers": numbers}
    return {**dict(zip("nksdbe", numbers, strict=True)), **placed, **choices}
