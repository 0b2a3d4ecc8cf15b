"""What releases of a runtime showed, as a chart: from the JSON of a history, or from runs of the same cases."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maxpool_check.reporting.html.charts import BarChart, by_verdict
from maxpool_check.reporting.matrix import FAULTS
from maxpool_check.reporting.site.collected import Run


@dataclass(frozen=True)
class History:
    """What releases of a runtime showed, from the JSON of ``maxpool-check history``: executions by version and verdict."""

    runtime: str
    verdicts: Mapping[str, Mapping[str, int]]

    @property
    def chart(self) -> BarChart:
        """The executions that do not conform, by release."""
        return by_verdict(list(self.verdicts), list(self.verdicts.values()))


def chart_of(runs: Sequence[Run]) -> BarChart | None:
    """The executions that do not conform, by release, of those runs that executed the same cases.

    None of fewer than two releases, and where a release was run in several ways.
    """
    digests = Counter(run.record.header.cases_sha256 for run in runs)
    digest, _ = digests.most_common(1)[0]
    alike = [run for run in runs if run.record.header.cases_sha256 == digest]
    labels = [run.target.version for run in alike]
    if len(labels) < 2 or len(set(labels)) < len(labels):
        return None
    series = {word: [run.total[word] for run in alike] for word in FAULTS.values()}
    return BarChart(labels, {word: each for word, each in series.items() if any(each)})
