"""What a run executes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus
from maxpool_check.judging.defects import Defect
from maxpool_check.results.provenance import ReferenceAgreement
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.transcript import Transcript


@dataclass(frozen=True)
class RunPlan:
    """The cases of a corpus to run, the targets, and their known defects.

    ``seconds`` is the time limit of one execution, ``memory`` limits a worker, in bytes. ``jobs`` is the number of
    processes on this machine; ``dask`` is the address of a scheduler whose workers are used instead. ``exit_first`` ends
    the run at the first unexpected verdict; ``strict`` counts differences that a document allows as unexpected.
    ``tracebacks``: those of exceptions in the tool itself are recorded. ``versions`` says which versions show a known defect,
    by its id. ``catalogue`` are known defects that explain what none of ``known`` expects, and excuse nothing. ``transcript`` gets the conversations with the targets, which then run in this process. ``command`` are the
    words of the command line to record; those of the process if there are none. ``gives_up``: a target that dies too often
    is given up. ``references`` is the result of the comparison of both references on the cases, if there was one.
    """

    corpus: Corpus
    cases: Sequence[Case]
    targets: Sequence[TargetName]
    known: Sequence[Defect] = ()
    known_files: Sequence[Path] = ()
    seconds: float = 10.0
    memory: int | None = None
    jobs: int = 1
    exit_first: bool = False
    strict: bool = False
    variants: Collection[Variant] = DEFAULT_VARIANTS
    dask: str | None = None
    tracebacks: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    catalogue: Sequence[Defect] = ()
    transcript: Transcript | None = None
    command: Sequence[str] = ()
    gives_up: bool = True
    references: ReferenceAgreement | None = None
