"""What a configuration may set: its JSON Schema, and a table of what holds."""

import os
from typing import Any

import click
from click.core import ParameterSource

from maxpool_check.commands import configuration, options
from maxpool_check.commands.configuration import SECTIONS, BadConfiguration, is_many, key_of, parameters_of, text_of
from maxpool_check.commands.registry import leaves


def described() -> tuple[str, list[tuple[str, str, str]]]:
    """The file, and each key that may be set for all commands, or that is set: what holds, and where it comes from."""
    root = click.get_current_context().find_root()
    loaded = configuration.load(root.params["config"])
    rows, variables = {}, dict[str, tuple[str, str]]()
    for name, parameter in parameters_of("").items():
        value = options.DEFAULTS.get(name, parameter.to_info_dict()["default"])
        rows[key_of(name)] = (key_of(name), text_of(value), "default")
    for path, leaf in leaves():
        section, parameters = path[0], (*leaf.params, *options.SHARED)
        for parameter in leaf.params:
            # Variables of a command are stronger than the file, and are click's own.
            variable = f"{configuration.PREFIX}{'_'.join([*path, str(parameter.name)]).upper()}"
            if value := os.environ.get(variable):
                variables[".".join([*path, key_of(str(parameter.name))])] = value, variable
        for name, entry in loaded.of(section, parameters).items():
            key = f"{section}.{key_of(name)}" if f"[{section}]" in entry.where else key_of(name)
            rows[key] = (key, text_of(entry.value), entry.where)
            for parameter in (each for each in parameters if each.name == name):
                try:
                    parameter.type_cast_value(click.Context(leaf), entry.value)
                except click.BadParameter as error:
                    raise BadConfiguration(f"{entry.where}: {error.message}") from error
    rows |= {key: (key, *about) for key, about in variables.items()}
    for name in (str(each.name) for each in options.SHARED):
        if root.get_parameter_source(name) is ParameterSource.ENVIRONMENT:
            rows[key_of(name)] = (key_of(name), text_of(root.params[name]), f"{configuration.PREFIX}{name.upper()}")
    return configuration.shown(loaded.path) if loaded.sha256 else "none", [*rows.values()]


def schema() -> dict[str, Any]:
    """The JSON Schema of ``maxpool-check.toml``, and of the table ``tool.maxpool-check`` of a ``pyproject.toml``."""
    tables: dict[str, dict[str, Any]] = {
        section: {
            "type": "object",
            "properties": {key_of(name): _schema(each) for name, each in parameters_of(section).items()},
            "additionalProperties": False,
        }
        for section in ("", *SECTIONS)
    }
    whole = tables.pop("")
    # 'targets' is a key as well as a command.
    tables["targets"] = {"anyOf": [tables["targets"], whole["properties"]["targets"]]}
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The configuration of maxpool-check"}
    return {**about, **whole, "properties": {**whole["properties"], **tables}}


def _schema(parameter: click.Parameter) -> dict[str, Any]:
    """The JSON Schema of a parameter's value in a file."""
    kind, about = parameter.type, getattr(parameter, "help", None) or "Case files and folders of them."
    each: dict[str, Any] = {"type": ["string", "number"]}
    if isinstance(kind, options.Report):
        return {"description": about, "type": "object", "propertyNames": {"enum": list(kind.formats)}}
    if isinstance(parameter, click.Option) and parameter.is_flag:
        each = {"type": "boolean"}
    elif isinstance(kind, click.Choice):
        each = {"enum": list(kind.choices)}
    elif isinstance(kind, click.IntRange):
        each = {"type": "integer", "minimum": kind.min}
    is_list = is_many(parameter) or (isinstance(kind, options.Value) and kind.joined)
    return {"description": about, **({"anyOf": [each, {"type": "array", "items": each}]} if is_list else each)}
