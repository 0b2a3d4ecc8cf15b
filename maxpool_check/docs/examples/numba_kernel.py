"""MaxPool over two axes in Numba, to begin with: change pool(), and what maxpool() does not implement.

maxpool-check run corpus:kit -t 'python:kernel.py:maxpool?python=VENV/bin/python', where VENV has numba and numpy.
"""

import numba
import numpy as np

DTYPES, SPATIAL, INDICES = ["float32", "float64", "int8", "uint8"], [2], "plane"


@numba.njit
def pool(X, kernel, strides, dilations, begin, Y, Indices):
    """Fill Y and Indices."""
    height, width = X.shape[2:]
    for n, c, row, column in np.ndindex(Y.shape):
        best = Indices[n, c, row, column] = -1
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                h = row * strides[0] - begin[0] + i * dilations[0]
                w = column * strides[1] - begin[1] + j * dilations[1]
                if 0 <= h < height and 0 <= w < width and (best < 0 or X[n, c, h, w] > Y[n, c, row, column]):
                    best = Indices[n, c, row, column] = h * width + w
                    Y[n, c, row, column] = X[n, c, h, w]


def maxpool(X, attributes):
    """Y, and Indices that count the cells of each plane."""
    if attributes["auto_pad"] != "NOTSET" or attributes["ceil_mode"] or attributes["storage_order"]:
        raise NotImplementedError("explicit pads, rounded down, counted row by row, and nothing else")
    lists = [np.array(attributes.get(name)) for name in ("kernel_shape", "strides", "dilations", "pads")]
    if len(attributes) != 7 or [(each.dtype, *each.shape) for each in lists] != [("i8", n) for n in (2, 2, 2, 4)]:
        raise ValueError("other attributes than ONNX's, or lists of other lengths or types")
    kernel, strides, dilations, pads = lists
    room = X.shape[2:] + pads[:2] + pads[2:] - dilations * (kernel - 1) - 1
    if min(*kernel, *strides, *dilations) < 1 or min(*pads, *room) < 0:
        raise ValueError("a kernel, stride or dilation below 1, a negative pad, or a window larger than the padded X")
    Y = np.zeros((*X.shape[:2], *(room // strides + 1)), X.dtype)
    Indices = np.empty(Y.shape, np.int64)
    pool(X, kernel, strides, dilations, pads, Y, Indices)
    return Y, Indices
