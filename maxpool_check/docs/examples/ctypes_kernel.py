"""MaxPool in C, called by ctypes, to begin with: change SOURCE, or load a library of yours. It needs cc and numpy.

maxpool-check run corpus:kit -t python:kernel.py:maxpool
"""

import ctypes
import subprocess
import tempfile

import numpy as np

DTYPES, SPATIAL, INDICES = ["float32"], [2], "plane"
GUARD = np.full(64, 0xA5, np.uint8)  # lies before each output and behind it

SOURCE = """
void pool(const float *X, const long *in, const long *kernel, const long *stride, const long *dilation, const long *pad,
          const long *out, float *Y, long *Indices) {
    for (long y = 0; y < out[0] * out[1] * out[2] * out[3]; y++) {
        const float *plane = X + y / (out[2] * out[3]) * in[2] * in[3];
        long best = -1, top = y / out[3] % out[2] * stride[0] - pad[0], left = y % out[3] * stride[1] - pad[1];
        for (long i = 0; i < kernel[0]; i++)
            for (long j = 0; j < kernel[1]; j++) {
                long h = top + i * dilation[0], w = left + j * dilation[1], cell = h * in[3] + w;
                if (h < 0 || h >= in[2] || w < 0 || w >= in[3]) continue;
                if (best < 0 || plane[cell] > plane[best]) best = cell;
            }
        Y[y] = best < 0 ? 0 : plane[best];
        Indices[y] = best;
    }
}
"""

with tempfile.TemporaryDirectory() as folder:
    library = f"{folder}/pool.so"
    compiler = ["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", library]
    subprocess.run(compiler, input=SOURCE, text=True, check=True)
    pool = ctypes.CDLL(library).pool
NUMBERS = np.ctypeslib.ndpointer(np.int64, flags="C")
pool.argtypes, pool.restype = [ctypes.c_void_p, *[NUMBERS] * 6, ctypes.c_void_p, ctypes.c_void_p], None


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
    shape = np.array([*X.shape[:2], *(room // strides + 1)])
    dtypes = {"Y": np.dtype("float32"), "Indices": np.dtype("int64")}
    # A cell that the library does not write keeps bytes of the guards.
    memory = {name: np.resize(GUARD, shape.prod() * dtype.itemsize + 2 * GUARD.size) for name, dtype in dtypes.items()}
    Y, Indices = (memory[name][GUARD.size : -GUARD.size].view(dtype).reshape(shape) for name, dtype in dtypes.items())
    sizes = np.array(X.shape)
    pool(X.ctypes.data, sizes, kernel, strides, dilations, pads, shape, Y.ctypes.data, Indices.ctypes.data)
    for name, each in memory.items():
        if any(each[: GUARD.size] != GUARD) or any(each[-GUARD.size :] != GUARD):
            raise RuntimeError(f"the library wrote beside {name}")
    return Y, Indices
