"""The language of rules about the quantities of a case, which define flags and which conditions may state themselves.

A rule is a comparison, as ``some stride > 1``, or the name of a flag. Of a list of rules all hold, of ``any`` at least
one, and ``not`` denies a rule.
"""

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from maxpool_check.corpus.problems import BadValue, describe, first_of
from maxpool_check.corpus.quantities import IN_WORDS, NAMES, OF_CASES, YES_OR_NO, Features, Rule
from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.defects import Combined, Stated
from maxpool_check.specifications.specification import nearest

_QUANTIFIERS: Mapping[str, Callable[[np.ndarray], bool]] = {
    "some": lambda is_so: bool(is_so.any()),
    "no": lambda is_so: not is_so.any(),
    "every": lambda is_so: is_so.size > 0 and bool(is_so.all()),
}

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "multiple-of": lambda numbers, of: (numbers > 0) & (numbers % of == 0),
}

_OF_VALUES = frozenset({"value", "lowest", "highest", "first-value"})
"""Quantities that can be compared with each other as those of spatial axes can."""

_NUMBER = re.compile(r"-?([0-9]+(\.[0-9]+)?|inf)")
_POSITIVE = re.compile(r"0*[1-9][0-9]*")

_EXAMPLE = "such as 'some stride > 1'"


class Flags(dict[Stated, Rule]):
    """The rules of flags by name; a rule that a condition states itself is looked up as a flag is."""

    def __init__(self, group: Mapping[str, Any]) -> None:
        """``group``: the rule of each flag, which may name earlier flags."""
        super().__init__()
        self._stated: dict[Stated, Rule] = {}
        for name, rule in group.items():
            self[name] = _applied_once(stated(rule, self), self)

    def __missing__(self, rule: Stated) -> Rule:
        if rule not in self._stated:
            self._stated[rule] = _applied_once(rule, self)
        return self._stated[rule]


def stated(data: Any, flags: Collection[Stated], *path: str | int) -> Stated:
    """A rule of a file, in which these flags may be named; ``path`` leads to it.

    Raises :class:`BadValue` for every part that is no rule.
    """
    match data:
        case str():
            return data if data in flags else _comparison(data, flags, *path)
        case list():
            return Combined("all", all_stated(data, flags, *path))
        case {"any": [_, *_] as alternatives, **others} if not others:
            return Combined("any", all_stated(alternatives, flags, *path, "any"))
        case {"not": denied, **others} if not others:
            return Combined("not", (stated(denied, flags, *path, "not"),))
    raise BadValue(
        f"expected a flag, a rule {_EXAMPLE}, 'any' of rules, or 'not' a rule, found {describe(data)}", *path
    )


def all_stated(rules: Sequence[Any], flags: Collection[Stated], *path: str | int) -> tuple[Stated, ...]:
    """The rules of a list. Raises :class:`BadValue` for all that are wrong."""
    found, mistakes = list[Stated](), list[BadValue]()
    for number, rule in enumerate(rules):
        try:
            found.append(stated(rule, flags, *path, number))
        except BadValue as error:
            mistakes += error.all
    if mistakes:
        raise first_of(mistakes)
    return tuple(found)


def _comparison(text: str, flags: Collection[Stated], *path: str | int) -> str:
    """The text of a rule that compares a quantity. Raises :class:`BadValue`."""
    words, known = text.split(), list(map(str, flags))
    if len(words) < 2:
        expected = f"one of {' | '.join(known)}, or a rule {_EXAMPLE}"
        raise BadValue(f"expected {expected}, found {describe(text)}{nearest(text, known)}", *path)
    if words[0] not in _QUANTIFIERS:
        expected = f"a flag, or a rule that begins with {' or '.join(map(repr, _QUANTIFIERS))}"
        raise BadValue(f"expected {expected}, found {describe(text)}{nearest(text, known)}", *path)
    if mistake := _mistake(*words[1:]):
        raise BadValue(f"in the rule '{text}', {mistake}", *path)
    return " ".join(words)


def _mistake(name: str, comparison: str = "", *others: str) -> str:
    """What is wrong behind the first word of a rule; empty if nothing is."""
    if name not in NAMES:
        return _unknown(name)
    if name.removeprefix("row-") in YES_OR_NO:
        return f"'{name}' is so or not, and is compared with nothing" if comparison else ""
    if len(others) != 1:
        return f"expected '{name}', one comparison, and one number, word or quantity, {_EXAMPLE}"
    if comparison not in _COMPARISONS:
        return f"unknown comparison '{comparison}'; known comparisons: {', '.join(_COMPARISONS)}"
    if name in IN_WORDS:
        return "" if comparison in ("==", "!=") else f"'{name}' is in words, which only == and != compare"
    return _mistake_in_number(name, comparison, *others)


def _mistake_in_number(name: str, comparison: str, other: str) -> str:
    """What is wrong with that which the numbers of a quantity are compared with; empty if nothing is."""
    if comparison == "multiple-of":
        return (
            "" if _POSITIVE.fullmatch(other) else f"expected a positive integer behind 'multiple-of', found '{other}'"
        )
    if _NUMBER.fullmatch(other):
        return ""
    if other not in NAMES:
        return f"expected a number or a quantity behind '{comparison}'; {_unknown(other)}"
    if {name, other} <= _OF_VALUES or not {name, other} & OF_CASES.keys():
        return ""
    return (
        f"'{name}' is not compared with '{other}': only two quantities of the spatial axes are compared,"
        f" or two of {', '.join(sorted(_OF_VALUES))}"
    )


def _unknown(name: str) -> str:
    guess = nearest(name, NAMES)
    return f"unknown quantity '{name}'{guess or '; known quantities: ' + ', '.join(NAMES)}"


def _applied_once(rule: Stated, flags: Mapping[Stated, Rule]) -> Rule:
    """What a stated rule says of a case, found once for each case; it is not so where a node has no exact result."""
    return partial(_holds, _rule(rule, flags))


def _holds(rule: Rule, of: Features) -> bool:
    if rule not in of.known:
        try:
            with np.errstate(invalid="ignore", over="ignore"):  # of signalling NaN, and of numbers beyond a small dtype
                of.known[rule] = rule(of)
        except Inexact:
            of.known[rule] = False
    return of.known[rule]


def _rule(rule: Stated, flags: Mapping[Stated, Rule]) -> Rule:
    """What a stated rule says of a case."""
    if rule in flags:
        return flags[rule]
    if isinstance(rule, Combined):
        rules = [_rule(each, flags) for each in rule.rules]
        if rule.word == "not":
            return lambda of: not rules[0](of)
        combine = any if rule.word == "any" else all
        return lambda of: combine(each(of) for each in rules)
    quantifier, name, *comparison = rule.split()
    holds = _QUANTIFIERS[quantifier]
    if not comparison:
        return lambda of: holds(of[name])
    compare, other = _COMPARISONS[comparison[0]], comparison[1]
    if other in NAMES and name not in IN_WORDS:
        return lambda of: holds(compare(of[name], of[other]))
    value = float(other) if _NUMBER.fullmatch(other) else other
    return lambda of: holds(compare(of[name], value))
