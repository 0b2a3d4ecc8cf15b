"""The JSON document of a run, for programs: its numbers, and its faults, each with an execution that shows it whole.

All executions are the record of the run, which ``-o`` writes. The schema of the document follows from the types.
"""

import ast
import inspect
import itertools
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

import msgspec

from maxpool_check import inert
from maxpool_check.judging.defects import Severity
from maxpool_check.judging.faults import Fault
from maxpool_check.reporting.provenance import Interpretation, interpretations
from maxpool_check.reporting.reruns import commands, explain_again
from maxpool_check.reporting.run_report import Failure, RunReport
from maxpool_check.results.details import Cell, ExecutedPart, Input, KitSummary, WrongShape
from maxpool_check.results.outputs import StoredOutput
from maxpool_check.results.record import Execution, KnownEntry, Record, TargetDescription, Verdict

SCHEMA = "maxpool-check/run/2"

MOST_VALUES = 1000
"""An output of more values is left out."""


class OutputData(msgspec.Struct, frozen=True, kw_only=True):
    """An output that a target returned; ``values`` row-major, as exact text."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[str, ...]


class ExampleData(msgspec.Struct, frozen=True, kw_only=True):
    """The execution that shows a fault best.

    ``cells`` are some of the wrong cells, ``counts`` the numbers of all by kind. Attributes that the case does not give are not listed.
    """

    case: str
    variant: str
    title: str
    spec: str
    """The document that defines the result."""
    origin: str
    """The place of the case, ``FILE:LINE``."""
    opset: int | None
    """The operator set of the model, None if the target takes none."""
    translation: tuple[str, ...]
    """What was changed to ask the target for it, in words."""
    verdict: Verdict
    kinds: tuple[str, ...]
    message: str
    input: Input | None
    """X with its values if they are few, the attributes, and the graph if there are several nodes."""
    counts: dict[str, int]
    """The number of wrong cells of each kind."""
    cells: tuple[Cell, ...]
    """Some of the wrong cells, each with what was expected, what was returned, and its window."""
    shapes: dict[str, WrongShape]
    """The outputs of a wrong shape."""
    got: dict[str, OutputData]
    """The outputs that are not the reference's, if the record holds them and they have at most 1,000 values."""


class FaultData(msgspec.Struct, frozen=True, kw_only=True):
    """Executions of a target that one mistake explains.

    ``status`` is new, changed, expected, special, outside or inconsistent; new and changed fail the run.
    """

    target: str
    name: str
    """The id of the known defect, or the kinds of what none explains."""
    defect: str | None
    """The id of the known defect that names it."""
    status: str
    """The status, empty where no run was reviewed."""
    severity: Severity
    kinds: tuple[str, ...]
    sentence: str
    """What is wrong."""
    cause: str
    """The mistake in the whole result that explains executions, and how many; empty if none does."""
    cases: int
    """How many cases show it."""
    executions: int
    """How many executions show it."""
    example: ExampleData
    command: str
    """The command line that shows the example again."""


class ErrorData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a run is incomplete, or did not begin; a mistake in a file has its place, and what failed on a target its first case."""

    message: str
    target: str | None = None
    case: str | None = None
    executions: int = 0
    """How many executions failed in this way."""
    command: str | None = None
    """The command that executes this case again."""
    path: str | None = None
    line: int | None = None
    column: int | None = None


class RunDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The document of a run."""

    schema: str = SCHEMA
    exit_code: int
    result: str
    """The word of the result, empty if nothing was executed."""
    message: str
    """The result in words, as in the last line of the text."""
    seconds: float
    """How long the run took, in whole seconds."""
    complete: bool
    """Whether the run ended, and nothing was left out."""
    summary: dict[str, int]
    """The numbers of cases and executions, and of executions by verdict."""
    profile: dict[str, dict[str, str]]
    """How each document was interpreted, by its open points."""
    targets: list[dict[str, Any]]
    """The targets, as in the header of a record, each with its number of executions by verdict."""
    tested: tuple[ExecutedPart, ...] = ()
    """How much of the cases was executed on the kernels that did not execute all of them; empty for the report of a record."""
    kits: tuple[KitSummary, ...] = ()
    """Which mistakes a run of one kit would have noticed on each target; empty for the report of a record, and of other cases."""
    faults: list[FaultData]
    """The faults, by target, those that fail the run first."""
    interpretations: list[Interpretation]
    """How each target interprets what the documents leave open, on which a strict run fails where it differs from the profile."""
    known: tuple[KnownEntry, ...]
    """What became of the known defects."""
    errors: list[ErrorData]


def write(report: RunReport, file: TextIO) -> None:
    """Write the document of a run."""
    record = report.record
    document = RunDocument(
        exit_code=report.exit_code,
        result=report.result[0],
        message=report.result[1],
        seconds=report.seconds,
        complete=record.footer is not None and not record.footer.errors and not report.left,
        summary={
            "cases": record.header.cases,
            "executions": len(record.executions),
            **{verdict.value: count for verdict, count in report.totals.items()},
        },
        profile=record.header.profile,
        targets=[{**target_data(each), "summary": report.counts[each.name]} for each in record.header.targets],
        tested=report.parts,
        kits=report.kits,
        faults=[fault_data(each, record) for each in report.faults],
        interpretations=interpretations(record),
        known=tuple(report.known),
        errors=[
            *(ErrorData(message=each) for each in report.problems if record.footer),
            *map(_error_data, report.failures),
        ],
    )
    members = msgspec.to_builtins(document)
    write_object(file, members | {"faults": iter(members["faults"])})
    file.write("\n")


