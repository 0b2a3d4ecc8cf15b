"""Kernels that are wrong as a mutation says, in their attributes, X, a step of the scan or outputs, maybe under a condition.

Each table has the names that ``kernels.yaml`` uses. Attributes that all documents have under some name are named by their
role there: ``kernel``, ``strides``, ``dilations``, ``pads``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from operator import gt
from typing import Any

import ml_dtypes  # noqa: F401  (numpy knows bfloat16 by it)
import numpy as np

from maxpool_check.evidence.wrong_kernels import scan as right
from maxpool_check.evidence.wrong_kernels.languages import ACTIVATION, Language
from maxpool_check.evidence.wrong_kernels.scan import floating, lowest, within


@dataclass(frozen=True)
class Call:
    """A call of a kernel: what it gets, and the language in which it reads that."""

    X: np.ndarray
    attributes: dict
    spec: str
    language: Language

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
                filled[name] = [value] * (self.X.ndim - 2) * each
            elif isinstance(value, str) and value in self.language.names:
                filled[name] = self.attributes.get(self.language.names[value][0])
            elif value == "plane":
                filled[name] = list(self.X.shape[2:])
        return filled


_TESTS = {
    "over": gt,
    "not": lambda value, other: not _passes(value, other),
    "at": lambda values, tests: all(_passes(values[place], test) for place, test in tests.items()),
    "any_not": lambda values, number: any(value != number for value in values),
    "multiple_of": lambda value, of: value > 0 and value % of == 0,
    "not_multiple_of": lambda value, of: value % of != 0,
}


def _passes(value, wanted):
    """Whether a value is the one that is wanted, or one of a list, or passes all tests of a mapping."""
    if isinstance(wanted, dict):
        return all(_TESTS[test](value, limit) for test, limit in wanted.items())
    return value == wanted or (isinstance(wanted, list) and value in wanted)


def _all_pass(call, attributes, wanted):
    return all(_passes(attributes.get(name), each) for name, each in call.filled(wanted).items())


def is_padded(attributes):
    """Whether attributes of ONNX have pads that count."""
    return attributes["auto_pad"] == "NOTSET" and any(attributes["pads"])


CONDITIONS = {
    "type": lambda call, names: _passes(call.X.dtype.name, names),
    "floats": lambda call, wanted: floating(call.X) == wanted,
    "axes": lambda call, wanted: _passes(call.X.ndim - 2, wanted),
    "cells": lambda call, wanted: _passes(call.X.size, wanted),
    "sizes": lambda call, wanted: all(
        -call.X.ndim <= axis < call.X.ndim and _passes(call.X.shape[axis], size) for axis, size in wanted.items()
    ),
    "spec": lambda call, wanted: _passes(call.spec, wanted),
    "attributes": lambda call, wanted: _all_pass(call, call.attributes, wanted),
    "values": lambda call, wanted: _all_pass(call, call.values, wanted),
    "lacking": lambda call, names: any(
        name in call.table and name not in call.attributes
        for name in (call.table if names == "any" else call.by_name(names))
    ),
    "padded": lambda call, wanted: is_padded(call.attributes) == wanted,
}
"""When a mutation matters."""

_LISTS = {
    "at_least": lambda values, least: [max(value, least) for value in values],
    "at_most": lambda values, most: [min(value, most) for value in values],
    "zero_is": lambda values, other: [value or other for value in values],
    "reversed": lambda values, _: values[::-1],
    "first": lambda values, _: values[:1] * len(values),
    "halves": lambda values, order: [
        n for half in order for n in (values[: len(values) // 2], values[len(values) // 2 :])[half]
    ],
    "replaced": lambda values, others: [others.get(place, value) for place, value in enumerate(values)],
}
"""Other numbers of a list, or of a number alone. Of the pads, those at each end are changed by themselves:"""
_BY_AXIS = ("reversed", "first", "replaced")


def changed_numbers(attributes, name, change, by_halves=False):
    """Attributes with other numbers in a list, or with another number, ``change([number])``; what is ill-typed stays."""
    values = attributes.get(name)
    if type(values) is int:
        return {**attributes, name: change([values])[0]}
    if isinstance(values, list) and all(type(value) is int for value in values):
        half = len(values) // 2 if by_halves else 0
        changed = [number for part in (values[:half], values[half:]) if part for number in change(part)]
        return {**attributes, name: changed}
    return attributes


def _with_other_numbers(call, attributes, names, change):
    for name, argument in call.by_name(names).items():
        by_halves = name == "pads" and change in _BY_AXIS
        attributes = changed_numbers(attributes, name, lambda part, a=argument: _LISTS[change](part, a), by_halves)
    return attributes


def _with_other_words(call, attributes, names):
    texts = {name: attributes[name] for name in names if isinstance(attributes.get(name), str)}
    return {**attributes, **{name: names[name].get(text, text) for name, text in texts.items()}}


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


def _parameters(call, values, by_activation):
    both = zip(values["activation_params"], by_activation.get(values["activation"], ()), strict=False)
    changed = [float(np.float32(value if other is None else other)) for value, other in both]
    return {**values, "activation_params": changed or values["activation_params"]}


ATTRIBUTES = {
    "default": _default,
    "set": lambda call, attributes, names: {**attributes, **call.filled(names)},
    "copied": lambda call, attributes, names: {**attributes, **{to: attributes.get(of) for to, of in names.items()}},
    "renamed": lambda call, attributes, names: {names.get(name, name): value for name, value in attributes.items()},
    "without": lambda call, attributes, names: {n: value for n, value in attributes.items() if n not in names},
    "known": lambda call, attributes, _: {name: value for name, value in attributes.items() if name in call.table},
    "well_typed": _well_typed,
    "one_of": _one_of,
    "fitted": _fitted,
    "words": _with_other_words,
    "parameters": _parameters,
    **{
        name: lambda call, attributes, names, name=name: _with_other_numbers(call, attributes, names, name)
        for name in _LISTS
    },
}
"""Other attributes, as they are written or after reading."""


def _repeated(X, tensor, axis, start):
    """From a place of an axis on, what is before it; -1 is the last place."""
    places = np.arange(tensor.shape[axis])
    return tensor.take(np.minimum(places, (start if start > 0 else len(places) + start) - 1), axis)


def _unwritten(X, tensor, axis, start=None, blocks=1, value=0):
    """From a place of an axis on, or behind the last whole block, another value."""
    size, written = tensor.shape[axis], tensor.copy()
    np.moveaxis(written, axis, 0)[start or size // blocks * blocks or size :] = value
    return written


def _laid_out(X, tensor, axis, place):
    """The tensor as its bytes are, read as if the axis were at another place."""
    moved = np.moveaxis(tensor, axis, place).shape
    return np.ascontiguousarray(np.moveaxis(tensor.reshape(moved), place, axis))


TENSORS = {
    "as": lambda X, tensor, name: tensor.astype(name),
    "view": lambda X, tensor, name: tensor.view(name),
    "laid_out": _laid_out,
    "through": lambda X, tensor, name: np.nan_to_num(tensor.astype(name)).astype(tensor.dtype),
    "repeated": _repeated,
    "unwritten": _unwritten,
    "flushed": lambda X, tensor: np.where(
        np.abs(tensor) < np.finfo(tensor.dtype).tiny, np.copysign(tensor.dtype.type(0), tensor), tensor
    ),
    "plus_zero": lambda X, Y: np.where(Y == 0, np.zeros((), Y.dtype), Y),
    "at_least": lambda X, Y, least: np.maximum(Y, Y.dtype.type(least)),
    "axis_moved": lambda X, tensor, *places: np.moveaxis(tensor, *places),
    "plus": lambda X, Indices, number: Indices + number,
    "modulo": lambda X, Indices, start, stop=None: Indices % max(1, prod(X.shape[start:stop])),
}
"""Other tensors, X, Y or Indices; by X as the kernel gets it, and arguments."""


def seeded(X, outputs, seed, sentinel=None):
    """The outputs of a scan that starts from a number and needs something greater; it changes Y.

    ``sentinel`` is the index in the plane where the number is kept: ``row`` or ``column`` for the cell that would be before it.
    """
    (Y, Indices), seed = outputs, float(lowest(X.dtype) if seed == "lowest" else seed)
    kept = Y.astype(np.float64) <= seed
    Y[kept] = np.array(seed).astype(Y.dtype)
    if sentinel is not None:
        before = {"row": -X.shape[-1] - 1, "column": -X.shape[2] - 1}
        planes = np.arange(prod(Y.shape[:2])).reshape(*Y.shape[:2], *[1] * (X.ndim - 2)) * prod(X.shape[2:])
        Indices = np.where(kept, planes + before.get(sentinel, sentinel), Indices)
    return Y, Indices


def _with(function, *parameters):
    """A rule that computes with other arguments: numbers, or the values of other ones; maybe only rounding up, or if strided."""

    def rule(rounding_up=False, strided=False, **names):
        def step(*arguments):
            values = dict(zip(parameters, arguments, strict=True))
            if (not rounding_up or values["ceil"]) and (not strided or values["s"] > 1):
                values |= {name: values.get(value, value) for name, value in names.items()}
            return function(*values.values())

        return step

    return rule


def _by_bits(values, inside):
    integers = values.view(f"i{values.dtype.itemsize}").astype(np.int64)
    bits = np.where(inside & (values == values), integers, -(2**40))
    return (inside & (bits == bits.max(-1, keepdims=True))).argmax(-1)


def value_where_nan(where, gives="nan"):
    """The value where the window holds a NaN: NaN or the lowest number; ``where``: any, all, or the first of its cells."""

    def value(values, inside, taps):
        Y = right.value_of_the_tap(values, inside, taps)
        nan = inside & np.isnan(values.astype(np.float64))
        if where == "first":
            nan = np.take_along_axis(nan, inside.argmax(-1)[None, :, None], -1)
        hit = nan.any(-1) & (where != "all" or (nan | ~inside).all(-1))
        number = np.nan if gives == "nan" else float(lowest(Y.dtype))
        return np.where(hit, np.array(number).astype(Y.dtype), Y) if floating(Y) else Y

    return value


def _of_padding_alone(gives):
    def value(values, inside, taps):
        number = float(lowest(values.dtype)) if gives == "lowest" else gives
        return np.where(
            inside.any(-1), right.value_of_the_tap(values, inside, taps), np.array(number).astype(values.dtype)
        )

    return value


def _exchanged(first, second):
    """Of all spatial axes, only these two change their places."""

    def number(offsets, planes, shape, attributes):
        order = list(range(len(shape) - 2))
        order[first], order[second] = order[second], order[first]
        at, sizes = np.unravel_index(offsets, shape[2:]), [shape[2 + axis] for axis in order]
        return np.ravel_multi_index([at[axis] for axis in order], sizes) + planes * prod(sizes)

    return number


STEPS = {
    "size": {"with": _with(right.output_size, "n", "k", "s", "d", "b", "e", "ceil")},
    "same": {
        "with": _with(right.same_pads, "n", "k", "s", "d", "upper"),
        "rounded_down": lambda n, k, s, d, upper: (*right.same_pads(n, k, s, d, upper)[:2], max(1, n // s)),
    },
    "inside": {
        "first_taps_of_a_row": lambda most: (
            lambda position, axis: within(position, axis) & ((np.arange(axis.kernel) < most) | (axis.place < -1))
        ),
        "but_the_last": lambda place: (
            lambda position, axis: within(position, axis) & ((position < axis.size - 1) | (axis.place != place))
        ),
    },
    "pick": {
        "last": right.last_maximum,
        "by_bits": _by_bits,
        "named_in_bits": lambda bits: lambda values, inside: right.first_maximum(values, inside) & (2**bits - 1),
    },
    "value": {"where_nan": value_where_nan, "of_padding_alone": _of_padding_alone},
    "number": {"exchanged": _exchanged},
}
"""Wrong steps of the scan, by the argument that they are, or functions that return them of what ``kernels.yaml`` gives them."""

_REFUSALS = {"invalid": ValueError, "unsupported": ValueError}
_TENSORS_OF = {"Y": (0,), "Indices": (1,), "both": (0, 1)}
_TABLES = {"when": CONDITIONS, "attributes": ATTRIBUTES, "values": ATTRIBUTES, "X": TENSORS}
_TABLES |= dict.fromkeys(_TENSORS_OF, TENSORS)
_OTHERS = {"base", "refuses", "spec", "through", "reads", "scan", "starts_from"}


def mistakes_of(mutation: Mapping[str, Any]) -> list[Any]:
    """The words of a mutation that are not in the tables."""
    mistakes = [key for key in mutation if key not in _TABLES and key not in _OTHERS]
    mistakes += [each for key, table in _TABLES.items() for each in mutation.get(key, {}) if each not in table]
    for step, wrong in mutation.get("scan", {}).items():
        name = next(iter(wrong)) if isinstance(wrong, dict) else wrong
        mistakes += [f"{step}: {name}"] if step != "pad" and name not in STEPS.get(step, ()) else []
    return mistakes


def _applied(function, *arguments):
    """A function of some arguments and of the last one as YAML has it: a mapping, a list, one value, or true for none."""
    *first, last = arguments
    if isinstance(last, dict):
        return function(*first, **last)
    return function(*first, *(last if isinstance(last, list) else [] if last is True else [last]))


@dataclass(frozen=True)
class Kernel:
    """A kernel of a language with a mutation, which may have another kernel as its ``base``."""

    mutation: Mapping[str, Any]
    language: Language
    base: Callable[..., Any] | None = None

    def __call__(self, X, attributes, spec):
        """The outputs: Y, or Y and Indices."""
        call = Call(X, attributes, spec, self.language)
        if not all(CONDITIONS[name](call, argument) for name, argument in self.mutation.get("when", {}).items()):
            return self.language.correct(X, attributes, spec)
        with np.errstate(all="ignore"):
            outputs = self._pooled(call)
            changed = self._changed(call, outputs if isinstance(outputs, tuple) else (outputs,))
        return changed if isinstance(outputs, tuple) else changed[0]

    def _pooled(self, call):
        """The outputs for other attributes and another X, by other steps."""
        if "refuses" in self.mutation:
            raise _REFUSALS[self.mutation["refuses"]]("refused on purpose")
        call = replace(call, spec=self.mutation.get("spec", call.spec))
        attributes, X = call.attributes, call.X
        for name, argument in self.mutation.get("attributes", {}).items():
            attributes = ATTRIBUTES[name](call, attributes, argument)
        for name, argument in self.mutation.get("X", {}).items():
            X = _applied(TENSORS[name], call.X, X, argument)
        for name in self.mutation.get("through", ()):
            X = X.astype(name)
        call = replace(call, X=X, attributes=attributes)
        if self.base is not None:
            return self.base(X, attributes, *([call.spec] if self.language.specs else []))
        newest = self.language.specs[-1:]
        reads = {n: newest[0] if value == "newest" else value for n, value in self.mutation.get("reads", {}).items()}
        values = self.language.values(X, attributes, call.spec, **reads)
        for name, argument in self.mutation.get("values", {}).items():
            changed = ATTRIBUTES[name](call, values, argument)
            values = {name: value for name, value in changed.items() if name in values}
        steps = {step: self._step(step, wrong, X) for step, wrong in self.mutation.get("scan", {}).items()}
        return self.language.pooled(X, values, call.spec, **steps)

    def _step(self, step, wrong, X):
        if step == "pad":
            return lowest(X.dtype) if wrong == "lowest" else wrong if floating(X) else max(wrong, lowest(X.dtype))
        if isinstance(wrong, dict):
            ((name, argument),) = wrong.items()
            return _applied(STEPS[step][name], argument)
        return STEPS[step][wrong]

    def _changed(self, call, outputs):
        """Other outputs."""
        outputs = list(outputs)
        if "through" in self.mutation:
            outputs[0] = outputs[0].astype(call.X.dtype)
        for key, places in _TENSORS_OF.items():
            for name, argument in self.mutation.get(key, {}).items():
                for place in places:
                    outputs[place] = _applied(TENSORS[name], call.X, outputs[place], argument)
        if "starts_from" in self.mutation:
            return _applied(seeded, call.X, outputs, self.mutation["starts_from"])
        return tuple(outputs)
