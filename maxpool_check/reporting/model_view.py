"""The tests of a user's models as blocks of a report: the nodes, what is wrong, what can reach them, what SONNX says, what to do."""

import shlex
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from maxpool_check.comparing.gate import Decision
from maxpool_check.judging.defects import Remedy
from maxpool_check.judging.faults import Fault
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis, node_of
from maxpool_check.models.cases import values_of
from maxpool_check.models.nodes import MOST_NODES
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Bullets, Document, Facts, Inline, Paragraph, Section, Span, Table
from maxpool_check.reporting.changes import accept_command
from maxpool_check.reporting.changes_view import table_of
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.fault_view import FaultView
from maxpool_check.reporting.model_report import ModelReport, NodeResult, NodeState, level_of, listed, state_of
from maxpool_check.reporting.provenance import environment
from maxpool_check.results.changes import ONE_SIDED, Change
from maxpool_check.results.record import Execution, ExitCode, Status, Verdict
from maxpool_check.results.variants import LEVELS
from maxpool_check.words import plural, some

_Key = TypeVar("_Key", bound=Hashable)

_IN_FULL = 3
"""So many faults are shown in full on a terminal; the others take a line each."""
_LONGEST = 60
"""The longest name of a node that is shown in full."""
_NOTES = {
    "special": "By all that is known of the inputs of the model, these values can get there.",
    "outside": "In the model as it is deployed, the node is right at every level of optimization on these values.",
}
"""What stands above the faults of a section."""
_TONES = {
    **dict.fromkeys((NodeState.CONFORMS, Decision.SAFE), "good"),
    **dict.fromkeys((NodeState.SPECIAL, NodeState.OUTSIDE, NodeState.ACCEPTED, Decision.REVIEW), "known"),
    NodeState.NOT_TESTED: "dim",
}
"""The tones of states and decisions; any other is bad."""


def document(report: ModelReport) -> Document:
    """The report of models: the nodes, what is wrong with them, and what can be done about it."""
    view, header = _View(report), report.record.header
    label, sentence = report.result
    decision = report.upgrade.decision if report.upgrade is not None else Decision.SAFE
    is_clean = decision is Decision.SAFE and not report.wrong_on_both
    head: list[Block] = [
        blocks.Verdict(label, sentence, "bad" if report.exit_code else "good" if is_clean else "known")
    ]
    for first, *rest in (problem.splitlines() or [""] for problem in report.run.problems):
        head += [Paragraph(first, "problem"), *([blocks.Lines(rest, "What is wrong")] if rest else [])]
    upgrade = report.upgrade
    sides = dict(zip((upgrade.base, upgrade.head), upgrade.labels, strict=True)) if upgrade is not None else {}
    head.append(Facts([(sides.get(target.name, target.name), target.software()) for target in header.targets]))
    compared = f"{report.run.tested}, of which {report.run.compared} were compared with a document bit by bit"
    head.append(Facts([("with", compared), ("date", header.started[:10])], rank=blocks.PAGE))
    again = blocks.Command(shlex.join(header.command), "The command line of this run")
    made_with = [Facts(list(environment(header))), *([again] if header.command else [])]
    environments = Section(
        "Environment, digests, command line", made_with, "environment", "Environment", rank=blocks.PAGE
    )
    content = [
        Section("Nodes", [block for model in report.models for block in view.model(model)], "nodes"),
        *view.repair(),
        *view.wrong(),
        *view.places(),
        *view.reach(),
        *view.profile(),
        *view.upgrade(),
        environments,
    ]
    return Document("MaxPool in a model", f"MaxPool in {listed(report.models)}", head, content, [*view.following()])


