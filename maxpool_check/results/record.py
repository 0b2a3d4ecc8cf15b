"""The types of a record: JSON lines of a header, the executions of a run and the outputs that they name, and a footer."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import msgspec

from maxpool_check.reference.numbering import Layout
from maxpool_check.results.details import (
    AllowedDifference,
    Cause,
    Cell,
    CorpusDescription,
    DocumentEdition,
    InferredOutput,
    Input,
    Processor,
    PythonEnvironment,
    ReferenceAgreement,
    RunSettings,
    ToolFiles,
    ToolMachine,
    WrongShape,
)
from maxpool_check.results.outputs import StoredOutput
from maxpool_check.results.variants import DEFAULT_VARIANTS
from maxpool_check.words import Term, shortened

SCHEMA = "maxpool-check/record/1"


class Verdict(Term):
    """The verdict on an execution, in the order of reports."""

    CONFORMS = "conforms", "the outputs are the document's, or the runtime refused a graph that the document excludes"
    DIVERGES = "diverges", "the outputs contradict the document, or the document excludes the graph"
    REFUSES = "refuses", "the runtime refused a graph that the document allows: the refusal is wrong"
    CRASHES = "crashes", "the process of the target died"
    TIMES_OUT = "times-out", "the target returned nothing in time"
    UNSTABLE = "unstable", "the same request, executed twice, returned different outputs"
    INCONSISTENT = (
        "inconsistent",
        "two variants, or the cells of one output, follow different interpretations of the document: no clause is broken",
    )
    UNDEFINED = (
        "undefined",
        "a window holds no cell of X, and the document gives the padding no value: there is no result to compare with",
    )
    UNKNOWN = (
        "unknown",
        "a target that infers shapes alone does not know the shape or the dtype; what the target knows is right",
    )
    NOT_EXPRESSIBLE = "not-expressible", "the target accepts nothing that means the same as the case: not executed"
    NOT_CLAIMED = "not-claimed", "the target does not claim the document of the case: not executed"
    ERROR = "error", "the execution failed in a way that says nothing about MaxPool"


REPORTED = frozenset(
    {Verdict.DIVERGES, Verdict.REFUSES, Verdict.CRASHES, Verdict.TIMES_OUT, Verdict.UNSTABLE, Verdict.INCONSISTENT}
)
"""The verdicts that have kinds: reports explain them, and known defects can expect them."""

COMPARED = REPORTED | {Verdict.CONFORMS}
"""The verdicts that compare a target with a document. A run without any of them proves nothing."""

FAULTS = REPORTED - {Verdict.INCONSISTENT}
"""The verdicts that fail a run unless a known defect expects them."""

NOT_EXECUTED = frozenset({Verdict.NOT_EXPRESSIBLE, Verdict.NOT_CLAIMED})
"""The verdicts on what no target was given."""

GIVEN_UP = "not executed: the target was given up"
"""How the message begins of an execution that was not tried, because too many before it had failed."""

_MOST_IN_LINE = 100
"""The most characters of the line that says what is wrong with a known defect."""

DEATHS = frozenset({Verdict.CRASHES, Verdict.TIMES_OUT, Verdict.ERROR})
"""The verdicts that count towards giving a target up."""


class Status(Term):
    """What a run expects of a fault or of an inconsistency."""

    NEW = "new", "no known defect expects the fault"
    CHANGED = "changed", "the known defect expects other kinds"
    EXPECTED = "expected", "a known defect expects the fault or the inconsistency"
    SPECIAL = "special", "special values alone show the fault of a user's model"
    OUTSIDE = "outside", "the node does not show the fault in the user's model as it is deployed"
    INCONSISTENT = "inconsistent", "variants, or cells of one output, differ, and the document allows each"


class KnownStatus(Term):
    """The status of a known defect after a run."""

    EXPECTED = "expected", "the defect occurred as written"
    STALE = "stale", "the defect no longer occurs and must be removed"
    EXPIRED = "expired", "the date of the defect has passed: it no longer expects anything"
    NOT_EXECUTED = "not-executed", "none of the cases of the defect was compared"
    NOT_EXPECTED = "not-expected", "the defect explains what was seen, and no file of the run expects it"


class ExitCode(IntEnum):
    """The exit codes of the command line."""

    AS_EXPECTED = 0
    UNEXPECTED = 1
    USAGE = 2
    INCOMPLETE = 3
    NOTHING_COMPARED = 4
    INTERRUPTED = 130


class TargetDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A target of a run.

    ``distribution``, ``version`` and ``provider`` are those of a runtime; a kernel has what its program says, otherwise the
    first word of its name and twice nothing. ``python`` and ``numpy`` are ``-`` where there is none. ``newest_opset`` is the
    newest operator set that it loads, None without ONNX models. ``speaks`` is the language of its requests. ``indices`` is how
    it numbers cells, a name of :data:`~maxpool_check.reference.numbering.NUMBERINGS`, None without Indices. ``specs`` are the
    documents that a kernel claims, None: all. ``graphs`` is the newest operator set in which it executes several nodes.
    ``decides``: the ``values`` of outputs, their ``shapes`` alone, or the ``acceptance`` of the graph alone. ``environments``
    are what it runs in, first that of the runtime, then that of a tool; ``program`` has the SHA-256 of a kernel's files, by the
    words of its name. ``settings`` are the variations that its program supports. Records of older versions lack these three and
    the ``processor``.
    """

    name: str
    distribution: str
    version: str
    provider: str
    providers: tuple[str, ...]
    session_options: dict[str, Any]
    python: str
    numpy: str
    newest_opset: int | None
    speaks: str = "onnx"
    indices: str | None = "whole"
    specs: tuple[str, ...] | None = None
    graphs: int | None = None
    decides: str = "values"
    processor: Processor | None = None
    environments: tuple[PythonEnvironment, ...] = ()
    program: dict[str, str] = {}
    settings: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET

    @property
    def release(self) -> str:
        """The distribution and version; empty for a kernel that names neither."""
        if not self.name.startswith(f"{self.distribution}:"):
            return f"{self.distribution} {self.version}".rstrip()
        # Records of older versions have the version 0 of such a kernel.
        return self.version if self.version != "0" else ""

    @property
    def about(self) -> str:
        """The release and provider, as far as it has them; never empty."""
        known = ", ".join(filter(None, (self.release, self.provider))) or self._python or "no version named"
        return f"{known}, {self.decides} only" if self.decides != "values" else known

    @property
    def computes(self) -> bool:
        """Whether it computes outputs, so that its executions say something about values."""
        return self.decides == "values"

    @property
    def selected_as(self) -> str:
        """The distribution by which defects select it; what computes nothing is selected by its own name alone."""
        return self.distribution if self.computes else ""

    @property
    def architecture(self) -> str:
        """The architecture of its processor; empty if it is not known."""
        return self.processor.architecture if self.processor is not None else ""

    def software(self, *, numpy: bool = False) -> str:
        """What it is, its Python if it has one, and the processor; with the version of numpy if ``numpy``."""
        library = f"numpy {self.numpy}" if numpy and self.numpy != "-" else ""
        processor = self.processor.short if self.processor is not None else ""
        return ", ".join(dict.fromkeys(filter(None, (self.about, self._python, library, processor))))

    def move_to(self, other: "TargetDescription") -> str:
        """What moves if ``other`` is the same release on another processor: ``onnxruntime 1.32.0 from x86_64 to aarch64``.

        Empty if it is another release, or the processor has the same instruction sets or is unknown.
        """
        here, there = self.processor, other.processor
        if not self.release or self.release != other.release or here is None or there is None:
            return ""
        if here.architecture != there.architecture:
            return f"{self.release} from {here.architecture} to {there.architecture}"
        return f"{self.release} from {here} to {there}" if here.features != there.features else ""

    @property
    def _python(self) -> str:
        return f"Python {self.python}" if self.python != "-" else ""


