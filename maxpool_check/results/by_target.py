"""One record for each target of a run on several."""

from collections.abc import Mapping

import msgspec

from maxpool_check.results.outputs import StoredOutput
from maxpool_check.results.record import Execution, Line, RunFooter, RunHeader
from maxpool_check.results.storage import Recorder


class TargetRecorders:
    """Writes the lines of a run to one record for each target, as if each target had a run of its own."""

    def __init__(self, recorders: Mapping[str, Recorder]) -> None:
        """``recorders`` are those of all targets, by name."""
        self._recorders = recorders
        self._outputs: dict[str, StoredOutput] = {}
        self._written = {name: set[str]() for name in recorders}

    def write(self, line: Line) -> None:
        """Add one line to the records that it concerns. Raises ``OSError``."""
        if isinstance(line, StoredOutput):
            self._outputs[line.sha256] = line
            return
        if isinstance(line, Execution):
            recorder, written = self._recorders[line.target], self._written[line.target]
            for sha256 in (self._outputs.keys() & line.digests.values()) - written:
                recorder.write(self._outputs[sha256])
                written.add(sha256)
            recorder.write(line)
            return
        for name, recorder in self._recorders.items():
            recorder.write(self._header(line, name) if isinstance(line, RunHeader) else self._footer(line, name))

    def _header(self, header: RunHeader, name: str) -> RunHeader:
        targets = tuple(target for target in header.targets if target.name == name)
        return msgspec.structs.replace(header, targets=targets)

    def _footer(self, footer: RunFooter, name: str) -> RunFooter:
        """The footer of a target; errors that name no target concern all. The exit code is that of the run."""
        counts = footer.summary.get(name)
        return msgspec.structs.replace(
            footer,
            executions=sum(counts.values()) if counts else 0,
            summary={name: counts} if counts else {},
            known=tuple(entry for entry in footer.known if entry.target == name),
            errors=tuple(error for error in footer.errors if self._target_of(error) in (None, name)),
            contradicted={name: footer.contradicted[name]} if name in footer.contradicted else {},
        )

    def _target_of(self, error: str) -> str | None:
        """The target whose name the error begins with; that of a ``command:`` target may begin another's."""
        return max((name for name in self._recorders if error.startswith(f"{name} ")), key=len, default=None)
