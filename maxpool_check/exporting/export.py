"""An export: files for other programs, the manifest with their digests, and what was left out."""

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import maxpool_check
from maxpool_check import inert
from maxpool_check.corpus.case import Case
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.clauses import edition_name, editions

MANIFEST, MANIFEST_SCHEMA = "manifest.json", "maxpool-check/export/1"

MOST_CELLS = 2**17
"""The most cells of an X or Y that is exported, unless the user sets another limit: a file in text has to hold them."""


@dataclass(frozen=True, order=True)
class LeftOutCase:
    """A case that is not exported, in all variants or (``variant``) in one, and why."""

    case: str
    variant: str | None
    why: str


@dataclass(frozen=True)
class LeftOutCount:
    """How many cases are left out for a reason: ``whole``, in all variants; ``partly``, while another variant is exported."""

    whole: int
    partly: int


@dataclass(frozen=True)
class Export:
    """The files of an export by their paths, with ``/``.

    ``cases`` says of each exported case, by id, its digest and where it is. ``documents`` are the names of their documents.
    ``limits`` is what the form cannot hold or cannot check, for the manifest.
    """

    form: str
    files: Mapping[str, bytes]
    cases: Mapping[str, Mapping[str, Any]]
    left_out: Sequence[LeftOutCase]
    documents: Sequence[str]
    limits: Mapping[str, Any]

    @property
    def reasons(self) -> Mapping[str, "LeftOutCount"]:
        """How many cases are left out for each reason, the most frequent first; what differs from case to case is not told apart.

        Each case counts once: for the first of its reasons.
        """
        first: dict[str, str] = {}
        for each in sorted(self.left_out, key=lambda each: (each.case, each.variant or "", each.why)):
            first.setdefault(each.case, each.why.partition(": ")[0])
        whole = Counter(why for case, why in first.items() if case not in self.cases)
        partly = Counter(why for case, why in first.items() if case in self.cases)
        order = sorted({*first.values()}, key=lambda why: (-whole[why], -partly[why], why))
        return {why: LeftOutCount(whole[why], partly[why]) for why in order}

    def manifest(self) -> bytes:
        """The manifest: digests of every file and case, the versions, what was left out."""
        data = {
            "schema": MANIFEST_SCHEMA,
            "format": self.form,
            "tool": {"name": "maxpool-check", "version": maxpool_check.__version__},
            "documents": [document_data(name) for name in self.documents],
            "limits": self.limits,
            "files": {path: hashlib.sha256(content).hexdigest() for path, content in sorted(self.files.items())},
            "cases": dict(sorted(self.cases.items())),
            "left_out": [
                {"case": each.case, **({"variant": each.variant} if each.variant else {}), "why": each.why}
                for each in sorted(self.left_out, key=lambda each: (each.case, each.variant or "", each.why))
            ],
        }
        return (inert.dumps(data, indent=1) + "\n").encode()


def document_data(name: str) -> dict[str, str]:
    """A document as plain data, with the edition that was read."""
    document = specification(name)
    data = {"name": name, "title": document.title, "layout": document.layout.value}
    edition = editions().get(name)
    if edition is not None:
        data["edition"] = f"{edition_name(name)}: {edition.title}"
        if edition.sha256:
            data["sha256"] = edition.sha256
    return data


def too_large(case: Case, most_cells: int) -> str | None:
    """Why a case is too large for an export whose tensors have at most ``most_cells`` cells; None if it is not."""
    cells = case.X.size
    if isinstance(case.resolved, Pooling):
        cells = max(cells, math.prod(case.entering.shape[:2]) * math.prod(case.resolved.output_sizes))
    return None if cells <= most_cells else f"a tensor of more than {most_cells} cells (--largest): it has {cells}"
