"""What is particular about a case: the flags of a defect's conditions, and bins, which features.yaml defines by its quantities.

Bins decide the clauses of cases that name none. A factor is one thing that can vary; its bins are the ways that runtimes have
other code, or other bugs, for. A factor that none of the bins describes (six spatial axes, an empty batch, pads as large
as the kernel) is left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.problems import BadValue, first_of
from maxpool_check.corpus.quantities import Features, Rule
from maxpool_check.corpus.rules import Flags, all_stated, stated
from maxpool_check.judging.defects import Combined, Stated
from maxpool_check.reference.pooling import Pooling

Bins = dict[str, str]
"""The bin of each factor, by name."""

_FILE = yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))

GEOMETRY = Flags(_FILE["geometry"])
"""The flags of ``geometry``."""

VALUES = Flags(_FILE["values"])
"""The flags of ``values``, about the tensor that enters MaxPool."""

VALUE_WORDS: Mapping[str, str] = _FILE["value_words"]
"""The same values in sentences."""

GRAPH = Flags(_FILE["graph"])
"""The flags of ``graph``, about the nodes of a graph of several nodes."""

FLAGS: Mapping[str, Flags] = {"geometry": GEOMETRY, "values": VALUES, "any_values": VALUES, "graph": GRAPH}
"""The flags that each condition of flags and rules may name."""


def stated_in(conditions: Mapping[str, Any]) -> dict[str, tuple[Stated, ...]]:
    """The flags and rules among conditions, by condition. Raises :class:`BadValue` for all that are wrong."""
    found, mistakes = dict[str, tuple[Stated, ...]](), list[BadValue]()
    for name in (name for name in FLAGS if name in conditions):
        try:
            found[name] = all_stated(conditions[name], FLAGS[name], name)
        except BadValue as error:
            mistakes += error.all
    if mistakes:
        raise first_of(mistakes)
    return found


def comparisons_of(condition: Any) -> Iterator[str]:
    """The comparisons of a condition of ``geometry``, with those of the flags that it names; what ``not`` denies has none."""
    match condition:
        case str():
            yield from comparisons_of(_FILE["geometry"][condition]) if condition in _FILE["geometry"] else [condition]
        case Combined(word="all" | "any", rules=rules) | [*rules] | {"any": [*rules]}:
            for rule in rules:
                yield from comparisons_of(rule)


def _rules_of_bins(factor: str, bins: Any) -> dict[str | None, Any]:
    """The rule of each bin of a factor; bins in a list are the words for the quantity of the factor's name."""
    return bins if isinstance(bins, dict) else {word: f"some {factor} == {word}" for word in bins}


BINS: Mapping[str, Mapping[str | None, Rule]] = {
    factor: {bin_: VALUES[stated(rule, VALUES)] for bin_, rule in _rules_of_bins(factor, bins).items()}
    for factor, bins in _FILE["bins"].items()
}
"""The bins of each factor, of which a case has the first whose rule holds; None: it has none of them."""


def bins(case: Case) -> Bins:
    """The bins of a case; none if its document excludes it."""
    return bins_of(Features(case), BINS) if isinstance(case.resolved, Pooling) else {}


def bins_of(features: Features, factors: Iterable[str]) -> Bins:
    """The bins of some factors."""
    found = {factor: next((bin_ for bin_, rule in BINS[factor].items() if rule(features)), None) for factor in factors}
    return {factor: bin_ for factor, bin_ in found.items() if bin_ is not None}
