"""The values that a shell completes: a function for each type of value, which gets the command line and the beginning of a value.

Case files, defects and clauses are searched and not parsed, which would take seconds.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from maxpool_check.cache_folder import cache_folder

_PACKAGE = Path(__file__).parents[1]
_INSTALLED = _PACKAGE / "corpus_data"
_ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent / "cases"
_SAFE = re.compile(r"[\w./:=@,+%~-]+")
"""What no shell takes for anything else, and no terminal for a command."""
_ENVIRONMENT = re.compile(r"([A-Za-z][A-Za-z0-9_-]*?)-(\d[^+-]*)(\+.*)?-((cpython|pypy)\d|node-)")
"""The name of an environment in the cache: its distribution and version."""
_ID = re.compile(r"^ *- (?:\{ *)?id: ([\w.+-]+)", re.MULTILINE)
_TAGS = re.compile(r"\btags: \[([^\]]*)\]")
_FUNCTION = re.compile(r"^def ([A-Za-z]\w*)\(", re.MULTILINE)
_MOST_BYTES = 2**24

_FILE = ""
"""A candidate that stands for files, which the shell knows."""


def items(candidates: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """The candidates that begin so; files where one of them says so."""
    values = dict.fromkeys(candidates)
    found = [CompletionItem(each) for each in values if each.startswith(incomplete) and _SAFE.fullmatch(each)]
    return found or ([CompletionItem(incomplete, type="file")] if _FILE in values else [])


def cases(ctx: click.Context, incomplete: str) -> list[str]:
    """Full ids of cases, or FILE.yaml:ID."""
    file, colon, _ = incomplete.rpartition(":")
    if colon and Path(file).is_file():
        return [f"{file}:{each}" for each in _found(_ID, [Path(file)])]
    return [*(f"{name}:{each}" for name, file in _files(ctx, incomplete) for each in _found(_ID, [file])), _FILE]


def selection(ctx: click.Context, incomplete: str) -> list[str]:
    """Ids of cases, and what else selects them."""
    prefix, colon, _ = incomplete.partition(":")
    values: dict[str, Any] = {
        "tag": lambda: {
            tag.strip() for tags in _found(_TAGS, [file for _, file in _files(ctx, "")]) for tag in tags.split(",")
        },
        "clause": clauses,
        "dtype": lambda: ("float16", "float32", "float64", "bfloat16", "int8", "uint8", "int32", "int64"),
        "spec": lambda: documents(ctx, ""),
        "defect": defects,
        "kind": lambda: kinds(ctx, ""),
    }
    if colon and prefix in values:
        return [f"{prefix}:{each}" for each in sorted(values[prefix]())]
    return [*(f"{each}:" for each in values), *cases(ctx, incomplete)[:-1]]


def words(ctx: click.Context, incomplete: str) -> list[str]:
    """What can be explained: kinds, defects, clauses, documents and cases."""
    found = [*kinds(ctx, ""), *defects(), *clauses(), *documents(ctx, "")]
    return [each for each in found if each.startswith(incomplete)] or cases(ctx, incomplete)


def cases_or_defects(ctx: click.Context, incomplete: str) -> list[str]:
    """Cases and defects."""
    return [each for each in defects() if each.startswith(incomplete)] or cases(ctx, incomplete)


def defects_or_runtimes(ctx: click.Context, incomplete: str) -> list[str]:
    """Defects, and runtimes that have some."""
    from maxpool_check.targets.runtimes import RUNTIMES

    return [*defects(), *RUNTIMES]


def kinds(ctx: click.Context, incomplete: str) -> list[str]:
    """Kinds of divergence."""
    from maxpool_check.judging.kinds import DivergenceKind

    return [kind.value for kind in DivergenceKind]


def documents(ctx: click.Context, incomplete: str) -> list[str]:
    """Documents, and families of them."""
    from maxpool_check.specifications import SPECIFICATIONS

    return _last_of_list([*(name.partition("-")[0] for name in SPECIFICATIONS), *SPECIFICATIONS], incomplete)


def variants(ctx: click.Context, incomplete: str) -> list[str]:
    """A list of variants."""
    from maxpool_check.results.variants import VARIATIONS

    return _last_of_list(["default", "all", *(variation.name for variation in VARIATIONS)], incomplete)


def variant(ctx: click.Context, incomplete: str) -> list[str]:
    """One variant."""
    from maxpool_check.results.variants import ALL_VARIANTS

    return [each.name for each in ALL_VARIANTS]


def changes(ctx: click.Context, incomplete: str) -> list[str]:
    """A list of changes."""
    from maxpool_check.comparing.transitions import UNOBSERVABLE, Change

    return _last_of_list(["any", *(change.value for change in Change if change not in UNOBSERVABLE)], incomplete)


def topics(ctx: click.Context, incomplete: str) -> list[str]:
    """Pages of the documentation."""
    return sorted(path.stem for path in (_PACKAGE / "docs").glob("*.md"))


def reports(ctx: click.Context, incomplete: str) -> list[str]:
    """A format, and a path."""
    formats = next(each.type.formats for each in ctx.command.params if each.name == "reports")
    return [_FILE] if "=" in incomplete else [*formats, *(f"{name}=" for name in formats)]


def paths(ctx: click.Context, incomplete: str) -> list[str]:
    """Files, or names of the corpus that comes with the tool; of gate, also its command."""
    if ctx.info_name == "gate" and incomplete and "accept".startswith(incomplete):
        return ["accept", _FILE]
    if not incomplete or not "corpus:".startswith(incomplete[:7]):
        return [_FILE]
    return ["corpus", *(f"corpus:{name}" for name, _ in _files(None, "")), _FILE]


def targets(ctx: click.Context, incomplete: str) -> list[str]:
    """Targets: runtimes, the versions of them that are known here, tools that rewrite models, kernels."""
    from maxpool_check.targets.runtimes import RUNTIMES, TOOLS

    if incomplete.startswith("python:"):
        path = incomplete.removeprefix("python:")
        file, ends, _ = path.partition(".py:")
        if ends:
            return [f"python:{file}.py:{each}" for each in _found(_FUNCTION, [Path(f"{file}.py")])]
        beside = sorted(Path(f"{path}_").parent.glob("*"))
        return [
            f"python:{each}{'/' if each.is_dir() else ':'}" for each in beside if each.is_dir() or each.suffix == ".py"
        ]
    every = [each for name in RUNTIMES for each in (name, *(f"{name}=={version}" for version in _versions(name)))]
    before, middle, _ = incomplete.partition(":on:")
    if before.startswith("transform:"):
        return [f"{before}{middle}{each}" for each in every] if middle else [f"transform:{name}:on:" for name in TOOLS]
    return [*every, "python:", "command:", "outputs:", "transform:"]


def targets_or_files(ctx: click.Context, incomplete: str) -> list[str]:
    """Targets, or a record."""
    return [*targets(ctx, incomplete), _FILE]


def versions(ctx: click.Context, incomplete: str) -> list[str]:
    """The versions of the target that are known here."""
    return _versions(str(ctx.params.get("target") or "onnxruntime").partition("@")[0].partition("==")[0])


def defects() -> list[str]:
    """Defects of the corpus that comes with the tool."""
    return _found(_ID, sorted((_ROOT / "defects").glob("*.yaml")))


def clauses() -> list[str]:
    """Clauses of the documents."""
    return _found(_ID, sorted((_PACKAGE / "specifications/clauses").rglob("*.yaml")))


def _last_of_list(names: Iterable[str], incomplete: str) -> list[str]:
    before, comma, _ = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name not in before.split(",")]


def _found(pattern: re.Pattern[str], files: Iterable[Path]) -> list[str]:
    """What a pattern finds in files."""
    small = (file for file in files if file.is_file() and file.stat().st_size <= _MOST_BYTES)
    return [each for file in small for each in pattern.findall(file.read_text(encoding="utf-8", errors="replace"))]


def _files(ctx: click.Context | None, beginning: str) -> list[tuple[str, Path]]:
    """The case files that are named, or the default ones, that can have an id that begins so: with its part before the colon."""
    own = Path("cases") if ctx is not None and Path("cases").is_dir() else _ROOT
    places: list[Path] = []
    if ctx is not None:
        # Where the last option lacks its value, click has not yet given the arguments their names.
        defaults = ctx.default_map or {}
        named = [*ctx.args, *ctx.params.get("paths", ()), *filter(None, [ctx.params.get("path"), defaults.get("path")])]
        named += defaults.get("paths", ())
        places = [Path(each) for each in dict.fromkeys(map(str, named)) if each != "corpus"]
    found = []
    for place in places or [own]:
        root, file = _ROOT, _ROOT / str(place).removeprefix("corpus:")
        if not str(place).startswith("corpus:"):
            root, file = (_ROOT if place.is_relative_to(_ROOT) else place if place.is_dir() else place.parent), place
        for each in sorted(file.rglob("*.yaml")) if file.is_dir() else [file.with_suffix(".yaml")]:
            name = each.relative_to(root).with_suffix("").as_posix()
            may_have = name.startswith(beginning.partition(":")[0]) or beginning.startswith(f"{name}:")
            if may_have and "defects" not in each.parts:
                found.append((name, each))
    return found


def _versions(runtime: str) -> list[str]:
    """The versions of a runtime that have an environment in the cache."""
    from maxpool_check.targets.runtimes import RUNTIMES

    folder = Path(cache_folder(), "environments")
    names = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
    found = [match for name in names if not name.endswith(".lock") and (match := _ENVIRONMENT.match(name))]
    return [match[2] for match in found if runtime in RUNTIMES and match[1] == RUNTIMES[runtime].distribution]


class _Bash(BashComplete):
    """Bash breaks words at ``:`` and ``=``, and replaces what follows the last of them."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the one at it, put together again."""
        arguments, incomplete = super().get_completion_args()
        words = [""]
        for word in (*arguments, incomplete):
            if re.fullmatch("[:=]+", word) or re.search("[:=]$", words[-1]):
                words[-1] += word
            else:
                words.append(word)
        self._known = re.sub("[^:=]*$", "", words[-1])
        return words[1:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """The type, and what the shell does not have yet."""
        return f"{item.type},{str(item.value).removeprefix(self._known)}"


add_completion_class(_Bash)