class _View:
    def __init__(self, report: ModelReport) -> None:
        self.report = report
        several = len(report.models) > 1
        self.names = {
            name: f"{model.model.name}:{each.node.name}" if several else each.node.name
            for model in report.models
            for name, each in model.by_id.items()
        }
        """The nodes as the models call them, by the part of the ids of their cases; with their model if there are several."""
        self.heads = report.targets if report.upgrade is None else [report.upgrade.head]

    def is_said(self, text: str) -> bool:
        """Whether what the report begins with says it."""
        plain = " ".join(text.split()).replace("; ", ", ")
        return any(plain in " ".join(each.split()).replace("; ", ", ") for each in self.report.run.problems)

    def model(self, model: ModelAnalysis) -> Iterator[Block]:
        """The nodes of a model, with their results."""
        report, of = self.report, model.model
        documents = dict.fromkeys(each.maker.document.title for each in model.nodes if each.maker is not None)
        count = plural(sum(each.maker is not None for each in model.nodes), "MaxPool node")
        by = f", judged by {' and '.join(documents)}" if documents else ""
        yield blocks.Heading(3, str(of.path))
        yield Paragraph(f"Operator set {of.opset}, {count}{by}; SHA-256 {of.sha256}")
        notes = [*model.notes]
        not_run = {target: why for (target, name), why in report.test.not_in_place.items() if name == of.name}
        notes += [
            f"not run as a model on {target}: {not_run[target]}" for target in report.targets if target in not_run
        ]
        notes += [
            f"{target} refuses open sizes: those that are tested are written into what it gets"
            for target in report.targets
            if (target, of.name) in report.test.fixed_sizes
        ]
        for (target, name), levels in report.test.levels.items():
            said = _grouped((str(each), each.level) for each in levels if name == of.name)
            without = [
                f"right without {' and '.join(each.without)}" for each in levels if name == of.name and each.without
            ]
            notes += [
                "; ".join([f"as it is deployed, at {', '.join(names)} on {target}: {text}", *without])
                for text, names in said.items()
                if text
            ]
        notes = [each for each in notes if not self.is_said(each)]
        notes += [f"{each.node.name}: {each.excluded}" for each in model.nodes if each.excluded]
        # What else the analysis says is in the table.
        untested = [each for each in report.untested if each.node in model.nodes and not each.node.untested]
        for each in untested:
            why = "the target refuses it, as is said above" if self.is_said(each.why_untested) else each.why_untested
            notes.append(f"{each.node.node.name} is not tested on {each.target}: {why}")
        yield from [Bullets(notes)] if notes else []
        heads = report.targets if len(report.targets) != 1 else ["result"]
        heads = heads if report.upgrade is None else [*report.upgrade.labels, "decision", "why"]
        rows: list[list[Inline]] = []
        for name, node in model.by_id.items():
            where = "" if node.node.where == "main graph" else f" ({node.node.where})"
            row: list[Inline] = [[Span(_cut(node.node.name), code=True), where], _attributes(node), _between(node)]
            broken = ", ".join(dict.fromkeys(each.short for each in node.profile)) or "inside"
            row += [_input_type(node), *([broken if node.maker is not None else "-"] * report.checks_profile)]
            for result in (report.results[target, name] for target in report.targets):
                # The reason stands above.
                is_long = result.state is NodeState.NOT_TESTED and not node.untested
                tone = "dim" if node.untested and not node.excluded else _TONES.get(result.state, "bad")
                row.append(Span(result.state.value if is_long else result.summary, tone=tone))
            if report.upgrade is not None:
                made = report.upgrade.nodes.get(name)
                tone = _TONES.get(made.decision, "bad") if made is not None else ""
                decision = Span(made.decision.value, tone=tone, strong=True) if made is not None else ""
                row += [decision, report.reason(name) if made is not None else ""]
            rows.append(row)
        headings = ["node", "MaxPool", "between", "input", *(["SONNX"] * report.checks_profile), *heads]
        wide = frozenset([len(headings) - 1] if report.upgrade is not None else [])
        yield Table(headings, rows, label=f"Nodes of {of.path.name}", wide=wide)
        cut = [
            f"{_cut(node.node.name)} is also tested in the graph {', '.join(operators)}"
            for node in model.nodes
            for operators in node.tested_as
        ]
        yield from [Bullets(cut, rank=blocks.REPORT)] if cut else []

    @property
    def excluded(self) -> bool:
        """Whether a document excludes some node."""
        return any(each.excluded for each in self.report.nodes)

    def repair(self) -> Iterator[Block]:
        """What was done about the nodes that fail, and how that was proved."""
        made = self.report.repair
        if made is None:
            return
        rows: list[list[Inline]] = []
        for each in made.nodes:
            done = f"disable {', '.join(made.optimizers)}" if made.optimizers and not each.why else each.why
            done = "; ".join(Remedy(rewrite=name).words for name in each.rewrites) or done
            state = NodeState.WRONG.value if each.why else f"{plural(each.executions, 'execution')} conform"
            rows.append([Span(_cut(each.name), code=True), ", ".join(each.defects) or "not known", done, state])
        content: list[Block] = [Table(["node", "defect", "what was done", "proof"], rows, label="Repaired nodes")]
        if not rows:
            done = "no file was written" if made.path is None else f"{made.path} is a copy of the model"
            why = "No rewrite is known for a node that its document excludes" if self.excluded else "No node fails"
            content = [Paragraph(f"{why}: {done}.")]
        for each in made.nodes if made.path is not None else ():
            texts = [f"- {each.before}", *(f"+ {line}" for line in each.after)]
            content.append(blocks.Lines(texts, f"{_cut(each.name)}, before and after"))
        if made.needs_session:
            model = self.report.models[0].model.path.name
            content.append(blocks.Lines(made.lines(model), "The session that it needs"))
        if made.outputs:
            outputs = [f"output before and after on {target}: {each}" for target, each in made.outputs]
            content.append(Bullets(outputs))
        content += [Bullets(list(made.problems))] if made.problems else []
        yield Section("Repair", content, "repair")

    def wrong(self) -> Iterator[Block]:
        """What fails, then what special values alone show, then what the user accepts."""
        run = self.report.run
        sections = {
            ("What is wrong", "wrong", ""): run.unexpected,
            ("Wrong on special values alone", "special", "special values alone"): run.special,
            ("Wrong outside this model", "outside", "outside this model"): run.outside,
            ("Accepted", "accepted", "accepted"): [each for each in run.faults if each.is_expected],
        }
        yield from [blocks.Search(rank=blocks.PAGE)] if any(sections.values()) else []
        for (title, anchor, label), faults in sections.items():
            content: list[Block] = []
            for number, fault in enumerate(faults):
                # Of an upgrade, the changes say what the base does.
                rank = (
                    blocks.PAGE
                    if fault.target not in self.heads
                    else blocks.REPORT
                    if fault.is_expected
                    else blocks.ALWAYS
                )
                content.append(self._card(fault, label, rank, in_full=number < _IN_FULL and not label))
            if content:
                note: list[Block] = [Paragraph(_NOTES[anchor])] if anchor in _NOTES else []
                note += [Bullets(self.arrivals())] if anchor == "special" and self.arrivals() else []
                rank = min(each.rank for each in content)
                yield Section(title, [*note, *content], anchor, number=len(content), rank=rank)

    def arrivals(self) -> list[str]:
        """What inputs make nodes wrong by special values, by target."""
        found = _grouped(
            ((target, words), self.names[name])
            for (target, name), said in self.report.test.special.items()
            for words in said
        )
        return [f"{_listed(names)} on {target}, wrong for {words}" for (target, words), names in found.items()]

    def _card(self, fault: Fault, label: str, rank: int, *, in_full: bool) -> Block:
        """A fault with the nodes that show it; unless it is ``in_full``, a screen has its title alone."""
        of_target = [each for each in self.report.record.executions if each.target == fault.target]
        notes, defect = [_levels(fault, of_target)], fault.defect
        if defect is not None:
            advice = [f"do: {defect.advice}"] if defect.advice else []
            notes = [fault.title, *advice, *notes, f"shown by versions {defect.versions}"]
        if fault.example.verdict is Verdict.REFUSES and not any("/in-place/" in case for case in fault.cases):
            notes.append("maxpool-check made the graph that is refused, of this node and those around it in the model.")
        # Those with the values that flow in the model come first.
        executions = tuple(sorted(fault.executions, key=lambda each: "/in-place/" not in each.case))
        view = FaultView(
            replace(fault, executions=executions), self.report.record.header, label or state_of(fault).value, notes
        )
        block, nodes = view.block(rank, drawn=blocks.ALWAYS), {node_of(case) for case in fault.cases}
        about = f"{_listed(self.names[each] for each in self.names if each in nodes)} on {fault.target}"
        if fault.status == Status.SPECIAL:
            about += f" on {', '.join(dict.fromkeys(values_of(case).short for case in fault.cases))}"
        lowest = blocks.ALWAYS if in_full else blocks.REPORT
        content = [replace(each, rank=max(each.rank, lowest)) for each in block.blocks]
        return replace(block, title=Span(fault.name, code=True), about=about, blocks=content)

    def places(self) -> Iterator[Block]:
        """Each node in its model, with the values that the tensors around it can have."""
        drawings = [
            drawn(model, each) for model in self.report.models for each in model.nodes if each.maker is not None
        ]
        if drawings:
            note = Paragraph(
                "Behind each node, the values that its output can have, by all that is known of the inputs."
            )
            yield Section("Values in the model", [note, Bullets(drawings)], "places", rank=blocks.REPORT)

    def reach(self) -> Iterator[Block]:
        """The known defects that can reach a node, and that no execution showed."""
        nodes = _grouped(
            ((reach.defect.id, reach.needs or "any", target, reach.defect.title), self.names[name])
            for (target, name), result in self.report.results.items()
            for reach in result.unseen
        )
        rows: list[list[Inline]] = []
        for (defect, needs, target, about), names in nodes.items():
            row: list[Inline] = [Span(defect, code=True), needs, _listed(names), target, about]
            rows.append(row)
        headings = ["defect", "values that it needs", "nodes", "target", "what is wrong"]
        title = "Known defects that can reach a node"
        if rows:
            table = Table(headings, rows, label=title, wide=frozenset({4}))
            yield Section(f"{title}, not seen with the values tested", [table], "reach", "Not seen", len(rows))

    def profile(self) -> Iterator[Block]:
        """The conditions of SONNX that nodes break, what would fix it, and what ONNX leaves open."""
        broken = _grouped(
            ((each.clause, each.message, f"fix: {each.fix}"), node.node.name)
            for node in self.report.nodes
            for each in node.profile
        )
        if broken and self.report.checks_profile:
            rows = [[*about, _listed(names)] for about, names in broken.items()]
            table = Table(["clause", "what is so", "what would fix it", "nodes"], rows, label="Outside SONNX's profile")
            yield Section("Outside SONNX's profile", [table], "profile")
        points = _grouped(
            (point, node.node.name)
            for model in self.report.models
            for name, node in model.by_id.items()
            for point in self.report.open_points(name, node)
        )
        if points:
            items = [f"{_listed(names)}: {point}" for point, names in points.items()]
            yield Section("Open in ONNX's text", [Bullets(items)], "open-points")

    def upgrade(self) -> Iterator[Block]:
        """What has changed, and how the models' own outputs differ."""
        upgrade = self.report.upgrade
        if upgrade is None:
            return
        groups = [each for each in upgrade.comparison.summary.groups if each.change not in ONE_SIDED]
        content: list[Block] = [table_of(groups)] if groups else []
        for group in (each for each in upgrade.comparison.summary.groups if each.change in ONE_SIDED):
            is_head, node = group.change is Change.MISSING, node_of(group.smallest.execution.case)
            model = next(each.model.name for each in self.report.models if node in each.by_id)
            why = f"was not run at the level of optimization {level_of(group.smallest.execution.variant)}"
            target = upgrade.head if is_head else upgrade.base
            if (target, model) in self.report.test.not_in_place:
                why = "did not run as a model, as is said above, and its nodes were not tested in it"
            sentence = Paragraph(f"On {target}, {model} {why}.")
            content += [sentence] if sentence not in content else []
        special = {each.change for changes in upgrade.special.values() for each in changes} - ONE_SIDED
        if changes := sorted(each.value for each in special):
            nodes = _listed(self.names.get(name, name) for name in upgrade.special)
            text = f"On special values alone ({', '.join(changes)}): {nodes}; --strict counts them"
            content.append(Paragraph(text, "dim"))
        content += map(Paragraph, upgrade.comparison.unused)
        if upgrade.outputs:
            content.append(Paragraph("Outputs of the models; no verdict: other nodes than MaxPool compute them, too."))
            content.append(Bullets([f"{each.model}: {each}" for each in upgrade.outputs]))
        if content:
            title = "What moves" if upgrade.comparison.move else "Base against head"
            yield Section(title, content, "outputs")

    def following(self) -> Iterator[str]:
        """What the user can do next."""
        found = [each for each in self.report.run.unexpected if each.target in self.heads]
        for fault in found[:1] if self.report.exit_code or self.report.wrong_on_both else ():
            yield from self._about(fault)
        if found and self.report.exit_code is ExitCode.UNEXPECTED and self.report.repair is None:
            yield accept_command([self.report.written])
        for (target, name), levels in self.report.test.levels.items() if self.report.test.has_doubts else ():
            (path,) = (each.model.path for each in self.report.models if each.model.name == name)
            for each in levels:
                if each.without:
                    disabling = f"{target}{'&' if '?' in target else '?'}disable={','.join(each.without)}"
                    yield shlex.join(
                        ["maxpool-check", "model", str(path), "-t", disabling, *self.report.inputs.get(str(path), ())]
                    )
        problems = self.report.test.problems
        # What an option mends needs no excuse.
        is_excusable = problems and not self.report.test.has_doubts and not all("--shape" in each for each in problems)
        if self.report.exit_code is ExitCode.INCOMPLETE and is_excusable:
            # The nodes alone count, where what the model as a whole does is known or does not matter.
            yield shlex.join([*self.report.record.header.command, "--allow-incomplete"])
        if (names := self.report.unbounded_inputs) and not self.report.exit_code:
            ranges = shlex.join(word for name in names for word in ("--input-range", f"{name}=0:1"))
            yield f"add {ranges}, with the values that it can have: what cannot get to a node is then not tested"
        if self.report.run.special and not self.report.exit_code:
            yield "-v shows what special values show in full"

    def _about(self, fault: Fault) -> Iterator[str]:
        """What the user can do about a fault: repair the model, reproduce the fault, read about its defect."""
        defect = fault.defect
        command, models = self.report.record.header.command, self.report.models
        if defect is not None and defect.remedy and self.report.repair is None:
            if len(models) > 1:
                path = next(str(each.model.path) for each in models if node_of(fault.cases[0]) in each.by_id)
                command = ("maxpool-check", "model", path, "-t", fault.target, *self.report.inputs.get(path, ()))
            yield shlex.join([*command, "--repair", "repaired.onnx"])
        # Values that a case file can make come before those that flow in the model.
        executions = sorted(fault.executions, key=lambda each: each.case.endswith("/flows"))
        executions = [each for each in executions if "/in-place/" not in each.case]
        for execution in executions[:1] if defect is None or not defect.advice else ():
            path, inputs = execution.origin.rpartition(":")[0], self.report.inputs
            case = f"{path}:{execution.case.partition(':')[2]}"
            yield shlex.join(["maxpool-check", "repro", case, "-t", fault.target, *inputs.get(path, ()), "-o", "repro"])
        if defect is not None:
            yield shlex.join(["maxpool-check", "explain", defect.id])


