"""What a vector has: what a kernel may lack, the bins of the corpus, and further traits, by which vectors are chosen."""

import math
import re

from maxpool_check.corpus.features import bins
from maxpool_check.exporting.vectors import tensor_of
from maxpool_check.reference.dtypes import is_float

AXIS = ("size", "kernel", "stride", "dilation", "begin", "end", "windows")
ATTRIBUTES = {
    "dilations": "dilations", "ceil_mode": "ceil_mode", "rounding_type": "ceil_mode", "storage_order": "storage_order",
    "activation": "activation", "auto_pad": "auto_pad", "pads": "pads", "pads_begin": "pads", "pads_end": "pads", "strides": "strides",
}  # fmt: skip
"""What a wrong value of an attribute is about."""

USUAL = (0, "NOTSET", "explicit", "floor", "")


def features(case, test):
    """What a kernel may have or lack, which counts beside each other."""
    X, shape = tensor_of(test["inputs"]["X"]), core_shape(case)
    windows = [axis for result in test["results"] for axis in result["windows"]]
    attributes = {ATTRIBUTES[name]: value for name, value in test["attributes"].items() if name in ATTRIBUTES}
    unusual = {name for name, value in attributes.items() if value not in USUAL}
    has = {
        "indices": test["outputs"] == ["Indices"],
        "dilations": any(axis[3] > 1 for axis in windows), "strides": any(axis[2] > 1 for axis in windows),
        "pads": any(axis[4] or axis[5] for axis in windows), "auto_pad": "auto_pad" in unusual,
        "ceil_mode": "ceil_mode" in unusual, "activation": "activation" in unusual, "storage_order": "storage_order" in unusual,
        "batches": shape[0] > 1, "channels": shape[1] > 1, "refusals": "refusal" in test,
        "nan": is_float(X.dtype) and bool((X != X).any()), "infinities": is_float(X.dtype) and bool((abs(X) == math.inf).any()),
    }  # fmt: skip
    if "refusal" in test:
        # The message says which attribute is wrong.
        has |= {name: True for name in ATTRIBUTES.values() if re.search(rf"\b{name}\b", test["refusal"]["message"])}
    names = {name for name, holds in has.items() if holds}
    bins_of_case = {f"{factor}={bin_}" for factor, bin_ in bins(case).items() if factor not in ("dtype", "rank")}
    return sorted({f"dtype={X.dtype.name}", f"axes={len(shape) - 2}", *names, *bins_of_case})


def traits(case, test):
    """Further ones: the file and the clauses of the case, why it must be refused, and the magnitudes of its sizes."""
    found = {f"file {case.id.partition(':')[0]}", *(f"clause {name}" for name in case.covers)}
    if "refusal" in test:
        found.add(re.sub("[1-9][0-9]*", "1", test["refusal"]["message"]))
    shape, geometry = core_shape(case), [axis for result in test["results"][:1] for axis in result["windows"]]
    sizes = {
        "batch": shape[0],
        "channels": shape[1],
        "cells": math.prod(shape),
        "taps": math.prod(axis[1] for axis in geometry),
    }
    sizes |= {
        f"{name} of axis {place - len(geometry)}": value
        for place, axis in enumerate(geometry)
        for name, value in zip(AXIS, axis, strict=True)
    }
    found |= {f"{name} {magnitude(value)}" for name, value in sizes.items()}
    found |= {
        f"{name} {'is' if value % block == 0 else 'is no'} multiple of {block}"
        for name, value in sizes.items() if name.startswith(("channels", "size"))
        for block in (4, 8, 16) if value >= block
    }  # fmt: skip
    return sorted(found)


def core_shape(case):
    """N x C x D1 x ... x Dn, as far as X has them."""
    shape = case.X.shape
    return case.specification.layout.sizes(shape) if len(shape) >= 3 else (*shape, 1, 1)[:2]


def magnitude(value):
    """A number up to 4, or between which powers of two it is; a power of two is apart from the numbers above it."""
    return str(value) if value <= 4 else f"of {int(value).bit_length()} bits, {int(value - 1).bit_length()} of one less"
