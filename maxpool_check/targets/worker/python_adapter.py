"""Runs a Python function: a user's kernel."""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import inspect
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np

from .messages import refusal, returned, unable

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "torch": {"kernel_size": None, "stride": None, "padding": 0, "dilation": 1, "ceil_mode": False},
    "jax": {"window": None, "strides": None, "padding": [0, 0], "dilation": 1},
}
"""What a function takes behind X in the languages of frameworks, in order: each with what one is that a function lacks."""

_LISTS = ("dtypes", "spatial", "specs")

_ELSEWHERE = "the option python of the target names an interpreter that has it: ?python=ENVIRONMENT/bin/python"

_GUARD, _GUARD_BYTE = 64, 0xA5
"""So many bytes of this value lie before X, and behind it."""


class Runtime:
    """A function that returns Y or (Y, Indices) of what its module wants: arrays of numpy, or of a framework.

    ``options["kernel"]`` has what the function may declare by a name in capitals in its module: the keys ``wants``, ``dtypes``,
    ``spatial``, ``indices``, ``specs`` and ``refuses`` of ``ready``, and ``device``. A text there, from the name of the target, comes first.
    ``options["languages"]`` are what it may want. ``takes`` are the parameters that are passed by name.
    """

    wants = "numpy"
    takes: tuple[str, ...] = ()
    folder = Path("/nowhere")
    from_numpy: Callable[[Any, str], Any] = staticmethod(lambda X, _dtype: X)
    """The array that the function takes of X and the name of its dtype, which numpy may lack."""
    to_numpy: Callable[[Any], Any] = staticmethod(lambda output: output)

    def __init__(self, options: dict[str, Any]) -> None:
        path, name = Path(options["function"][0]), options["function"][1]
        sys.path.insert(0, str(path.parent))
        # Read when jax is imported; without it jax makes float32 of float64, and int32 of int64.
        os.environ.setdefault("JAX_ENABLE_X64", "1")
        specification = importlib.util.spec_from_file_location(path.stem, path)
        if specification is None or specification.loader is None or not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        module = importlib.util.module_from_spec(specification)
        self.folder = path.parent
        try:
            with self.placed():
                specification.loader.exec_module(module)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{error}; {_ELSEWHERE}") from error
        self.function = _function(module, name, path)
        declared = _declared(module, options["kernel"])
        self.wants, device = declared.pop("wants", "numpy"), str(declared.pop("device", "cpu"))
        if self.wants not in (languages := options["languages"]):
            raise ValueError(f"WANTS is {self.wants!r}; it may be {', '.join(languages)}")
        self.takes = _takes(self.function, name, self.wants)
        self.description: dict[str, Any] = {"distribution": "python", "version": "", "provider": "", "providers": []}
        self.description["takes_spec"] = "spec" in self.takes
        if self.wants != "numpy":
            self.description["wants"] = self.wants
        if self.wants == "torch":
            self._use_torch(device)
        elif self.wants == "jax":
            self._use_jax(device)
        self.description.update(declared)

    @contextlib.contextmanager
    def placed(self) -> Iterator[None]:
        """An exception gets its ``place``: the innermost line of the user's own files, and what stands there."""
        try:
            yield
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [
                frame
                for frame in frames
                if self.folder in Path(frame.filename).parents and "site-packages" not in frame.filename
            ]
            if own:
                name = Path(own[-1].filename).relative_to(self.folder)
                error.place = f", at {name}:{own[-1].lineno}: {own[-1].line}"  # type: ignore[attr-defined]
            raise

    def _use_torch(self, device: str) -> None:
        """Raises ``ImportError`` without torch, ``ValueError`` if it has no such device."""
        from . import torch_adapter

        torch_adapter.device_kind(device)
        self.description.update(indices="plane", dtypes=list(torch_adapter.Runtime.dtypes))
        self.from_numpy = lambda X, dtype: torch_adapter.tensor(X, dtype).to(device)
        self.to_numpy = torch_adapter.array

    def _use_jax(self, device: str) -> None:
        """Raises ``ImportError`` without jax, ``RuntimeError`` if it has no such device."""
        import jax

        place = jax.devices(device)[0]
        self.from_numpy = lambda X, _dtype: jax.device_put(X, place)
        self.to_numpy = np.asarray

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function. Some exceptions are its refusals; any other is a mistake in its code, and raised."""
        guarded = _Guarded(inputs["X"])
        try:
            with self.placed():
                result = self.call(self.from_numpy(guarded.X, request["inputs"]["X"]["dtype"]), request)
        except NotImplementedError as error:
            return unable(str(error) or "NotImplementedError")
        except (ValueError, MemoryError) as error:
            return refusal(error)
        finally:
            guarded.check()
        outputs = result if isinstance(result, tuple) else (result,)
        if len(outputs) not in (1, 2):
            raise ValueError(f"the function returned {len(outputs)} values; expected (Y, Indices) or Y")
        if len(outputs) < len(request["outputs"]):
            return unable("the function returns Y only")
        return returned(request["outputs"], map(self.to_numpy, outputs))

    def call(self, X: Any, request: dict[str, Any]) -> Any:
        """What the function returns. Raises ``NotImplementedError`` if it lacks an argument that the request needs."""
        known, attributes = _ARGUMENTS.get(self.wants), request["attributes"]
        if known is None:
            more = {"spec": request.get("spec")} if "spec" in self.takes else {}
            return self.function(X, attributes, **more)
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in attributes.items()}
        values["return_indices"] = "Indices" in request["outputs"]
        if not self.takes:
            return self.function(X, *(values[name] for name in known))
        for name, without in known.items():
            given = values[name] if isinstance(values[name], tuple) else (values[name],)
            if name not in self.takes and any(value != without for value in given):
                raise NotImplementedError(f"the function has no parameter {name}")
        return self.function(X, **{name: values[name] for name in self.takes})


class _Guarded:
    """A copy of X between bytes that nobody may write; nobody may write into X either."""

    def __init__(self, X: np.ndarray) -> None:
        self._before = X.tobytes()
        self._memory = np.full(len(self._before) + 2 * _GUARD, _GUARD_BYTE, np.uint8)
        self.X = self._memory[_GUARD : _GUARD + len(self._before)].view(X.dtype).reshape(X.shape)
        self.X[...] = X
        self._expected = self._memory.tobytes()

    def check(self) -> None:
        """Raise ``RuntimeError`` if anything was written."""
        if self.X.tobytes() != self._before:
            raise RuntimeError("the function wrote into X, which is its input")
        if self._memory.tobytes() != self._expected:
            raise RuntimeError("the function wrote beside X, into memory that is not its own")


def _declared(module: Any, given: dict[str, str | None]) -> dict[str, Any]:
    """What a module declares by names in capitals, or the name of the target in its place."""
    declared = {key: getattr(module, key.upper()) for key in given if hasattr(module, key.upper())}
    declared.update({key: value for key, value in given.items() if value is not None})
    for key, word, value in (("indices", "none", None), ("refuses", "no", False), ("refuses", "yes", True)):
        if declared.get(key) == word:
            declared[key] = value
    for key in _LISTS:
        if key in declared:
            value = declared[key]
            entries = value.split(",") if isinstance(value, str) else value
            entries = entries if isinstance(entries, (list, tuple, set, frozenset)) else [entries]
            declared[key] = [_plain(entry, key) for entry in entries]
    return declared


def _plain(entry: Any, key: str) -> Any:
    """An entry of a list as ``ready`` has it; a dtype may be an object of numpy or a framework, such as torch.float32."""
    if key == "dtypes" and not isinstance(entry, (str, int)):
        return str(getattr(entry, "__name__", entry)).rpartition(".")[2]
    return int(entry) if key == "spatial" and isinstance(entry, str) and entry.isdecimal() else entry


def _takes(function: Any, name: str, wants: str) -> tuple[str, ...]:
    """The parameters that a function is given by name: none if a framework's arguments are passed by their places.

    Raises ``TypeError`` if it cannot be called.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # A function in C may have no signature.
        return ()
    known = tuple(_ARGUMENTS.get(wants, ()))
    own = {each.name for each in signature.parameters.values() if each.kind is not each.POSITIONAL_ONLY}
    places: tuple[str, ...] = known or ("attributes",)
    takes = tuple(each for each in ((*known, "return_indices") if known else ("spec",)) if each in own)
    if known and not {*takes} & {*known}:
        takes = ()
    try:
        signature.bind("X", *(() if known and takes else places), **dict.fromkeys(takes))
    except TypeError as error:
        forms = (
            [f"{name}(x, {', '.join(places)})"] if known else [f"{name}(X, attributes)", f"{name}(X, attributes, spec)"]
        )
        write = f"write it as {' or '.join(forms)}"
        raise TypeError(f"{name}{signature} cannot be called as {forms[0]}: {error}; {write}") from error
    return takes


def _function(module: Any, name: str, path: Path) -> Any:
    function = getattr(module, name, None)
    if callable(function):
        return function
    others = [other for other in vars(module) if callable(getattr(module, other)) and not other.startswith("_")]
    nearest = difflib.get_close_matches(name, others, 1)
    hint = f" (did you mean '{nearest[0]}'?)" if nearest else ""
    raise LookupError(f"{path} has no function '{name}'{hint}")
