"""Files of observations: in which cases, variants and versions defects were seen; written by ``defects accept``, a line each."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from maxpool_check.corpus.document import text_of
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.files import open_text
from maxpool_check.judging.defects import Conditions, Defect, Effect
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.variants import ALL_VARIANTS, variant_named
from maxpool_check.specifications.specification import nearest

FOLDER = "observed"
"""The folder of these files, beside the files of defects, one for each of them."""

SUFFIX = ".jsonl"

DIGITS = 12
"""How many digits of the SHA-256 of a case an observation has."""


_VARIANTS = [variant.name for variant in ALL_VARIANTS]
_KINDS = [kind.value for kind in DivergenceKind]


class Observation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A line: cases in which a defect was seen, in one variant; or the fingerprints of reviewed outputs of one version."""

    defect: str
    """The id of the defect."""
    runtime: tuple[str, ...] = ()
    """The builds that show it, if they are not all of the defect."""
    versions: str = ""
    """The versions that show it, such as ``>=1.21,<1.29``; empty: any."""
    processor: tuple[str, ...] = ()
    """What the processor must have, as of the conditions of a defect."""
    variant: str = ""
    """The variant that must show it; empty: any may."""
    kinds: tuple[str, ...] = ()
    """Exactly the kinds that the variant shows."""
    windows: tuple[str, ...] = ()
    """The wrong cells that are explained, if they are not those of the defect."""
    varies: bool = False
    """Each run shows some of the kinds, or none."""
    cases: dict[str, str] = {}
    """The first digits of the SHA-256 of each case, by its id."""
    version: str = ""
    """The version of reviewed outputs."""
    outputs: tuple[str, ...] = ()
    """Their fingerprints."""

    def effect(self, defect: Defect) -> Effect:
        """The effect that was seen. Raises ``ValueError`` for kinds, variants and versions that there are not."""
        when = TargetSelector.of_any(list(self.runtime or defect.runtimes), self.versions)
        conditions = Conditions(processor=(*defect.conditions.processor, *self.processor))
        digests = {digest: case for case, digest in self.cases.items()}
        if self.variant and self.variant not in _VARIANTS:
            raise ValueError(f"unknown variant '{self.variant}'{nearest(self.variant, _VARIANTS)}")
        if unknown := [kind for kind in self.kinds if kind not in _KINDS]:
            raise ValueError(f"unknown kind '{unknown[0]}'{nearest(unknown[0], _KINDS)}")
        variants = frozenset([variant_named(self.variant)]) if self.variant else None
        return Effect(
            defect.id, when, frozenset(map(DivergenceKind, self.kinds)), tuple(self.cases), variants, conditions,
            frozenset(self.windows) or defect.windows, varies=self.varies, digests=digests,
        )  # fmt: skip

    @property
    def key(self) -> tuple[Any, ...]:
        """What distinguishes it from the other lines of its file."""
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name not in ("cases", "outputs"))


def observed_file(path: Path) -> Path:
    """The file of observations beside a file of defects."""
    return path.parent / FOLDER / f"{path.stem}{SUFFIX}"


def is_observed_file(path: Path) -> bool:
    """Whether a path is that of a file of observations."""
    return path.suffix == SUFFIX and path.parent.name == FOLDER


def read_observations(path: Path) -> tuple[Observation, ...]:
    """The lines of a file. Raises :class:`CorpusError`."""
    return _observations(text_of(path), str(path))


@lru_cache(maxsize=64)
def _observations(text: str, name: str) -> tuple[Observation, ...]:
    lines, problems, decoder = [], [], msgspec.json.Decoder(Observation)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            lines.append(decoder.decode(line))
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            problems.append(Problem(name, number, 1, f"{error}; correct the line, or remove it"))
    if problems:
        raise CorpusError(problems)
    return tuple(lines)


def write_observations(path: Path, observations: Iterable[Observation]) -> None:
    """Write a file in the order of ids, variants and versions; without observations it is removed."""
    lines = sorted(observations, key=lambda each: tuple(map(str, each.key)))
    if not lines:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_text(path) as file:
        for each in lines:
            ordered = msgspec.structs.replace(
                each, cases=dict(sorted(each.cases.items())), outputs=tuple(sorted(each.outputs))
            )
            file.write(msgspec.json.encode(ordered).decode() + "\n")


def attached(defects: Mapping[str, Defect], observations: Iterable[Observation]) -> dict[str, Defect]:
    """The defects, by id, with what was observed of them. Raises ``ValueError`` for a wrong observation."""
    effects: dict[str, list[Effect]] = defaultdict(list)
    outputs: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for each in observations:
        if each.defect not in defects:
            raise ValueError(f"there is no defect {each.defect} beside this file")
        if bool(each.cases) == bool(each.outputs):
            raise ValueError("an observation has either cases or outputs")
        if each.outputs:
            outputs[each.defect][each.version] = frozenset(each.outputs)
        else:
            effects[each.defect].append(each.effect(defects[each.defect]))
    seen = {*effects, *outputs}
    return {
        name: replace(each, effects=(*each.effects, *effects[name]), outputs=outputs[name]) if name in seen else each
        for name, each in defects.items()
    }


def with_observations(defects: Mapping[str, Defect], path: Path) -> dict[str, Defect]:
    """The defects, by id, with what a file says was observed of them. Raises :class:`CorpusError`."""
    observations, problems = read_observations(path), []
    for number, each in enumerate(observations, 1):
        try:
            attached(defects, [each])
        except ValueError as error:
            problems.append(Problem(str(path), number, 1, f"{error}; correct the line, or remove it"))
    if problems:
        raise CorpusError(problems)
    return attached(defects, observations)
