"""What public tests of MaxPool let through: ``python -m tests.public_checks`` writes ``reports/public-checks.json`` and the page of it.

Each check is made again from facts in ``tests/data/public_checks.yaml``, and gets our wrong kernels of ONNX's language. The kit of
ONNX MaxPool-22 gets the same. What is random is drawn by numpy with a fixed seed.
"""

import itertools
import json
import math
import platform
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import yaml

from maxpool_check import maxpool, read_cases
from maxpool_check.evidence.kernels import DEATHS, POLICIES, all_kernels, kernel_named
from maxpool_check.evidence.kills import LoadedKernel, faulty_variants, outcome, task_of
from maxpool_check.exporting.kit import kit_of
from maxpool_check.reporting.markup import code, escaped, joined, table, wrapped
from maxpool_check.results.outcomes import Returned
from maxpool_check.targets.protocol import Request
from tests.conftest import ROOT

FACTS = yaml.safe_load(Path(__file__).with_name("data").joinpath("public_checks.yaml").read_text())
CHECKS = {check["id"]: check for check in FACTS["checks"]}
RESULTS, PAGE = ROOT / "reports/public-checks.json", ROOT / "reports/public-checks.md"
KIT = "kit"
SEED = 20261130
RIGHT = kernel_named("correct:gathered")
KERNELS = [each for each in all_kernels() if not (each.specs or each.is_correct or each.module in (POLICIES, DEATHS))]
"""Those of ONNX's language; those of the two modules differ by what documents leave open, or end their process."""

MOST_EXAMPLES = 5


@dataclass(frozen=True)
class Input:
    """X and all seven attributes, the outputs that are right, None if the graph must be refused, and the tolerance of Y."""

    X: np.ndarray
    attributes: dict
    right: dict | None
    tolerance: tuple[float, float]


@cache
def inputs(name: str) -> list[Input]:
    """The inputs of a check."""
    check, random = CHECKS[name], np.random.default_rng(SEED)
    return (
        list(_of_onnx())
        if name == "onnx"
        else [each for entry in check["inputs"] for each in _made(check, entry, random)]
    )


def _made(check: dict, entry: dict, random: np.random.Generator) -> Iterator[Input]:
    each = entry.get("each", {})
    for values in itertools.product(*each.values()):
        one = {**check, **entry, **dict(zip(each, values, strict=True))}
        for dtype, _ in itertools.product(one["dtypes"], range(one.get("trials", 1))):
            X = _values(one["values"], one["shape"], random).astype(getattr(ml_dtypes, dtype, dtype))
            attributes = _all_seven(one["attributes"]) if "attributes" in one else _in_onnx(one)
            right = (
                None
                if one.get("refused")
                else _right(X, attributes, ("Y", "Indices") if one.get("indices") else ("Y",))
            )
            yield Input(X, attributes, right, tuple(one["tolerance"].get(dtype, (0, 0))))


def _values(how: str | dict, shape: list[int], random: np.random.Generator) -> np.ndarray:
    if how == "normal":
        return random.standard_normal(shape)
    (kind, value), size = next(iter(how.items())), math.prod(shape)
    made = {
        "uniform": lambda: random.uniform(*value, size),
        "from": lambda: np.arange(value, value + size),
        "fill": lambda: np.full(size, value),
        "numbers": lambda: np.resize(np.array(value, float), size),
        "random_state": lambda: np.random.RandomState(value).rand(size),
    }
    return made[kind]().reshape(shape)


def _in_onnx(torch: dict) -> dict:
    rank = len(torch["shape"]) - 2
    kernel, padding, dilation = (
        _list(torch.get(name, usual), rank) for name, usual in (("kernel", 0), ("padding", 0), ("dilation", 1))
    )
    strides = kernel if torch.get("stride") is None else _list(torch["stride"], rank)
    given = {"kernel_shape": kernel, "strides": strides, "pads": padding * 2, "dilations": dilation}
    return _all_seven({**given, "ceil_mode": int(torch.get("ceil", False))})


def _list(value: int | list[int], rank: int) -> list[int]:
    return value if isinstance(value, list) else [value] * rank


