"""Models with values in files beside them; each function writes into a folder and gives the path of the model."""

from functools import partial

from tests.models.writing import keep_outside, saved
from tests.models.zoo import plain


def external(folder, most=None, **entries):
    """A model whose first Conv has its weights in a file beside it, of at most so many bytes.

    ``entries`` replace those that say where they are, as ``offset="-1"`` or ``length="many"``.
    """
    model = plain()
    values = keep_outside(model, "W", "weights.bin", offset=64)
    (folder / "weights.bin").write_bytes((bytes(64) + values)[:most])
    for entry in outside(model).external_data:
        entry.value = entries.get(entry.key, entry.value)
    return saved(model, folder)


def outside(model):
    """The tensor whose values are in a file."""
    return next(each for each in model.graph.initializer if each.external_data)


def external_missing(folder):
    """As `external`, but the file is not there."""
    path = external(folder)
    (folder / "weights.bin").unlink()
    return path


# With other entries than the right ones, and the values at the beginning.
external_number = partial(external, offset="0")
# The file ends before the values do.
external_short = partial(external, most=10, offset="0")


def external_larger(folder, size, name="W", sizes=()):
    """A model with one tensor, by default the weights of the first Conv, in a file of so many bytes that takes no room.

    No length is given; ``sizes`` are other dims.
    """
    model = plain()
    values = keep_outside(model, name, "weights.bin")
    del outside(model).external_data[-1]
    outside(model).dims[:] = sizes or outside(model).dims
    with (folder / "weights.bin").open("wb") as weights:
        weights.write(values)
        weights.truncate(size)
    return saved(model, folder)


def external_outside(folder, way="parent"):
    """A model whose weights are in a file outside of its folder, which exists.

    ``way`` is how they are reached: "parent" by ``..``, "absolute" by an absolute path, "link" by a symbolic link and
    "linked_folder" by a folder that is one.
    """
    inner, secret = folder / "inner", folder / "secret.bin"
    inner.mkdir()
    (inner / "link.bin").symlink_to(secret)
    (inner / "linked").symlink_to(folder)
    locations = {"parent": "../secret.bin", "link": "link.bin", "linked_folder": "linked/secret.bin"}
    model = plain()
    secret.write_bytes(keep_outside(model, "W", locations.get(way, secret)))
    return saved(model, inner)
