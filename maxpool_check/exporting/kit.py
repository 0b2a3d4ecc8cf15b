"""Kits: vectors of a document that notice wrong kernels, for programs that never run Python.

``kits/DOCUMENT.jsonl.xz`` has a pool of vectors, with their right outputs and with the mistakes that each notices: what wrong kernels do.
The first of them are the kit, which never changes. For a kernel that has less than its document, others are chosen from the whole pool.
"""

import lzma
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import msgspec
import numpy as np

from maxpool_check.specifications.specification import nearest

MOST_CELLS = 2**12
"""The most cells of a tensor of a vector, but for those that are made by a loop."""

MOST_VECTORS = 200
"""The most vectors of a kit."""

DRAWN = "kit/"
"""What the ids of vectors begin with that are no cases of the corpus."""

ABILITIES = (
    "indices", "dilations", "pads", "strides", "ceil_mode", "auto_pad", "storage_order", "activation", "batches", "channels", "nan",
    "infinities", "refusals",
)  # fmt: skip
"""What a kernel may lack, beside dtypes and numbers of spatial axes: batches and channels are more than one of them."""

_WEIGHTS = {"mistakes": (100, 80, 80), "traits": (40,), "mistakes with features": (4, 2), "pairs": (4,)}
"""What the first, second and third vector that has something count, by the sort of it."""

_KITS, _SUFFIX = resources.files(__package__).joinpath("kits"), ".jsonl.xz"


