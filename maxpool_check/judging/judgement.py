"""The verdict on one execution, with its evidence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.details import AllowedDifference, Cause, Cell, WrongShape
from maxpool_check.results.outcomes import Failed
from maxpool_check.results.record import Verdict


@dataclass(frozen=True)
class Judgement:
    """The verdict on one execution, with its evidence; it has no truth value, so that no test asserts it by mistake.

    ``counts`` holds the number of cells of each kind that is about cells, ``cells`` the evidence on some of them.
    ``information`` names differences that the document allows. ``limit``: the refusal is one that runtimes declare or
    commonly have. ``interpretations`` gives, by point that the document leaves open, the interpretations that the outputs
    agree with; ``differences`` are cells in which conforming outputs differ from the reference's. ``causes`` are all
    mistakes that explain the outputs, or one. ``shapes`` are those of outputs of the wrong shape. ``traceback`` is that of an
    exception in the judge itself.
    """

    verdict: Verdict
    kinds: tuple[DivergenceKind, ...] = ()
    message: str = ""
    counts: Mapping[DivergenceKind, int] | None = None
    cells: tuple[Cell, ...] = ()
    information: tuple[DivergenceKind, ...] = ()
    limit: bool = False
    interpretations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    differences: tuple[AllowedDifference, ...] = ()
    causes: tuple[Cause, ...] = ()
    shapes: Mapping[str, WrongShape] = field(default_factory=dict)
    traceback: str = ""

    def __bool__(self) -> bool:
        raise TypeError(f"a Judgement is neither true nor false (this one: {self.verdict}); compare .verdict")

    @classmethod
    def of_failure(cls, failed: Failed) -> "Judgement":
        """Nothing is said about the target."""
        return cls(Verdict.ERROR, message=failed.why, traceback=failed.traceback)


def judged(function: Callable[..., Judgement], *arguments: object) -> Judgement:
    """The result of a function of the judge about one execution; an exception is an ``error`` of that execution alone."""
    try:
        return function(*arguments)
    except Exception as error:
        return Judgement.of_failure(Failed.internal(error))
