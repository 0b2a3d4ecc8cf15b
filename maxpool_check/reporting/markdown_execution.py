"""An execution in Markdown, in full: its input, the window of its first wrong cell, and a table of wrong cells."""

from maxpool_check.reporting.findings import explained
from maxpool_check.reporting.markup import code, codes, escaped, fenced, table
from maxpool_check.reporting.tensors import coordinates, planes, window_cells, window_text
from maxpool_check.results.record import Execution

_VARIANTS = {
    "indices": "Y and Indices requested",
    "y-only": "Y alone requested",
    "indices-in-domain": "Y and Indices requested, in the document's own operator domain",
    "y-only-in-domain": "Y alone requested, in the document's own operator domain",
}


def input_blocks(execution: Execution) -> list[str]:
    """X, attributes and graph of an execution, with the window of its first wrong cell in brackets."""
    data = execution.input
    if data is None:
        return []
    settings = codes(f"{name}={value}" for name, value in data.attributes.items()) or "no attributes"
    blocks = [f"{code(execution.spec)}, X {escaped(data.dtype)} {coordinates(data.shape)}, {settings}."]
    if data.policies:
        policies = codes(f"{point}: {interpretation}" for point, interpretation in data.policies.items())
        blocks.append(f"Interpretation of this case: {policies}.")
    if data.graph:
        heading = (
            f"Graph, with the attributes above at MaxPool, operator set {execution.opset}. "
            "Cells of Y and Indices are those of MaxPool; functions of each value behind it are applied to them:"
        )
        blocks += [heading, fenced(["X", *data.graph])]
    if data.entering is not None and data.values:
        blocks += ["X:", fenced(planes(data.values, data.shape, [], execution.layout))]
    pooled, name_of_X = data.pooled, "X" if data.entering is None else "The tensor that enters MaxPool"
    if pooled.values:
        cells = execution.cells[:1]
        marked = [at for cell in cells for at in window_cells(cell.at, cell.window, execution.layout)]
        name = f"{escaped(cells[0].output)}{coordinates(cells[0].at)}" if cells else ""
        heading = f"{name_of_X}, with the window of {name} in brackets:" if marked else f"{name_of_X}:"
        blocks += [heading, fenced(planes(pooled.values, pooled.shape, marked, execution.layout))]
    if execution.clauses:
        blocks.append(f"Clauses: {codes(execution.clauses)}.")
    if execution.erratum:
        blocks.append(f"Erratum of the document: {escaped(execution.erratum.strip())}")
    return blocks


def execution_blocks(execution: Execution) -> list[str]:
    """What is wrong with an execution: verdict, kinds, and a table of wrong cells, or the message."""
    variant = _VARIANTS.get(execution.variant, f"Variant {code(execution.variant)}")
    opset = f", operator set {execution.opset}" if execution.opset is not None else ""
    status = escaped(execution.status)
    known = f"{status}: {code(execution.known)}" if execution.known else f"**{status}**"
    blocks = [f"{variant}{opset}: **{execution.verdict.value}**, {codes(execution.kinds)} ({known})"]
    if sentences := explained(execution.causes, execution.counts):
        blocks.append(f"{escaped('; '.join(sentences))}.")
    if execution.translation:
        blocks.append(f"Translation: {escaped('; '.join(execution.translation))}.")
    if not execution.cells:
        return [*blocks, fenced([execution.message.strip()])]
    total = sum(execution.counts.values())
    if total > len(execution.cells):
        blocks.append(f"The first {len(execution.cells)} of {total} wrong cells:")
    rows = [
        [
            f"{escaped(cell.output)}{coordinates(cell.at)}",
            window_text(cell.window),
            code(cell.expected),
            code(cell.got) + (f" = X{coordinates(cell.got_cell)}" if cell.got_cell is not None else ""),
            code(cell.kind),
        ]
        for cell in execution.cells
    ]
    return [*blocks, table(["cell", "window on X", "expected", "actual", "kind"], rows)]
