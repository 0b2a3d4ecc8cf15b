"""A Python whose worker is wrong about its own outputs: what each of them does wrong is what its function says.

Started as ``lying_workers.py NAME ARGUMENT...``, in the place of ``python ARGUMENT...``. The first result, by which the tool
finds the newest operator set, is as it should be.
"""

import base64
import itertools
import os
import sys


def says_match(honest, number):
    """Says of every result that it is the first of the permitted ones."""
    fields = {"id": honest["id"], "type": "match", "set": 0}
    return {**fields, "provider": honest["provider"]} if "provider" in honest else honest


def hashes_other_bytes(honest, number):
    """Compares the right outputs, and returns zeros."""
    for tensor in honest.get("outputs", {}).values():
        tensor["data"] = base64.b64encode(bytes(len(base64.b64decode(tensor["data"])))).decode()
    return honest


def main(name, arguments):
    # -c PROGRAM FOLDER worker ADAPTER
    if arguments[3] != "worker":
        os.execv(sys.executable, [sys.executable, *arguments])
    sys.path.insert(0, arguments[2])
    from worker import __main__ as worker

    message, numbers = worker._message, itertools.count()

    def lies(request, outcome):
        honest = message(request, outcome)
        number = next(numbers) if "provider" in honest else 0
        return globals()[name](honest, number) if number else honest

    worker._message = lies
    sys.argv = ["worker", arguments[4]]
    worker.main()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
