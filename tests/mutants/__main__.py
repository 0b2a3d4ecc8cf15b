"""Prints the kill matrix; 1 if a wrong kernel is killed by fewer than two cases, or a correct one is flagged.

``python -m tests.mutants [WORD...]``: the kernels whose names hold one of the words, all by default; but none in
the language of another document than ONNX, which gets its cases in process alone.
"""

import sys

from maxpool_check.evidence.kernels import CORRECT, all_kernels
from tests.mutants.kill_matrix import measure, render

words = sys.argv[1:] or [""]
chosen = [kernel for kernel in all_kernels() if not kernel.specs and any(word in str(kernel) for word in words)]
if not chosen:
    sys.exit(f"no kernel's name holds {' or '.join(words)}")
matrix = measure(chosen)
print(render(matrix))
sys.exit(bool(matrix.noticed(0, 1) or matrix.kills_in(CORRECT)))
