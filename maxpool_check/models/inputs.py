"""The inputs of a user's model: random values for its declared types, or values that the user gives."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from onnx import TensorProto, numpy_helper

from maxpool_check.corpus.random_tensors import draw
from maxpool_check.files import open_regular
from maxpool_check.models.model_file import BadModel, UserModel
from maxpool_check.models.ranges import Range
from maxpool_check.models.shapes import NOT_DECLARED, Types, type_of
from maxpool_check.reference.dtypes import NUMPY, is_float

MOST_INPUT_BYTES = 256 * 2**20
"""The largest tensor of a file that is read as an input."""

FIRST_SEED = 1
"""The seed of the random values of a model's first input; each further one has the next number."""


class CannotRun(ValueError):
    """A model that cannot be run as it is; the message says why."""


def random_inputs(model: UserModel, types: Types, ranges: Mapping[str, Range] | None = None) -> dict[str, np.ndarray]:
    """Random values for each input of a model, and each missing constant, by its type and shape; the same for the same model.

    ``ranges`` are those of inputs that have one, by name: standard deviations from -3 to 3 are spread over it.

    Raises :class:`CannotRun` for an input of another type than numbers and truth values, or of an unknown shape.
    """
    inputs = {}
    for seed, name in enumerate(dict.fromkeys([*(value.name for value in model.inputs), *model.missing]), FIRST_SEED):
        known = types.get(name)
        if known is not None and known.dtype != "bool" and known.dtype not in (*NUMPY, NOT_DECLARED.dtype):
            raise CannotRun(
                f"the input '{name}' is of {known.dtype}, which cannot be fed; with --allow-incomplete, the nodes alone count"
            )
        if known is None or (shape := known.shape) is None:
            raise CannotRun(
                f"the shape of the input '{name}' is not known: pass --shape '{name}=1,3,224,224', or --inputs"
            )
        if any(size > 2**31 for size in shape) or math.prod(shape) > MOST_INPUT_BYTES // 8:
            raise CannotRun(f"the input '{name}' of the shape {list(shape)} is too large")
        dtype = NUMPY.get(known.dtype, np.dtype(bool))
        # Other integers are numbers of tokens, lengths and the like, which must be small.
        has_values = is_float(dtype) or known.dtype in ("int8", "uint8")
        inputs[name] = draw("normal", seed, shape, dtype, False) if has_values else np.ones(shape, dtype)
        if (of := (ranges or {}).get(name)) is not None:
            middle, width = (of.low + of.high) / 2, (of.high - of.low) / 6
            spread = inputs[name] * width + middle if is_float(dtype) and math.isfinite(width) else inputs[name]
            inputs[name] = of.clipped(spread.astype(dtype))
    return inputs


def read_inputs(path: Path, model: UserModel) -> dict[str, np.ndarray]:
    """The inputs of a model: an .npz file with a tensor for each, or a folder with ``NAME.npy`` or ``input_0.pb`` and so on.

    Raises :class:`BadModel`, also for values that the model does not take.
    """
    names = [value.name for value in model.inputs]
    if path.suffix == ".npy" and not path.is_dir():
        raise BadModel(f"the inputs {path} are one tensor; pass an .npz file or a folder, which name the inputs")
    try:
        if path.is_dir():
            found = {file.stem: _tensor_of(file) for file in sorted(path.glob("*.npy"))}
            numbered = [file for number in range(len(names)) if (file := path / f"input_{number}.pb").is_file()]
            found |= {names[number]: _tensor_of(file) for number, file in enumerate(numbered)}
        else:
            with open_regular(path, MOST_INPUT_BYTES) as stream, np.load(stream, allow_pickle=False) as archive:
                found = {name: archive[name] for name in archive.files}
    except OSError as error:
        raise BadModel(f"the inputs {path} cannot be read: {error.strerror}") from error
    except Exception as error:  # numpy and zipfile raise errors of several types, with advice that is unsafe
        raise BadModel(
            f"the inputs {path} are no .npz file of tensors: numpy.savez('inputs.npz', X=X) writes one"
        ) from error
    unknown, missing = sorted(found.keys() - set(names)), [name for name in names if name not in found]
    if unknown or missing:
        parts = [f"has {', '.join(unknown)}, which the model does not take" if unknown else ""]
        parts += [f"lacks {', '.join(missing)}" if missing else ""]
        raise BadModel(f"{path} {' and '.join(filter(None, parts))}; the inputs of {model.path} are {', '.join(names)}")
    for value in model.inputs:
        declared, dtype, shape = type_of(value.type), found[value.name].dtype.name, found[value.name].shape
        if declared.dtype in NUMPY and dtype != declared.dtype:
            raise BadModel(f"{path}: '{value.name}' is {dtype}, the model takes {declared}")
        sizes = shape if declared.sizes is None else declared.sizes
        differs = any(isinstance(size, int) and size != given for size, given in zip(sizes, shape, strict=False))
        if differs or len(sizes) != len(shape):
            raise BadModel(f"{path}: '{value.name}' has the shape {list(shape)}, the model takes {declared}")
    return found


def _tensor_of(file: Path) -> np.ndarray:
    with open_regular(file, MOST_INPUT_BYTES) as stream:
        if file.suffix == ".npy":
            return np.asarray(np.load(stream, allow_pickle=False))
        return np.asarray(numpy_helper.to_array(TensorProto.FromString(stream.read())))
