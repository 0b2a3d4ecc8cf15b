"""The values that a shell completes, by the name of their kind.

Case files, defects and clauses are searched and not parsed, which would take seconds.
"""

import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

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


def _of(module: str) -> Any:
    return importlib.import_module(f"maxpool_check.{module}")


_NAMES: Mapping[str, Callable[[], Iterable[str]]] = {
    "kinds": lambda: [kind.value for kind in _of("judging.kinds").DivergenceKind],
    "documents": lambda: [
        *(name.partition("-")[0] for name in _of("specifications").SPECIFICATIONS),
        *_of("specifications").SPECIFICATIONS,
    ],
    "variants": lambda: ["default", "all", *(each.name for each in _of("results.variants").VARIATIONS)],
    "variant": lambda: [each.name for each in _of("results.variants").ALL_VARIANTS],
    "changes": lambda: ["any", *(change.value for change in _of("comparing.transitions").Change)],
    "runtimes": lambda: _of("targets.runtimes").RUNTIMES,
    "dtypes": lambda: _of("reference.dtypes").NUMPY,
    "defects": lambda: _found(_ID, sorted((_ROOT / "defects").glob("*.yaml"))),
    "clauses": lambda: _found(_ID, sorted((_PACKAGE / "specifications/clauses").rglob("*.yaml"))),
    "topics": lambda: sorted(path.stem for path in (_PACKAGE / "docs").glob("*.md")),
}
"""The kinds whose values are the same on every command line."""

_LISTS = ("documents", "variants", "changes")
"""The kinds that are lists with commas."""


def candidates(kinds: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The values of some kinds that begin so; ``files`` are those that the shell knows."""
    values: dict[str, None] = {}
    for kind in kinds.split():
        if kind in _LISTS:
            before, comma, _ = incomplete.rpartition(",")
            values |= {f"{before}{comma}{name}": None for name in _NAMES[kind]() if name not in before.split(",")}
        elif kind in _NAMES:
            values |= dict.fromkeys(_NAMES[kind]())
        elif kind != "files":
            values |= dict.fromkeys(globals()[f"_{kind}"](ctx, incomplete))
    found = [CompletionItem(each) for each in values if each.startswith(incomplete) and _SAFE.fullmatch(each)]
    return found or ([CompletionItem(incomplete, type="file")] if "files" in kinds.split() else [])


def _cases(ctx: click.Context, incomplete: str) -> list[str]:
    """Full ids of cases, or FILE.yaml:ID."""
    file, colon, _ = incomplete.rpartition(":")
    if colon and Path(file).is_file():
        return [f"{file}:{each}" for each in _found(_ID, [Path(file)])]
    return [f"{name}:{each}" for name, file in _files(ctx, incomplete) for each in _found(_ID, [file])]


def _selection(ctx: click.Context, incomplete: str) -> list[str]:
    """Ids of cases, and what else selects them."""
    prefix, colon, _ = incomplete.partition(":")
    kinds = {"clause": "clauses", "dtype": "dtypes", "spec": "documents", "defect": "defects", "kind": "kinds"}
    if colon and prefix == "tag":
        tags = _found(_TAGS, [file for _, file in _files(ctx, "")])
        return [f"tag:{each.strip()}" for each in ",".join(tags).split(",")]
    if colon and prefix in kinds:
        return [f"{prefix}:{each}" for each in _NAMES[kinds[prefix]]()]
    return [*(f"{each}:" for each in ("tag", *kinds)), *_cases(ctx, incomplete)]


def _reports(ctx: click.Context, incomplete: str) -> list[str]:
    """A format, and a path."""
    formats = next(getattr(each.type, "formats", ()) for each in ctx.command.params if each.name == "reports")
    return [] if "=" in incomplete else [*formats, *(f"{name}=" for name in formats)]


def _paths(ctx: click.Context, incomplete: str) -> list[str]:
    """Names of the corpus that comes with the tool; of gate, also its command."""
    if ctx.info_name == "gate" and incomplete and "accept".startswith(incomplete):
        return ["accept"]
    if not incomplete or not "corpus:".startswith(incomplete[:7]):
        return []
    return ["corpus", *(f"corpus:{name}" for name, _ in _files(None, ""))]


def _targets(ctx: click.Context, incomplete: str) -> list[str]:
    """Targets: runtimes, the versions of them that are known here, tools that rewrite models, kernels."""
    if incomplete.startswith("python:"):
        path = incomplete.removeprefix("python:")
        file, ends, _ = path.partition(".py:")
        if ends:
            return [f"python:{file}.py:{each}" for each in _found(_FUNCTION, [Path(f"{file}.py")])]
        beside = sorted(Path(f"{path}_").parent.glob("*"))
        return [
            f"python:{each}{'/' if each.is_dir() else ':'}" for each in beside if each.is_dir() or each.suffix == ".py"
        ]
    every = [each for name in _NAMES["runtimes"]() for each in (name, *(f"{name}=={each}" for each in _known(name)))]
    before, middle, _ = incomplete.partition(":on:")
    if before.startswith("transform:"):
        tools = [f"transform:{name}:on:" for name in _of("targets.runtimes").TOOLS]
        return [f"{before}{middle}{each}" for each in every] if middle else tools
    return [*every, "python:", "command:", "outputs:", "transform:"]


def _versions(ctx: click.Context, incomplete: str) -> list[str]:
    """The versions of the target that are known here."""
    return _known(str(ctx.params.get("target") or "onnxruntime").partition("@")[0].partition("==")[0])


def _known(runtime: str) -> list[str]:
    """The versions of a runtime that have an environment in the cache."""
    runtimes, folder = _of("targets.runtimes").RUNTIMES, _of("targets.cache").cache()
    names = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
    found = [match for name in names if not name.endswith(".lock") and (match := _ENVIRONMENT.match(name))]
    return [match[2] for match in found if runtime in runtimes and match[1] == runtimes[runtime].distribution]


def _found(pattern: re.Pattern[str], files: Iterable[Path]) -> list[str]:
    """What a pattern finds in files."""
    small = (file for file in files if file.is_file() and file.stat().st_size <= _MOST_BYTES)
    return [each for file in small for each in pattern.findall(file.read_text(encoding="utf-8", errors="replace"))]


def _files(ctx: click.Context | None, beginning: str) -> list[tuple[str, Path]]:
    """The case files that are named, or the default ones, that can have an id that begins so: with its part before the colon."""
    places = [Path("cases") if ctx is not None and Path("cases").is_dir() else _ROOT]
    if ctx is not None:
        # Where the last option lacks its value, click has not yet given the arguments their names.
        defaults = ctx.default_map or {}
        named = [*ctx.args, *ctx.params.get("paths", ()), *filter(None, [ctx.params.get("path"), defaults.get("path")])]
        named += defaults.get("paths", ())
        places = [Path(each) for each in dict.fromkeys(map(str, named)) if each != "corpus"] or places
    found = []
    for place in places:
        root, file = _ROOT, _ROOT / str(place).removeprefix("corpus:")
        if not str(place).startswith("corpus:"):
            root, file = (_ROOT if place.is_relative_to(_ROOT) else place if place.is_dir() else place.parent), place
        for each in sorted(file.rglob("*.yaml")) if file.is_dir() else [file.with_suffix(".yaml")]:
            name = each.relative_to(root).with_suffix("").as_posix()
            may_have = name.startswith(beginning.partition(":")[0]) or beginning.startswith(f"{name}:")
            if may_have and "defects" not in each.parts:
                found.append((name, each))
    return found


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
