"""The smallest case there is, to see whether a target answers at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case, Origin
from maxpool_check.specifications import DEFAULT, specification


def smallest(language: str) -> Case:
    """A window of two cells, in a language's own document where it is one: ordinary numbers, nothing left open."""
    if language == "xmos-maxpool2d":
        X = np.arange(8, dtype=np.int8).reshape(1, 2, 4)
        attributes: dict[str, Any] = {
            "Y_h": 1,
            "Y_w": 1,
            "K_h": 1,
            "K_w": 2,
            "W_r0": 0,
            "W_c0": 0,
            "W_vert": 1,
            "W_hori": 1,
        }
        name = language
    else:
        X, attributes, name = np.array([[[[1, 2]]]], np.float32), {"kernel_shape": [1, 2]}, DEFAULT
    return Case(
        id="smallest", title="A window of two cells", spec=name, covers=(), tags=(), X=X, attributes=attributes,
        outputs=("Y",), policies=specification(name).policies, expect=None, erratum=None, origin=Origin("", 0, 0),
    )  # fmt: skip
