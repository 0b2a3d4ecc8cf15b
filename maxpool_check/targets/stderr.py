"""What a program wrote to stderr before it died, as it is shown."""

import re

_MOST_SHOWN = 300
_CRATES = re.compile(r"/\S*/registry/src/[^/\s]+/")
_STACK_FRAME = re.compile(r"\s+((\d+:|at |@ )\s*\S|\S.*:\d+ \[\S)")
"""Of Rust, of C++, and of Python as XLA prints it."""


def without_stack_frames(text: str) -> str:
    """A text of stderr without the lines of stack frames, which show where on this machine the runtime was called from.

    The sources of Rust crates are named without the folder of the machine that built them.
    """
    lines = (line for line in text.splitlines() if not _STACK_FRAME.match(line))
    return _CRATES.sub("", "\n".join(lines)).strip()


def shown(content: bytes) -> str:
    """The beginning and the end, without stack frames: those show where the program was called from."""
    text = without_stack_frames(content.decode(errors="replace"))
    if len(text) <= 2 * _MOST_SHOWN:
        return text
    return f"{text[:_MOST_SHOWN].rstrip()}\n...\n{text[-_MOST_SHOWN:].lstrip()}"