def failure(exit_code: int, errors: Sequence[Mapping[str, Any]]) -> str:
    """The document of a run that failed before its first execution; ``errors`` have the members of :class:`ErrorData`."""
    nothing = {"cases": 0, "executions": 0, **dict.fromkeys((verdict.value for verdict in Verdict), 0)}
    document = RunDocument(
        exit_code=exit_code,
        result="",
        message="",
        seconds=0.0,
        complete=False,
        summary=nothing,
        profile={},
        targets=[],
        faults=[],
        interpretations=[],
        known=(),
        errors=[ErrorData(**each) for each in errors],
    )
    return text_of(document)


def text_of(document: msgspec.Struct) -> str:
    """A small document as text."""
    return inert.dumps(msgspec.to_builtins(document), indent=1)


def schema() -> Mapping[str, Any]:
    """The JSON Schema of the document of a run."""
    return schema_of(RunDocument, "run")


def schema_of(document: type, command: str) -> Mapping[str, Any]:
    """The JSON Schema of the document that a command writes."""
    title = f"maxpool-check {command} --report json"
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title} | msgspec.json.schema(document)
    for each in _types(msgspec.inspect.type_info(document)):
        properties = whole["$defs"][each.cls.__name__]["properties"]
        described = _field_docstrings(each.cls)
        for member in each.fields:
            if member.name in described:
                properties[member.encode_name]["description"] = described[member.name]
    return whole


def _types(info: Any) -> Iterator[msgspec.inspect.StructType | msgspec.inspect.DataclassType]:
    """The types with fields of a document."""
    seen, left = set[type](), [info]
    while left:
        each = left.pop()
        if isinstance(each, msgspec.inspect.StructType | msgspec.inspect.DataclassType):
            if each.cls not in seen:
                seen.add(each.cls)
                left += [member.type for member in each.fields]
                yield each
        else:
            inner = (getattr(each, name, None) for name in ("item_type", "key_type", "value_type"))
            left += [*getattr(each, "types", ()), *getattr(each, "item_types", ()), *filter(None, inner)]


def _field_docstrings(of: type) -> dict[str, str]:
    """The docstrings below the fields of a class."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(of))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for field, below in itertools.pairwise(definition.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = ast.literal_eval(below.value)
            found[field.target.id] = " ".join(text.split())
    return found


def write_document(document: msgspec.Struct, file: TextIO) -> None:
    """Write a document, one member a line."""
    write_object(file, msgspec.to_builtins(document))
    file.write("\n")


def _error_data(failure: Failure) -> ErrorData:
    """What failed in a way that says nothing about a target."""
    first, again = failure.example, shlex.join(explain_again(failure.example))
    number = len(failure.executions)
    return ErrorData(message=failure.message, target=first.target, case=first.case, executions=number, command=again)


def fault_data(fault: Fault, record: Record) -> FaultData:
    """A fault of a record."""
    return FaultData(
        target=fault.target,
        name=fault.name,
        defect=None if fault.defect is None else fault.defect.id,
        status=fault.status,
        severity=fault.severity,
        kinds=fault.kinds,
        sentence=f"{fault.title}.",
        cause=fault.explanation,
        cases=len(fault.cases),
        executions=len(fault.executions),
        example=example_data(fault.example, record.outputs),
        command=commands(fault.example, record.header)[0][1],
    )


def example_data(execution: Execution, outputs: Mapping[str, StoredOutput]) -> ExampleData:
    """An execution whole, with its wrong outputs where ``outputs``, by their digests, have them."""
    stored = {name: outputs[sha256] for name, sha256 in execution.digests.items() if sha256 in outputs}
    got = {name: (each, each.tensor().reshape(-1)) for name, each in stored.items()}
    same = {name: getattr(execution, name) for name in ExampleData.__struct_fields__ if name != "got"}
    return ExampleData(
        **same,
        got={
            name: OutputData(dtype=each.dtype, shape=each.shape, values=tuple(map(str, values)))
            for name, (each, values) in got.items()
            if values.size <= MOST_VALUES
        },
    )


def target_data(target: TargetDescription) -> dict[str, Any]:
    """A target as a member of a JSON document. What it is made of is in the record."""
    members: dict[str, Any] = msgspec.to_builtins(target)
    return {name: value for name, value in members.items() if name not in ("environments", "program")}


def write_object(file: TextIO, members: Mapping[str, Any]) -> None:
    """Write a JSON object, one member a line; an iterator becomes a list, one item a line, and is never held in memory."""
    separator = "{\n"
    for name, value in members.items():
        file.write(f"{separator}{inert.dumps(name)}: ")
        if isinstance(value, Iterator):
            file.write("[")
            for number, item in enumerate(value):
                file.write(f"{',' if number else ''}\n{inert.dumps(item)}")
            file.write("]")
        else:
            file.write(inert.dumps(value))
        separator = ",\n"
    file.write("}")
