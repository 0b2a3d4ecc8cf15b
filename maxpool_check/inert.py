r"""Text of cases, records and runtimes made inert: nothing that a terminal, GitHub, XML or a reader takes for a command.

Control and format characters are shown as Python writes them: ``\x1b``, ``\n``, ``\u202e``. Markdown has its functions
in :mod:`maxpool_check.reporting.markup`.
"""

import json
import re
import unicodedata
from typing import Any

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"  # Some languages and emoji need them; they move nothing.
_COMMAND = re.compile(r"^(\s*):(?=:)", re.MULTILINE)
_NO_CHAR = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def line(text: object) -> str:
    """One line of a terminal or a log; line breaks at its end are left out."""
    shown = str(text).rstrip("\r\n")
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(map(_character, shown))
    return no_command(shown).replace("##[", "#\\x23[")


def block(text: object) -> str:
    """The lines of a text."""
    return "\n".join(map(line, str(text).split("\n")))


def no_command(text: str) -> str:
    """Lines of which none begins with ``::``, and so is a workflow command of GitHub; ``##[`` is one anywhere."""
    return _COMMAND.sub(r"\1\\x3a", text) if "::" in text else text


def data(text: str) -> str:
    """The message of a workflow command of GitHub, of one line or several."""
    return "%0A".join(line(part).replace("%", "%25") for part in text.split("\n"))


def property_value(text: str) -> str:
    """A property of a workflow command of GitHub."""
    return data(text).replace(":", "%3A").replace(",", "%2C")


def xml(text: str) -> str:
    """The text of an XML document; what its production Char leaves out is not in it."""
    return re.sub(_NO_CHAR, "?", block(text))


def dumps(value: Any, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """JSON in ASCII without control characters and ``##[``."""
    return (
        json.dumps(value, indent=indent, separators=separators).replace("\x7f", "\\u007f").replace("##[", "#\\u0023[")
    )


def ascii_json(document: bytes) -> bytes:
    """The same JSON document in ASCII, without control characters and ``##[``."""
    if document.isascii() and b"\x7f" not in document and b"##[" not in document:
        return document
    return dumps(json.loads(document)).encode()


def _character(char: str) -> str:
    is_hidden = unicodedata.category(char) in _HIDDEN and char not in _JOINERS
    return char.encode("unicode_escape").decode() if is_hidden else char
