"""How the models of tests are written."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper, parser


def versions(**domains):
    """The operator sets that a model imports; ``onnx`` stands for the domain of ONNX itself."""
    names = {"onnx": "", "microsoft": "com.microsoft"}
    return [helper.make_opsetid(names.get(name, name), number) for name, number in domains.items()]


def written(text, weights=None, **domains):
    """A model written in ONNX's own text, with the oldest format that its operator set allows.

    ``weights`` maps initializers to shapes or arrays; of shapes, normal values are drawn. The name of a node stands in
    brackets before it. Names that the text cannot spell are set afterwards.
    """
    imports = versions(**(domains or {"onnx": 22}))
    oldest = helper.find_min_ir_version_for(
        [each for each in imports if not each.domain] or imports, ignore_unknown=True
    )
    declared = ", ".join(f'"{each.domain}" : {each.version}' for each in imports)
    model = parser.parse_model(f"<ir_version: {oldest}, opset_import: [{declared}]> {text}")
    model.graph.initializer.extend(initializers(weights or {}))
    model.producer_name = "maxpool-check tests"
    return model


def initializers(weights, seed=7):
    """Initializers of arrays, or of shapes, for which small normal values are drawn in their order."""
    random = np.random.default_rng(seed)
    for name, value in weights.items():
        if isinstance(value, tuple):
            value = random.normal(0, 0.5, value).astype(np.float32)
        yield numpy_helper.from_array(np.asarray(value), name)


def saved(model, folder, name="model.onnx"):
    """Write a model; give its path."""
    path = folder / name
    path.write_bytes(model.SerializeToString())
    return path


def keep_outside(model, name, location, offset=0, length=None):
    """Let an initializer of a model, or of a graph, have its values in a file; give the bytes that belong there."""
    tensor = next(each for each in getattr(model, "graph", model).initializer if each.name == name)
    values = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": location, "offset": offset, "length": len(values) if length is None else length}
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return values
