"""The pytest plugin: ``pytest --maxpool-check=onnxruntime cases/`` collects an item for each case and target.

For ``model.onnx`` it is an item for each MaxPool node. :mod:`maxpool_check.pytest_items` has the items.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Nothing else at the top: pytest imports this for every run, also for those without case files.
if TYPE_CHECKING:
    from maxpool_check.pytest_items import Settings

_SETTINGS: "pytest.StashKey[Settings]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--maxpool-check``, and the options of cases and models."""
    group = parser.getgroup("maxpool-check")
    group.addoption(
        "--maxpool-check", action="append", default=[], metavar="TARGET",
        help="Runtime to test with the case files and models among the paths, e.g. onnxruntime==1.23.2. Repeatable.",
    )  # fmt: skip
    group.addoption(
        "--maxpool-check-spec", action="append", default=[], metavar="NAME,...",
        help="Only the cases of these documents or families, which kernels of yours then claim beside their own. Repeatable.",
    )  # fmt: skip
    group.addoption(
        "--maxpool-check-shape", action="append", default=[], metavar="NAME=SIZES",
        help="Sizes that a model leaves open: an input's, images=1,3,224,224, or a dimension's, batch=1. Repeatable.",
    )  # fmt: skip
    group.addoption("--maxpool-check-inputs", metavar="DIR|FILE.npz", help="Values of the inputs of a model.")
    group.addoption(
        "--maxpool-check-strict", action="store_true",
        help="Fail nodes of a model that are wrong on special values alone, too.",
    )  # fmt: skip
    group.addoption("--maxpool-check-timeout", type=float, metavar="SECONDS", help="The time limit of one execution.")


def pytest_configure(config: pytest.Config) -> None:
    """Read the names of the targets and the other options."""
    if config.getoption("--maxpool-check"):
        from maxpool_check.pytest_items import settings_of

        config.stash[_SETTINGS] = settings_of(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the targets."""
    if _SETTINGS in config.stash:
        for session in config.stash[_SETTINGS].sessions.values():
            session.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """A case file or a model, where a target is named."""
    if _SETTINGS not in parent.config.stash:
        return None
    from maxpool_check.pytest_items import file_of

    return file_of(file_path, parent, parent.config.stash[_SETTINGS])
