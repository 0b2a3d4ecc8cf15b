"""A Python whose worker is wrong about the bytes behind its results: what each of them does wrong is what its function says.

Started as ``lying_workers.py NAME ARGUMENT...``, in the place of ``python ARGUMENT...``.
"""

import os
import signal
import sys


def says_more(tensor):
    """Says that there is one byte more."""
    tensor["data"] += 1


def says_less_than_nothing(tensor):
    """Says that there are fewer than none."""
    tensor["data"] = -1


def says_text(tensor):
    """Says that the bytes are in the line, and sends others behind it."""
    tensor["data"] = "AAAA"


def dies(tensor):
    """Is killed while the tool waits for more."""
    tensor["data"] += 2**20
    signal.alarm(1)


def main(name, arguments):
    # -c PROGRAM FOLDER worker ADAPTER
    if arguments[3] != "worker":
        os.execv(sys.executable, [sys.executable, *arguments])
    sys.path.insert(0, arguments[2])
    from worker import __main__ as worker

    encode = worker.encode

    def lies(value, following):
        tensor = encode(value, following)
        # By its first results, the tool finds the newest operator set.
        if following is not None:
            globals()[name](tensor)
        return tensor

    worker.encode = lies
    sys.argv = ["worker", arguments[4]]
    worker.main()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
