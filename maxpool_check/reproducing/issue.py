"""The text of an issue, as the maintainers of the project ask for it: ``forms.yaml``."""

import platform
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnx.printer

from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.reporting.markup import bullets, clipped, escaped, fenced, joined, table
from maxpool_check.reproducing import runtimes
from maxpool_check.reproducing.expectation import ExpectedOutput
from maxpool_check.reproducing.others import DefectNote, OtherAnswer, words
from maxpool_check.reproducing.reproduced import FaultForm, Reproduced
from maxpool_check.reproducing.runtimes import TEMPLATES, variation_of
from maxpool_check.reproducing.script import Script
from maxpool_check.reproducing.wording import linked, operator_of, rule_of, sentence_of
from maxpool_check.results.variants import OPTIMIZATION_OFF, Variant
from maxpool_check.specifications.roles import Role
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import TargetProfile
from maxpool_check.words import shortened

_MOST_IN_GRID, _MOST_ROWS, _MOST_LINES = 256, 12, 40
"""The most cells of a tensor that is shown as a whole, the most cells that are compared, and the most lines of a model."""


_LETTERS = {
    "n": "n is the size of the input", "o": "o the size of the output", "k": "k the kernel", "s": "s the stride",
    "d": "d the dilation", "b": "b the pad at the beginning", "e": "e the pad at the end",
}  # fmt: skip
"""What the letters of a rule mean."""

_MOST_OF_TITLE = 79
"""The most characters of the title of an issue."""


def heading(profile: TargetProfile, title: str) -> str:
    """The title of an issue, with the prefix of the project: without its explanations, and shortened, if it is long."""
    prefix = _prefix(profile)
    most, ways = (
        _MOST_OF_TITLE - len(prefix),
        (title, title.partition("; ")[0], re.sub(r" \(.*\)$", "", title.partition("; ")[0])),
    )
    return prefix + next((each for each in ways if len(each) <= most), shortened(ways[-1], most, end=False))


def _prefix(profile: TargetProfile) -> str:
    is_npm = profile.name.is_released and RUNTIMES[profile.name.runtime].ecosystem == "npm"
    known = {"is_npm": is_npm, "provider": profile.description.provider}
    return TEMPLATES.from_string(_form(profile).get("prefix", "")).render(known)


def _form(profile: TargetProfile) -> Mapping[str, Any]:
    name, forms = profile.name, runtimes.table("forms")
    if not name.is_released:
        return {"name": profile.description.name, "sections": forms["plain"]}
    adapter = RUNTIMES[name.runtime].adapter.partition(".")[0]
    return dict(forms["tools"][name.tool.name] if name.tool is not None else forms["forms"][adapter])


def _of_document(rule: str, *, has_ceil_mode: bool) -> str:
    """A rule without the attributes that a document does not have."""
    return rule if has_ceil_mode else rule.replace(", rounded up with ceil_mode", "")


def letters(rules: str, *, has_dilations: bool = True) -> str:
    """What the letters mean that occur in rules, in a sentence; empty if they have no formula."""
    if "ceil(n / s)" not in rules and "n + b + e" not in rules:
        return ""
    size = "K = (k - 1) * d + 1" if has_dilations else "K = k"
    meaning = f"{size} the {'dilated ' * has_dilations}kernel" if size not in rules else ""
    dilated = [meaning] if re.search(r"\bK\b", rules) else []
    used = [
        words for letter, words in _LETTERS.items() if re.search(rf"\b{letter}\b", f"{rules} {size if dilated else ''}")
    ]
    *first, last = filter(None, [*used, *dilated])
    return f"Here {', '.join(first)} and {last}."


def issue(
    reproduced: Reproduced, profile: TargetProfile, script: Script, title: str, output: str, *,
    defect: DefectNote | None, also: Sequence[OtherAnswer],
) -> str:  # fmt: skip
    """The text of an issue; ``output`` is what the script printed, warnings of the runtime included."""
    target, form = profile.description, _form(profile)
    version = platform.platform()
    with suppress(OSError, KeyError):
        system = f"{platform.system()} {platform.release().partition('-')[0]}"
        version = f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {system}"
    if target.processor is not None and target.processor.is_emulated:
        version += f"; {target.processor.short}"
    known = {**_known(reproduced, profile, script), "project": form["name"], "defect": defect, "also": also}
    template = TEMPLATES.get_template("issue.md.j2").make_module(known)
    names = ("problem", "rule", "others", "context", "steps", "check")
    parts = {name: re.sub("\n{3,}", "\n\n", getattr(template, name)().strip()) for name in names}
    parts |= {
        "context": joined([parts["others"], parts["context"]]),
        "model": "" if script.has_model else _model(script),
        "tables": _tensors(reproduced, script),
        "script": fenced([script.text.rstrip()], "python"),
        "output": fenced([output.rstrip()], ""),
        "environment": bullets(map(escaped, [f"OS: {version}", f"Python: {target.python}", *script.requirements])),
    }
    fields = ("distribution", "version", "provider", "python", "numpy")
    known = {
        **parts, "description": joined(parts[name] for name in ("problem", "model", "tables", "rule", "context")),
        "reproduction": joined([parts["steps"], parts["script"], "It prints:", parts["output"], parts["check"]]),
        "version": version, "shows_model": script.has_model,
        "processor": target.architecture or platform.machine(),
        "system": {"Darwin": "Mac"}.get(platform.system(), platform.system()),
        "takes_models": script.runtime.takes_models, "is_npm": script.runtime.npm_package is not None,
        "provider": target.provider, "target": {name: escaped(str(getattr(target, name))) for name in fields},
        "options": {name: escaped(str(value)) for name, value in target.session_options.items()},
    }  # fmt: skip
    texts = {name: TEMPLATES.from_string(text).render(known).strip() for name, text in form["sections"].items()}
    sections = [f"### {name}\n\n" + re.sub("\n{4,}", "\n\n", text) for name, text in texts.items()]
    prefix = _prefix(profile)
    return joined([f"# {prefix}{escaped(title.removeprefix(prefix))}", *sections]) + "\n"


