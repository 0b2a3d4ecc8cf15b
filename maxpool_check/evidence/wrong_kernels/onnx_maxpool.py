"""ONNX MaxPool of all versions, in the attributes that a graph has: its names, its defaults, and what it excludes."""

from documents import Choice, Lists, as_type, check_input, known, maxpool, read, well_typed

SPECS = ("onnx-1", "onnx-8", "onnx-10", "onnx-11", "onnx-12", "onnx-22")

_ATTRIBUTES = {
    "kernel_shape": Lists(1),
    "strides": Lists(1, 1),
    "dilations": Lists(1, 1),
    "pads": Lists(0, 0, each=2),
    "auto_pad": Choice(("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")),
    "ceil_mode": Choice((0, 1)),
    "storage_order": Choice((0, 1)),
}
_SINCE = {"storage_order": 8, "ceil_mode": 10, "dilations": 10}
_TYPES = {"float16": 1, "float32": 1, "float64": 1, "int8": 12, "uint8": 12, "bfloat16": 22}


def _version(spec):
    return int(spec.rpartition("-")[2])


def _table(spec):
    return {name: entry for name, entry in _ATTRIBUTES.items() if _SINCE.get(name, 1) <= _version(spec)}


def _pooled(X, values, **steps):
    return maxpool(
        X, values["kernel_shape"], values["strides"], values.get("dilations", [1] * (X.ndim - 2)), values["pads"],
        values["auto_pad"], values.get("ceil_mode") == 1, values.get("storage_order") == 1, **steps,
    )  # fmt: skip


def correct(X, attributes, spec):
    """Reads what its version has, takes defaults for the rest, and refuses what is excluded."""
    check_input(X, [name for name, since in _TYPES.items() if since <= _version(spec)], range(1, X.ndim))
    return _pooled(X, read(attributes, _table(spec), X.ndim - 2))


def takes_attributes_of_all_versions(X, attributes, spec):
    """Reads attributes that the version does not have yet. Seen: runtimes with one importer for all versions."""
    check_input(X, [name for name, since in _TYPES.items() if since <= _version(spec)], range(1, X.ndim))
    return _pooled(X, read(attributes, _ATTRIBUTES, X.ndim - 2))


def passes_over_unknown_attributes(X, attributes, spec):
    """Passes over attributes that the version does not have. Plausible: an importer that asks for names that it knows."""
    return correct(X, known(attributes, _table(spec)), spec)


def passes_over_values_of_another_type(X, attributes, spec):
    """Takes the default where a value has another type, 1 for a kernel that is missing. Plausible: get_attribute(name, default)."""
    attributes = well_typed(attributes, _ATTRIBUTES)
    return correct(X, {"kernel_shape": [1] * (X.ndim - 2), **attributes}, spec)


def needs_all_attributes(X, attributes, spec):
    """Refuses a graph that leaves an attribute out. Plausible: an importer without defaults."""
    if set(_table(spec)) - set(attributes):
        raise ValueError("an attribute is missing")
    return correct(X, attributes, spec)


def needs_strides(X, attributes, spec):
    """Refuses a graph without strides. Seen: OpenVINO, whose own MaxPool requires them."""
    if "strides" not in attributes:
        raise ValueError("strides is missing")
    return correct(X, attributes, spec)


def needs_dilations(X, attributes, spec):
    """Refuses a graph without dilations where its version has them. Plausible: an importer without this default."""
    if "dilations" in _table(spec) and "dilations" not in attributes:
        raise ValueError("dilations is missing")
    return correct(X, attributes, spec)


def strides_are_the_kernel_by_default(X, attributes, spec):
    """Takes the kernel for strides that are missing. Seen: the default of PyTorch."""
    return correct(X, {"strides": attributes.get("kernel_shape"), **attributes}, spec)


