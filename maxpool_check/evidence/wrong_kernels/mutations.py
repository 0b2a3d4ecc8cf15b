"""Kernels that are wrong as a mutation says, in their attributes, X, a step of the scan or outputs, maybe under a condition.

Each table has the names that ``kernels.yaml`` uses. Attributes that all documents have under some name are named by their
role there: ``kernel``, ``strides``, ``dilations``, ``pads``.
"""

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from operator import gt, lt
from typing import Any

import ml_dtypes  # noqa: F401  (numpy knows bfloat16 by it)
import numpy as np

from maxpool_check.evidence.wrong_kernels.languages import ACTIVATION, PARAMETERS, XMOS_AXES, Language, activated
from maxpool_check.evidence.wrong_kernels.scan import axes_of, floating, lowest
from maxpool_check.evidence.wrong_kernels.steps import PICK_BY_KERNEL, STEPS


@dataclass(frozen=True)
class Call:
    """A call of a kernel: what it gets, and the language in which it reads that."""

    X: np.ndarray
    attributes: dict
    spec: str
    language: Language

    @property
    def rank(self):
        """The number of spatial axes."""
        return self.X.ndim - 2

    @property
    def table(self):
        """The attributes that the document has."""
        return self.language.table(self.spec)

    @cached_property
    def values(self):
        """The attributes after reading. ``ValueError`` for what the document excludes."""
        return self.language.values(self.X, self.attributes, self.spec)

    def by_name(self, arguments):
        """Arguments of attributes, or attributes alone, by the names that the document has for them."""
        arguments = arguments if isinstance(arguments, dict) else dict.fromkeys(arguments)
        return {name: each for role, each in arguments.items() for name in self.language.names.get(role, (role,))}

    def filled(self, arguments):
        """The same with a number for each axis where that is a list, and the value of another attribute for its role."""
        filled = self.by_name(arguments)
        for name, value in filled.items():
            each = self.table[name].each if name in self.table else 0
            if type(value) is int and each:
                filled[name] = [value] * self.rank * each
            elif isinstance(value, str) and value in self.language.names:
                filled[name] = self.attributes.get(self.language.names[value][0])
            elif value == "plane":
                filled[name] = list(self.X.shape[2:])
        return filled


_TESTS = {
    "over": gt,
    "under": lt,
    "not": lambda value, other: not _passes(value, other),
    "at": lambda values, tests: all(_passes(values[place], test) for place, test in tests.items()),
    "any_not": lambda values, number: any(value != number for value in values),
    "multiple_of": lambda value, of: value > 0 and value % of == 0,
    "not_multiple_of": lambda value, of: value % of != 0,
    "one_over_multiple_of": lambda value, of: value % of == 1,
}


def _passes(value, wanted):
    """Whether a value is the one that is wanted, or one of a list, or passes all tests of a mapping."""
    if isinstance(wanted, dict):
        return all(_TESTS[test](value, limit) for test, limit in wanted.items())
    return value in wanted if isinstance(wanted, list) else value == wanted


def _all_pass(call, attributes, wanted):
    filled = call.filled({name: value for name, value in wanted.items() if not isinstance(value, (list, dict))})
    others = call.by_name({name: value for name, value in wanted.items() if isinstance(value, (list, dict))})
    return all(attributes.get(name) == value for name, value in filled.items()) and all(
        _passes(attributes.get(name), value) for name, value in others.items()
    )


def _has_large_pads(call, _):
    values = call.values
    pairs = zip(values["pads"], values["kernel_shape"] * 2, strict=True)
    return values["auto_pad"] == "NOTSET" and any(pad >= size for pad, size in pairs)


def _ends_with_the_image(call, _):
    v = call.values
    ends = [v[start] + v[stride] * (v[count] - 1) + v[kernel] for kernel, stride, start, count in XMOS_AXES]
    return any(end >= size for end, size in zip(ends, call.X.shape, strict=False))


