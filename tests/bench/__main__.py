"""Measures how fast the tool is, against what it stands on and what others offer, and writes a table.

``python -m tests.bench [--tiny] [--repetitions N] [--no-tests] [-o FILE]``: ``--tiny`` measures next to nothing, to see that it can be measured.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.row import TINY, Row, Size
from tests.bench.rows import measured
from tests.conftest import ROOT

PACKAGES = ("click", "jsonschema-rs", "ml_dtypes", "numpy", "onnx", "onnxruntime", "PyYAML")


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure, and write a table.")
    parser.add_argument("--tiny", action="store_true", help="next to nothing, to see that it can be measured")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "reports" / "benchmark.md")
    parser.add_argument("--repetitions", type=int, default=Size.repetitions)
    parser.add_argument("--no-tests", action="store_true", help="do not run make test")
    given = parser.parse_args(words)
    size = TINY if given.tiny else Size(repetitions=given.repetitions, tests=not given.no_tests)
    busy = os.getloadavg()[0]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in measured(size, Path(folder)):
            rows.append(row)
            print(line(row), flush=True)
    given.output.write_text(page(rows, size, busy))
    print(given.output, file=sys.stderr)


def page(rows: Sequence[Row], size: Size, busy: float) -> str:
    """The report; so many cores were ``busy`` when it began."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    day = datetime.datetime.now(datetime.timezone.utc).date()
    return f"""\
# Benchmark

Made by `make bench` on {day}, never edited by hand. [CONTRIBUTING.md](../CONTRIBUTING.md#the-benchmark) says how to read it.

- Machine: {_processor()}, {os.cpu_count()} cores; {busy:.1f} of them busy when it began
- {platform.system()} {platform.machine()}, Python {platform.python_version()}, {versions}
- Repetitions: {size.repetitions}; five times as many for short commands, fewer for long ones

| | one / other | median | lowest to highest | repetitions | wanted | met | |
|---|---|---:|---:|---:|---|---|---|
{chr(10).join(map(line, rows))}
"""


def line(row: Row) -> str:
    """One row as Markdown."""
    if row.figure is None:
        figures = ["", "", ""]
    else:
        low, high = min(row.figure.values), max(row.figure.values)
        spread = f"{_shown(low)} to {_shown(high)}"
        figures = [f"{_shown(row.figure.median)} {row.unit}", spread, str(len(row.figure.values))]
    return f"| {' | '.join([row.part, row.what, *figures, row.wanted, row.met, row.note])} |"


def _shown(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for one in information.read_text().splitlines():
            if one.startswith("model name"):
                return one.partition(":")[2].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    main(sys.argv[1:])
