"""A kernel behind the protocol of maxpool-check, in Python: one JSON line in, one out, until stdin ends.

It computes MaxPool as ONNX defines it, for explicit pads, one output cell after the other; it cannot express the rest.
"""

import base64
import itertools
import json
import sys

import numpy as np

DTYPES = ["float32", "float64", "int8", "uint8"]


def respond(request):
    """The message about one request."""
    attributes, X = request["attributes"], request["inputs"]["X"]
    if attributes["auto_pad"] != "NOTSET" or attributes["ceil_mode"] or attributes["storage_order"]:
        return {"type": "unable", "message": "explicit pads, rounded down, counted row by row, and nothing else"}
    shape, pads = X["shape"], attributes["pads"]
    kernel, strides, dilations = (attributes[name] for name in ("kernel_shape", "strides", "dilations"))
    begin, end = pads[: len(pads) // 2], pads[len(pads) // 2 :]
    if len(attributes) != 7 or min([*kernel, *strides, *dilations]) < 1 or min(pads) < 0:
        raise ValueError("other attributes than ONNX's, a kernel, stride or dilation below 1, or a negative pad")
    spans = [
        n + b + e - (k - 1) * d - 1 for n, k, d, b, e in zip(shape[2:], kernel, dilations, begin, end, strict=True)
    ]
    if min(spans) < 0:
        raise ValueError("the window is larger than the input")
    output = [*shape[:2], *(span // s + 1 for span, s in zip(spans, strides, strict=True))]
    values = np.frombuffer(base64.b64decode(X["data"]), X["dtype"])
    Y, Indices = [], []
    for n, c, *at in itertools.product(*map(range, output)):
        best = None
        for tap in itertools.product(*map(range, kernel)):
            position = [i * s - b + t * d for i, s, b, t, d in zip(at, strides, begin, tap, dilations, strict=True)]
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
        tensor = np.array(Y, X["dtype"]) if name == "Y" else np.array(Indices, np.int64)
        data = base64.b64encode(tensor.tobytes()).decode()
        outputs[name] = {"dtype": tensor.dtype.name, "shape": output, "data": data}
    return {"type": "result", "outputs": outputs}


def main():
    """Shake hands, then serve requests."""
    json.loads(sys.stdin.readline())
    ready = {"type": "ready", "protocol": 1, "distribution": "example", "version": "1.0", "dtypes": DTYPES}
    print(json.dumps(ready), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            message = respond(request)
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            message = {"type": "refusal", "status": "INVALID_ARGUMENT", "message": repr(error)}
        print(json.dumps({"id": request["id"], **message}), flush=True)


if __name__ == "__main__":
    main()
