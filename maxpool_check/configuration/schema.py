"""The JSON Schema of a configuration, for editors."""

from typing import Any

from maxpool_check.configuration.keys import SECTIONS, keys_in


def configuration_schema() -> dict[str, Any]:
    """The schema of ``maxpool-check.toml``, and of the table ``tool.maxpool-check`` of a ``pyproject.toml``."""
    sections = {name: _table(name) | {"description": f"For maxpool-check {name} alone."} for name in SECTIONS}
    whole = _table("")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The configuration of maxpool-check",
        **whole,
        "properties": {**whole["properties"], **sections},
    }


def _table(section: str) -> dict[str, Any]:
    properties = {name: {"description": key.about, **key.value.schema} for name, key in keys_in(section).items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}
