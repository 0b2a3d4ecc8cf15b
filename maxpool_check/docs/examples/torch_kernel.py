"""MaxPool over one to three axes in operations of PyTorch, to begin with: put your own in the place of maxpool().

maxpool-check run corpus:kit -t 'python:kernel.py:maxpool?python=VENV/bin/python', where VENV has torch and numpy.
"""

import torch
from torch.nn.functional import pad

WANTS, DEVICE, SPATIAL = "torch", "cpu", [1, 2, 3]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
DTYPES = [*FLOATS, torch.int8, torch.uint8, torch.int32, torch.int64]


def maxpool(x, kernel_size, stride, padding, dilation, ceil_mode):
    """Y, and Indices that count the cells of each plane."""
    sizes, axes = x.shape[2:], range(len(kernel_size))
    # The padding never wins: not even -inf is lower than its value, and its cells have no number.
    lowest = -torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
    cells = torch.arange(sizes.numel(), device=x.device).reshape(1, 1, *sizes)
    pads = []
    spans = [dilation[a] * (kernel_size[a] - 1) + 1 for a in axes]
    for a in axes:
        room = sizes[a] + 2 * padding[a] - spans[a]
        windows = room // stride[a] + 1
        # Rounded up, the last window must not begin in the padding.
        windows += ceil_mode and room % stride[a] > 0 and windows * stride[a] < sizes[a] + padding[a]
        pads = [padding[a], (windows - 1) * stride[a] + spans[a] - sizes[a] - padding[a], *pads]
    x, cells = pad(x, pads, value=lowest), pad(cells, pads, value=-1)
    for a in axes:  # each window of this axis, a new last axis
        x, cells = (each.unfold(2 + a, spans[a], stride[a])[..., :: dilation[a]] for each in (x, cells))
    x, cells = x.flatten(2 + len(axes)), cells.flatten(2 + len(axes))
    Y = x.amax(-1)  # of a window with a NaN, NaN
    first = (((x == Y[..., None]) | x.isnan()) & (cells >= 0)).byte().argmax(-1, keepdim=True)
    return Y, cells.expand(x.shape).gather(-1, first)[..., 0]
