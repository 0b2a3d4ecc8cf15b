"""A kernel behind the protocol of maxpool-check, in Python: one JSON line in, one out, until stdin ends.

It computes MaxPool as ONNX defines it, for explicit pads, one output cell after the other; the rest it cannot be asked.
"""

import base64
import itertools
import json
import struct
import sys

FORMATS = {"float32": "f", "float64": "d", "int8": "b", "uint8": "B"}


def answer(request):
    """What to say to one question."""
    attributes, X = request["attributes"], request["inputs"]["X"]
    if attributes["auto_pad"] != "NOTSET" or attributes["ceil_mode"] or attributes["storage_order"]:
        return {"type": "unable", "message": "explicit pads, rounded down, counted row by row, and nothing else"}
    if X["dtype"] not in FORMATS:
        return {"type": "unable", "message": f"there is no {X['dtype']} here"}
    shape, rank = X["shape"], len(X["shape"]) - 2
    kernel, strides, dilations = (attributes[name] for name in ("kernel_shape", "strides", "dilations"))
    pads = attributes["pads"]
    lists_fit = (
        rank >= 1 and all(len(values) == rank for values in (kernel, strides, dilations)) and len(pads) == 2 * rank
    )
    if not lists_fit or min([*kernel, *strides, *dilations]) < 1 or min(pads) < 0:
        return {"type": "refusal", "status": "INVALID_ARGUMENT", "message": f"bad attributes {attributes}"}
    spans = [
        n + b + e - (k - 1) * d - 1
        for n, k, d, b, e in zip(shape[2:], kernel, dilations, pads[:rank], pads[rank:], strict=True)
    ]
    if min(spans) < 0:
        return {"type": "refusal", "status": "INVALID_ARGUMENT", "message": "the window is larger than the input"}
    count = 1
    for size in shape:
        count *= size
    values = struct.unpack(f"<{count}{FORMATS[X['dtype']]}", base64.b64decode(X["data"]))
    step = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        step[axis] = step[axis + 1] * shape[axis + 1]
    output = [*shape[:2], *(span // s + 1 for span, s in zip(spans, strides, strict=True))]
    Y, Indices = [], []
    for n, c, *at in itertools.product(*map(range, output)):
        best = None
        for tap in itertools.product(*map(range, kernel)):
            position = [i * s - b + t * d for i, s, b, t, d in zip(at, strides, pads, tap, dilations, strict=False)]
            if all(0 <= p < size for p, size in zip(position, shape[2:], strict=True)):
                cell = sum(p * s for p, s in zip((n, c, *position), step, strict=True))
                if best is None or values[cell] > values[best]:
                    best = cell
        Y.append(0 if best is None else values[best])
        Indices.append(-1 if best is None else best)
    tensors = {"Y": (X["dtype"], FORMATS[X["dtype"]], Y), "Indices": ("int64", "q", Indices)}
    outputs = {}
    for name in request["outputs"]:
        dtype, letter, found = tensors[name]
        data = base64.b64encode(struct.pack(f"<{len(found)}{letter}", *found)).decode()
        outputs[name] = {"dtype": dtype, "shape": output, "data": data}
    return {"type": "answer", "outputs": outputs}


def main():
    """Shake hands, then answer."""
    json.loads(sys.stdin.readline())
    print(json.dumps({"type": "ready", "protocol": 1, "distribution": "example", "version": "1.0"}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            said = answer(request)
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            said = {"type": "refusal", "status": "INVALID_ARGUMENT", "message": repr(error)}
        print(json.dumps({"id": request["id"], **said}), flush=True)


if __name__ == "__main__":
    main()