class RunHeader(msgspec.Struct, frozen=True, kw_only=True, tag="header"):
    """The first line: versions, machine, targets, policies and digests of the inputs of a run.

    ``profile`` holds the policies of each document in use, by its name, ``editions`` the edition that was read. The digests
    are SHA-256, of all cases and of the files of known defects. ``references`` is None if the two references were not
    compared. ``seeds`` are those of random values, by what is drawn. ``command`` is the command line as it was given, and
    ``configuration_sha256`` the digest of the file that set options besides it; absent, no file did. Records of older versions
    lack what is behind ``known_sha256``, or the ``settings`` alone; runs of a model have no ``corpus``.
    """

    schema: str = SCHEMA
    tool: str
    started: str
    python: str
    system: str
    cpu: str
    libraries: dict[str, str]
    targets: tuple[TargetDescription, ...]
    profile: dict[str, dict[str, str]]
    cases: int
    cases_sha256: str
    known_sha256: str | None
    command: tuple[str, ...] = ()
    configuration_sha256: str | msgspec.UnsetType = msgspec.UNSET
    corpus: CorpusDescription | None = None
    tool_files: ToolFiles | None = None
    machine: ToolMachine | None = None
    editions: dict[str, DocumentEdition] = {}
    references: ReferenceAgreement | None = None
    seeds: dict[str, int] = {}
    settings: RunSettings | msgspec.UnsetType = msgspec.UNSET

    @property
    def effective_settings(self) -> RunSettings:
        """The settings; of a record of an older version, those of a run of a whole corpus without options."""
        if not isinstance(self.settings, msgspec.UnsetType):
            return self.settings
        names = tuple(variant.name for variant in DEFAULT_VARIANTS)
        return RunSettings(variants=names, strict=False, whole=True, catalogue_sha256=None)


