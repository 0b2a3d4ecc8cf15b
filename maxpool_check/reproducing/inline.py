"""Models and arrays as text in a script, where the text is short and gives the same bits when it is read."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.printer
from onnx import numpy_helper

_MOST_CELLS, _MOST_LINES = 64, 40
"""The most cells of an array, and the most lines of a model and of all arrays, that a script shows."""


def model_text(model: bytes) -> str | None:
    """A model in ONNX's text form; None if the text is long, or onnx reads another model from it."""
    proto = onnx.load_from_string(model)
    head, end, body = onnx.printer.to_text(proto).partition("\n>\n")
    text = re.sub(" +\n", "\n", f"{' '.join(head.split()).replace('< ', '<')}{end.strip()}\n{body.strip()}")
    if text.count("\n") >= _MOST_LINES or '"""' in text or not re.fullmatch(r"[ -\[\]-~\n]*", text):
        return None
    try:
        parsed = onnx.parser.parse_model(text)
    except onnx.parser.ParseError:
        return None
    for each in (proto, parsed):
        _normalize(each)
    return text if parsed == proto else None


def _normalize(message: Any) -> None:
    """Write tensors as bytes, and leave out domains that are empty: both have several forms that mean the same."""
    if isinstance(message, onnx.TensorProto):
        message.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(message), message.name))
        return
    if isinstance(message, onnx.NodeProto) and not message.domain:
        message.ClearField("domain")
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if hasattr(value, "append") else [value]:
                _normalize(each)


def arrays_text(arrays: Mapping[str, np.ndarray]) -> str | None:
    """A dictionary of arrays as Python writes it; None if it is long, or Python reads other bits from it."""
    if any(array.size > _MOST_CELLS for array in arrays.values()):
        return None
    text = "\n".join(["{", *(_entry(name, array) for name, array in arrays.items()), "}"])
    if text.count("\n") >= _MOST_LINES:
        return None
    read = eval(text, {"np": np})
    same = [(each.shape, each.tobytes()) for each in read.values()]
    return text if same == [(each.shape, each.tobytes()) for each in arrays.values()] else None


def _entry(name: str, array: np.ndarray) -> str:
    dtype, start = "bool" if array.dtype == bool else f"np.{array.dtype.name}", f'    "{name}": np.array('
    if not any(array.tobytes()):
        return f'    "{name}": np.zeros({array.shape}, {dtype}),'
    numbers: Any = {"all": lambda each: re.sub("nan|inf", r"np.\g<0>", str(each))}
    text = np.array2string(array, 110, threshold=array.size, separator=", ", prefix=start, formatter=numbers)
    line = re.sub(r"\n\s*", " ", text)
    return start + (line if len(start + line) <= 106 else re.sub("\n+", "\n", text)) + f", {dtype}),"
