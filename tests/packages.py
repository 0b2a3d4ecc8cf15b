"""The wheel and the source distribution of this checkout, and clean environments that they are installed in."""

import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from tests.conftest import ROOT, environment

UV = Path(sys.executable).with_name("uv")
CONSTRAINTS = ROOT / "tests/constraints.txt"


def uv(*arguments):
    words = [UV, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment(), timeout=900, check=False)
    assert done.returncode == 0, done.stderr


def built(folder, source=ROOT, kind="--wheel"):
    """The wheel or source distribution that a checkout, or an unpacked source distribution, is built to."""
    uv("build", "--quiet", kind, "--out-dir", folder, source)
    (distribution,) = (path for path in folder.iterdir() if path.suffix in (".whl", ".gz"))
    return distribution


def shared(temporary, name, make):
    """What ``make`` writes into a folder, made once for all processes of a run of the tests."""
    # pytest-xdist gives each of its processes a folder of its own in one for all.
    root = temporary.getbasetemp()
    folder = (root.parent if root.name.startswith("popen-") else root) / name
    with FileLock(f"{folder}.lock"):
        if not (done := folder / "done").exists():
            folder.mkdir()
            done.write_text(str(make(folder)))
    return Path(done.read_text())


class Installed:
    """A clean environment with a distribution of the tool, outside of the checkout."""

    def __init__(self, folder, distribution):
        self.bin = folder / "environment/bin"
        uv("venv", "--quiet", "--python", sys.executable, folder / "environment")
        words = ("--quiet", "--python", self.bin / "python", "--constraint", CONSTRAINTS)
        uv("pip", "install", *words, distribution, "pip")

    def run(self, program, *arguments, cwd):
        """Run a program of the environment as its users do."""
        words, path = [self.bin / program, *map(str, arguments)], f"{self.bin}:/usr/bin:/bin"
        variables = environment(PATH=path)
        return subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=variables, timeout=900, check=False)
