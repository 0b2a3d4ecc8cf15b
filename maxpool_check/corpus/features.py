"""What is particular about a case: the flags of a defect's conditions, and bins, which features.yaml defines by its quantities.

Bins decide the clauses of cases that name none. A factor is one thing that can vary; its bins are the ways that runtimes have
other code, or other bugs, for. A factor that none of the bins describes (six spatial axes, an empty batch, pads as large
as the kernel) is left out.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import yaml

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.quantities import OF_AXES, OF_CASES, Features, Rule
from maxpool_check.graphs.node import Inexact
from maxpool_check.reference.pooling import Pooling

Bins = dict[str, str]
"""The bin of each factor, by name."""

_QUANTIFIERS: Mapping[str, Callable[[np.ndarray], bool]] = {
    "some": lambda is_so: bool(is_so.any()),
    "no": lambda is_so: not is_so.any(),
    "every": lambda is_so: is_so.size > 0 and bool(is_so.all()),
}

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    ">=": operator.ge,
    "multiple-of": lambda numbers, of: (numbers > 0) & (numbers % of == 0),
}

_NUMBER = re.compile(r"-?([0-9.]+|inf)")


def _rule(rule: Any, flags: Mapping[str, Rule]) -> Rule:
    """A rule of features.yaml, in which these flags may be named."""
    match rule:
        case list():
            rules = [_rule(each, flags) for each in rule]
            return lambda of: all(each(of) for each in rules)
        case {"any": alternatives}:
            rules = [_rule(each, flags) for each in alternatives]
            return lambda of: any(each(of) for each in rules)
        case {"not": other}:
            denied = _rule(other, flags)
            return lambda of: not denied(of)
        case str() if rule in flags:
            return flags[rule]
    quantifier, name, *comparison = rule.split()
    holds = _QUANTIFIERS[quantifier]
    if not comparison:
        return lambda of: holds(of[name])
    compare, other = _COMPARISONS[comparison[0]], comparison[1]
    if other in OF_AXES or other in OF_CASES:
        return lambda of: holds(compare(of[name], of[other]))
    value = float(other) if _NUMBER.fullmatch(other) else other
    return lambda of: holds(compare(of[name], value))


def _rules(group: Mapping[str, Any], flags: Mapping[str, Rule] = MappingProxyType({})) -> dict[Any, Rule]:
    """The rules of a group, in its order, which may name these flags and each other."""
    rules: dict[Any, Rule] = {}
    for name, rule in group.items():
        rules[name] = partial(_holds, _rule(rule, {**flags, **rules}))
    return rules


def _holds(rule: Rule, of: Features) -> bool:
    if rule not in of.known:
        try:
            with np.errstate(invalid="ignore"):  # of signalling NaN
                of.known[rule] = rule(of)
        except Inexact:
            of.known[rule] = False
    return of.known[rule]


_FILE = yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))

GEOMETRY = _rules(_FILE["geometry"])
"""The flags of ``geometry``."""

VALUES = _rules(_FILE["values"])
"""The flags of ``values``, about the tensor that enters MaxPool."""

VALUE_WORDS: Mapping[str, str] = _FILE["value_words"]
"""The same values in sentences."""

GRAPH = _rules(_FILE["graph"])
"""The flags of ``graph``, about the nodes of a graph of several nodes."""

BINS: Mapping[str, Mapping[str | None, Rule]] = {
    factor: _rules(rules if isinstance(rules, dict) else {bin_: f"some {factor} == {bin_}" for bin_ in rules}, VALUES)
    for factor, rules in _FILE["bins"].items()
}
"""The bins of each factor, of which a case has the first whose rule holds; None: it has none of them."""


def bins(case: Case) -> Bins:
    """The bins of a case; none if its document excludes it."""
    return bins_of(Features(case), BINS) if isinstance(case.resolved, Pooling) else {}


def bins_of(features: Features, factors: Iterable[str]) -> Bins:
    """The bins of some factors."""
    found = {factor: next((bin_ for bin_, rule in BINS[factor].items() if rule(features)), None) for factor in factors}
    return {factor: bin_ for factor, bin_ in found.items() if bin_ is not None}
