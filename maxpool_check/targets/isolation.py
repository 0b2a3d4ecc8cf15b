"""The variables of the environment that a program of a target gets."""

import os


def variables(*, isolated: bool) -> dict[str, str]:
    """Those of this process; if ``isolated``, without the Python settings of the user."""
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "1"}
    if isolated:
        environment = {name: environment[name] for name in environment.keys() - {"PYTHONPATH", "PYTHONHOME"}}
        environment["PYTHONNOUSERSITE"] = "1"
    return environment
