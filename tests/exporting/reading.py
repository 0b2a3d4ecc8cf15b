"""What somebody makes of exported vectors who has the JSON alone: no function of the package."""

import itertools

_SIZES = {"bool": 1, "int8": 1, "uint8": 1, "float16": 2, "bfloat16": 2, "int16": 2, "uint16": 2, "float32": 4, "int32": 4,
          "uint32": 4, "float64": 8, "int64": 8, "uint64": 8}  # fmt: skip
_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}


def is_nan(dtype, value):
    """Whether the bytes of a value are those of a NaN."""
    if dtype not in _INFINITY:
        return False
    bits = int.from_bytes(value, "little")
    return bits & ((1 << (8 * len(value) - 1)) - 1) > _INFINITY[dtype]


def is_same(dtype, a, b):
    """Whether two values in bytes are the same: equal bits, or both NaN."""
    return a == b or (is_nan(dtype, a) and is_nan(dtype, b))


def split(tensor):
    """The values of a tensor, each as bytes."""
    data, size = bytes.fromhex(tensor["hex"]), _SIZES[tensor["dtype"]]
    return [data[at : at + size] for at in range(0, len(data), size)]


def is_right(expected, actual):
    """Whether each cell of an output has one of its right values."""
    if (expected["dtype"], expected["shape"]) != (actual["dtype"], actual["shape"]):
        return False
    also = {}
    for at, value in expected.get("also", ()):
        also.setdefault(at, []).append(value)
    return all(
        is_same(expected["dtype"], value, other) or any(_allows(expected, more, other) for more in also.get(at, ()))
        for at, (value, other) in enumerate(zip(split(expected), split(actual), strict=True))
    )


def _allows(expected, value, actual):
    if value is None:
        return True
    if value == "no-cell":
        return not 0 <= int.from_bytes(actual, "little", signed=True) < expected["bound"]
    return is_same(expected["dtype"], bytes.fromhex(value), actual)


def agrees(result, outputs):
    """Whether outputs are those of one result: of those that are there, every cell, and the pairs."""
    if not all(is_right(result["outputs"][name], tensor) for name, tensor in outputs.items()):
        return False
    if not {"Y", "Indices"} <= outputs.keys():
        return True
    Y, Indices = split(outputs["Y"]), split(outputs["Indices"])
    pairs = itertools.groupby(result.get("together", ()), lambda entry: entry[:2])
    return all(
        any(
            is_same(outputs["Y"]["dtype"], bytes.fromhex(value), Y[at]) and bytes.fromhex(number) == Indices[cell]
            for *_, value, number in allowed
        )
        for (at, cell), allowed in pairs
    )


def accepts(test, outputs):
    """Whether a test accepts what a runtime returned; None: it refused the graph."""
    if outputs is None:
        return test["result"] != "valid"
    if test["result"] == "acceptable" and not test["results"]:
        return True
    return test["result"] != "invalid" and any(agrees(result, outputs) for result in test["results"])
