"""Compiles generated C with the system's compiler, and calls its function in this process: a crash is that of the worker."""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

_OPTIONS = ("-O2", "-shared", "-fPIC")
_TYPES = {"float": "float32", "double": "float64", "_Float16": "float16", "_Bool": "bool"}
_PARAMETER = re.compile(r"(const )?(\w+?)(?:_t)? (\w+)((?:\[[^\]]*\])*)")


class Compiler:
    """The compiler that CC names, or ``cc``. Raises ``ValueError`` where there is none."""

    def __init__(self) -> None:
        self.command = shlex.split(os.environ.get("CC", "")) or ["cc"]
        if shutil.which(self.command[0]) is None:
            raise ValueError(
                f"the generated C is compiled by {self.command[0]}, which is not installed; "
                "install one (Debian: apt-get install gcc libc6-dev), or name it by CC"
            )
        version = subprocess.run([*self.command, "--version"], check=True, capture_output=True, text=True)
        self.settings = {"cc": version.stdout.partition("\n")[0], "options": " ".join(_OPTIONS)}

    def library(self, files: dict[str, str]) -> ctypes.CDLL:
        """The library of C sources and headers, by their names. Raises :class:`RefusedSource`."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            sources = [name for name in files if name.endswith(".c")]
            command = [*self.command, *_OPTIONS, *sources, "-o", "model.so", "-lm"]
            compiled = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
            if compiled.returncode:
                errors = [line for line in compiled.stderr.splitlines() if "error: " in line]
                raise RefusedSource((errors or [compiled.stderr])[0].rpartition("error: ")[2].strip())
            return ctypes.CDLL(str(Path(folder, "model.so")))


class RefusedSource(Exception):
    """The compiler refuses the source; its first error is the message."""


def call(library: ctypes.CDLL, source: str, name: str, inputs: list[Any]) -> list[Any]:
    """The arrays that a function returns, of which its definition in the source says the dtypes and shapes.

    Its parameters are the sizes that are known at run time only, the inputs, which are ``const``, and the outputs. Raises
    ``ValueError`` for an input of another shape, and for a size of an output that no input has.
    """
    definition = re.search(rf"^void {name}\((.*)\) \{{$", source, re.MULTILINE)
    assert definition is not None
    sizes: dict[str, int] = {}
    waiting, arrays, outputs = list(inputs), [], []
    for constant, dtype, parameter, brackets in _PARAMETER.findall(definition[1]):
        axes = re.findall(r"\[(?:restrict )?(\w+)\]", brackets)
        if not axes:
            sizes[parameter] = -1
        elif constant:
            arrays.append(_argument(waiting.pop(0), axes, sizes))
        else:
            outputs.append(np.empty([_size(axis, sizes) for axis in axes], _TYPES.get(dtype, dtype)))
            # What is not written can be seen.
            outputs[-1].reshape(-1).view(np.uint8).fill(0xA5)
            arrays.append(outputs[-1])
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
    getattr(library, name)(*[ctypes.c_int(size) for size in sizes.values()], *pointers)
    return outputs


def _argument(array: Any, axes: list[str], sizes: dict[str, int]) -> Any:
    """The array for an input with these sizes, some of which are parameters and become known by it."""
    for axis, size in zip(axes, array.shape):
        if axis in sizes:
            sizes[axis] = size
        # C has no arrays without cells: what is generated for size 0 has one.
        elif int(axis) != (size or 1):
            raise ValueError(f"the generated function takes {' x '.join(axes)} cells, not {list(array.shape)}")
    return np.ascontiguousarray(array) if array.size else np.zeros([size or 1 for size in array.shape], array.dtype)


def _size(axis: str, sizes: dict[str, int]) -> int:
    size = sizes[axis] if axis in sizes else int(axis)
    if size < 0:
        raise ValueError(f"the generated function needs {axis}, the size of an output, which no input has")
    return size
