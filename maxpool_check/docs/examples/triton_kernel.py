"""MaxPool over two axes in Triton, to begin with: change pool(). VENV has torch, triton and numpy, and a GPU of CUDA.

maxpool-check run corpus:kit -t 'python:kernel.py:maxpool?python=VENV/bin/python'
Without a GPU, Triton's interpreter runs the same file: put TRITON_INTERPRET=1 in front of the command.
"""

import os

import torch
import triton
import triton.language as tl

WANTS, SPATIAL, DTYPES = "torch", [2], ["float16", "float32", "float64", "int8", "uint8"]
DEVICE = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"
BLOCK = 256


@triton.jit
def pool(X, Y, Indices, windows, H, W, rows, columns, kh, kw, sh, sw, ph, pw, dh, dw, BLOCK: tl.constexpr):
    """Fill one block of Y and Indices."""
    window = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane = window // (rows * columns)
    top, left = window // columns % rows * sh - ph, window % columns * sw - pw
    best, index = tl.zeros([BLOCK], X.dtype.element_ty), tl.full([BLOCK], -1, tl.int64)
    for i in range(kh):
        for j in range(kw):
            h, w = top + i * dh, left + j * dw
            inside = (window < windows) & (h >= 0) & (h < H) & (w >= 0) & (w < W)
            value = tl.load(X + (plane * H + h) * W + w, mask=inside, other=0)
            # The first cell, also if it is -inf; a greater one; a NaN, than which nothing is greater.
            wins = inside & ((index < 0) | (value > best) | ((value != value) & (best == best)))
            best, index = tl.where(wins, value, best), tl.where(wins, h * W + w, index)
    tl.store(Y + window, best, mask=window < windows)
    tl.store(Indices + window, index, mask=window < windows)


def maxpool(x, kernel_size, stride, padding, dilation):
    """Y and Indices. Without a parameter ceil_mode, cases that need it are not executed."""
    x, (H, W) = x.contiguous(), x.shape[2:]
    sizes = zip(x.shape[2:], kernel_size, stride, padding, dilation, strict=True)
    rows, columns = ((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)
    Y = torch.empty((*x.shape[:2], rows, columns), dtype=x.dtype, device=x.device)
    Indices = torch.empty(Y.shape, dtype=torch.int64, device=x.device)
    if Y.numel():
        numbers = (Y.numel(), H, W, rows, columns, *kernel_size, *stride, *padding, *dilation)
        pool[triton.cdiv(Y.numel(), BLOCK),](x, Y, Indices, *numbers, BLOCK)
    return Y, Indices