def _known(reproduced: Reproduced, profile: TargetProfile, script: Script) -> dict[str, Any]:
    """What the template knows that says what is said in any issue."""
    outcome, variant, kinds = reproduced.outcome, reproduced.variant, reproduced.kinds
    subject = script.runtime if script.tool is None else script.tool
    document, own, says_so = rule_of(reproduced, profile)
    mistakes = [DESCRIPTIONS[kind].hypothesis for kind in kinds]
    architecture = profile.description.architecture
    place = f" on {architecture}" if architecture not in ("", "x86_64") else ""
    broken = [DESCRIPTIONS[kind] for kind in kinds if DESCRIPTIONS[kind].group is not KindGroup.DEPENDENCE]
    off = Variant(variant.outputs, OPTIMIZATION_OFF)
    unoptimized = reproduced.case_run.judgements.get(off) if variant != off else None
    roles = {attribute.role for attribute in document.attributes.values()}
    return {
        "reproduced": reproduced, "fault": reproduced.fault.name, "outcome": outcome,
        "outcome_is": type(outcome).__name__, "takes_models": script.runtime.takes_models,
        "subject": escaped(f"{subject.title} {subject.release}{place}".strip()),
        "operator": operator_of(reproduced), "words": variation_of(variant.variation)["words"], "linked": linked,
        "document": document, "case_document": reproduced.case_run.case.specification, "own": own, "says_so": says_so,
        "sentences": [sentence_of(kind, reproduced) for kind in kinds], "clauses": [each.clause for each in broken],
        "is_of_graph": all(each.group is KindGroup.GRAPH for each in broken),
        "result": words(outcome, variant), "mistake": mistakes[0] if len(mistakes) == 1 else None,
        "opset": reproduced.case_run.jobs[variant].opset if script.runtime.takes_models else None,
        "letters": partial(letters, has_dilations=Role.DILATION in roles), "build": profile.name.build,
        "of_document": partial(_of_document, has_ceil_mode=Role.ROUNDING in roles),
        "unoptimized": "" if unoptimized is None else unoptimized.verdict.value, "files": list(script.files),
    }  # fmt: skip


def _model(script: Script) -> str:
    """The model that the script runs, as ONNX writes it."""
    if "model.onnx" not in script.files:
        return ""
    text = onnx.printer.to_text(onnx.load_from_string(script.files["model.onnx"]))
    return joined(["The model:", fenced(clipped([text], _MOST_LINES, 400), "")])


def _tensors(reproduced: Reproduced, script: Script) -> str:
    """X, what enters MaxPool in a graph, and the wrong cells; the script prints the outputs."""
    oracle, got, blocks = reproduced.oracle, reproduced.returned(), list[str]()
    if not script.has_inputs:
        blocks.append(grid("X", reproduced.request.X))
    if isinstance(oracle, GraphOracle) and oracle.graph.context.before:
        blocks.append(grid("The tensor that enters MaxPool", oracle.X))
    if not reproduced.target.computes and not isinstance(oracle, Refused):
        blocks.append(f"{escaped(reproduced.case_run.judgements[reproduced.variant].message)}.")
    elif script.expected and reproduced.fault is not FaultForm.INCONSISTENT:
        signed = DivergenceKind.Y_SIGNED_ZERO in reproduced.kinds
        blocks += [_compared(name, each, got.get(name), signed) for name, each in script.expected[0].items()]
    return joined(blocks)


def grid(name: str, tensor: np.ndarray) -> str:
    """A tensor as numpy prints it; the beginning and the end of a large one."""
    text = np.array2string(tensor, max_line_width=118, threshold=_MOST_IN_GRID, floatmode="unique", precision=17)
    return joined([f"{name}, {tensor.dtype.name}, shape {list(tensor.shape)}:", fenced([text], "")])


def _compared(name: str, expected: ExpectedOutput, got: np.ndarray | None, signed: bool) -> str:
    """The expected and the actual values of an output: all of a small one, the wrong ones of a large one."""
    reference = expected.reference
    if got is None or got.shape != reference.shape:
        return grid(f"Expected {name}", reference)
    right = expected.right(got, is_signed=signed)
    rows = []
    for at in map(tuple, np.argwhere(~right | (reference.size <= _MOST_ROWS))):
        values = list(dict.fromkeys(str(each[at]) for each in expected.values))
        allowed = "any" if expected.is_open[at] else " or ".join(values if len(values) <= 4 else [*values[:3], "..."])
        rows.append([f"{name}[{', '.join(map(str, at))}]", allowed, str(got[at]) if right[at] else f"**{got[at]!s}**"])
    more = len(rows) - _MOST_ROWS
    left_out = f"({more} more wrong cells of {reference.size})" if more > 0 else ""
    return joined([table(["cell", "expected", "got"], rows[:_MOST_ROWS]), left_out])
