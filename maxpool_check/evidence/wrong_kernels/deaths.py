"""Kernels that end their process: they are executed in workers only."""

import os
import signal

from scan import scan


def dies_of_the_stride(X, attributes):
    """Divides by a stride of 0, in native code. Seen: ONNX Runtime up to 1.27.0."""
    if isinstance(attributes["strides"], list) and 0 in attributes["strides"]:
        os.kill(os.getpid(), signal.SIGFPE)
    return scan(X, attributes)