CONDITIONS = {
    "type": lambda call, names: _passes(call.X.dtype.name, names),
    "kind": lambda call, kinds: call.X.dtype.kind in kinds,
    "floats": lambda call, wanted: floating(call.X) == wanted,
    "axes": lambda call, wanted: _passes(call.rank, wanted),
    "cells": lambda call, wanted: _passes(call.X.size, wanted),
    "sizes": lambda call, wanted: all(
        -call.X.ndim <= axis < call.X.ndim and _passes(call.X.shape[axis], size) for axis, size in wanted.items()
    ),
    "spec": lambda call, wanted: _passes(call.spec, wanted),
    "attributes": lambda call, wanted: _all_pass(call, call.attributes, wanted),
    "values": lambda call, wanted: _all_pass(call, call.values, wanted),
    "given": lambda call, names: all(call.attributes.get(name) for name in call.by_name(names)),
    "lacking": lambda call, names: any(
        name in call.table and name not in call.attributes
        for name in (call.table if names == "any" else call.by_name(names))
    ),
    "padded": lambda call, _: call.attributes["auto_pad"] == "NOTSET" and any(call.attributes["pads"]),
    "padded_at_the_beginning": lambda call, _: any(axis.begin for axis in axes_of(call.X.shape, call.values)),
    "padded_at_the_left": lambda call, _: call.values["pads"][call.rank - 1] != 0,
    "large_pads": _has_large_pads,
    "overlapping": lambda call, _: any(map(lt, call.values["strides"], call.values["kernel_shape"])),
    "ends_with_the_image": _ends_with_the_image,
}
"""When a mutation matters."""

