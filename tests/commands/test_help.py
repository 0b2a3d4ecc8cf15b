"""``--help`` of every command and subcommand."""

import os
import re
import shlex
from unittest import mock

import click
import pytest

from maxpool_check.commands.main import cli as program


def commands(group, words=()):
    """Every command with the words that call it, the program itself first."""
    yield words, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            yield from commands(group.get_command(context, name), (*words, name))


COMMANDS = {" ".join(("maxpool-check", *words)): command for words, command in commands(program)}


def help_of(cli, name, **changed):
    done = cli(*name.split()[1:], "--help", **changed)
    assert (done.code, done.err) == (0, "")
    return done.out


def examples(text):
    """The lines of the section ``Examples:``, which ends the text before the options."""
    return re.search(r"\n  Examples:\n((?:    .+\n)+)\nOptions:\n", text)[1].splitlines()


def parse(words):
    """Parse a command line as the program does, and run nothing."""
    context, command = None, program
    while words is not None:
        context = command.make_context(words[0], list(words[1:]), parent=context, obj=tuple(words))
        if not isinstance(command, click.Group) or not (words := [*context._protected_args, *context.args]):
            return context
        _, command, rest = command.resolve_command(context, words)
        words = [words[0], *rest]
    return context


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_ends_with_two_examples_of_the_command_that_it_would_take(cli, name, monkeypatch):
    lines = examples(help_of(cli, name))
    assert len(lines) == 2
    assert lines[0] != lines[1]
    assert any(f"{line} ".startswith(f"    {name} ") for line in lines)
    for line in lines:
        assert line.startswith("    maxpool-check "), line
        for part in re.split(r" && | \| | > ", line.strip()):
            if part.startswith("maxpool-check"):
                with mock.patch.dict(os.environ):
                    parse(shlex.split(part))


def test_there_are_fourteen_commands_and_at_most_140_options():
    assert len({name.split()[1] for name in COMMANDS if name != "maxpool-check"}) == 14
    leaves = [command for command in COMMANDS.values() if not isinstance(command, click.Group)]
    assert sum(isinstance(each, click.Option) for command in leaves for each in command.params) <= 140


@pytest.mark.parametrize("columns", ["60", "80"])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_of_a_help_is_wider_than_the_terminal(cli, name, columns):
    text = help_of(cli, name, COLUMNS=columns)
    # An example is not broken: it is pasted.
    lines = [line for line in text.splitlines() if not line.startswith("    maxpool-check")]
    assert [line for line in lines if len(line) > int(columns)] == []
    assert "..." not in text.partition("\nCommands:\n")[2]
