"""Whole reports of every command, in every format, as they must come out of stored records.

The records are real runs, their times and machines replaced, and made-up ones with changes of all sorts. After a change
that is meant, ``python -m tests.reporting.test_golden`` writes the reports again, to be read before they are committed.
"""

import io
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator
from junitparser import Error, Failure, JUnitXml, Skipped
from sarif_pydantic import Sarif

from maxpool_check.commands import bisect, gate, history, model, report
from maxpool_check.commands.evidence import TRACE_FORMATS
from maxpool_check.commands.model_cases import analysed
from maxpool_check.comparing.bisection import Boundary, Observation
from maxpool_check.comparing.gate import compare_targets
from maxpool_check.models.testing import ModelTest
from maxpool_check.models.upgrade import upgrade
from maxpool_check.reporting import changes_items, github, run_items
from maxpool_check.reporting.bisection import BisectionReport
from maxpool_check.reporting.changes import ComparisonReport
from maxpool_check.reporting.history import HistoryReport, Release
from maxpool_check.reporting.model_report import ModelReport
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.writers import Display
from maxpool_check.reporting.writers.markdown import LARGEST
from maxpool_check.results.details import AllowedDifference, Cell
from maxpool_check.results.record import Execution, ExitCode, KnownEntry, KnownStatus, Record, Verdict
from maxpool_check.results.storage import read
from tests.conftest import command

GOLDEN = Path(__file__).parents[1] / "data/golden"
RUN = read(GOLDEN / "record.jsonl")
HEADER = msgspec.structs.replace(RUN.header, targets=RUN.header.targets[:1])
TARGET = HEADER.targets[0].name
SEED = KnownEntry(
    id="ORT-SEED-KEPT", target=TARGET, status=KnownStatus.EXPECTED, kinds=("indices-sentinel",), title="The seed is kept",
    reason="It keeps its seed.", severity="wrong-on-special",
)  # fmt: skip
FLOAT16 = msgspec.structs.replace(
    SEED, id="ORT-NO-FLOAT16", kinds=("refuses-valid",), title="No float16", reason="There is no kernel.", severity="limit"
)  # fmt: skip
CELL = Cell(
    at=(0, 0), output="Y", expected="-inf", got="-1.0", kind="y-not-in-input", window=((0,),), values=None, got_cell=None
)  # fmt: skip


def execution(name, verdict="conforms", *kinds, variant="y-only", digest="a", **fields):
    """A made-up execution."""
    given = {
        "target": TARGET, "case": f"folder/file:{name}", "title": f"About {name}", "spec": "onnx-22", "case_sha256": "1",
        "origin": f"cases/folder/file.yaml:{len(name)}", "digests": {"Y": digest} if verdict in ("conforms", "diverges") else {},
    }  # fmt: skip
    return Execution(variant=variant, verdict=Verdict(verdict), kinds=kinds, **{**given, **fields})


def record(*executions):
    footer = msgspec.structs.replace(RUN.footer, executions=len(executions), known=(FLOAT16, SEED), errors=())
    return Record(HEADER, executions, footer)


def compared(old, new, **options):
    """The report of a gate from made-up executions to others."""
    made = compare_targets(record(*old), record(*new), (TARGET, TARGET), **options)
    return ComparisonReport("gate", [made])


def zero(at):
    return AllowedDifference(at=(0, at), output="Y", reference="0.0", got="-0.0")


WRONG = execution("worse", "diverges", "y-not-in-input", cells=(CELL,), digest="b")
SEED_KEPT = execution("worse", "diverges", "indices-sentinel", variant="indices", known="ORT-SEED-KEPT", digest="b")
OLD = (
    execution("same"), execution("same", variant="indices"), execution("worse"), execution("worse", variant="indices"),
    execution("fixed", "diverges", "y-not-in-input"), execution("gone"), execution("never", "not-expressible"),
    execution("mixed"), execution("mixed", "diverges", "indices-sentinel", variant="indices"), execution("other"),
    execution("tie", differences=(zero(1), zero(2))), execution("both", "diverges", "shape"),
)  # fmt: skip
NEW = (
    execution("same"), execution("same", variant="indices"), WRONG, SEED_KEPT, execution("fixed", digest="b"),
    execution("never", "not-expressible"), execution("mixed", "crashes", "crash", message="it died of a signal"),
    execution("mixed", variant="indices", digest="b"), execution("other", case_sha256="2"),
    execution("tie", digest="b", differences=(zero(1), zero(3))), execution("both", "diverges", "shape"),
)  # fmt: skip


