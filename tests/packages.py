"""The wheel and the source distribution of this checkout, and clean environments that they are installed in."""

import subprocess
import sys
import sysconfig
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
    """An environment with a distribution of the tool, outside of the checkout.

    It is a clean one, or has what the tool needs from the environment of the tests, which saves most of the time.
    """

    def __init__(self, folder, distribution, *, clean=True):
        self.bin = folder / "environment/bin"
        uv("venv", "--quiet", "--python", sys.executable, folder / "environment")
        rest = ("--constraint", CONSTRAINTS) if clean else ("--no-deps",)
        uv("pip", "install", "--quiet", "--python", self.bin / "python", *rest, distribution)
        if not clean:
            (packages,) = folder.glob("environment/lib/python*/site-packages")
            # The checkout itself is not seen: its own such file counts in the environment of the tests alone.
            (packages / "tests.pth").write_text(f"{sysconfig.get_path('purelib')}\n")

    def run(self, program, *arguments, cwd):
        """Run a program of the environment as its users do."""
        words, path = [self.bin / program, *map(str, arguments)], f"{self.bin}:/usr/bin:/bin"
        variables = environment(PATH=path)
        return subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=variables, timeout=900, check=False)
