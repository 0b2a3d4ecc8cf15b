"""The values that a shell completes, by the name of their kind.

Case files, defects and clauses are searched and not parsed, which would take seconds.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from maxpool_check.commands.options import imported

_PACKAGE = Path(__file__).parents[1]
_INSTALLED = _PACKAGE / "corpus_data"
_ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent / "cases"
_SAFE = re.compile(r"[\w./:=@,+%~-]+")
"""What no shell takes for anything else, and no terminal for a command."""
_ENVIRONMENT = re.compile(r"([A-Za-z][A-Za-z0-9_-]*?)-(\d[^+-]*)(\+.*)?-((cpython|pypy)\d|node-)")
"""The name of an environment in the cache: its distribution and version."""
_ID = re.compile(r"^ *- (?:\{ *)?id: ([\w.+-]+)", re.MULTILINE)
_TAGS = re.compile(r"\btags: \[([^\]]*)\]")
_MOST_BYTES = 2**24


_NAMES: Mapping[str, Callable[[], Iterable[str]]] = {
    "kind": lambda: [kind.value for kind in imported("judging.kinds:DivergenceKind")],
    "spec": lambda: imported("specifications:SPECIFICATIONS"),
    "variants": lambda: ["default", "all", *(each.name for each in imported("results.variants:VARIATIONS"))],
    "variant": lambda: [each.name for each in imported("results.variants:ALL_VARIANTS")],
    "changes": lambda: ["any", *(change.value for change in imported("comparing.transitions:Change"))],
    "runtimes": lambda: imported("targets.runtimes:RUNTIMES"),
    "dtype": lambda: imported("reference.dtypes:NUMPY"),
    "defect": lambda: _found(_ID, sorted((_ROOT / "defects").glob("*.yaml"))),
    "clause": lambda: _found(_ID, sorted((_PACKAGE / "specifications/clauses").rglob("*.yaml"))),
    "topics": lambda: sorted(path.stem for path in (_PACKAGE / "docs").glob("*.md")),
}
"""The kinds whose values are the same on every command line."""

_SELECTING = ("clause", "dtype", "spec", "defect", "kind")
"""The kinds that select cases behind their name and a colon."""


def candidates(kinds: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The values of some kinds that begin so; ``files`` are those that the shell knows."""
    before, comma, _ = incomplete.rpartition(",")
    values: list[str] = []
    for kind in kinds.split():
        if kind in _NAMES:
            # All but selections may be lists.
            values += [f"{before}{comma}{name}" for name in _NAMES[kind]() if name not in before.split(",")]
        elif kind != "files":
            values += globals()[f"_{kind}"](ctx, incomplete)
    found = [CompletionItem(each) for each in values if each.startswith(incomplete) and _SAFE.fullmatch(each)]
    return found or ([CompletionItem(incomplete, type="file")] if "files" in kinds.split() else [])


def _cases(ctx: click.Context, incomplete: str) -> list[str]:
    """Full ids of cases in the paths that the line or the configuration names, or FILE.yaml:ID."""
    file, colon, _ = incomplete.rpartition(":")
    if colon and Path(file).is_file():
        return [f"{file}:{each}" for each in _found(_ID, [Path(file)])]
    # Where the last option lacks its value, click has not yet given the arguments their names.
    named = [*ctx.args, *ctx.params.get("paths", ()), *(ctx.default_map or {}).get("paths", ())]
    places = [Path(each) for each in dict.fromkeys(map(str, named)) if each != "corpus"] or [Path("cases")]
    files = [each for place in places if place.exists() for each in _files(place)] or _files(_ROOT)
    return [f"{name}:{each}" for name, file in files for each in _found(_ID, [file])]


def _selection(ctx: click.Context, incomplete: str) -> list[str]:
    """Ids of cases, and what else selects them."""
    prefix, colon, _ = incomplete.partition(":")
    if colon and prefix == "tag":
        tags = ",".join(_found(_TAGS, [file for _, file in _files(_ROOT)]))
        return sorted({f"tag:{each.strip()}" for each in tags.split(",")})
    if colon and prefix in _SELECTING:
        return [f"{prefix}:{each}" for each in _NAMES[prefix]()]
    return [*(f"{each}:" for each in ("tag", *_SELECTING)), *_cases(ctx, incomplete)]


def _reports(ctx: click.Context, incomplete: str) -> list[str]:
    """A format, and a path."""
    formats = next(getattr(each.type, "formats", ()) for each in ctx.command.params if each.name == "reports")
    return [] if "=" in incomplete else [*formats, *(f"{name}=" for name in formats)]


def _paths(ctx: click.Context, incomplete: str) -> list[str]:
    """Names of the corpus that comes with the tool; of gate, also its command."""
    words = ["accept"] if ctx.info_name == "gate" else []
    parts = [f"corpus:{name}" for name, _ in _files(_ROOT)]
    return [*words, "corpus", *parts] if incomplete else []


def _targets(ctx: click.Context, incomplete: str) -> list[str]:
    """Runtimes, the versions of them that are known here, and how other targets begin."""
    runtimes = [each for name in _NAMES["runtimes"]() for each in (name, *(f"{name}=={each}" for each in _known(name)))]
    return [*runtimes, "python:", "command:", "outputs:", "transform:"]


def _versions(ctx: click.Context, incomplete: str) -> list[str]:
    """The versions of the target that are known here."""
    return _known(str(ctx.params.get("target") or "onnxruntime").partition("@")[0].partition("==")[0])


def _known(runtime: str) -> list[str]:
    """The versions of a runtime that have an environment in the cache."""
    runtimes = imported("targets.runtimes:RUNTIMES")
    found = map(_ENVIRONMENT.match, sorted(each.name for each in imported("targets.cache:cache")().glob("*")))
    return [match[2] for match in found if match and runtime in runtimes and match[1] == runtimes[runtime].distribution]


def _found(pattern: re.Pattern[str], files: Iterable[Path]) -> list[str]:
    """What a pattern finds in files."""
    small = (file for file in files if file.is_file() and file.stat().st_size <= _MOST_BYTES)
    return [each for file in small for each in pattern.findall(file.read_text(encoding="utf-8", errors="replace"))]


def _files(place: Path) -> list[tuple[str, Path]]:
    """The case files of a folder, or a file alone, each with its part of an id before the colon."""
    root = _ROOT if place.is_relative_to(_ROOT) else place if place.is_dir() else place.parent
    files = sorted(place.rglob("*.yaml")) if place.is_dir() else [place]
    return [(each.relative_to(root).with_suffix("").as_posix(), each) for each in files if "defects" not in each.parts]


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
