"""The parts of a record that say what a run was made with, so that it can be repeated: files by their digests, and the machine.

Every digest is a SHA-256 in hexadecimal digits.
"""

from collections.abc import Iterable

import msgspec

ARCHITECTURES = ("x86_64", "aarch64")
"""The architectures of processors that conditions of defects may name."""

INSTRUCTION_SETS = ("sse4.1", "avx", "avx2", "avx512f", "neon", "sve", "float16")
"""The instruction sets that decide which kernels of a runtime execute; ``float16`` is arithmetic, not conversion."""


class Distribution(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An installed distribution of Python, or a package of npm.

    ``requires`` are the distributions of the same environment that it declares to need. ``wheel`` is the name of the file
    that it was installed from and ``wheel_sha256`` its digest, where they are known; ``integrity`` is the digest that npm has of
    a package, ``sha512-`` and base64. ``files_sha256`` is the digest of
    the installed files: of a line ``SHA256  NAME`` for each, as ``sha256sum`` writes it, in the order of the names, without
    what depends on the installer or the folder; None where there is no list of files. ``libraries`` are its shared libraries and programs with their
    digests, computed from the files themselves; other files have the digests that the list gives.
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    wheel: str | None = None
    wheel_sha256: str | None = None
    integrity: str | None = None
    files_sha256: str | None = None
    libraries: dict[str, str] = {}


class PythonEnvironment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An environment of Python or Node.js, and the distributions in it that a target needs.

    All of them, if it was made for the target.
    """

    implementation: str
    version: str
    executable_sha256: str | None = None
    distributions: tuple[Distribution, ...] = ()


class ToolFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of the tool itself, without the cases that come with it.

    ``sha256`` is a digest as ``files_sha256`` of a distribution. ``revision`` is the git commit if the tool runs from a checkout, and
    ``modified`` whether its files differ from that commit; otherwise both are None.
    """

    sha256: str
    revision: str | None = None
    modified: bool | None = None


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine on which a run began, besides its processor and system.

    ``features`` are those of the processor. ``environment`` has the variables of the environment that can change a result,
    as far as they are set.
    """

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
    """How many cases of a run the definition and the evaluator were compared on, and on how many they agreed.

    ``log_sha256`` is the digest of the log, if there is one.
    """

    compared: int
    agreed: int
    log_sha256: str | None = None


class CorpusDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The whole corpus that the cases of a run were selected from: as the user named it, and the SHA-256 of all its cases.

    ``version`` is that of the tool if it is the corpus that comes with it, else None.
    """

    name: str
    version: str | None
    cases: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}" if self.version is not None else self.name
