"""Does a runtime compute MaxPool as specified? The public functions and types of the package.

``maxpool`` is the reference. ``case`` makes a case, ``read_cases`` reads case files, ``run`` runs them on targets, and
``judge`` judges the outputs of a kernel of yours.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.problems import CorpusError
    from maxpool_check.judging.verdicts import Judgement
    from maxpool_check.library import Results, case, judge, read_cases, run
    from maxpool_check.reference.pooling import Pooled
    from maxpool_check.results.record import Execution, Verdict
    from maxpool_check.specifications.maxpool import maxpool
    from maxpool_check.specifications.specification import IllTyped, Reason, Refused

__version__ = "0.1.0"
__all__ = [
    "Case",
    "CorpusError",
    "Execution",
    "IllTyped",
    "Judgement",
    "Pooled",
    "Reason",
    "Refused",
    "Results",
    "Verdict",
]
__all__ += ["__version__", "case", "judge", "maxpool", "read_cases", "run"]

_HOMES = ("specifications.maxpool", "specifications.specification", "corpus.problems", "library")
"""Where the public names are found, beside what the last one uses itself."""


def __getattr__(name: str) -> Any:
    # Imported on first use: the command line's --help must not wait for numpy.
    for home in _HOMES if name in __all__ else ():
        if name in vars(module := importlib.import_module(f"maxpool_check.{home}")):
            return vars(module)[name]
    raise AttributeError(f"module 'maxpool_check' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
