"""What holds: the value of each parameter of a command that the environment or a file sets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from maxpool_check.configuration.file import BadConfiguration, ConfigurationFile, find, read
from maxpool_check.configuration.keys import CONFIG_VARIABLE, KEYS, PREFIX, Key, keys_of, section_of, variables
from maxpool_check.configuration.values import Value


class Source(IntEnum):
    """Where a value comes from; a later one wins."""

    TOP = 0
    SECTION = 1
    VARIABLE = 2
    COMMAND_VARIABLE = 3

    @property
    def of_one_command(self) -> bool:
        """Whether it is about one command alone."""
        return self in (Source.SECTION, Source.COMMAND_VARIABLE)


@dataclass(frozen=True)
class Setting:
    """The value of a key, and where it comes from: ``where`` is for messages."""

    key: Key
    value: Value
    source: Source
    where: str


@dataclass(frozen=True)
class Configuration:
    """A file, if there is one, and environment variables."""

    file: ConfigurationFile | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def shared(self) -> dict[str, Setting]:
        """The settings of all commands, by key."""
        found = {key.name: self._setting(key, "") for key in KEYS if key.shared}
        return {name: setting for name, setting in found.items() if setting is not None}

    def of(self, command: str) -> dict[str, Setting]:
        """The settings of a command, by parameter; without those that a stronger one excludes.

        Raises :class:`BadConfiguration` for a variable.
        """
        settings = {parameter: self._setting(key, command) for parameter, key in keys_of(command).items()}
        found = {parameter: setting for parameter, setting in settings.items() if setting is not None}
        return {
            parameter: setting
            for parameter, setting in found.items()
            if not any(found[other].source > setting.source for other in setting.key.excluded_by if other in found)
        }

    def _setting(self, key: Key, command: str) -> Setting | None:
        section = section_of(command)
        if section and (setting := self._variable(key, section, Source.COMMAND_VARIABLE)):
            return setting
        if key.shared and (setting := self._variable(key, "", Source.VARIABLE)):
            return setting
        entries = {} if self.file is None else self.file.entries
        if section and (entry := entries.get((section, key.name))):
            return Setting(key, entry.value, Source.SECTION, entry.where)
        if key.shared and (entry := entries.get(("", key.name))):
            return Setting(key, entry.value, Source.TOP, entry.where)
        return None

    def _variable(self, key: Key, section: str, source: Source) -> Setting | None:
        name = key.variable(section)
        # As elsewhere, an empty variable is one that is not set.
        if not (text := self.variables.get(name)):
            return None
        try:
            return Setting(key, key.value.from_text(text), source, name)
        except ValueError as error:
            raise BadConfiguration(f"{name} {error}, got '{text}'") from error

    @property
    def unknown_variables(self) -> list[str]:
        """The variables that begin as those of keys, and are none."""
        return sorted(name for name in self.variables.keys() - variables() if name.startswith(PREFIX))


def configuration(variables: Mapping[str, str], file: Path | None = None, folder: Path | None = None) -> Configuration:
    """The configuration: of ``file``, or of the one that a variable names, or of the nearest one from ``folder`` upwards.

    Raises :class:`BadConfiguration`.
    """
    named = file or (Path(variables[CONFIG_VARIABLE]) if variables.get(CONFIG_VARIABLE) else None)
    own = {name: value for name, value in variables.items() if name.startswith(PREFIX)}
    return Configuration(read(named) if named is not None else find(folder or Path.cwd()), own)
