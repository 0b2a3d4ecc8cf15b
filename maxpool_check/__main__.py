"""``python -m maxpool_check`` is ``maxpool-check``."""

import os
import sys

try:
    # -m puts the user's folder first, whose files may have the names of modules.
    if sys.path[0] == os.getcwd():  # noqa: PTH109 (imports nothing)
        del sys.path[0]
except FileNotFoundError:
    pass

from maxpool_check.commands.main import program

program()
