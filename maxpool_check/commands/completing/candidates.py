"""What completes a value: a function for each kind of value, which gets the command line so far and the beginning of the value."""

import contextlib
import os
from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from maxpool_check.commands.completing import cases, json_cache
from maxpool_check.commands.completing.offer import offer
from maxpool_check.commands.completing.parts import Candidate, files, folders, items, last_of_list
from maxpool_check.commands.completing.runtimes import targets, targets_or_files, versions
from maxpool_check.commands.main import COMMANDS


def paths(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Files, or names of the corpus that comes with the tool."""
    if not incomplete or not "corpus:".startswith(incomplete[:7]):
        # What stands in the place of a path may be the name of a command of this one.
        inner = [name.partition(" ")[2] for name in COMMANDS if name.startswith(f"{ctx.info_name} {incomplete or '-'}")]
        return [CompletionItem(name) for name in inner] or files(ctx, incomplete)
    root = offer()["corpus"]
    names = [
        os.path.relpath(os.path.join(folder, name), root).removesuffix(".yaml")
        for folder, _, names in os.walk(root)
        if os.path.basename(folder) != "defects"
        for name in names
        if name.endswith(".yaml")
    ]
    return items([("corpus", "The corpus that comes with the tool"), *((f"corpus:{name}", "") for name in sorted(names))],
                 incomplete)  # fmt: skip


def kinds(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Kinds of divergence."""
    return items(offer()["kinds"].items(), incomplete)


def defects(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Defects, runtimes, and the command of ``defects`` that takes the place of one."""
    data = offer()
    check = [("check", "Run the cases of the defects of targets")] if ctx.info_name == "show" else []
    runtimes = [(name, about) for name, (_, about) in data["runtimes"].items()]
    return items([*check, *data["defects"].items(), *runtimes], incomplete)


def documents(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Documents, and families of them."""
    return last_of_list(offer()["documents"].items(), incomplete)


def variants(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """A list of variants."""
    return last_of_list([(name, "") for name in offer()["variants"]], incomplete)


def variant(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """One variant."""
    return items([(name, "") for name in offer()["variant"]], incomplete)


def changes(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """A list of changes."""
    return last_of_list([(name, "") for name in ("any", *offer()["changes"])], incomplete)


def commands(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Commands that have keys of a configuration."""
    return [CompletionItem(name) for name in offer()["configured"] if name.startswith(incomplete)]


def reports(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """A format and a path."""
    from maxpool_check.configuration.keys import FORMATS

    return files(ctx, incomplete) if "=" in incomplete else items([(f"{name}=", "") for name in FORMATS], incomplete)


def topics(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Pages of the documentation."""
    return items(offer()["topics"].items(), incomplete)


def _entries(ctx: click.Context) -> list[cases.Entry]:
    """The case files that are named on the command line or in the configuration, or the default ones."""
    # Where the last option lacks its value, click has not yet given the arguments their names.
    arguments = ctx.params.get("paths") or (
        ctx.args if any(each.name == "paths" for each in ctx.command.params) else ()
    )
    named = [str(path) for path in (*arguments, *filter(None, [ctx.params.get("path")]))]
    one = any(parameter.name == "path" for parameter in ctx.command.params)
    if not named:
        named = _configured(ctx) or (["cases"] if one and os.path.isdir("cases") else ["corpus"])
    root = offer()["corpus"]
    found: list[cases.Entry] = []
    for path in named:
        is_corpus = path.startswith("corpus:") or (path == "corpus" and not os.path.exists(path))
        place = os.path.join(root, path[len("corpus:") :]) if is_corpus else path
        found += cases.entries(f"{place}.yaml" if is_corpus and os.path.isfile(f"{place}.yaml") else place)
    return found


def _configured(ctx: click.Context) -> list[str]:
    """The paths of the configuration, cached until it changes."""
    command = " ".join(ctx.command_path.split()[1:])
    stamps, folder = [], os.getcwd()
    while True:
        for name in ("maxpool-check.toml", "pyproject.toml"):
            with contextlib.suppress(OSError):
                stamps.append([os.path.join(folder, name), *json_cache.stamp(os.path.join(folder, name))])
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    variables = {name: value for name, value in os.environ.items() if name.startswith("MAXPOOL_CHECK_")}
    if not stamps and not variables:
        return []
    state = [command, os.getcwd(), stamps, variables]
    data = json_cache.load("paths.json")
    if data.get("state") != state:
        data = {"state": state, "paths": _configured_paths(command)}
        json_cache.save("paths.json", data)
    return [str(path) for path in data["paths"]]


def _configured_paths(command: str) -> list[str]:
    from maxpool_check.configuration.file import BadConfiguration
    from maxpool_check.configuration.settings import configuration

    try:
        settings = configuration(os.environ).of(command)
    except BadConfiguration:
        return []
    setting = settings.get("paths") or settings.get("path")
    return list(setting.value) if setting and isinstance(setting.value, list) else []


def ids(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Full ids of cases, or FILE.yaml:ID."""
    file, colon, _ = incomplete.rpartition(":")
    if colon and os.path.isfile(file):
        own = [
            (f"{file}:{name.rpartition(':')[2]}", title)
            for entry in cases.entries(file)
            for name, title in entry["cases"]
        ]
        return items(own, incomplete)
    return items(_ids(ctx), incomplete) or files(ctx, incomplete)


def _ids(ctx: click.Context) -> list[Candidate]:
    return [(name, title) for entry in _entries(ctx) for name, title in entry["cases"]]


def ids_or_kinds(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Kinds, and ids of cases."""
    found = items([*_ids(ctx), *offer()["kinds"].items()], incomplete)
    return found or ids(ctx, incomplete)


def ids_or_defects(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Defects, and ids of cases."""
    found = items([*_ids(ctx), *offer()["defects"].items()], incomplete)
    return found or ids(ctx, incomplete)


def selection(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Ids of cases, and what else selects them."""
    entries = _entries(ctx)
    data = offer()
    values = {
        "tag": [tag for entry in entries for tag in entry["tags"]],
        "clause": [clause for entry in entries for clause in entry["covers"]],
        "dtype": [dtype for entry in entries for dtype in entry["dtypes"]],
        "spec": [spec for entry in entries for spec in entry["specs"]],
        "defect": list(data["defects"]),
        "kind": list(data["kinds"]),
    }
    prefixed = [
        (f"{prefix}:{name}", "") for prefix in data["selectors"] for name in dict.fromkeys(values.get(prefix, ()))
    ]
    return items([*((name, title) for entry in entries for name, title in entry["cases"]), *prefixed], incomplete)


CANDIDATES: dict[str, Callable[[click.Context, str], list[CompletionItem]]] = {
    "cases": ids, "cases or defects": ids_or_defects, "cases or kinds": ids_or_kinds, "changes": changes,
    "commands": commands, "defects": defects, "documents": documents, "files": files, "folders": folders, "kinds": kinds,
    "paths": paths, "reports": reports, "selection": selection, "targets": targets, "targets or files": targets_or_files,
    "topics": topics,
    "variant": variant, "variants": variants, "versions": versions,
}  # fmt: skip
"""The function for each kind of value that the offer names."""
