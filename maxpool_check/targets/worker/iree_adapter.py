"""Runs IREE: its import of ONNX, its compiler, and its runtime, all in this process."""

from __future__ import annotations

import os
import re
import tempfile
from importlib import metadata
from typing import Any

import iree.runtime
import numpy as np
from iree.compiler.api import Invocation, Output, Session, Source
from iree.compiler.tools.import_onnx import __main__ as importer

from .adapter import Adapter, model_file
from .messages import NUMPY_DTYPES, returned

_BACKENDS = {"llvm-cpu": ["--iree-llvmcpu-target-cpu=host"], "vmvx": []}
_FLOAT64 = "--iree-input-demote-f64-to-f32=false"
"""For models of float64 alone, which are compiled as float32 without it; with it, others may be refused."""

_MOST_CHARACTERS = 300
"""The most characters of the compiler's message that are kept: it ends with the operation, printed several times."""


class Runtime(Adapter):
    """One backend of one release of IREE; each request has its own model, which is compiled."""

    title, distribution = "IREE", "iree-base-compiler"
    dtypes, spatial = NUMPY_DTYPES, (1, 2, 3, 4)
    graphs = None

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options, backend=("llvm-cpu", *_BACKENDS))
        backend = self.chosen["backend"]
        self.version, runtime = metadata.version("iree-base-compiler"), metadata.version("iree-base-runtime")
        if self.version != runtime:
            raise ValueError(f"iree-base-compiler {self.version} needs iree-base-runtime {self.version}, not {runtime}")
        flags = ["--iree-input-type=onnx", f"--iree-hal-target-backends={backend}", *_BACKENDS[backend]]
        self.session, self.session_of_float64 = Session(), Session()
        self.session.set_flags(*flags)
        self.session_of_float64.set_flags(*flags, _FLOAT64)
        self.config = iree.runtime.Config("local-sync")
        self.session_options = {
            "backend": backend, "flags": flags, "flags_of_float64": [_FLOAT64], "driver": "local-sync",
            "onnx": metadata.version("onnx"),
        }  # fmt: skip

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Import, compile and run one model."""
        dtype = inputs["X"].dtype
        compiled = _compiled(self.session_of_float64 if dtype == np.float64 else self.session, request["model"])
        context = iree.runtime.SystemContext(config=self.config)
        module = iree.runtime.VmModule.copy_buffer(context.instance, compiled)
        context.add_vm_module(module)
        # Beside it are its initializer and its asynchronous form.
        (name,) = [name for name in module.function_names if re.fullmatch(r"\w+", name) and name != "__init"]
        result = context.modules[module.name][name](inputs["X"])
        outputs = [each.to_host() for each in (result if isinstance(result, (tuple, list)) else [result])]
        return returned(request["outputs"], [_signed(each, dtype) for each in outputs], "CPU")


def _compiled(session: Any, model: bytes) -> bytes:
    """The model as IREE's own tool imports it, compiled. Raises what the import raises, and ``CompilerError``."""
    with model_file(model) as source, tempfile.TemporaryFile() as log:
        imported = source.with_suffix(".mlir")
        importer.main(importer.parse_arguments([str(source), "-o", str(imported)]))
        # The compiler writes its errors to the stderr of the process.
        stderr = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            with Source.open_file(session, str(imported)) as text, Invocation(session) as invocation:
                invocation.enable_console_diagnostics()
                if invocation.parse_source(text) and invocation.execute():
                    with Output.open_membuffer() as output:
                        invocation.output_vm_bytecode(output)
                        return bytes(output.map_memory())
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        log.seek(0)
        raise CompilerError(_reason(log.read().decode(errors="replace")))


class CompilerError(Exception):
    """The compiler refuses a model."""


def _reason(text: str) -> str:
    """The first error of the compiler, without the place in a file that is gone."""
    match = re.search(r"error: (.*)", text)
    return (match[1] if match else text.strip())[:_MOST_CHARACTERS]


def _signed(array: Any, dtype: Any) -> Any:
    """An output in the type of X, if it has integers of that size: the compiler's integers have no sign."""
    same = array.dtype.kind in "iu" and dtype.kind in "iu" and array.dtype.itemsize == dtype.itemsize
    return array.view(dtype) if same and array.dtype != np.int64 else array
