"""The keys of a configuration, in one table: the JSON Schema, ``config`` and the defaults of options come from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from maxpool_check.configuration.values import File, Many, Number, Reports, TargetText, Text, Truth, ValueType

PREFIX = "MAXPOOL_CHECK_"
"""How the names of environment variables begin."""

CONFIG_VARIABLE, CACHE_VARIABLE = f"{PREFIX}CONFIG", f"{PREFIX}CACHE"
"""The variables that are no keys: the file of the configuration, and the folder of the cache."""

_OF_TESTS = f"{PREFIX}REQUIRES_BROWSER"
"""The variable of the tests of this package, in which commands run as well."""


@dataclass(frozen=True)
class Key:
    """One key.

    ``parameters`` are the names of the parameter that it sets, by command. A key that is not ``shared`` may only stand in
    the section of a command. A value has no effect beside an option that is ``excluded_by`` name.
    ``otherwise`` says what holds where a command has no default.
    """

    name: str
    value: ValueType
    about: str
    parameters: Mapping[str, str]
    shared: bool = True
    excluded_by: tuple[str, ...] = ()
    otherwise: str = "-"

    def variable(self, section: str = "") -> str:
        """The environment variable: of all commands, or of the command with this section."""
        return PREFIX + "_".join(filter(None, (section, self.name))).upper().replace("-", "_")

    @property
    def sections(self) -> list[str]:
        """The sections that it may stand in."""
        return list(dict.fromkeys(filter(None, map(section_of, self.parameters))))


def _sets(parameter: str, *commands: str) -> dict[str, str]:
    return dict.fromkeys(commands, parameter)


_READ_PATHS = ("run", "lint", "list", "gate", "bisect", "history", "documents", "known check", "export", "corpus lock")
_READ_ONE = ("explain", "reference", "repro", "defects check")
_MAKE_ENVIRONMENTS = (
    "run", "gate", "model", "fuzz", "explain", "repro", "bisect", "history", "targets", "defects check",
)  # fmt: skip
FORMATS = ("text", "markdown", "html", "json", "junit", "github", "sarif")

KEYS = (
    Key("paths", Many(File(), "cases"), "Case files and folders of them. Commands with -p take the path if it is the only one.",
        {**_sets("paths", *_READ_PATHS), **_sets("path", *_READ_ONE)}, otherwise="corpus"),
    # What is set for all commands is about cases, and not about models.
    Key("paths", Many(File(), "my.onnx"), "Models.", {"model": "models"}, shared=False),
    Key("targets", Many(TargetText(), "onnxruntime==1.31.1"), "Runtimes to test.",
        _sets("targets", "run", "fuzz", "model", "defects check"), excluded_by=("base", "head", "record_files")),
    Key("target", TargetText(), "The runtime.", _sets("target", "bisect", "history", "repro"), shared=False),
    Key("base", Many(TargetText(), "onnxruntime==1.24.4", or_one=True), "The runtime in use, or its record; of a gate, several.",
        {"gate": "bases", "model": "base"}, shared=False, excluded_by=("targets",)),
    Key("head", Many(TargetText(), "onnxruntime==1.31.1", or_one=True), "The runtime to upgrade to; of a gate, several.",
        {"gate": "heads", "model": "head"}, shared=False, excluded_by=("targets",)),
    Key("spec", Many(Text(), "onnx"), "Documents, or families of them.", _sets("specs", "run", "gate", "list", "export", "compare", "history"),
        otherwise="all, of gate what the targets claim"),
    Key("spec", Text(("onnx", "sonnx")), "The document to judge a model by.", {"model": "spec"}, shared=False),
    Key("shape", Many(Text(), "batch=1"), "Sizes that a model leaves open.", {"model": "shapes"}, shared=False),
    Key("inputs", File(), "Values of a model's inputs.", {"model": "inputs"}, shared=False, otherwise="random"),
    Key("allow-incomplete", Truth(), "Whether a model that cannot be run may pass.", {"model": "allow_incomplete"}, shared=False),
    Key("variants", Many(Text(), "default", ","), "How to execute each case.", _sets("variants", "run", "gate", "explain")),
    Key("known", Many(File(), "known.yaml"), "Files of known defects, or for models of defects that you accept.",
        _sets("known_files", "run", "fuzz", "model"), excluded_by=("no_known",), otherwise="those of the corpus"),
    Key("no-known", Truth(), "Whether to expect no divergence.", _sets("no_known", "run", "fuzz"),
        excluded_by=("known_files",)),
    Key("accept", Many(File(), "accepted.yaml"), "Files of changes that you have accepted.",
        _sets("accepted_files", "gate", "compare", "gate accept")),
    Key("fail-on", Many(Text(), "regressed", ","), "The changes that block, and severities.",
        _sets("fail_on", "gate", "compare", "gate accept")),
    Key("strict", Truth(), "Whether to fail on more, as --strict does.", _sets("strict", "run", "model")),
    Key("jobs", Number(), "Processes to run in.",
        _sets("jobs", "run", "gate", "fuzz", "history", "defects check"), excluded_by=("dask",)),
    Key("dask", Text(), "The address of the scheduler of a dask cluster.", _sets("dask", "run", "gate", "fuzz"),
        excluded_by=("jobs",)),
    Key("timeout", Number(whole=False), "The time limit of one execution, in seconds.",
        _sets("timeout", "run", "gate", "bisect", "explain", "repro", "fuzz", "history", "model", "defects check", "protocol check")),
    Key("memory", Number(), "What a target may allocate, in MB.", _sets("memory", "run", "gate", "model"),
        otherwise="no limit"),
    Key("corpus-lock", File(), "The lock of the corpus; another corpus is refused.", _sets("lock", "run", "gate", "history")),
    Key("offline", Truth(), "Whether to reach no package index.", _sets("offline", *_MAKE_ENVIRONMENTS)),
    Key("find-links", File(), "A folder of wheels for new environments.", _sets("find_links", *_MAKE_ENVIRONMENTS)),
    Key("max-cells", Number(), "The largest X or Y a case may have.",
        _sets("max_cells", *_READ_PATHS, "explain", "reference", "repro")),
    Key("output", File(), "The file of the record.", _sets("output", "run", "gate", "model"), shared=False,
        excluded_by=("case_file",)),
    Key("reports", Reports(FORMATS), "Reports to write: their paths by format.",
        _sets("reports", "run", "gate", "compare", "history", "bisect", "model"), shared=False, excluded_by=("case_file",)),
    Key("color", Text(("auto", "always", "never")), "Whether to colour the output.",
        _sets("color", "run", "gate", "compare", "explain", "model", "report", "docs", "defects show")),
)  # fmt: skip
"""Every key. A new one is a line here."""

COMMANDS = tuple(dict.fromkeys(command for key in KEYS for command in key.parameters))
"""The commands that have keys; ``known check`` is one of a command."""

SECTIONS = tuple(command for command in COMMANDS if " " not in command and command not in {key.name for key in KEYS})
"""The sections that a configuration may have: the commands, but for commands of commands, and ``targets``, which is a key."""


def section_of(command: str) -> str:
    """The section of a command: that of ``gate accept`` is ``gate``; '' if it has none."""
    first = command.partition(" ")[0]
    return first if first in SECTIONS else ""


def keys_of(command: str) -> dict[str, Key]:
    """The keys of a command, by the parameter that each sets."""
    return {key.parameters[command]: key for key in KEYS if command in key.parameters}


def keys_in(section: str) -> dict[str, Key]:
    """The keys that may stand in a section, by name; '' is the top."""
    return {key.name: key for key in KEYS if (section in key.sections if section else key.shared)}


def variables() -> set[str]:
    """The names of all environment variables."""
    shared = {key.variable() for key in KEYS if key.shared}
    return {CONFIG_VARIABLE, CACHE_VARIABLE, _OF_TESTS, *shared} | {
        key.variable(section) for key in KEYS for section in key.sections
    }
