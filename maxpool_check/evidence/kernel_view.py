"""A kernel that is wrong on purpose, explained: what it does, the clauses that it violates, and the cases that notice it."""

import shlex
from collections.abc import Iterator
from typing import Any

from maxpool_check.evidence.kernels import WrongKernel, all_kernels
from maxpool_check.evidence.kills import violating
from maxpool_check.exporting.kit import EVERYTHING, documents, kit_of
from maxpool_check.reporting.blocks import Block, Command, Facts, Heading, Paragraph, code
from maxpool_check.specifications.clauses import clauses
from maxpool_check.words import plural, some

_MOST = 3
"""How many cases are named."""


def kernels_named(word: str) -> list[WrongKernel]:
    """The kernel ``MODULE:NAME``, or all kernels with this name in some module."""
    return [kernel for kernel in all_kernels() if word in (str(kernel), kernel.name)]


def kernel_explained(kernel: WrongKernel, *, everything: bool) -> Iterator[Block]:
    """What a kernel does, the clauses that it violates, the cases of kits that notice it, and how to execute it."""
    about = kernel_data(kernel)
    yield Heading(2, code(str(kernel)))
    yield Paragraph(kernel.sentence)
    facts = [("kernel", "correct, to compare others with")] if kernel.is_correct else []
    facts += [("documents", ", ".join(kernel.specs))] if kernel.specs else []
    facts += [("violates", ", ".join(about["violates"]))] if about["violates"] else []
    for document, cases in about["noticed"].items():
        named = cases if everything else some(cases, _MOST)
        facts.append((f"noticed in the kit of {document}", f"by {plural(len(cases), 'case')}: {', '.join(named)}"))
    yield Facts(facts)
    target = shlex.quote(kernel.target)
    claimed = f" --spec {kernel.specs[-1]}" if kernel.specs else ""
    if about["noticed"]:
        document, (case, *_) = next(iter(about["noticed"].items()))
        draws = f" --spec {document}" if kernel.specs else ""
        yield Command(f"maxpool-check explain {case} -t {target}{draws}", "draw what it does wrong in a case")
    selected = f" -k clause:{about['violates'][0]}" if about["violates"] and not kernel.specs else ""
    yield Command(f"maxpool-check run corpus:{selected} -t {target}{claimed}", "execute it")


def _usual_first(pair: tuple[str, list[str]]) -> tuple[bool, int]:
    document, cases = pair
    return document != "onnx-22", -len(cases)


def kernel_data(kernel: WrongKernel) -> dict[str, Any]:
    """A kernel as JSON; ``noticed`` has the cases of each kit that notice it, by document."""
    by_kit = {
        document: [each.id for each in kit.of_corpus + kit.large(EVERYTHING) if str(kernel) in EVERYTHING.notices(each)]
        for document, kit in ((document, kit_of(document)) for document in documents())
    }
    return {
        "kernel": str(kernel), "sentence": kernel.sentence, "documents": list(kernel.specs), "target": kernel.target,
        "violates": [clause.id for clause in clauses().values() if kernel in violating(clause)],
        "noticed": {document: cases for document, cases in sorted(by_kit.items(), key=_usual_first) if cases},
    }  # fmt: skip
