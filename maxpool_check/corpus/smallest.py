"""The smallest case, to see whether a target returns anything at all."""

from __future__ import annotations

import numpy as np

from maxpool_check.corpus.case import Case, Origin
from maxpool_check.corpus.geometries import smallest_geometry
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.specifications import DEFAULT, SPECIFICATIONS, specification


def smallest(language: str) -> Case:
    """A window of two cells: ordinary numbers, nothing left open. ``language`` is what a target speaks, a document or not."""
    document = specification(language if language in SPECIFICATIONS else DEFAULT)
    drawn = smallest_geometry(document)
    shape = document.layout.arranged((1, document.channel_multiple, *drawn.sizes))
    dtype = NUMPY["float32" if "float32" in document.dtypes else document.dtypes[0]]
    attributes = {
        # What is required, and nothing else.
        name: value
        for name, value in drawn.attributes(document).items()
        if value != document.attributes[name].default_for(len(drawn.sizes))
    }
    return Case(
        id="smallest", title="A window of two cells", spec=document.name, covers=(), tags=(),
        X=np.arange(1, 1 + np.prod(shape)).astype(dtype).reshape(shape), attributes=attributes, outputs=("Y",),
        policies=document.policies, expect=None, erratum=None, origin=Origin("", 0, 0),
    )  # fmt: skip
