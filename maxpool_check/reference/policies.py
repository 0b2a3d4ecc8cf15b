"""The points that documents leave open, and the interpretations of each.

A specification states its policies, a case may override them, and every report prints them. ``unspecified``, ``any`` and
``either`` mean that the document does not choose: every interpretation conforms, and the reference computes one.
"""

from dataclasses import dataclass, fields
from enum import Enum


class Nan(str, Enum):
    """What a NaN in a window does."""

    AS_NEG_INF = "as-neg-inf"
    """A NaN counts as -inf in Y: a window without a larger value gives -inf. The index is that of the first cell that
    equals Y; a window of NaN alone has no such cell, and its index is open."""
    IGNORED = "ignored"
    """A NaN is ignored; a window of NaN alone gives NaN, at its first cell."""
    PROPAGATES = "propagates"
    """A NaN in the window gives NaN; the index is that of the first NaN, with which the others tie."""
    PROPAGATES_FIRST = "propagates-first"
    """A NaN in the window gives NaN and the index of the first NaN."""
    PROPAGATES_LAST = "propagates-last"
    """A NaN in the window gives NaN and the index of the last NaN."""
    UNSPECIFIED = "unspecified"
    """Open. The reference ignores NaN; every interpretation conforms."""


class Tie(str, Enum):
    """Which of several equal maxima the index names."""

    FIRST = "first"
    """The first in row-major order of the window."""
    ANY = "any"
    """Open. The reference gives the first; any of them conforms."""


class ZeroSign(str, Enum):
    """Which zero is the result of a window whose maximum is both -0 and +0."""

    CHOSEN = "chosen"
    """The zero of the chosen cell."""
    EITHER = "either"
    """Open."""


class ValidCeil(str, Enum):
    """What ``auto_pad=VALID`` does with ``ceil_mode=1``."""

    HONOURS = "honours"
    """The output size is rounded up, as shape inference does: n=3, k=2, s=2 gives 2."""
    FORMULA = "formula"
    """The printed formula ``ceil((n - K + 1) / s)``, which rounds down: n=3, k=2, s=2 gives 1."""
    EITHER = "either"
    """The document prints the formula, its shape inference rounds up. The reference rounds up; both conform."""


class SameClamp(str, Enum):
    """What ``SAME_UPPER`` and ``SAME_LOWER`` do when the stride makes the total padding negative."""

    CLAMPS = "clamps"
    """The padding is 0."""
    CROPS = "crops"
    """The negative padding is applied, as the formula is printed: cells at the borders of X are skipped."""
    EITHER = "either"
    """Open. The reference clamps; both conform."""


class LargePads(str, Enum):
    """Whether a padding that is not smaller than the kernel is legal."""

    LEGAL = "legal"
    """The text does not exclude it; a runtime that refuses it has a limit."""
    REFUSED = "refused"
    """The graph must be refused."""


class CeilClip(str, Enum):
    """What ``ceil_mode=1`` does with a last window that starts in the end padding, before operator set 22."""

    KEEPS = "keeps"
    """The window counts, as the printed formula says: n=2, k=1, s=2, end padding 1 gives 2."""
    DROPS = "drops"
    """The window does not count, as in the text of operator set 22 and in shape inference."""
    EITHER = "either"
    """The text is the formula; ONNX's own later text and shape inference drop the window. The reference keeps it."""


class ZeroSize(str, Enum):
    """What the formula of the output size means where the window is larger than the padded input, but by no more than a stride."""

    FORMULA = "formula"
    """Its count: no window, so that Y is empty; with ``ceil_mode=1`` there may be one."""
    REFUSED = "refused"
    """The graph must be refused."""
    EITHER = "either"
    """Open: the formula's count or a refusal, but no other count."""


class NhwcIndexBase(str, Enum):
    """In which order of the axes the Indices of a channels-last tensor count."""

    NCHW_FLAT = "NCHW-flat"
    """``(n * C + c) * D1 * ... * Dn + offset``, the ONNX text that the document repeats."""
    NHWC_FLAT = "NHWC-flat"
    """``(n * D1 * ... * Dn + offset) * C + c``, the position in the tensor as it is."""
    EITHER = "either"
    """Open. The reference gives the first; outputs that are consistent with either conform."""


@dataclass(frozen=True)
class Policies:
    """An interpretation of each open point; ``inapplicable`` names the points that the document does not have."""

    nan: Nan = Nan.UNSPECIFIED
    tie: Tie = Tie.ANY
    zero_sign: ZeroSign = ZeroSign.EITHER
    valid_ceil: ValidCeil = ValidCeil.EITHER
    same_clamp: SameClamp = SameClamp.EITHER
    ceil_clip: CeilClip = CeilClip.EITHER
    zero_size: ZeroSize = ZeroSize.EITHER
    large_pads: LargePads = LargePads.LEGAL
    nhwc_index_base: NhwcIndexBase = NhwcIndexBase.EITHER
    inapplicable: frozenset[str] = frozenset({"nhwc_index_base"})

    def names(self) -> dict[str, str]:
        """The interpretations as text, by point."""
        return {point: getattr(self, point).value for point in INTERPRETATIONS if point not in self.inapplicable}


INTERPRETATIONS: dict[str, type[Enum]] = {
    point.name: type(point.default) for point in fields(Policies) if isinstance(point.default, Enum)
}
"""All points, and the interpretations of each."""
