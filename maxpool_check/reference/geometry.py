"""Where the windows are: sizes and positions along one spatial axis.

Notation, as in the documents: ``n`` input size, ``k`` kernel, ``s`` stride, ``d`` dilation, ``b`` and ``e`` pads at the
beginning and the end, ``K = (k - 1) * d + 1`` the effective kernel. Everything is an exact integer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np


class NoWindow(ValueError):
    """The effective kernel is larger than the padded input: the axis has no output position."""


@dataclass(frozen=True)
class Axis:
    """One spatial axis of a pooling.

    ``begin`` and ``end`` are the pads after ``auto_pad``; they are negative where the axis is cropped.
    ``output`` is the number of windows.
    """

    size: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    end: int
    output: int

    def __str__(self) -> str:
        return (
            f"size {self.size}, kernel {self.kernel}, stride {self.stride}, dilation {self.dilation}, "
            f"pads {self.begin} and {self.end}, output {self.output}"
        )

    @property
    def reach(self) -> int:
        """The position behind the last tap of the last window; it may lie beyond the input."""
        return self.start(self.output - 1) + effective_kernel(self.kernel, self.dilation)

    @property
    def padded_windows(self) -> int:
        """How many windows, from the first on, have all their taps in the padded input; rounding up may add another."""
        return min(
            self.output, max(0, floor_output(self.size, self.kernel, self.stride, self.dilation, self.begin, self.end))
        )

    @property
    def exceeds_padded_input(self) -> bool:
        """Whether a window is larger than the padded input."""
        return self.size + self.begin + self.end < effective_kernel(self.kernel, self.dilation)

    def start(self, i: int) -> int:
        """The position on the input of the first tap of window ``i``; negative in the padding."""
        return i * self.stride - self.begin

    def window(self, i: int) -> list[int]:
        """The positions ``start + t * dilation``, ``0 <= t < kernel``, of window ``i`` inside the input, ascending."""
        start, d = self.start(i), self.dilation
        behind = start + effective_kernel(self.kernel, d)
        return [p for p in range(max(0, start), min(self.size, behind)) if (p - start) % d == 0]

    def outside(self, i: int) -> tuple[int, int]:
        """The numbers of taps of window ``i`` before and behind the input."""
        before = min(self.kernel, max(0, -(self.start(i) // self.dilation)))
        return before, self.kernel - before - len(self.window(i))

    def taps(self) -> tuple[np.ndarray, np.ndarray]:
        """The first position of each window inside the input (0 if there is none), and the number of its positions there.

        The positions are ``dilation`` apart. Both results are int64, of length ``output``.
        """
        # Python's integers are exact where pads, dilations or strides are near the limits of 64 bits.
        span = self.stride * self.output
        huge = max(abs(self.begin), abs(self.end), self.dilation, self.kernel, self.size, span) >= 2**60
        start = np.arange(self.output).astype(object if huge else np.int64) * self.stride - self.begin
        before = np.maximum(0, -(start // self.dilation))
        after = np.minimum(self.kernel, -((start - self.size) // self.dilation))
        count = np.maximum(0, after - before).astype(np.int64)
        return np.where(count > 0, start + before * self.dilation, 0).astype(np.int64), count


Geometry = tuple[Axis, ...]
"""The spatial axes of a pooling, in the order of the tensor."""

Rounding = Callable[[int, int, int, int, int, int], int]
"""From ``n, k, s, d, b, e`` to the output size."""


def effective_kernel(kernel: int, dilation: int) -> int:
    """``K = (k - 1) * d + 1``: the cells from the first tap of a window to its last."""
    return (kernel - 1) * dilation + 1


def floor_output(n: int, k: int, s: int, d: int, b: int, e: int) -> int:
    """``floor((n + b + e - K) / s) + 1``."""
    return (n + b + e - effective_kernel(k, d)) // s + 1


def ceil_output(n: int, k: int, s: int, d: int, b: int, e: int) -> int:
    """``ceil((n + b + e - K) / s) + 1``."""
    return -(-(n + b + e - effective_kernel(k, d)) // s) + 1


def clipped_ceil_output(n: int, k: int, s: int, d: int, b: int, e: int) -> int:
    """As :func:`ceil_output`, less a last window that would start in the end padding (ONNX-22)."""
    output = ceil_output(n, k, s, d, b, e)
    return output - 1 if (output - 1) * s >= n + b else output


def padded_axis(n: int, k: int, s: int, d: int, b: int, e: int, rounding: Rounding, *, zero_size: bool = False) -> Axis:
    """An axis with explicit pads.

    Raises :class:`NoWindow` if the window is larger than the padded input; with ``zero_size`` only if it is so by more
    than a stride, where the formulas would give a negative size.
    """
    span = n + b + e - effective_kernel(k, d)
    if span < (-s if zero_size else 0):
        raise NoWindow(
            f"the window covers {effective_kernel(k, d)} cells (kernel {k}, dilation {d}), "
            f"the padded input has {n + b + e} ({b} + {n} + {e})"
        )
    return Axis(n, k, s, d, b, e, rounding(n, k, s, d, b, e))


def same_padding(n: int, k: int, s: int, d: int) -> int:
    """``(o - 1) * s + K - n``, the total padding with which ``o = ceil(n / s)`` windows cover an axis exactly.

    It is negative where they do not reach its end.
    """
    return (-(-n // s) - 1) * s + effective_kernel(k, d) - n


class AutoPad(str, Enum):
    """What decides where the windows are."""

    EXPLICIT = "explicit"
    """The pads of the graph."""
    SAME_UPPER = "same-upper"
    """The output size is ``ceil(n / s)``; an odd cell of padding is at the end."""
    SAME_LOWER = "same-lower"
    """The output size is ``ceil(n / s)``; an odd cell of padding is at the beginning."""
    VALID = "valid"
    """There are no pads."""


@dataclass(frozen=True)
class Placement:
    """How a document places the windows of an axis: by pads and a rounding, or by ``SAME_*``.

    ``SAME_*`` does not use ``rounding``. Where its stride makes the total padding negative, the padding is 0 if it
    ``clamps``; otherwise the input is cropped. ``zero_size``: the rounding counts the windows also where
    they are larger than the padded input by no more than a stride.
    """

    auto_pad: AutoPad = AutoPad.EXPLICIT
    rounding: Rounding = floor_output
    clamps: bool = True
    zero_size: bool = False

    @property
    def is_same(self) -> bool:
        """Whether it is one of ``SAME_*``."""
        return self.auto_pad in (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER)

    def axis(self, n: int, k: int, s: int, d: int, b: int, e: int) -> Axis:
        """One axis; only explicit pads use ``b`` and ``e``. Raises :class:`NoWindow`."""
        if self.is_same:
            total = same_padding(n, k, s, d)
            if self.clamps:
                total = max(0, total)
            # Halved towards zero, even if it is negative.
            small = total // 2 if total >= 0 else -(-total // 2)
            b, e = (small, total - small) if self.auto_pad is AutoPad.SAME_UPPER else (total - small, small)
            return Axis(n, k, s, d, b, e, -(-n // s))
        b, e = (b, e) if self.auto_pad is AutoPad.EXPLICIT else (0, 0)
        return padded_axis(n, k, s, d, b, e, self.rounding, zero_size=self.zero_size)


def placed_axis(n: int, k: int, s: int, start: int, output: int) -> Axis:
    """An axis of ``output`` windows, the first at position ``start``.

    Its pads are negative where no window covers the border cells, positive where windows reach beyond the input.
    """
    return Axis(n, k, s, 1, -start, start + (output - 1) * s + k - n, output)