def seed(name, **fields):
    return execution(name, "diverges", "indices-sentinel", known="ORT-SEED-KEPT", **fields)


REFUSED = execution("a", "refuses", "refuses-valid", known="ORT-NO-FLOAT16", message="NOT_IMPLEMENTED")
RELEASES = [
    Release("1.0", record(REFUSED, seed("b"), execution("c"))),
    Release("1.1", None, "it has no wheel"),
    Release("1.2", record(REFUSED, execution("b"), execution("c", "diverges", "shape"))),
    Release("1.3", record(REFUSED, seed("b", size=9), seed("c", size=2), seed("c", variant="indices"))),
]
FINE, BAD = Observation("right", execution("a")), Observation("wrong", WRONG)
BISECTION = BisectionReport(
    case="folder/file:a", case_sha256="1", origin="cases/folder/file.yaml:7", title="About a", target="onnxruntime",
    variant="y-only", kind=None, versions=("1.0", "1.1", "1.2", "1.3", "1.4"), tested={0: FINE, 1: FINE, 3: BAD, 4: BAD},
    boundaries=(Boundary(1, 3),), skipped={"1.2": "it has no wheel"},
)  # fmt: skip
REFUSES = Observation("other", REFUSED)


WITHOUT_RESULT = [
    msgspec.structs.replace(next(iter(RUN.executions)), verdict=Verdict.ERROR),
    execution("odd", "diverges", "shape", status="new", title="50% of\nit", origin="my float#1,a:b.yaml:3"),
]
ERRORS = Record(
    RUN.header, WITHOUT_RESULT, msgspec.structs.replace(RUN.footer, errors=("the target did not start",), exit_code=3)
)  # fmt: skip


LONG = "word " * 100 + "last-word"


def many_faults():
    """The report of a run with more faults, reasons and words than a report shows."""
    entries = [
        msgspec.structs.replace(
            SEED, id=f"D-{at}", title=f"Wrong in the way {at}", reason="It reads other cells. " * 20
        )
        for at in range(80)
    ]
    made = record(
        *(execution(each.id, "diverges", "shape", known=each.id, status="expected") for each in entries),
        *(execution(f"{at}-{n}", "refuses", "refuses-valid", message=f"reason {at}", limit=True, status="new", spec=f"s{at}")
          for at in range(20) for n in range(30 - at)),
        execution("long", "diverges", "dtype", status="new", title=LONG, message=LONG, erratum=LONG),
    )  # fmt: skip
    footer = msgspec.structs.replace(made.footer, known=(FLOAT16, *entries))
    return RunReport(replace(made, footer=footer), ExitCode.UNEXPECTED)


def many_changes():
    """The report of a gate with a group of many cases, some of two or three, and many of long texts."""
    new = [execution(f"a{at:02}", "refuses", "refuses-valid", size=at) for at in range(25)]
    new += [execution(f"b{at:02}", "diverges", f"kind-{at % 12}") for at in range(25)]
    new += [execution(f"{LONG}{at}", "refuses", f"kind-{at}", message=LONG, title=LONG) for at in range(99)]
    return compared([execution(each.case[12:], title=each.title) for each in new], new)


def many_releases():
    """The report of a history of more releases than a table has room for."""
    kinds = [f"kind-{at}" for at in range(20)]
    sides = [record(*(execution(each, "diverges", each) for each in part)) for part in (kinds, kinds[10:])]
    return HistoryReport("onnxruntime", [Release(f"1.{at}.0.dev20260101", sides[at % 2]) for at in range(40)])


