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
    "__version__",
    "case",
    "judge",
    "maxpool",
    "read_cases",
    "run",
]

_HOME = {
    "Case": "corpus.case",
    "CorpusError": "corpus.problems",
    "Execution": "results.record",
    "IllTyped": "specifications.specification",
    "Judgement": "judging.verdicts",
    "Pooled": "reference.pooling",
    "Reason": "specifications.specification",
    "Refused": "specifications.specification",
    "Verdict": "results.record",
    "maxpool": "specifications.maxpool",
}


def __getattr__(name: str) -> Any:
    # Imported on first use: the command line's --help must not wait for numpy.
    if name not in __all__:
        raise AttributeError(f"module 'maxpool_check' has no attribute '{name}'")
    return getattr(importlib.import_module(f"maxpool_check.{_HOME.get(name, 'library')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
