"""The programs that run the adapters of runtimes."""

from pathlib import Path

_HERE = Path(__file__).parent

# Imports the worker package, and nothing else of the folder it is in: neither that folder nor the user's own may hide a
# module of the runtime. Not by -I, which hides what the user has installed, nor -P, which is not there before Python 3.11;
# sys is built in, and nothing else may be imported before the user's folder, "", is out of the path.
_BOOT = """
import sys
sys.path[:] = filter(None, sys.path)
import runpy
sys.path.insert(0, sys.argv.pop(1))
import worker
del sys.path[0]
runpy.run_module("worker", run_name="__main__", alter_sys=True)
"""


def adapter(python: str, name: str) -> list[str]:
    """The program that runs the adapter of a runtime with this Python."""
    return [python, "-c", _BOOT, str(_HERE), name]


def javascript_adapter(name: str, folder: Path) -> list[str]:
    """The program that runs the adapter of a runtime which is in an environment of npm."""
    return ["node", str(_HERE / "worker" / f"{name}_adapter.mjs"), str(folder)]
