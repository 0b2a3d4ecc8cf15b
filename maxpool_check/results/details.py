"""What lines of a record consist of: wrong cells, causes and inputs of executions, and what a run was made with.

A run can be repeated by its files and its machine. Every digest of files is a SHA-256 in hexadecimal digits.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from maxpool_check.words import plural, some

ARCHITECTURES = ("x86_64", "aarch64")
"""The architectures of processors that conditions of defects may name."""

INSTRUCTION_SETS = ("sse4.1", "avx", "avx2", "avx512f", "neon", "sve", "float16")
"""The instruction sets that decide which kernels of a runtime execute; ``float16`` is arithmetic, not conversion."""

_MOST_NAMED = 3
"""A sentence has so many reasons why cases were not executed, or so many mistakes that would go unnoticed."""

EMULATED = "emulated by "
"""How the model of a processor begins that a program emulates."""


class WrongAxis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The size of an axis of an output, by the document and from a target; ``axis`` is N, C, D1 ... Dn.

    ``formula`` is the document's, with the numbers of the case; empty where there is none. ``mistake`` is the kind that
    explains the outputs, if there is only one, and ``instead`` its formula: the whole of it, or how it rounds if nothing else
    is different.
    """

    axis: str
    expected: int
    got: int
    formula: str = ""
    mistake: str = ""
    instead: str = ""


class WrongShape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The shapes of an output; ``axes`` are those that differ, none if there are more or fewer axes than expected."""

    expected: tuple[int, ...]
    got: tuple[int, ...]
    axes: tuple[WrongAxis, ...] = ()


class InferredOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a target that computes no values infers of an output; None: it does not know the dtype, the shape, or a size."""

    dtype: str | None
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        sizes = "..." if self.shape is None else ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype or '?'}[{sizes}]"

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The shape, if all of it is known."""
        known = tuple(size for size in self.shape or () if size is not None)
        return known if self.shape is not None and len(known) == len(self.shape) else None

    @property
    def is_known(self) -> bool:
        """Whether it knows the dtype and the whole shape."""
        return self.dtype is not None and self.sizes is not None


class Cell(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A wrong cell: its place in an output, the expected and actual values (exact text), and its window.

    ``window`` lists, for each spatial axis, the positions of the taps inside X; ``values`` are the cells there, row-major,
    None if there are many. ``got_cell`` is the cell of X that a wrong index names, ``chosen`` the one that the reference
    chose, None in an empty window. ``outside`` has the numbers of taps before and behind X on each spatial axis, ``dilation``
    apart like the others. Records of older versions have neither ``chosen`` nor ``outside``.
    """

    at: tuple[int, ...]
    output: str
    expected: str
    got: str
    kind: str
    window: tuple[tuple[int, ...], ...]
    values: tuple[str, ...] | None
    got_cell: tuple[int, ...] | None
    chosen: tuple[int, ...] | None = None
    outside: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        return f"{self.output}{list(self.at)} is {self.got}, expected {self.expected}"


class AllowedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A cell in which conforming outputs have other bits than the reference (exact text)."""

    at: tuple[int, ...]
    output: str
    reference: str
    got: str


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake that would give exactly all outputs, or ``output``, of ``cells`` cells.

    Without cells it gives their shape alone, or too little to prove it: a window without a cell may hold anything.
    """

    kind: str
    output: str | None
    cells: int


class Entering(msgspec.Struct, frozen=True, kw_only=True):
    """The tensor that enters MaxPool in a graph of several nodes; ``values`` as of :class:`Input`."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[str, ...] | None


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """The input of an execution that needs an explanation.

    ``values`` are the cells of X, row-major, None if there are many; ``policies`` are those that the case overrides.
    ``graph`` are the nodes of a graph of several, as text, and ``entering`` the tensor that enters MaxPool there.
    """

    dtype: str
    shape: tuple[int, ...]
    attributes: dict[str, Any]
    values: tuple[str, ...] | None
    policies: dict[str, str] = {}
    graph: tuple[str, ...] = ()
    entering: Entering | None = None

    @property
    def pooled(self) -> "Entering | Input":
        """The tensor whose cells are pooled: the one that enters MaxPool, or X."""
        return self.entering or self


class Distribution(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An installed distribution of Python, or a package of npm.

    ``requires`` are those of the same environment that it declares to need. ``wheel`` is the file that it was installed from,
    ``integrity`` the digest that the lock file of npm has of a package, ``sha512-`` and base64. ``files_sha256`` is the digest
    of its RECORD, which states a digest of each installed file: of a line ``SHA256  NAME`` for each file, as ``sha256sum``
    writes it, in the order of the names, without files that depend on the installer or the folder. It is None if no RECORD
    lists the files. ``libraries`` are the shared libraries, with the digests that RECORD states. ``changed`` are the files that
    are missing, or have another size than RECORD states. What is not known is None.

    In records of older versions, the digests of libraries are of the files themselves, and packages of npm have them too.
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    wheel: str | None = None
    wheel_sha256: str | None = None
    integrity: str | None = None
    files_sha256: str | None = None
    libraries: dict[str, str] = {}
    changed: tuple[str, ...] = ()


class PythonEnvironment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An environment of Python or Node.js, and the distributions in it that a target needs; all, if it was made for it."""

    implementation: str
    version: str
    executable_sha256: str | None = None
    distributions: tuple[Distribution, ...] = ()


class ToolFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of the tool itself, without the cases that come with it.

    ``sha256`` is in the form of ``files_sha256`` of a distribution, of the files themselves. In a checkout, ``revision`` is the git commit, and ``modified`` says
    whether the files differ from it.
    """

    sha256: str
    revision: str | None = None
    modified: bool | None = None


class ToolMachine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine on which a run began; ``environment`` has its variables that can change a result, as far as they are set."""

    features: tuple[str, ...]
    kernel: str
    libc: str
    environment: dict[str, str]


class Processor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The processor that executes a target, as the target's own program found it.

    ``architecture`` is as ``uname -m`` has it; ``model`` is empty if it is not known. ``features`` are the instruction sets,
    of the tool's own workers some of ``INSTRUCTION_SETS``; None: unknown.
    """

    architecture: str
    model: str = ""
    features: tuple[str, ...] | None = None

    def has(self, names: Iterable[str]) -> bool:
        """Whether it is as these names say: an architecture, a feature that it has, or ``no-`` and one that it has not.

        What is not known is not so.
        """
        return all(
            name == self.architecture
            or (self.features is not None and (name.removeprefix("no-") in self.features) != name.startswith("no-"))
            for name in names
        )

    @property
    def is_emulated(self) -> bool:
        """Whether a program emulates it."""
        return self.model.startswith(EMULATED)

    @property
    def short(self) -> str:
        """The architecture, and what emulates it: ``aarch64 (emulated by qemu-aarch64)``."""
        return f"{self.architecture} ({self.model})" if self.is_emulated else self.architecture

    def __str__(self) -> str:
        features = "instruction sets unknown" if self.features is None else ", ".join(self.features)
        return ", ".join(filter(None, (self.architecture, self.model, features)))


class DocumentEdition(msgspec.Struct, frozen=True, kw_only=True):
    """The edition of a document, such as ``sonnx@seed``, and the digest of its text, None if it is not known by its text."""

    name: str
    sha256: str | None = None

    def __str__(self) -> str:
        return f"{self.name}, SHA-256 {self.sha256}" if self.sha256 is not None else self.name


class ReferenceAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """On how many cases of a run the definition and the evaluator were compared, and agreed; and the digest of the log."""

    compared: int
    agreed: int
    log_sha256: str | None = None


class CorpusDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The whole corpus that the cases of a run were selected from, as the user named it, and the SHA-256 of all its cases.

    ``version`` is that of the tool if the corpus came with it.
    """

    name: str
    version: str | None
    cases: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}" if self.version is not None else self.name


class RunSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What decides verdicts and the exit code of a run besides its cases, its targets and its known defects.

    ``variants`` are the names of those in which cases were executed, as far as they apply. ``strict``: differences that a document
    allows are unexpected. ``whole``: every case file of the corpus was read, so that a known defect can be stale.
    ``catalogue_sha256`` is the digest of the files of defects that explain what none of the known ones expects, None without any.
    ``stops``: the run ended with the first case that shows a fault or an error.
    """

    variants: tuple[str, ...]
    strict: bool
    whole: bool
    catalogue_sha256: str | None
    stops: bool = False


class ExecutedPart(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the cases ``of`` the documents that a kernel claims were executed, if these are not all."""

    target: str
    part: str
    """What these have and lack, in words; empty if they differ from the others in another way."""
    cases: int
    of: int
    left: dict[str, int]
    """Why the others were not executed, each reason with its number of cases, the most frequent first."""

    @property
    def words(self) -> str:
        """It in words: ``float32, without dilations: 412 of 1,570 cases; not: no dilations (900 cases)``."""
        reasons = [f"{why.partition(';')[0]} ({plural(number, 'case')})" for why, number in self.left.items()]
        numbers = f"{self.cases} of {plural(self.of, 'case')}; not: {', '.join(some(reasons, _MOST_NAMED))}"
        return f"{self.part}: {numbers}" if self.part else numbers


class KitSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Which mistakes a kernel was tested for with a kit, of those that the kit notices: a kernel that computed few vectors proves little.

    ``vectors`` are those of the kit, of which it ``computed`` some, and ``refused`` others that must be refused.
    """

    target: str
    vectors: int
    computed: int
    refused: int
    noticed: tuple[str, ...]
    """The wrong kernels of which a computed vector would have shown it: 'maxpool-check explain NAME' says what each does."""
    by_refusals: tuple[str, ...]
    """Those of which a refusal would have shown it, if it is the kernel's own."""
    not_noticed: tuple[str, ...]

    @property
    def words(self) -> str:
        """It in a sentence without its full stop."""
        mistakes = len(self.noticed) + len(self.by_refusals) + len(self.not_noticed)
        apart = f" and refused {self.refused}" if self.refused else ""
        also = f", {len(self.by_refusals)} more by refusals, if they are the kernel's own" if self.by_refusals else ""
        last = f"; not noticed: {', '.join(some(self.not_noticed, _MOST_NAMED))}" if self.not_noticed else ""
        return (
            f"computed {self.computed} of {plural(self.vectors, 'vector')}{apart}: "
            f"{len(self.noticed)} of {plural(mistakes, 'mistake')} would be noticed{also}{last}"
        )