def model_report(name, base="", head=""):
    """The report of a stored record of ``pool.onnx``, of an upgrade if it has a base and a head."""
    made = analysed(GOLDEN / "pool.onnx", takes_models=True)
    made = replace(made, model=replace(made.model, path=Path("pool.onnx")))
    stored = read(GOLDEN / f"{name}.jsonl")
    return ModelReport(
        [made],
        ModelTest(exit_code=ExitCode(stored.footer.exit_code)),
        stored,
        upgrade(stored, base, head, list(made.by_id)) if base else None,
    )


@cache
def reports():
    """What writes each report, and the report."""
    runs = {
        "run": RUN,
        "graphs": read(GOLDEN / "graphs.jsonl"),
        "incomplete": replace(RUN, footer=None),
        "errors": ERRORS,
    }
    kernels = [f"python:kernels.py:{name}" for name in ("right", "pads_with_zero")]
    return {
        **{name: (report, RunReport(each, each.footer.exit_code if each.footer else 3)) for name, each in runs.items()},
        "gate": (gate, compared(OLD, NEW, intersection=True)),
        "undecided": (gate, ComparisonReport("gate", [], problems=["it did not\nstart"], undecided=ExitCode.INCOMPLETE)),
        "history": (history, HistoryReport("onnxruntime", RELEASES)),
        "bisection": (bisect, BISECTION),
        "fixed": (bisect, replace(BISECTION, tested={0: BAD, 1: REFUSES, 3: FINE}, boundaries=(Boundary(0, 1), Boundary(1, 3)))),
        "unchanged": (bisect, replace(BISECTION, tested={0: FINE, 4: FINE}, boundaries=(), skipped={})),
        "too-few": (bisect, replace(BISECTION, tested={0: FINE}, boundaries=(), kind="y-not-in-input")),
        "model": (model, model_report("model")),
        "many": (report, many_faults()), "many-changes": (gate, many_changes()), "many-releases": (history, many_releases()),
        "upgrade": (model, model_report("upgrade", *kernels)),
    }  # fmt: skip


EXTENSIONS = {
    "text": "txt", "markdown": "md", "github": "github.md", "html": "html", "json": "json", "junit": "xml", "sarif": "sarif",
    "csv": "csv",
}  # fmt: skip
DISPLAYS = {
    "color.txt": Display(color=True), "verbose.txt": Display(72, everything=True), "everything.md": Display(everything=True),
}  # fmt: skip
CLAUSES = ("MAX", "INDICES-FIRST", "AUTO-PAD-C2", "PADS-C1", "GENERAL", "NAN-ALONE")
TRACES = {"trace": (["trace"], CLAUSES), "partial": (["partial-last", "partial-right"], CLAUSES[:3])}
"""Records, and the clauses that are traced to cases of ``trace.yaml``, of which the second ones lack some."""
WHOLE = ("run", "gate", "upgrade", "history", "bisection")
"""A rich report of each view, which is compared in all formats; others are compared as text."""
EVERY = [
    *(f"{name}.{EXTENSIONS[form]}" for name, (module, _) in reports().items() for form in module.FORMATS),
    *(f"{name}.{extension}" for name in ("run", "gate", "upgrade", "many") for extension in DISPLAYS),
    *(f"{name}.annotations" for name in ("run", "incomplete", "errors", "gate", "undecided")),
    *(f"{name}.{EXTENSIONS[form]}" for name in TRACES for form in TRACE_FORMATS), "trace.verbose.txt",
]  # fmt: skip
FILES = [name for name in EVERY if name.partition(".")[0] in (*WHOLE, "trace") or name.partition(".")[2] == "txt"]


def written(form, made, module, display=None):
    """A report in a format."""
    file = io.StringIO()
    module.FORMATS.write(form, made, file, display or Display())
    return file.getvalue()


def trace(name, *words):
    """The trace of stored records."""
    records, clauses = TRACES[name]
    words += tuple(word for each in records for word in ("--record", f"{each}.jsonl"))
    words += tuple(word for each in clauses for word in ("-k", f"clause:SONNX-{each}"))
    return command("evidence", "trace", "trace.yaml", *words, cwd=GOLDEN)


