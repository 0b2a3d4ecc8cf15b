"""A kernel behind the protocol of maxpool-check, in Python: one JSON line in, one out, until stdin ends.

It computes MaxPool as ONNX defines it, for explicit pads, one output cell after the other; it cannot express the rest.
"""

import base64
import itertools
import json
import struct
import sys

FORMATS = {"float32": "f", "float64": "d", "int8": "b", "uint8": "B"}


def unfit(attributes, X):
    """Why a request cannot be expressed here, or None."""
    if attributes["auto_pad"] != "NOTSET" or attributes["ceil_mode"] or attributes["storage_order"]:
        return "explicit pads, rounded down, counted row by row, and nothing else"
    return None if X["dtype"] in FORMATS else f"there is no {X['dtype']} here"


def sizes(shape, kernel, strides, dilations, pads):
    """The output sizes; ValueError for what has none."""
    rank = len(shape) - 2
    if rank < 1 or any(len(values) != rank for values in (kernel, strides, dilations)) or len(pads) != 2 * rank:
        raise ValueError("lists of another length than there are spatial axes")
    if min([*kernel, *strides, *dilations]) < 1 or min(pads) < 0:
        raise ValueError("a kernel, stride or dilation below 1, or a negative pad")
    rows = zip(shape[2:], kernel, dilations, pads[:rank], pads[rank:], strict=True)
    spans = [n + b + e - (k - 1) * d - 1 for n, k, d, b, e in rows]
    if min(spans) < 0:
        raise ValueError("the window is larger than the input")
    return [*shape[:2], *(span // s + 1 for span, s in zip(spans, strides, strict=True))]


def respond(request):
    """The message about one request."""
    attributes, X = request["attributes"], request["inputs"]["X"]
    why = unfit(attributes, X)
    if why:
        return {"type": "unable", "message": why}
    shape = X["shape"]
    kernel, strides, dilations = (attributes[name] for name in ("kernel_shape", "strides", "dilations"))
    output = sizes(shape, kernel, strides, dilations, attributes["pads"])
    data = base64.b64decode(X["data"])
    letter = FORMATS[X["dtype"]]
    values = struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data)
    Y, Indices = [], []
    for n, c, *at in itertools.product(*map(range, output)):
        best = None
        for tap in itertools.product(*map(range, kernel)):
            position = [
                i * s - b + t * d
                for i, s, b, t, d in zip(at, strides, attributes["pads"], tap, dilations, strict=False)
            ]
            if all(0 <= p < size for p, size in zip(position, shape[2:], strict=True)):
                cell = 0
                for p, size in zip((n, c, *position), shape, strict=True):
                    cell = cell * size + p
                if best is None or values[cell] > values[best]:
                    best = cell
        Y.append(0 if best is None else values[best])
        Indices.append(-1 if best is None else best)
    outputs = {}
    for name in request["outputs"]:
        dtype, code, numbers = {"Y": (X["dtype"], letter, Y), "Indices": ("int64", "q", Indices)}[name]
        text = base64.b64encode(struct.pack(f"<{len(numbers)}{code}", *numbers)).decode()
        outputs[name] = {"dtype": dtype, "shape": output, "data": text}
    return {"type": "result", "outputs": outputs}


def main():
    """Shake hands, then serve requests."""
    json.loads(sys.stdin.readline())
    print(
        json.dumps(
            {"type": "ready", "protocol": 1, "distribution": "example", "version": "1.0", "dtypes": list(FORMATS)}
        ),
        flush=True,
    )
    for line in sys.stdin:
        request = json.loads(line)
        try:
            message = respond(request)
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            message = {"type": "refusal", "status": "INVALID_ARGUMENT", "message": repr(error)}
        print(json.dumps({"id": request["id"], **message}), flush=True)


if __name__ == "__main__":
    main()