_LISTS = {
    "at_least": lambda values, least: [max(value, least) for value in values],
    "at_most": lambda values, most: [min(value, most) for value in values],
    "zero_is": lambda values, other: [value or other for value in values],
    "rounded_up_to": lambda values, multiple: [-(-value // multiple) * multiple for value in values],
    "in_bits": lambda values, bits: [(value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) for value in values],
    "reversed": lambda values, _: values[::-1],
    "first": lambda values, _: values[:1] * len(values),
    "replaced": lambda values, others: [others.get(place, value) for place, value in enumerate(values)],
    "last_is_the_one_before": lambda values, _: [*values[:-1], *values[-2:-1]],
    "interleaved": lambda values, _: [*values[::2], *values[1::2]],
    "halves_exchanged": lambda values, _: [*values[len(values) // 2 :], *values[: len(values) // 2]],
    "first_half_twice": lambda values, _: values[: len(values) // 2] * 2,
}
"""Other numbers or lists of numbers; what is ill-typed stays. Of the pads, those at each end are changed by themselves:"""
_BY_AXIS = ("reversed", "first", "replaced", "last_is_the_one_before")


def _with_other_numbers(call, attributes, names, change):
    for name, argument in call.by_name(names).items():
        values = attributes.get(name)
        if type(values) is int:
            attributes = {**attributes, name: _LISTS[change]([values], argument)[0]}
        elif isinstance(values, list) and all(type(value) is int for value in values):
            half = len(values) // 2 if name == "pads" and change in _BY_AXIS else 0
            parts = [_LISTS[change](part, argument) for part in (values[:half], values[half:]) if part]
            attributes = {**attributes, name: [number for part in parts for number in part]}
    return attributes


def _with_other_text(change):
    """A mutation of attributes that are text; ``change(text, argument)``."""

    def mutation(call, attributes, names):
        texts = {name: argument for name, argument in names.items() if isinstance(attributes.get(name), str)}
        return {**attributes, **{name: change(attributes[name], argument) for name, argument in texts.items()}}

    return mutation


def _default(call, attributes, names):
    return {**{name: value for name, value in call.filled(names).items() if name in call.table}, **attributes}


def _well_typed(call, attributes, defaults):
    """A default, or nothing, for each value of another type; the activation and its parameters go together."""
    wrong = [name for name in attributes if name in call.table and not call.table[name].is_typed(attributes[name])]
    wrong += ACTIVATION if set(ACTIVATION) & set(wrong) else []
    kept = {name: value for name, value in attributes.items() if name not in wrong}
    return {**kept, **{name: value for name, value in call.filled(defaults).items() if name in wrong}}


def _one_of(call, attributes, names):
    """The first of the values that are allowed for any other one."""
    for name, values in names.items():
        allowed = call.table[name].values if values == "any" else values
        value = attributes.get(name, allowed[0])
        if name in attributes and (type(value) is not type(allowed[0]) or value not in allowed):
            attributes = {**attributes, name: allowed[0]}
    return attributes


def _fitted(call, attributes, names):
    """Lists cut to their length, or filled up."""
    for name, filler in call.filled(names).items():
        if isinstance(attributes.get(name), list) and isinstance(filler, list):
            attributes = {**attributes, name: (attributes[name] + filler)[: len(filler)]}
    return attributes


def _fitted_parameters(call, attributes, _):
    count, parameters = PARAMETERS.get(str(attributes.get("activation")), 0), attributes.get("activation_params", [])
    if not isinstance(parameters, list) or not ("activation_params" in attributes or attributes.get("activation")):
        return attributes
    return {**attributes, "activation_params": (parameters + [0.0] * count)[:count]}


def _parameters(call, values, by_activation):
    both = zip(values["activation_params"], by_activation.get(values["activation"], ()), strict=False)
    changed = [float(np.float32(value if other is None else other)) for value, other in both]
    return {**values, "activation_params": changed or values["activation_params"]}


def _shrunk(call, values, _):
    """The kernel no larger than the padded axes, unless they are padded by the kernel."""
    ((kernel, sizes),) = ((name, values[name]) for name in call.by_name(["kernel"]))
    pads = [pad for name in call.by_name(["pads"]) for pad in values[name]]
    auto_pad, dilations = values.get("auto_pad", "").upper(), values.get("dilations", [1] * call.rank)
    both = [0] * call.rank if auto_pad == "VALID" else map(sum, zip(pads[: call.rank], pads[call.rank :], strict=True))
    rooms = [n + more for n, more in zip(call.X.shape[2:], both, strict=True)]
    shrunk = [max(1, min(k, (n - 1) // d + 1)) for k, d, n in zip(sizes, dilations, rooms, strict=True)]
    return values if auto_pad.startswith("SAME") else {**values, kernel: shrunk}


def _clipped_pads(call, attributes, _):
    most = [2 * kernel - 1 for kernel in attributes["kernel_shape"]] * 2
    clipped = [min(pad, limit) for pad, limit in zip(attributes["pads"], most, strict=False)]
    return {**attributes, "pads": clipped} if len(clipped) == len(attributes["pads"]) else attributes


def _as_many_as_fit(call, values, _):
    for size, (kernel, stride, start, count) in zip(call.X.shape, XMOS_AXES, strict=False):
        values = {**values, count: (size - values[start] - values[kernel]) // values[stride] + 1}
    return values


def _whole(call, attributes, _):
    firsts = {name: value[0] if isinstance(value, list) and value else value for name, value in attributes.items()}
    return {name: int(value) if isinstance(value, (int, float, str)) else value for name, value in firsts.items()}


def _plain(call, attributes, _):
    rank = len(attributes["kernel_shape"])
    return {**attributes, "strides": [1] * rank, "dilations": [1] * rank, "pads": [0] * 2 * rank}


def _wrapped_axis(call, attributes, kind):
    axis, count = attributes.get("axis"), call.X.ndim
    if type(axis) is not int:
        return attributes
    return {**attributes, "axis": axis % count if kind == "around" else axis if -count <= axis < count else 0}


def _names_of_onnx(call, attributes, _):
    renamed = {"kernel" if name == "kernel_shape" else name: value for name, value in attributes.items()}
    return {**renamed, "rounding_type": "ceil"} if renamed.pop("ceil_mode", 0) == 1 else renamed


def _die(call, attributes, names):
    if any(isinstance(attributes[name], list) and value in attributes[name] for name, value in names.items()):
        os.kill(os.getpid(), signal.SIGFPE)
    return attributes


ATTRIBUTES = {
    "default": _default,
    "set": lambda call, attributes, names: {**attributes, **call.filled(names)},
    "copied": lambda call, attributes, names: {**attributes, **{to: attributes.get(of) for to, of in names.items()}},
    "renamed": lambda call, attributes, names: {names.get(name, name): value for name, value in attributes.items()},
    "only": lambda call, attributes, others: dict(others),
    "without": lambda call, attributes, names: {n: value for n, value in attributes.items() if n not in names},
    "known": lambda call, attributes, _: {name: value for name, value in attributes.items() if name in call.table},
    "well_typed": _well_typed,
    "one_of": _one_of,
    "fitted": _fitted,
    "words": _with_other_text(lambda text, others: others.get(text, text)),
    "lower_case": _with_other_text(lambda text, _: text.lower()),
    "plain": _plain,
    "without_pads": lambda call, attributes, _: {**attributes, "pads": [0] * len(attributes["pads"])},
    "pads_below_two_kernels": _clipped_pads,
    "shrunk_kernel": _shrunk,
    "wrapped_axis": _wrapped_axis,
    "windows_that_fit": _as_many_as_fit,
    "whole_numbers": _whole,
    "fitted_parameters": _fitted_parameters,
    "parameters": _parameters,
    "float16_parameters": lambda call, values, _: {
        **values,
        "activation_params": [float(np.float16(value)) for value in values["activation_params"]],
    },
    "names_of_onnx": _names_of_onnx,
    "dies_of": _die,
    **{
        name: lambda call, attributes, names, name=name: _with_other_numbers(call, attributes, names, name)
        for name in _LISTS
    },
}
"""Other attributes, as they are written or after reading."""


def _repeated(call, tensor, axis, start):
    """From a place of an axis on, what is before it; -1 is the last place."""
    places = np.arange(tensor.shape[axis])
    return tensor.take(np.minimum(places, (start if start > 0 else len(places) + start) - 1), axis)


def _unwritten(call, tensor, axis, start=None, blocks=1, value=0):
    """From a place of an axis on, or behind the last whole block, another value."""
    size, written = tensor.shape[axis], tensor.copy()
    np.moveaxis(written, axis, 0)[start or size // blocks * blocks or size :] = value
    return written


def _clipped(call, X):
    least = np.array(lowest(X.dtype)).astype(X.dtype)
    return np.where(X == -np.inf, least, np.where(X == np.inf, -least, X)) if floating(X) else X


def _nan_in_the_first_column(call, X):
    rest = np.where(np.isnan(X[..., 1:].astype(np.float64)), np.array(-np.inf).astype(X.dtype), X[..., 1:])
    return np.concatenate([X[..., :1], rest], -1)


def _saturated(call, Y):
    return np.where(Y == np.inf, np.array(-float(lowest(Y.dtype))).astype(Y.dtype), Y) if floating(Y) else Y


def _one_bit_off(call, Y):
    Y.reshape(-1)[::7] = np.nextafter(Y.reshape(-1)[::7], -np.inf)
    return Y


def _planes_in_bits(call, Indices, bits):
    planes = np.arange(prod(call.X.shape[:2])).reshape(*call.X.shape[:2], *[1] * call.rank)
    return Indices - (planes >> bits << bits) * prod(call.X.shape[2:])


def _with_all_axes(call, X, axes=None):
    axes = 2 + len(call.attributes["kernel_shape"]) if axes is None else axes
    return X.reshape(*[1] * (axes - X.ndim), *X.shape)


TENSORS = {
    "as": lambda call, tensor, name: tensor.astype(name),
    "view": lambda call, tensor, name: tensor.view(name),
    "through": lambda call, tensor, name: np.nan_to_num(tensor.astype(name)).astype(tensor.dtype),
    "repeated": _repeated,
    "unwritten": _unwritten,
    "clipped": _clipped,
    "flushed": lambda call, X: np.where(np.abs(X) < np.finfo(X.dtype).tiny, np.copysign(X.dtype.type(0), X), X),
    "saturated": _saturated,
    "plus_zero": lambda call, Y: np.where(Y == 0, np.zeros((), Y.dtype), Y),
    "one_bit_off": _one_bit_off,
    "at_least": lambda call, Y, least: np.maximum(Y, Y.dtype.type(least)),
    "sign_of_bytes": lambda call, tensor: (tensor.view(np.uint8) ^ 128).view(np.int8),
    "activated": lambda call, X: activated(X, call.values),
    "nan_in_the_first_column": _nan_in_the_first_column,
    "c_by_n": lambda call, X: X.reshape(X.shape[1], X.shape[0], *X.shape[2:]).swapaxes(0, 1).copy(),
    "as_channels_last": lambda call, X: np.moveaxis(X.reshape(X.shape[0], *X.shape[2:], X.shape[1]), -1, 1).copy(),
    "axis_moved": lambda call, tensor, *places: np.moveaxis(tensor, *places),
    "transposed": lambda call, tensor: tensor.swapaxes(2, 3) if tensor.shape[2] == tensor.shape[3] else tensor,
    "flat": lambda call, tensor: tensor.reshape(-1),
    "first": lambda call, X: X[0],
    "as_batch": lambda call, Y: Y[None],
    "whole_words": lambda call, X: np.pad(X, ((0, 0), (0, 0), (0, -X.shape[2] % 4))),
    "channels_of_x": lambda call, Y: Y[..., : call.X.shape[-1]],
    "with_all_axes": _with_all_axes,
    "axes_of_x": lambda call, tensor: tensor.reshape(tensor.shape[-call.X.ndim :]),
    "sizes_of_one": lambda call, tensor: np.zeros([max(1, size) for size in tensor.shape], tensor.dtype),
    "shape_of_x": lambda call, tensor: np.zeros(call.X.shape, tensor.dtype),
    "plus": lambda call, Indices, number: Indices + number,
    "in_bits": lambda call, Indices, bits: Indices & (2**bits - 1),
    "planes_in_bits": _planes_in_bits,
    "modulo": lambda call, Indices, start, stop=None: Indices % max(1, prod(call.X.shape[start:stop])),
}
"""Other tensors: X, Y or Indices."""

_AREAS = {
    "everywhere": lambda at, shape: True,
    "wide_rows": lambda at, shape: shape[-1] >= 8,
    "fours_of_channels": lambda at, shape: at[1] < shape[1] // 4 * 4,
    "later_batches": lambda at, shape: at[0] > 0,
    "later_planes": lambda at, shape: at[0] + at[1] > 0,
}


def _seeded(kernel, call, outputs, seed, sentinel=None):
    """A scan that starts from a number and needs something greater; ``sentinel``: the index in the plane where it is kept."""
    (Y, Indices), seed = outputs, float(lowest(call.X.dtype) if seed == "lowest" else seed)
    kept = Y.astype(np.float64) <= seed
    Y[kept] = np.array(seed).astype(Y.dtype)
    if sentinel is not None:
        before = {"row": -call.X.shape[-1] - 1, "column": -call.X.shape[2] - 1}
        planes = np.arange(prod(Y.shape[:2])).reshape(*Y.shape[:2], *[1] * call.rank) * prod(call.X.shape[2:])
        Indices = np.where(kept, planes + before.get(sentinel, sentinel), Indices)
    return Y, Indices


def _mixed(kernel, call, outputs, other, area, names=("Y", "Indices")):
    """In an area, or everywhere, outputs of another kernel."""
    others = kernel.others[other](call.X, call.attributes, call.spec)
    where = _AREAS[area](np.ogrid[tuple(map(slice, outputs[0].shape))], outputs[0].shape)
    pairs = zip(("Y", "Indices"), outputs, others, strict=True)
    return tuple(np.where(where, theirs, mine) if name in names else mine for name, mine, theirs in pairs)


def _unless_activated(kernel, call, outputs):
    """The first cell where the activation changes the maximum."""
    plain, _ = call.language.pooled(call.X, {**call.values, **ACTIVATION}, call.spec)
    return outputs[0], np.where((outputs[0] == plain) | (plain != plain), outputs[1], 0)


def _same_of_the_same_shape(kernel, call, outputs):
    return kernel.memory.setdefault((call.X.shape, call.X.dtype.name, repr(call.attributes)), outputs)


def _last_column_lost_again(kernel, call, outputs):
    key = call.X.tobytes(), call.X.shape, repr(call.attributes)
    is_again = kernel.memory.get("key") == key
    kernel.memory["key"] = None if is_again else key
    return (_unwritten(call, outputs[0], -1, -1, value=77) if is_again else outputs[0]), outputs[1]


OUTPUTS = {
    "seeded": _seeded,
    "mixed": _mixed,
    "unless_activated": _unless_activated,
    "same_of_the_same_shape": _same_of_the_same_shape,
    "last_column_lost_again": _last_column_lost_again,
}
"""Other outputs, together; of kernels that remember what they were called with as well."""


def _copy(call):
    return call.X if call.spec == "openvino-1" else (call.X, np.arange(call.X.size).reshape(call.X.shape))


def _without_cells(call):
    if 0 in call.X.shape[2:]:
        return np.zeros(call.X.shape, call.X.dtype)
    return call.language.pooled(call.X, call.language.read(call.X, call.attributes, call.spec), call.spec)


_INSTEAD = {"copy": _copy, "without_cells": _without_cells}
_REFUSALS = {"invalid": ValueError, "unsupported": NotImplementedError}
_BEFORE = {"base", "refuses", "instead", "spec", "attributes", "values", "X", "through", "reads", "scan"}
"""What is wrong before there are outputs: a condition of it is looked at first."""
_TENSORS_OF = {"Y": (0,), "Indices": (1,), "both": (0, 1)}
_TABLES = {"when": CONDITIONS, "outputs": OUTPUTS, "attributes": ATTRIBUTES, "values": ATTRIBUTES, "X": TENSORS}
_TABLES |= dict.fromkeys(_TENSORS_OF, TENSORS)


def check_mutation(mutation: Mapping[str, Any]) -> None:
    """``ValueError`` for a mutation that there is not."""
    mistakes = [key for key in mutation if key not in _TABLES and key not in _BEFORE]
    mistakes += [each for key, table in _TABLES.items() for each in mutation.get(key, {}) if each not in table]
    for step, wrong in mutation.get("scan", {}).items():
        name = next(iter(wrong)) if isinstance(wrong, dict) else wrong
        mistakes += [step] if step != "pad" and name not in {*STEPS.get(step, ()), *PICK_BY_KERNEL} else []
    if mistakes:
        raise ValueError(f"no such mutation: {', '.join(map(str, mistakes))}")


def _applied(function, *arguments):
    """A function of some arguments and of the last one as YAML has it: a mapping, a list, one value, or true for none."""
    *first, last = arguments
    if isinstance(last, dict):
        return function(*first, **last)
    return function(*first, *(last if isinstance(last, list) else [] if last is True else [last]))


@dataclass(frozen=True)
class Kernel:
    """A kernel of a language with a mutation. ``others`` are the kernels that it names, ``memory`` is what it remembers."""

    mutation: Mapping[str, Any]
    language: Language
    others: Mapping[str, "Kernel"]
    memory: dict[Any, Any] = field(default_factory=dict)

    def __call__(self, X, attributes, spec=""):
        """The outputs: Y, or Y and Indices."""
        call, is_early = Call(X, attributes, spec, self.language), bool(_BEFORE.intersection(self.mutation))
        if is_early and not self._holds(call):
            return self.language.correct(X, attributes, spec)
        with np.errstate(all="ignore"):
            outputs = self._pooled(call)
            if not is_early and not self._holds(call):
                return outputs
            changed = self._changed(call, outputs if isinstance(outputs, tuple) else (outputs,))
        return changed if isinstance(outputs, tuple) else changed[0]

    def _holds(self, call):
        return all(CONDITIONS[name](call, argument) for name, argument in self.mutation.get("when", {}).items())

    def _pooled(self, call):
        """The outputs for other attributes and another X, by other steps."""
        if "refuses" in self.mutation:
            raise _REFUSALS[self.mutation["refuses"]]("refused on purpose")
        if "instead" in self.mutation:
            return _INSTEAD[self.mutation["instead"]](call)
        call = replace(call, spec=self.mutation.get("spec", call.spec))
        attributes, X = call.attributes, call.X
        for name, argument in self.mutation.get("attributes", {}).items():
            attributes = ATTRIBUTES[name](call, attributes, argument)
        for name, argument in self.mutation.get("X", {}).items():
            X = _applied(TENSORS[name], call, X, argument)
        for name in self.mutation.get("through", ()):
            X = X.astype(name)
        call = replace(call, X=X, attributes=attributes)
        if "base" in self.mutation:
            return self.others[self.mutation["base"]](X, attributes, call.spec)
        newest = self.language.specs[-1:]
        reads = {n: newest[0] if value == "newest" else value for n, value in self.mutation.get("reads", {}).items()}
        values = self.language.values(X, attributes, call.spec, **reads)
        for name, argument in self.mutation.get("values", {}).items():
            changed = ATTRIBUTES[name](call, values, argument)
            values = {name: value for name, value in changed.items() if name in values}
        steps = {step: self._step(step, wrong, X, values) for step, wrong in self.mutation.get("scan", {}).items()}
        return self.language.pooled(X, values, call.spec, **steps)

    def _step(self, step, wrong, X, values):
        if step == "pad":
            return lowest(X.dtype) if wrong == "lowest" else wrong if floating(X) else max(wrong, lowest(X.dtype))
        if isinstance(wrong, dict):
            ((name, argument),) = wrong.items()
            return _applied(STEPS[step][name], argument)
        return PICK_BY_KERNEL[wrong](values["kernel_shape"]) if wrong in PICK_BY_KERNEL else STEPS[step][wrong]

    def _changed(self, call, outputs):
        """Other outputs."""
        if "through" in self.mutation:
            outputs = (outputs[0].astype(call.X.dtype), *outputs[1:])
        for key, places in _TENSORS_OF.items():
            for name, argument in self.mutation.get(key, {}).items():
                changed = [_applied(TENSORS[name], call, outputs[place], argument) for place in places]
                outputs = tuple({**dict(enumerate(outputs)), **dict(zip(places, changed, strict=True))}.values())
        for name, argument in self.mutation.get("outputs", {}).items():
            outputs = _applied(OUTPUTS[name], self, call, outputs, argument)
        return outputs
