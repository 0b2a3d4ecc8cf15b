"""A trace as one JSON document."""

from typing import TextIO

import msgspec

from maxpool_check import inert
from maxpool_check.evidence.tracing.text import TraceReport


def write(report: TraceReport, file: TextIO) -> None:
    """Write the document, which :func:`~maxpool_check.evidence.tracing.trace.trace_schema` describes."""
    encoded = msgspec.json.format(inert.ascii_json(msgspec.json.encode(report.trace)), indent=1)
    file.write(encoded.decode() + "\n")