class Execution(msgspec.Struct, frozen=True, kw_only=True, tag="execution", omit_defaults=True):
    """A case in one variant on one target.

    ``known`` is the entry that expects its kinds; ``status`` is ``expected``, ``new`` or ``changed`` for a fault,
    ``expected`` or ``inconsistent`` for an inconsistency, otherwise empty. In a user's model, ``known`` only names a defect,
    a fault on special values alone is ``special``, and one that the node does not have in the model is ``outside``.
    ``translation`` lists how a case of another document became a model of operator set ``opset``. ``layout`` is that of X and all coordinates, ``size`` the number of cells of X.
    ``interpretations`` are those of open points that the outputs agree with, or ``mixed``. ``digests`` are SHA-256 of the
    outputs. ``inferred`` is what a target says that computes none. ``counts`` are numbers of wrong cells by kind,
    ``windows`` by kind and by what the windows hold. ``wrong`` marks the wrong cells of each output that finite values
    show, and those that special values alone show. ``explained_by`` are known defects that explain some of the wrong cells,
    and ``unexplained`` the kinds of the others. ``differences`` are the first cells where conforming outputs differ from
    the reference. ``seconds`` is how long the target had the requests, the first time if a crash repeats them.
    """

    target: str
    case: str
    variant: str
    verdict: Verdict
    title: str
    spec: str
    case_sha256: str
    origin: str
    kinds: tuple[str, ...] = ()
    known: str | None = None
    status: str = ""
    message: str = ""
    information: tuple[str, ...] = ()
    limit: bool = False
    opset: int | None = None
    translation: tuple[str, ...] = ()
    layout: Layout = Layout.CHANNELS_FIRST
    interpretations: dict[str, tuple[str, ...]] = {}
    causes: tuple[Cause, ...] = ()
    digests: dict[str, str] = {}
    inferred: dict[str, InferredOutput] = {}
    counts: dict[str, int] = {}
    cells: tuple[Cell, ...] = ()
    differences: tuple[AllowedDifference, ...] = ()
    shapes: dict[str, WrongShape] = {}
    severity: str = ""
    windows: dict[str, dict[str, int]] = {}
    wrong: dict[str, dict[str, str]] = {}
    explained_by: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    size: int = 0
    input: Input | None = None
    clauses: tuple[str, ...] = ()
    erratum: str | None = None
    traceback: str = ""
    seconds: float = 0.0

    @property
    def unexpected(self) -> bool:
        """Whether it fails the run."""
        return self.status in (Status.NEW, Status.CHANGED) or self.verdict == "error"


class KnownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A known defect and its status on one target; ``reason`` is its mechanism, ``issue`` the address of one upstream.

    ``versions`` are those that showed it when they were tested, in words; ``fixed`` is the first tested one after them, and
    ``remedy`` what to do otherwise, in words; ``expires`` is the last day on which it is expected.
    ``reviewer`` is the person who has confirmed it, ``reviewed`` the day; both are empty until somebody has.
    """

    id: str
    target: str
    status: KnownStatus
    kinds: tuple[str, ...]
    reason: str
    title: str = ""
    severity: str = ""
    example: str | None = None
    issue: str | None = None
    message: str = ""
    versions: str = ""
    fixed: str = ""
    remedy: str = ""
    expires: str = ""
    reviewer: str = ""
    reviewed: str = ""

    @property
    def first_line(self) -> str:
        """The first line of the message, which of a stale defect has all executions."""
        return self.message.partition("\n")[0]

    @property
    def problem(self) -> str:
        """The status with the first line of the message, on a line of at most 100 characters."""
        room = max(_MOST_IN_LINE - len(f"{self.status.value}  {self.id} on : {self.first_line}"), _MOST_IN_LINE // 4)
        line = f"{self.id} on {shortened(self.target, room)}: {self.first_line}"
        return f"{self.status.value.upper()}  {shortened(line, _MOST_IN_LINE - len(self.status.value) - 2, end=False)}"

    @property
    def advice(self) -> str:
        """What a user can do about it, as an imperative; empty if nothing is known to help."""
        return f"upgrade: repaired in {self.fixed}" if self.fixed else self.remedy

    @property
    def review(self) -> str:
        """Who has confirmed it and when, as a sentence; empty if nobody has."""
        return f"Reviewed by {self.reviewer}, {self.reviewed}." if self.reviewer else ""


class Conclusion(msgspec.Struct, frozen=True):
    """What a command that decides by rules of its own ended with; ``decision`` is a word such as REVIEW, empty without one."""

    exit_code: ExitCode
    reason: str
    decision: str = ""

    @property
    def word(self) -> str:
        """The decision, or what there is instead of one."""
        return self.decision or self.exit_code.name.replace("_", " ")

    def __str__(self) -> str:
        return f"{self.word} {self.reason}"


class RunFooter(msgspec.Struct, frozen=True, kw_only=True, tag="footer"):
    """The last line of a complete run; ``summary`` counts executions by target and verdict.

    ``exit_code`` follows from these as that of a run; ``conclusion`` is that of another command, which decided on them.
    ``contradicted`` names, by target, kind of cause and dtype, a case whose outputs are not those of the mistake.
    ``outputs_left_out`` is how many outputs differ from the reference's and are in the record by digest alone; None in records
    of older versions, which hold no outputs.
    """

    finished: str
    executions: int
    summary: dict[str, dict[str, int]]
    known: tuple[KnownEntry, ...]
    errors: tuple[str, ...]
    exit_code: int
    contradicted: dict[str, dict[str, dict[str, str]]] = {}
    outputs_left_out: int | None = None
    conclusion: Conclusion | msgspec.UnsetType = msgspec.UNSET


def target_of(error: str, targets: Iterable[str]) -> str | None:
    """The target, one of these names, that an error of a footer begins with; None if it may concern all of them.

    The name of a ``command:`` target may begin another's.
    """
    return max((name for name in targets if error.startswith(f"{name} ")), key=len, default=None)


Line = RunHeader | Execution | StoredOutput | RunFooter


@dataclass(frozen=True)
class Record:
    """A record. ``executions`` may be read from a file at each iteration; ``footer`` is None if the run did not end.

    ``mistakes`` are the first things in its file that no run writes, each with its line. ``outputs`` are those that differ from
    the reference's, by the digests in executions.
    """

    header: RunHeader
    executions: Collection[Execution]
    footer: RunFooter | None
    mistakes: tuple[str, ...] = ()
    outputs: Mapping[str, StoredOutput] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """The exit code of the command that wrote it."""
        if self.footer is None:
            return ExitCode.INCOMPLETE
        return (self.footer.conclusion or self.footer).exit_code