def _grouped(pairs: Iterable[tuple[_Key, str]]) -> dict[_Key, list[str]]:
    groups: dict[_Key, list[str]] = defaultdict(list)
    for key, name in pairs:
        groups[key].append(name)
    return groups


def _listed(names: Iterable[str]) -> str:
    return ", ".join(some(list(map(_cut, names)), 4))


def _cut(name: str) -> str:
    """A name of foreign length, without its middle where it is long."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}...{name[-_LONGEST // 2 :]}"


def drawn(model: ModelAnalysis, node: NodeAnalysis) -> str:
    """A node between those around it in its graph, each with the values that its output can have.

    For instance ``X [0, 1] -> Conv [-1.2, 0.9] -> Relu [0, 0.9] -> MaxPool 'pool' [0, 0.9] -> Conv``.
    """
    scope, ranges = node.node.scope, model.ranges if node.node.scope.outer is None else {}
    parts, tensor = (
        [f"{node.node.op} '{_cut(node.node.name)}'", next(iter(node.around.behind), "an output")],
        node.node.output,
    )
    for number in range(MOST_NODES + 2):
        parts[0] += f" {ranges[tensor]}" if tensor in ranges else ""
        maker = scope.makers.get(tensor)
        flowing = [each for each in maker.input if each and scope.constant(each) is None] if maker is not None else []
        if not flowing:
            break
        tensor = flowing[0]
        source = scope.makers.get(tensor)
        parts.insert(0, _cut(tensor) if source is None else "..." if number == MOST_NODES + 1 else source.op_type)
    return " -> ".join(parts)


def _attributes(node: NodeAnalysis) -> str:
    """The attributes that are not the defaults, shortly: ``3x3, strides 2x2, pads 0x0x1x1``."""
    parts = [node.node.op] if node.node.op != "MaxPool" else []
    for name, value in sorted(node.node.attributes.items(), key=lambda item: item[0] != "kernel_shape"):
        text = "x".join(map(str, value)) if isinstance(value, list) else str(value)
        usual = {"strides": 1, "dilations": 1, "pads": 0}.get(name)
        if name == "kernel_shape":
            parts.append(text)
        elif not (isinstance(value, list) and set(value) <= {usual}) and value not in ("NOTSET", 0):
            parts.append(f"{name} {text}")
    return ", ".join(parts)


def _between(node: NodeAnalysis) -> str:
    """The two operators on each side, in the order of the graph: ``Conv, Pad / Relu``."""
    ahead, behind = node.around.ahead, node.around.behind
    before = ", ".join([*(["..."] if len(ahead) > 2 else []), *reversed(ahead[:2])])
    after = ", ".join([*behind[:2], *(["..."] if len(behind) > 2 else [])])
    return f"{before or '-'} / {after or '-'}"


def _input_type(node: NodeAnalysis) -> str:
    """The type of the input at the sizes to test, those that the model leaves open marked by ``*``."""
    declared, tested = node.node.declared, node.node.tested
    if node.node.is_assumed or declared is None or declared.sizes is None or tested.sizes is None:
        return f"{tested}, assumed" if node.node.is_assumed else str(tested)
    both = zip(declared.sizes, tested.sizes, strict=False)
    return f"{tested.dtype} [{', '.join(str(size) if isinstance(known, int) else f'{size}*' for known, size in both)}]"


def _levels(fault: Fault, executions: Iterable[Execution]) -> str:
    """At which levels of optimization a fault shows, that of a session by default first."""
    cases, wrong = set(fault.cases), {level_of(each.variant) for each in fault.executions}
    right = {level_of(each.variant) for each in executions if each.case in cases and each.verdict is Verdict.CONFORMS}
    word = state_of(fault).value.lower()
    here = word if "default" in wrong else "right here" if "default" in right else "not tested"
    others = {word: wrong - {"default"}, "right": right - wrong - {"default"}}
    if (wrong | right) - {"default"}:
        others["not tested"] = {each.name.removeprefix("optimization-") for each in LEVELS} - wrong - right
    rest = "".join(f"; {word} at {', '.join(sorted(levels))}" for word, levels in others.items() if levels)
    return f"At the default level of optimization, which sessions use: {here}{rest}."


def explained_result(result: NodeResult) -> list[str]:
    """Why a node fails, in lines: each fault with its title and the smallest execution that shows it, without X, which is large."""
    lines: list[str] = []
    for fault in (each for each in result.faults if each.is_unexpected):
        name = fault.defect.id if fault.defect is not None else ", ".join(fault.kinds)
        where = f"{fault.severity.value}  {result.node.node.name} on {result.target}"
        lines += [f"{state_of(fault).value}  {name}  {where}", f"  {fault.title}"]
        if (defect := fault.defect) is not None:
            lines += [f"  do: {defect.advice}"] if defect.advice else []
            lines += [f"  shown by versions {defect.versions}"] if defect.versions else []
        lines.append(f"  {_levels(fault, result.executions)}")
        # Other nodes, also of other models, may show the same fault.
        own = (each for each in fault.executions if node_of(each.case) == node_of(result.executions[0].case))
        example = min(own, key=lambda each: "/in-place/" not in each.case)
        shown = ExecutionView(example).lines(settings=False)
        lines += [f"    {example.case} ({example.variant})", *(f"    {line}" for line in shown), ""]
    errors = [execution.message for execution in result.executions if execution.verdict is Verdict.ERROR]
    return [*lines, *errors[:1]]