class KitVector(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A vector of a pool.

    ``test`` is what a file of vectors has of it, and ``policies`` what its group has. ``by_y`` are the mistakes that it notices by Y
    alone, ``with_indices`` those that it notices only if there are Indices, too. ``features`` are what the kernels of a document may
    have, such as ``dtype=int8`` or ``dilations``; ``traits`` are further ones, which count once. X of a ``large`` one is
    a cell that is repeated, and others that are set.
    """

    test: dict[str, Any]
    policies: dict[str, str]
    features: tuple[str, ...]
    traits: tuple[str, ...]
    by_y: tuple[str, ...] = ()
    with_indices: tuple[str, ...] = ()
    large: bool = False

    @property
    def id(self) -> str:
        """The id of its case."""
        return str(self.test["id"])


class KitAbout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a pool.

    ``vectors`` is the number of those that are the kit. ``mistakes`` says what each wrong kernel does, and ``missed`` are those that no
    vector notices. ``curve``: of the ``strangers``, wrong kernels for which nothing was chosen, how many the first vectors notice, as
    (vectors, noticed, noticed of the quarter that fewest cases notice).
    """

    name: str
    document: str
    vectors: int
    mistakes: dict[str, str]
    missed: tuple[str, ...]
    strangers: int
    curve: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class KitKernel:
    """What a kernel has: ``dtypes`` and numbers of spatial ``axes``, all if there are none, ``without`` some of :data:`ABILITIES`."""

    dtypes: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def has(self, vector: KitVector) -> bool:
        """Whether the kernel can compute or refuse a vector."""
        features = {*vector.features}
        return (
            not features.intersection(self.without)
            and (not self.dtypes or any(f"dtype={each}" in features for each in self.dtypes))
            and (not self.axes or any(f"axes={each}" in features for each in self.axes))
        )

    def notices(self, vector: KitVector) -> tuple[str, ...]:
        """The mistakes of such a kernel that a vector notices."""
        return vector.by_y + vector.with_indices if self.has_indices else vector.by_y

    def asked(self, vector: KitVector) -> KitVector:
        """A vector as the kernel gets it: without Indices if it gives none."""
        if self.has_indices or "Indices" not in vector.test["outputs"]:
            return vector
        results = [
            {"windows": each["windows"], "outputs": {"Y": each["outputs"]["Y"]}} for each in vector.test["results"]
        ]
        test = {**vector.test, "outputs": ["Y"], "results": results}
        return msgspec.structs.replace(vector, test=test, with_indices=())

    @property
    def has_indices(self) -> bool:
        """Whether it gives Indices."""
        return "indices" not in self.without

    @property
    def words(self) -> str:
        """What it has and lacks, in words; empty if it has everything."""
        axes = [f"{' or '.join(self.axes)} spatial {'axis' if self.axes == ('1',) else 'axes'}"] if self.axes else []
        lacks = (
            [f"without {' and '.join(filter(None, [', '.join(self.without[:-1]), self.without[-1]]))}"]
            if self.without
            else []
        )
        return ", ".join([*self.dtypes, *axes, *lacks])


EVERYTHING = KitKernel()
"""A kernel that has all that its document has."""


@dataclass(frozen=True)
class Kit:
    """A pool of vectors, of which the first are the kit."""

    about: KitAbout
    pool: Sequence[KitVector]

    def kernel(self, dtypes: Sequence[str] = (), axes: Sequence[str] = (), without: Sequence[str] = ()) -> KitKernel:
        """A kernel that has some dtypes and numbers of spatial axes, and lacks something. Raises ``ValueError`` for an unknown word."""
        computed = [vector for vector in self.pool if vector.test["result"] != "invalid"]
        features = {feature for vector in computed for feature in vector.features}
        for sort, words in (("dtype", dtypes), ("axes", axes)):
            known = sorted(each.removeprefix(f"{sort}=") for each in features if each.startswith(f"{sort}="))
            _check(words, known, f"{self.about.name} has nothing to compute with {sort}")
        _check(without, ABILITIES, "a kernel cannot be without")
        return KitKernel(tuple(dtypes), tuple(axes), tuple(without))

    def chosen(self, kernel: KitKernel) -> list[KitVector]:
        """The vectors for a kernel, the best first."""
        if kernel == EVERYTHING:
            return [*self.pool[: self.about.vectors]]
        able = [kernel.asked(vector) for vector in self.pool if not vector.large and kernel.has(vector)]
        return [able[at] for at in best_first(able)] if able else []

    def concerning(self, kernel: KitKernel) -> set[str]:
        """The mistakes that some vector notices which is for a kernel."""
        return {name for each in self.pool if kernel.has(each) for name in kernel.notices(each)}

    @property
    def of_corpus(self) -> list[KitVector]:
        """The vectors of the kit that are cases of the corpus."""
        return [vector for vector in self.chosen(EVERYTHING) if not vector.id.startswith(DRAWN)]

    def large(self, kernel: KitKernel) -> list[KitVector]:
        """The large vectors, for mistakes that no small one notices."""
        return [vector for vector in self.pool if vector.large and kernel.has(vector)]


def best_first(vectors: Sequence[KitVector], most: int = MOST_VECTORS) -> list[int]:
    """The places of vectors, each that which adds most to those before it, no more than ``most``.

    What counts is that each mistake is noticed three times and beside each feature, that each pair of features is there, and each trait.
    """
    mistakes, features, traits = (
        _table(rows)
        for rows in (
            (each.by_y + each.with_indices for each in vectors),
            (each.features for each in vectors),
            (each.traits for each in vectors),
        )
    )
    first, second = np.triu_indices(len(features), 1)
    wanted = {
        "mistakes": mistakes, "traits": traits, "pairs": features[first] & features[second],
        "mistakes with features": (mistakes[:, None] & features).reshape(-1, len(vectors)),
    }  # fmt: skip
    rows = np.concatenate([*wanted.values()])
    weights = np.zeros((len(rows), max(map(len, _WEIGHTS.values())) + 1))
    start = 0
    for sort, each in wanted.items():
        weights[start : start + len(each), : len(_WEIGHTS[sort])] = _WEIGHTS[sort]
        start += len(each)
    # Sums of small whole numbers: exact in float32, which is quick, and the same on every machine.
    had, as_numbers = np.zeros(len(rows), int), rows.astype(np.float32)
    gains = weights[:, 0].astype(np.float32) @ as_numbers
    chosen: list[int] = []
    while len(chosen) < min(most, len(vectors)) and gains.max() > 0:
        best = int(gains.argmax())
        chosen.append(best)
        # Only what the vector has is worth less from now on.
        of_best = np.flatnonzero(rows[:, best] & (had < weights.shape[1] - 1))
        lost = weights[of_best, had[of_best]] - weights[of_best, had[of_best] + 1]
        had[of_best] += 1
        gains -= lost.astype(np.float32) @ as_numbers[of_best]
        gains[best] = -1
    return chosen


def _check(words: Iterable[str], known: Collection[str], mistake: str) -> None:
    for word in words:
        if word not in known:
            raise ValueError(f"{mistake} '{word}'{nearest(word, known)}; there are {', '.join(known)}")


def _table(rows: Iterable[Collection[str]]) -> np.ndarray:
    """Names x vectors: which vector has which name, from the names of each vector."""
    sets = [frozenset(row) for row in rows]
    names = sorted(frozenset().union(*sets))
    return np.array([[name in each for each in sets] for name in names], bool).reshape(len(names), len(sets))


def documents() -> list[str]:
    """The documents that have a kit."""
    return sorted(each.name.removesuffix(_SUFFIX) for each in _KITS.iterdir() if each.name.endswith(_SUFFIX))


@cache
def kit_of(document: str) -> Kit:
    """The kit of a document. Raises ``LookupError`` if it has none."""
    if document not in documents():
        raise LookupError(f"there is no kit for '{document}'; there are {', '.join(documents())}")
    first, *lines = lzma.decompress(_KITS.joinpath(f"{document}{_SUFFIX}").read_bytes()).splitlines()
    vectors = [msgspec.json.decode(line, type=KitVector) for line in lines]
    return Kit(msgspec.json.decode(first, type=KitAbout), vectors)


class Mistake(msgspec.Struct, frozen=True):
    """What a wrong kernel does, and the vectors that notice it: ``by_y`` by Y alone, ``with_indices`` only with Indices."""

    mistake: str
    by_y: tuple[str, ...]
    with_indices: tuple[str, ...]


class KitProof(msgspec.Struct, frozen=True):
    """What vectors notice: the number of ``vectors``, those that must be refused, and the ``mistakes`` by name.

    ``large`` are the mistakes that each large vector notices; ``missed`` concern the kernel, and no vector notices them.
    """

    vectors: int
    must_be_refused: tuple[str, ...]
    mistakes: dict[str, Mistake]
    large: dict[str, tuple[str, ...]]
    missed: tuple[str, ...]


def proof_of(kit: Kit, vectors: Sequence[KitVector], kernel: KitKernel = EVERYTHING) -> KitProof:
    """What vectors for a kernel notice."""
    noticing: dict[str, tuple[list[str], list[str]]] = {}
    for vector in vectors:
        for place, names in enumerate((vector.by_y, vector.with_indices)):
            for name in names:
                noticing.setdefault(name, ([], []))[place].append(vector.id)
    sentences = kit.about.mistakes
    mistakes = {name: Mistake(sentences[name], *map(tuple, each)) for name, each in sorted(noticing.items())}
    large = {each.id: kernel.notices(each) for each in kit.large(kernel)}
    concerned = kit.concerning(kernel) if kernel != EVERYTHING else {*sentences}
    missed = concerned - mistakes.keys() - {name for names in large.values() for name in names}
    must_be_refused = tuple(each.id for each in vectors if each.test["result"] == "invalid")
    return KitProof(len(vectors), must_be_refused, mistakes, large, tuple(sorted(missed)))