def _all_seven(given: dict) -> dict:
    rank = len(given["kernel_shape"])
    usual = {"strides": [1] * rank, "dilations": [1] * rank, "pads": [0] * 2 * rank}
    return {**usual, "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0, **given}


def _right(X: np.ndarray, attributes: dict, outputs: tuple[str, ...]) -> dict:
    pooled = maxpool(X, **attributes)
    return {name: getattr(pooled, name) for name in outputs}


def _of_onnx() -> Iterator[Input]:
    with warnings.catch_warnings():
        # The tests of all operators are made.
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        nodes = collect_testcases("MaxPool")
    for test in nodes:
        (node,), ((X,), right) = test.model.graph.node, test.data_sets[0]
        given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        attributes = _all_seven(
            {name: value.decode() if isinstance(value, bytes) else value for name, value in given.items()}
        )
        yield Input(X, attributes, dict(zip(("Y", "Indices"), right, strict=False)), (test.atol, test.rtol))


def notices(function: LoadedKernel, test: Input) -> bool:
    """Whether a kernel fails an input as the check compares it."""
    done = outcome(function, Request(test.X, tuple(test.right or ("Y",)), b"", test.attributes))
    if test.right is None or not isinstance(done, Returned):
        return isinstance(done, Returned) == (test.right is None)
    return not all(
        done.outputs[name].dtype == right.dtype
        and done.outputs[name].shape == right.shape
        and _is_close(done.outputs[name], right, *(test.tolerance if name == "Y" else (0, 0)))
        for name, right in test.right.items()
    )


def _is_close(mine: np.ndarray, right: np.ndarray, absolute: float, relative: float) -> bool:
    if right.dtype.kind in "iu":
        return np.array_equal(mine, right)
    return np.allclose(mine.astype(float), right.astype(float), relative, absolute)


@cache
def _kit_tasks() -> list:
    """The requests of each case of the kit, and the variants in which the right kernel is at fault, too."""
    tasks = [task_of(case) for case in read_cases("corpus:kit")]
    return [(task, frozenset(faulty_variants(LoadedKernel(RIGHT), task))) for task in tasks]


def is_noticed(kernel, name: str) -> bool:
    """Whether a check, or the kit, notices a kernel, which lives as long as the check."""
    function = LoadedKernel(kernel)
    if name == KIT:
        return any(not excused.issuperset(faulty_variants(function, task)) for task, excused in _kit_tasks())
    return any(notices(function, test) for test in inputs(name))


def measured(name: str) -> dict:
    """How many inputs a check has, the seconds that it takes for a right kernel, and the kernels that it notices."""
    count = len(_kit_tasks() if name == KIT else inputs(name))
    started = time.perf_counter()
    assert not is_noticed(RIGHT, name)
    seconds = time.perf_counter() - started
    return {
        "inputs": count,
        "seconds": round(seconds, 2),
        "notices": [str(each) for each in KERNELS if is_noticed(each, name)],
    }


def in_contract(name: str, noticed: set[str]) -> set[str]:
    """The kernels whose mistake some vector within the contract of a check shows, of all from which kits are chosen.

    What the check notices is in its contract in any case.
    """
    contract = CHECKS[name]["contract"] if name != KIT else {"onnx": True, "refusals": True}
    found = {
        mistake
        for vector in kit_of("onnx-22").pool
        if _is_in(contract, vector)
        for mistake in (
            vector.by_y + vector.with_indices if contract.get("onnx") or contract.get("indices") else vector.by_y
        )
    }
    return found.intersection(map(str, KERNELS)).union(noticed)


def _is_in(contract: dict, vector) -> bool:
    features, attributes = {*vector.features}, vector.test["attributes"]
    of_type = not contract.get("dtypes") or any(f"dtype={each}" in features for each in contract["dtypes"])
    of_rank = not contract.get("axes") or any(f"axes={each}" in features for each in contract["axes"])
    if not (of_type and of_rank) or ("refusals" in features and not contract.get("refusals")):
        return False
    if contract.get("onnx"):
        return True
    begin, end = np.array_split(attributes.get("pads", []), 2)
    kernel = np.array(attributes["kernel_shape"])
    return (
        attributes.get("auto_pad", "NOTSET") == "NOTSET"
        and not attributes.get("storage_order")
        and (contract.get("ceil", False) or not attributes.get("ceil_mode"))
        and np.array_equal(begin, end)
        and (not len(begin) or bool((begin <= kernel // 2).all()))
        and "nan" not in features
    )


HEAD = """\
# What public checks let through

Made by `make public_checks`, never edited by hand, from [facts](../tests/data/public_checks.yaml) about the checks and from
[the results](public-checks.json).

Public tests of MaxPool are made again from what they say of themselves: geometry, dtypes, values, tolerance, and what is compared. Each
gets our {kernels} wrong kernels of ONNX's language, which `maxpool-check explain NAME` explains; a kernel is noticed if one input fails.
Kernels that differ only by what documents leave open (`policies`), and the one that ends its process (`deaths`), are left out.
"""
CONTRACT = """\
The first number is of all wrong kernels. Many of them are right as far as a check reaches: it may be about float32 alone, or about the
operator of torch, which has no SAME. So the second counts those whose mistake shows within the contract of the check: some vector of the
{pool} from which the kit of ONNX MaxPool-22 is chosen shows it by what the check compares, or the check itself notices it. A vector is
within the contract if it has the dtypes and numbers of axes that the table names; if the operator is torch's, also the same pads on both
sides, at most half of the kernel, no `auto_pad`, no NaN, and, where the table does not say `ceil`, sizes that are rounded down.
What ONNX MaxPool-22 leaves open, such as which of equal maxima Indices name, is no mistake here.
"""
LIMITS = """\
## What this does not say

It is no judgement on these projects: a benchmark asks whether one given geometry is computed, unit tests stand beside others, and both
have found defects that are not among ours. The wrong kernels are ours, and the kit was chosen for them; of {strangers} others, for which
nothing was chosen, it notices {noticed}. Inputs are drawn by numpy, not by the generators of the projects: another draw may notice a kernel
more or less. A kernel in numpy is not a kernel of a GPU: what depends on blocks of threads, on memory beyond a tensor, or on more cells
than the smaller inputs have is not seen. Indices of the kernels count cells of the whole X, as those of ONNX do, and so do the right
ones here. Seconds are those of one right kernel in numpy, with what is compared, on {machine}. Liger-Kernel is not in the table: no file
of its tests names a pooling. Gradients, layouts, devices, messages of refusals and speed are not looked at.
"""


def page(results: dict) -> str:
    """The page of some results."""
    kit, sections, rows = kit_of("onnx-22"), [], []
    sentences = {str(each): each.sentence for each in KERNELS}
    for name in (*CHECKS, KIT):
        found = results["checks"][name]
        noticed = {*found["notices"]}
        within = in_contract(name, noticed)
        rows.append([
            *_about(name), str(found["inputs"]), str(found["seconds"]), f"{len(noticed)} of {len(KERNELS)}",
            f"{len(noticed & within)} of {len(within)}",
        ])  # fmt: skip
        if name in CHECKS:
            passing = sorted(
                within - noticed, key=lambda each: ("Seen:" not in sentences[each], [*sentences].index(each))
            )
            sections.append(_section(CHECKS[name], passing, sentences))
    heads = [
        "check",
        "contract",
        "compared",
        "absolute and relative tolerance",
        "inputs",
        "seconds",
        "notices",
        "within its contract",
    ]
    _, strangers, _ = kit.about.curve[-1]
    limits = LIMITS.format(strangers=kit.about.strangers, noticed=strangers, machine=escaped(results["machine"]))
    return joined([
        HEAD.format(kernels=len(KERNELS)).rstrip(), table(heads, rows, right=range(4, 8)),
        CONTRACT.format(pool=f"{len(kit.pool):,}").rstrip(), *itertools.chain(*sections), limits.rstrip(),
    ]) + "\n"  # fmt: skip


def _about(name: str) -> list[str]:
    if name == KIT:
        return [
            "the kit of ONNX MaxPool-22, `corpus:kit`",
            "ONNX MaxPool-22",
            "Y, Indices, refusals",
            "none: every bit",
        ]
    check = CHECKS[name]
    contract, is_onnx = check["contract"], "onnx" in check["contract"]
    parts = ["ONNX MaxPool-22" if is_onnx else "torch's max_pool", ", ".join(contract.get("dtypes", []))]
    parts += [f"{', '.join(map(str, contract['axes']))} axes"] if "axes" in contract else []
    parts += ["ceil"] if contract.get("ceil") else []
    compared = ["Y"] + ["Indices"] * any(test.right is not None and "Indices" in test.right for test in inputs(name))
    compared += ["refusals"] * any(test.right is None for test in inputs(name))
    tolerances = dict.fromkeys(test.tolerance for test in inputs(name) if test.right and test.X.dtype.kind not in "iu")
    shown = [f"{absolute:g}, {relative:g}" if absolute or relative else "none" for absolute, relative in tolerances]
    return [escaped(check["name"]), "; ".join(filter(None, parts)), ", ".join(compared), "; ".join(shown)]


def _section(check: dict, passing: list[str], sentences: dict[str, str]) -> Iterator[str]:
    yield f"## {escaped(check['name'])}"
    yield wrapped(escaped(check["facts"]))
    if not passing:
        yield "All wrong kernels within its contract are noticed."
    else:
        yield f"{len(passing)} wrong kernels within its contract pass, among them:"
        yield "\n".join(f"- {code(each)}: {escaped(sentences[each])}" for each in passing[:MOST_EXAMPLES])
    for source in check.get("sources", ()):
        at = f"commit {source['commit'][:12]}, " if "commit" in source else ""
        note = f" ({source['note']})" if "note" in source else ""
        paths = ", ".join(map(code, source["paths"]))
        yield wrapped(
            f"Source: {escaped(source['of'])}, {at}{source['date']}, read {FACTS['read']}{escaped(note)}: {paths}."
        )


def make() -> None:
    """Measure all checks, and write the results and the page."""
    machine = (
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}, onnx {onnx.__version__}"
    )
    found = {
        "schema": "public-checks/1",
        "machine": machine,
        "checks": {name: measured(name) for name in (*CHECKS, KIT)},
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(page(found))


if __name__ == "__main__":
    make()
