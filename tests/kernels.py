"""Kernels to be asked as ``python:`` targets: one that is right, and others that are wrong on purpose."""

import os
import signal
import sys
import time

import numpy as np

import maxpool_check
from maxpool_check.reference.dtypes import is_float, lowest

_CALLS = []

if os.environ.get("SLOW_TO_START"):
    time.sleep(60)


def right(X, attributes):
    """As specified, also by the documents in which a window of padding alone has the smallest value."""
    pooled = maxpool_check.maxpool(X, spec="onnx-22", policies={"nan": "as-neg-inf"}, **attributes)
    smallest = -np.inf if is_float(X.dtype) else lowest(X.dtype)
    return np.where(pooled.empty, X.dtype.type(smallest), pooled.Y), pooled.Indices.copy()


def keeps_the_seed(X, attributes):
    """Starts its scan from the lowest finite value and the cell before the plane, and needs something greater."""
    Y, Indices = right(X, attributes)
    seeds = (Y == -np.inf if is_float(X.dtype) else Y == lowest(X.dtype)) & (Indices >= 0)
    Y[seeds] = lowest(X.dtype)
    Indices[seeds] = -X.shape[-1] - 1
    return Y, Indices


def pads_with_zero(X, attributes):
    """Lets the padding win with its 0."""
    Y, Indices = right(X, attributes)
    pads, rank = attributes["pads"], X.ndim - 2
    if any(pads):
        filled = np.pad(X, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
        Y, _ = right(filled, {**attributes, "pads": [0] * 2 * rank})
    return Y, Indices


def accepts_everything(X, attributes):
    """Answers also what the document excludes."""
    try:
        return right(X, attributes)
    except maxpool_check.Refused:
        return X, np.zeros(X.shape, np.int64)


def refuses_everything(X, attributes):
    """Answers nothing."""
    raise ValueError("not today")


def dies_of_a_signal(X, attributes):
    """Divides by zero, as native code does, if the stride is 0; right otherwise."""
    if 0 in attributes["strides"]:
        print("about to divide", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGFPE)
    return right(X, attributes)


def dies_always(X, attributes):
    """Never survives a variant."""
    os._exit(7)


def hangs(X, attributes):
    """Does not come back from a plane of one column."""
    if X.ndim == 4 and X.shape[-1] == 1:
        time.sleep(600)
    return right(X, attributes)


def talks(X, attributes):
    """Prints where the answers go, from Python and from below it."""
    print("hello from Python", flush=True)
    os.write(1, b'{"id": 1, "type": "result"}\n')
    sys.stdin.close()
    return right(X, attributes)


def changes_its_input(X, attributes):
    """Writes into X."""
    answer = right(X, attributes)
    X[...] = 0
    return answer


def _leaves_a_child():
    """Leaves a child that holds every pipe open."""
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)


def forks_and_hangs(X, attributes):
    """Leaves a child, and does not come back."""
    _leaves_a_child()
    time.sleep(600)


def forks_and_dies(X, attributes):
    """Leaves a child, and exits."""
    _leaves_a_child()
    os._exit(3)


def misspells_a_name(X, attributes):
    """Has a mistake in its code."""
    return right(X, attribute)  # noqa: F821


def speaks_in_surrogates(X, attributes):
    """Raises with words that no encoding can write."""
    raise ValueError("\ud800 is half a character")


def counts_its_calls(X, attributes):
    """Gives how often it was called in its process; refuses a stride of 0 and dies of a stride of 7, but counts them."""
    _CALLS.append(None)
    if 0 in attributes["strides"]:
        raise ValueError("a stride of 0")
    if 7 in attributes["strides"]:
        os._exit(7)
    return np.array(len(_CALLS))


def says_which_process_it_is(X, attributes):
    """The same, but gives the number of its process."""
    counts_its_calls(X, attributes)
    return np.array(os.getpid())


def takes_its_time(X, attributes):
    """Takes as many tenths of a second as its first stride says."""
    time.sleep(attributes["strides"][0] / 10)
    return right(X, {**attributes, "strides": [1, 1]})


def names_the_last_tie(X, attributes):
    """As specified by ONNX, but of equal maxima it names the last one."""
    Y, _ = right(X, attributes)
    reverse = X[(..., *[slice(None, None, -1)] * (X.ndim - 2))]
    _, Indices = right(np.ascontiguousarray(reverse), attributes)
    planes = np.arange(X.shape[0] * X.shape[1]).reshape(*X.shape[:2], *[1] * (X.ndim - 2)) * np.prod(X.shape[2:])
    last = 2 * planes + np.prod(X.shape[2:]) - 1 - Indices
    return Y, last[(..., *[slice(None, None, -1)] * (X.ndim - 2))]


def alternates(X, attributes):
    """Negates its zeros and what is greater every other time that it is called."""
    _CALLS.append(None)
    Y, Indices = right(X, attributes)
    return (np.where(Y > 0, -Y, Y) if len(_CALLS) % 2 else Y), Indices


def ignores_nan_at_first(X, attributes):
    """Ignores NaN every other time that it is called, beginning with the first; of equal maxima it names the last."""
    _CALLS.append(None)
    nan = "ignored" if len(_CALLS) % 2 else "propagates"
    pooled = maxpool_check.maxpool(X, spec="onnx-22", policies={"nan": nan}, **attributes)
    return pooled.Y, names_the_last_tie(X, attributes)[1]


def _changed(change):
    """A kernel whose outputs are those that ``change`` makes of the input and the right outputs."""
    return lambda X, attributes: change(X, *right(X, attributes))


def _with_77(Y, place=0):
    """Y with another value in one place."""
    Y.flat[place] = 77
    return Y


slow_to_start = right
pads_with_zero_still = pads_with_zero
"""The next release of ``pads_with_zero``, which fixes nothing."""
y_alone = _changed(lambda X, Y, Indices: Y)
counts_in_the_plane = _changed(lambda X, Y, Indices: (Y, Indices % np.prod(X.shape[2:])))
forgets_its_shape = _changed(lambda X, Y, Indices: (Y.reshape(-1), Indices.astype(np.int32)))
narrows_its_indices = _changed(lambda X, Y, Indices: (Y, Indices.astype(np.int32)))
flattens_its_indices = _changed(lambda X, Y, Indices: (Y, Indices.reshape(-1)))
has_one_wrong_value = _changed(lambda X, Y, Indices: (_with_77(Y), Indices))
has_another_wrong_value = _changed(lambda X, Y, Indices: (_with_77(Y, -1), Indices))
narrows_its_indices_beside_a_wrong_value = _changed(lambda X, Y, Indices: (_with_77(Y), Indices.astype(np.int32)))
gives_nothing = _changed(lambda X, Y, Indices: None)
gives_no_indices = _changed(lambda X, Y, Indices: (Y, None))
gives_objects = _changed(lambda X, Y, Indices: (Y.astype(object), Indices))
gives_three = _changed(lambda X, Y, Indices: (Y, Indices, X))
