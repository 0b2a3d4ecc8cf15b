"""The JSON Schema of files of defects, used to validate files and by editors."""

from typing import Any

from maxpool_check.corpus.conditions import GEOMETRY, LEVEL_NAMES, VALUES
from maxpool_check.corpus.graph_flags import GRAPH
from maxpool_check.corpus.schema import DIALECT, ID, TEXT, list_of, map_of, text
from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.graphs.operators import OPERATORS
from maxpool_check.judging.defects import Severity
from maxpool_check.reference import dtypes
from maxpool_check.results.provenance import ARCHITECTURES, INSTRUCTION_SETS
from maxpool_check.results.variants import ALL_VARIANTS
from maxpool_check.specifications.specification import Reason

_DATE = text("a date, YYYY-MM-DD", pattern=r"^\d{4}-\d{2}-\d{2}$")
_WORDS = r"\S"
_REVIEWER = text("the name of the reviewer, who has confirmed the mechanism", pattern=_WORDS)
_REVIEWED = text("the day of that review, YYYY-MM-DD", pattern=r"^\d{4}-\d{2}-\d{2}$")
_CASES = list_of(text("the id of a case, or a glob", pattern="."), minItems=1)
_KINDS = list_of(TEXT, minItems=1)
_VARIANTS = list_of(
    {"enum": [variant.name for variant in ALL_VARIANTS]}, minItems=1,
    description="the variants concerned, each of which must show the divergence",
)  # fmt: skip
_OPERATORS = list_of({"enum": sorted({*OPERATORS, MAX_POOL})}, description="operators of a graph of several nodes")

_CONDITIONS = map_of(
    dtypes=list_of({"enum": list(dtypes.NAMES)}, description="of the tensor that enters MaxPool"),
    spatial=list_of({"type": "integer", "minimum": 1}, description="numbers of spatial axes"),
    channels_multiple_of={"type": "integer", "minimum": 1},
    indices={"type": "boolean", "description": "whether Indices are an output"},
    geometry=list_of({"enum": list(GEOMETRY)}, description="all of them"),
    values=list_of({"enum": list(VALUES)}, description="of the tensor that enters MaxPool; all of them"),
    any_values=list_of({"enum": list(VALUES)}, description="of the tensor that enters MaxPool; one of them"),
    before=_OPERATORS,
    after=_OPERATORS,
    graph=list_of({"enum": list(GRAPH)}, description="of the nodes around MaxPool; all of them"),
    optimization=list_of({"enum": list(LEVEL_NAMES)}, description="the levels at which it shows"),
    opset=text("the operator sets, as '>=21'; of MaxPool alone one up to that of its document", pattern=_WORDS),
    processor=list_of(
        {"enum": [*ARCHITECTURES, *INSTRUCTION_SETS, *(f"no-{name}" for name in INSTRUCTION_SETS)]},
        description="of the processor that executes: its architecture, instruction sets that it has, or has not; all of them",
    ),
    refused={"enum": [reason.value for reason in Reason], "description": "why the document excludes the graph"},
)

_EXPECTED = map_of(
    "kinds",
    runtime={
        "description": "a part of the defect's runtime that alone shows it, as 'openvino?frontend=onnx'; or a list of its builds",
        "anyOf": [{"type": "string", "pattern": _WORDS}, list_of({"type": "string", "pattern": _WORDS}, minItems=1)],
    },
    versions=text("the versions that show it, as '>=1.21,<1.29'", pattern=_WORDS),
    cases={**_CASES, "description": "left out: every case that meets the conditions"},
    kinds=_KINDS,
    variants=_VARIANTS,
    conditions={**_CONDITIONS, "description": "of these executions, besides those of the defect"},
    expires=_DATE,
)

_DEFECT = map_of(
    "id runtime title severity mechanism expect",
    id=ID,
    runtime={
        "description": "the target without its version, as 'onnxruntime' or 'openvino?opset=14'; or a list of builds of one source",
        "anyOf": [{"type": "string", "pattern": _WORDS}, list_of({"type": "string", "pattern": _WORDS}, minItems=1)],
    },
    title=text("operator, condition and effect in one sentence", pattern=_WORDS),
    severity={"enum": [severity.value for severity in Severity]},
    mechanism=text("what happens and why", pattern=_WORDS),
    established=text("how the mechanism is known", pattern=_WORDS),
    documents=list_of(TEXT, minItems=1, description="the documents or families that it violates"),
    conditions=_CONDITIONS,
    upstream=map_of(
        "state seen",
        issue=text("the address of the issue or the change", pattern=r"^https://\S+$"),
        state={"enum": ["open", "closed", "merged", "none-found"]},
        seen=_DATE,
        note=TEXT,
    ),
    reviewer=_REVIEWER,
    reviewed=_REVIEWED,
    example=text("the id of the case to show", pattern="."),
    expect=list_of(_EXPECTED, minItems=1),
)

_KNOWN = map_of(
    "id when cases kinds reason",
    id=ID,
    when=text(
        'distribution and versions, "onnxruntime < 1.29 @Provider", or the name of a python:, command: or transform: target'
    ),
    cases=_CASES,
    kinds=_KINDS,
    variants=_VARIANTS,
    reason=text("the reason, in words", pattern=_WORDS),
    issue=TEXT,
    reviewer=_REVIEWER,
    reviewed=_REVIEWED,
    expires=_DATE,
)

DEFECT_FILE = map_of(defects=list_of(_DEFECT), known=list_of(_KNOWN, description="divergences without a review"))
"""A file of defects, or of known divergences, which are defects in short."""


def defect_file_schema() -> dict[str, Any]:
    """The published schema of a file of defects, for editors."""
    return {"$schema": DIALECT, "title": "maxpool-check defects", **DEFECT_FILE}