def dilations_are_the_strides_by_default(X, attributes, spec):
    """Takes the strides for dilations that are missing. Plausible: a default that was copied from the line before."""
    if "dilations" not in _table(spec) or "strides" not in attributes:
        return correct(X, attributes, spec)
    return correct(X, {"dilations": attributes["strides"], **attributes}, spec)


def pads_by_default(X, attributes, spec):
    """Pads like SAME_UPPER where pads and auto_pad are missing. Plausible: frameworks whose padding is "same" by default."""
    if "pads" in attributes:
        return correct(X, attributes, spec)
    return correct(X, {"auto_pad": "SAME_UPPER", **attributes}, spec)


def notset_is_valid(X, attributes, spec):
    """Passes over pads unless auto_pad says otherwise. Plausible: NOTSET taken for "not padded"."""
    return correct(X, {"auto_pad": "VALID", **{n: v for n, v in attributes.items() if v != "NOTSET"}}, spec)


def rounds_up_by_default(X, attributes, spec):
    """Rounds the output size up where ceil_mode is missing. Seen: Caffe, which rounds up always."""
    return correct(X, {"ceil_mode": 1, **attributes} if "ceil_mode" in _table(spec) else attributes, spec)


def rounds_up_in_old_versions(X, attributes, spec):
    """Rounds the output size up in versions without ceil_mode. Plausible: converters from Caffe, which rounds up."""
    if _version(spec) >= 10:
        return correct(X, attributes, spec)
    return correct(X, {"ceil_mode": 1, **attributes}, "onnx-11")


def columns_by_default(X, attributes, spec):
    """Counts down the columns where storage_order is missing. Plausible: a library of Fortran or MATLAB."""
    return correct(X, {"storage_order": 1, **attributes} if "storage_order" in _table(spec) else attributes, spec)


def large_pads_are_refused(X, attributes, spec):
    """Refuses a pad that is as large as the kernel. Seen: ONNX Runtime, PyTorch."""
    values = read(attributes, _table(spec), X.ndim - 2)
    pairs = zip(values["pads"], values["kernel_shape"] * 2, strict=True)
    if values["auto_pad"] == "NOTSET" and any(pad >= size for pad, size in pairs):
        raise ValueError("a pad is not smaller than the kernel")
    return correct(X, attributes, spec)


def prefers_pads_to_auto_pad(X, attributes, spec):
    """Pads by pads beside auto_pad. Plausible: auto_pad is read only where pads is missing."""
    if attributes.get("auto_pad") in ("VALID", "SAME_UPPER", "SAME_LOWER") and "pads" in attributes:
        attributes = {**attributes, "auto_pad": "NOTSET"}
    return correct(X, attributes, spec)


def pools_without_channels(X, attributes, spec):
    """Takes X without a batch or a channel for one of each. Seen: frameworks that accept C x H x W, as PyTorch."""
    if X.ndim >= 3 or not attributes.get("kernel_shape"):
        return correct(X, attributes, spec)
    rank = len(attributes["kernel_shape"])
    Y, Indices = correct(X.reshape(*[1] * (rank + 2 - X.ndim), *X.shape), attributes, spec)
    return Y.reshape(Y.shape[-X.ndim :]), Indices.reshape(Indices.shape[-X.ndim :])


def takes_types_of_all_versions(X, attributes, spec):
    """Pools types that the version does not have yet. Plausible: one kernel for all versions."""
    check_input(X, list(_TYPES), range(1, X.ndim))
    return _pooled(X, read(attributes, _table(spec), X.ndim - 2))


def takes_any_type(X, attributes, spec):
    """Pools every type. Plausible: a kernel that is a template."""
    check_input(X, [X.dtype.name], range(1, X.ndim))
    return _pooled(X, read(attributes, _table(spec), X.ndim - 2))


def pools_integers_as_floats(X, attributes, spec):
    """Pools integers that it does not have in float32. Plausible: a Cast that a converter adds."""
    return as_type(correct, X, attributes, spec, "float32") if X.dtype.kind in "iu" else correct(X, attributes, spec)
