"""Prints the kill matrix; 1 if a wrong kernel is killed by fewer than two cases, or a correct one is flagged.

``python -m tests.mutants [WORD...]``: the kernels whose names hold one of the words, all by default; but none in
the language of another document than ONNX, which gets its cases in process alone.
"""

from __future__ import annotations

import sys

from maxpool_check.evidence.kernels import CORRECT, all_kernels
from tests.conftest import shipped
from tests.mutants.kill_matrix import measure, render


def main(words: list[str]) -> int:
    """Measure and print."""
    chosen = [
        kernel
        for kernel in all_kernels()
        if not kernel.specs and (not words or any(word in str(kernel) for word in words))
    ]
    if not chosen:
        print(f"no kernel's name holds {' or '.join(words)}", file=sys.stderr)
        return 2
    matrix = measure(chosen)
    print(render(matrix, shipped().cases))
    return int(bool(matrix.noticed(0, 1)) or any(matrix.kills_in(CORRECT).values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