def rendered(name):
    """A report as text; of a page without the style and the scripts that all have."""
    stem, _, extension = name.partition(".")
    form = {"annotations": "annotations", "color.txt": "text", "verbose.txt": "text", "everything.md": "markdown"}.get(
        extension
    )
    form = form or next(form for form, each in EXTENSIONS.items() if each == extension)
    if stem in TRACES:
        text = trace(stem, *(["-v"] if extension in DISPLAYS else ["--report", form])).out
    else:
        module, made = reports()[stem]
        if form == "annotations":
            items = run_items if module is report else changes_items
            text = "".join(f"{line}\n" for line in github.commands(items.annotations(made)))
        else:
            text = written(form, made, module, DISPLAYS.get(extension))
    return re.sub(r"(?s)<(style|script)>.*?</\1>|'sha256-[^']*'|&#39;sha256-.*?&#39;", r"<\1>", text)


@pytest.mark.parametrize("name", FILES)
def test_report(name):
    assert rendered(name) == (GOLDEN / name).read_text(), "if this is meant: python -m tests.reporting.test_golden"


@pytest.mark.parametrize("name", [name for name in EVERY if name.endswith((".xml", ".sarif"))])
def test_what_ci_systems_read_has_their_schema_and_each_test_once(name):
    text = rendered(name)
    if name.endswith(".sarif"):
        for run in Sarif.model_validate_json(text).runs:
            assert {result.rule_id for result in run.results} <= {rule.id for rule in run.tool.driver.rules}
            fingerprints = {json.dumps(result.partial_fingerprints) for result in run.results}
            assert len(fingerprints) == len(run.results)
        return
    document = JUnitXml.fromstring(text.encode())
    tests = [(suite.name, test) for suite in document for test in suite]
    assert len({(suite, test.classname, test.name) for suite, test in tests}) == len(tests) == document.tests
    results = [type(result) for _, test in tests for result in test.result]
    counts = [results.count(each) for each in (Failure, Skipped, Error)]
    assert [document.failures, document.skipped, document.errors] == counts


@pytest.mark.parametrize("name", [name for name in EVERY if name.endswith(".json")])
def test_json_follows_the_schema_that_docs_shows(name):
    document = json.loads(rendered(name))
    _, command_of, _ = document["schema"].split("/")
    schema = command("docs", f"schema-{command_of}").json
    Draft202012Validator.check_schema(schema)
    assert [error.message for error in Draft202012Validator(schema).iter_errors(document)] == []


@pytest.mark.parametrize("name", [name for name in EVERY if name.endswith("md") and "everything" not in name])
def test_markdown_stays_short(name):
    text = rendered(name)
    assert len(text) <= LARGEST
    assert max(map(len, text.splitlines())) <= 400


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("name", [name for name in reports() if name not in ("model", "upgrade")])
def test_a_screen_has_no_line_that_is_longer_than_it_and_ends_with_the_result(name, width):
    module, made = reports()[name]
    lines = written("text", made, module, Display(width)).splitlines()
    verdict = module.FORMATS.document(made).verdict
    # A command is copied, and never broken.
    assert [line for line in lines if len(line) > max(width, 100) and "maxpool-check" not in line] == []
    assert any(line.startswith(f"{verdict.word}  ") for line in lines[-3:])


def test_the_report_of_an_annotation_names_each_line_of_a_case():
    for name in ("incomplete", "errors", "undecided"):
        lines = rendered(f"{name}.annotations").splitlines()
        assert lines
        assert all(line.startswith("::error") for line in lines)


if __name__ == "__main__":
    for file in sorted({path.name for path in GOLDEN.iterdir()} & {*EVERY} - {*FILES}):
        (GOLDEN / file).unlink()
    for file in FILES:
        text = rendered(file)
        if not (GOLDEN / file).exists() or text != (GOLDEN / file).read_text():
            print(f"tests/data/golden/{file} is new")
            (GOLDEN / file).write_text(text)
