"""What a reproduction expects, as data: the reference's outputs, and every value that is right in their cells."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from maxpool_check.judging.acceptance import AcceptedOutput, NotListed, OpenValue, accepted_results
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import is_float
from maxpool_check.reproducing.reproduced import CannotWrite, FaultForm, Reproduced

_MOST_VALUES = 2**24
"""The most values that a file lists for an output."""


@dataclass(frozen=True, eq=False)
class ExpectedOutput:
    """One output, in the target's terms.

    ``values`` has the right values of each cell along a first axis before those of the output, the reference's first: where a
    cell has fewer of them, its first one again. ``is_open`` are the cells in which any value is right.
    """

    values: np.ndarray
    is_open: np.ndarray

    @property
    def reference(self) -> np.ndarray:
        """The reference's values."""
        return self.values[0]

    def right(self, output: np.ndarray, *, is_signed: bool) -> np.ndarray:
        """Which cells of an output of the same shape are right; zeros of either sign are the same unless ``is_signed``."""
        same = (output == self.values) | ((output != output) & (self.values != self.values))
        if is_signed and is_float(output.dtype):
            same &= np.signbit(output) == np.signbit(self.values)
        return np.asarray(same.any(axis=0) | self.is_open)

    def has_several(self, *, is_signed: bool) -> bool:
        """Whether some cell has other right values than one."""
        first = replace(self, values=self.values[:1])
        return bool(self.is_open.any()) or not all(first.right(each, is_signed=is_signed).all() for each in self.values)


Expected = Mapping[str, ExpectedOutput]


def expected_outputs(reproduced: Reproduced) -> list[Expected]:
    """The outputs that are right, for each interpretation of the windows; none for a graph that must be refused.

    Raises :class:`CannotWrite`.
    """
    if not isinstance(reproduced.oracle, Oracle):
        return []
    names = (*reproduced.variant.outputs, *reproduced.case_run.case.context.side_outputs)
    try:
        results = accepted_results(reproduced.oracle)
        listed: list[Expected] = [
            {name: _expected(reproduced, name, result.outputs[name]) for name in names} for result in results
        ]
    except NotListed as error:
        raise CannotWrite(f"no script can be written: {error}") from error
    # Interpretations may permit the same.
    different: dict[object, Expected] = {}
    for outputs in listed:
        key = tuple((each.values.shape, each.values.tobytes(), each.is_open.tobytes()) for each in outputs.values())
        different.setdefault(key, outputs)
    return list(different.values())


def _expected(reproduced: Reproduced, name: str, output: AcceptedOutput) -> ExpectedOutput:
    tensor = output.tensor.astype(np.int64) if name == "Indices" else output.tensor
    # Indices of a window of NaN may be the number of no cell: a list leaves that out.
    others = {
        at: [value for value in values if not isinstance(value, OpenValue)] for at, values in output.others.items()
    }
    count = 1 + max(map(len, others.values()), default=0)
    if count * tensor.size > _MOST_VALUES:
        raise CannotWrite(f"a file would have to list more than {_MOST_VALUES} values")
    values, is_open = np.stack([tensor] * count), np.zeros(tensor.shape, bool)
    for at, listed in others.items():
        values.reshape(count, -1)[1 : 1 + len(listed), at] = listed
        is_open.reshape(-1)[at] = OpenValue.ANY in output.others[at]
    arranged = np.stack([reproduced.in_terms_of_target(name, each) for each in values])
    return ExpectedOutput(arranged, reproduced.in_terms_of_target("", is_open))


def data_of(reproduced: Reproduced, expected: list[Expected]) -> dict[str, np.ndarray]:
    """The arrays of ``expected.npz``: the inputs by their names, and the expected outputs.

    Inputs of bfloat16 are stored as their bits in uint16. An expected output is stored by its name; of a target that
    infers shapes alone, its shape. Where several values are right in a cell, ``NAME_accepted_N`` and ``NAME_open_N`` are the
    fields of the N-th :class:`ExpectedOutput`, counted from 1. bfloat16 is stored as float32. Of an inconsistency,
    ``first`` and ``second`` are the outputs that the target gave.
    """
    inputs = reproduced.request.inputs.items()
    data = {name: value.view(np.uint16) if value.dtype.name == "bfloat16" else value for name, value in inputs}
    outputs: dict[str, np.ndarray] = {}
    if reproduced.fault is FaultForm.INCONSISTENT:
        for name, variant in zip(("first", "second"), reproduced.pair, strict=True):
            returned = reproduced.returned(variant)
            outputs |= {name: returned[reproduced.differing]} if reproduced.differing in returned else {}
    elif expected:
        outputs = {name: output.reference for name, output in expected[0].items()}
        if not reproduced.target.computes:
            outputs = {name: np.array(each.shape, np.int64) for name, each in outputs.items()}
    if needs_list(reproduced, expected):
        for number, accepted in enumerate(expected, 1):
            for name, output in accepted.items():
                outputs |= {f"{name}_accepted_{number}": output.values, f"{name}_open_{number}": output.is_open}
    return data | {
        name: each.astype(np.float32) if each.dtype.name == "bfloat16" else each for name, each in outputs.items()
    }


def needs_list(reproduced: Reproduced, expected: list[Expected]) -> bool:
    """Whether a script must compare with several values for a cell, or outputs of several interpretations."""
    signed = DivergenceKind.Y_SIGNED_ZERO in reproduced.kinds
    several = len(expected) > 1 or any(
        output.has_several(is_signed=signed) for outputs in expected for output in outputs.values()
    )
    return several and reproduced.target.computes and reproduced.fault is not FaultForm.INCONSISTENT
