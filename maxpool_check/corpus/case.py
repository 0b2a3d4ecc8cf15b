"""One variant, complete."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.refused import Reason, Refused
from maxpool_check.specifications.specification import Specification


@dataclass(frozen=True, eq=False)
class Values:
    """The outputs a document prints; either may be left out."""

    Y: np.ndarray | None
    Indices: np.ndarray | None


@dataclass(frozen=True)
class Shape:
    """Only the shape of the outputs is printed."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Refusal:
    """The graph must be refused."""

    reason: Reason


@dataclass(frozen=True)
class Undefined:
    """The document gives no result."""

    what: str


Expectation = Values | Shape | Refusal | Undefined


@dataclass(frozen=True)
class Origin:
    """Where a case is written: file, line and column, from 1."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, eq=False)
class Case:
    """One variant: a document, its attributes, an input, and what is asked for.

    ``id`` is the full one, ``sonnx/float:float-example-3``. ``X`` has the document's layout. ``policies`` are the
    document's, with those the case overrides. ``provenance`` says where a case of another suite comes from: the suite,
    its version, and the name it has there.
    """

    id: str
    title: str
    spec: str
    covers: tuple[str, ...]
    tags: tuple[str, ...]
    X: np.ndarray
    attributes: Mapping[str, Any]
    outputs: tuple[str, ...]
    policies: Policies
    expect: Expectation | None
    erratum: str | None
    origin: Origin
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def specification(self) -> Specification:
        """The document it is judged by."""
        return specification(self.spec)

    @cached_property
    def resolved(self) -> Pooling | Refused:
        """What the document makes of it."""
        return self.resolved_by(self.specification)

    def resolved_by(self, document: Specification) -> Pooling | Refused:
        """What a document makes of the same attributes and input."""
        try:
            return document.pooling(self.attributes, name_of(self.X.dtype), self.X.shape, self.policies)
        except Refused as refused:
            return refused

    @cached_property
    def sha256(self) -> str:
        """The digest of everything that decides the answer: two cases with the same one ask the same."""
        asked = {
            "spec": self.spec,
            "attributes": self.attributes,
            "dtype": name_of(self.X.dtype),
            "shape": self.X.shape,
            "outputs": self.outputs,
            "policies": self.policies.names(),
        }
        digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode())
        digest.update(self.X.tobytes())
        return digest.hexdigest()
