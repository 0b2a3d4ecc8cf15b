"""The variables of the environment that a program of a target gets."""

import os

_OF_USER = frozenset({"PYTHONPATH", "PYTHONHOME", "NODE_OPTIONS", "NODE_PATH"})
"""Variables that make a program load what is not in its environment."""


def variables(*, isolated: bool) -> dict[str, str]:
    """Those of this process; if ``isolated``, without the settings of the user for Python and Node.js."""
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "1"}
    if isolated:
        environment = {name: environment[name] for name in environment.keys() - _OF_USER}
        environment["PYTHONNOUSERSITE"] = "1"
    return environment
