"""A case: one input, its attributes, and the document that defines the result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
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
    """Printed outputs; None where one is not printed. ``Y`` has the dtype of X, ``Indices`` int64."""

    Y: np.ndarray | None
    Indices: np.ndarray | None


@dataclass(frozen=True)
class Shape:
    """The printed shape of the outputs."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Refusal:
    """The graph must be refused, for this reason."""

    reason: Reason


@dataclass(frozen=True)
class Undefined:
    """The document does not define the result."""

    what: str


Expectation = Values | Shape | Refusal | Undefined


@dataclass(frozen=True)
class Origin:
    """The place of a case: file, line and column, counted from 1."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, eq=False)
class Case:
    """A document, attributes, an input, the requested outputs, and what is expected of them.

    ``id`` is the full id, e.g. ``sonnx/float:float-example-3``. ``spec`` is the document's name. ``X`` has the document's
    layout. ``policies`` are the document's, with the overrides of the case. ``provenance`` names the suite, version and
    file of an imported case.
    """

    id: str
    spec: str
    X: np.ndarray
    attributes: Mapping[str, Any]
    outputs: tuple[str, ...]
    policies: Policies
    title: str = ""
    covers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    expect: Expectation | None = None
    erratum: str | None = None
    origin: Origin = Origin("", 0, 0)
    provenance: Mapping[str, str] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[Case], tuple[Any, ...]]:
        """Pickle the fields only, without cached results."""
        return Case, tuple(getattr(self, entry.name) for entry in fields(self))

    @property
    def name(self) -> str:
        """The id inside its file."""
        return self.id.rpartition(":")[2]

    @property
    def specification(self) -> Specification:
        """The document that defines the result."""
        return specification(self.spec)

    @cached_property
    def resolved(self) -> Pooling | Refused:
        """The pooling that the document defines, or its refusal."""
        document = self.specification
        try:
            return document.pooling(self.attributes, name_of(self.X.dtype), self.X.shape, self.policies)
        except Refused as refusal:
            return refusal

    @cached_property
    def sha256(self) -> str:
        """The digest of everything that determines the result; cases with equal digests are equivalent."""
        content = {
            "spec": self.spec,
            "attributes": self.attributes,
            "dtype": name_of(self.X.dtype),
            "shape": self.X.shape,
            "outputs": self.outputs,
            "policies": self.policies.names(),
        }
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
        digest.update(self.X.tobytes())
        return digest.hexdigest()
