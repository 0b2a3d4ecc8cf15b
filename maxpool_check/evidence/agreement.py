"""Which results several independent programs gave bit by bit, by the records of their runs.

Both programs of the reference are from one hand. That others, written elsewhere and for other purposes, return the same bits
where the judge says that they conform, is evidence for the reference as well. Programs of one project count once: they share code.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from maxpool_check.results.record import Record, TargetDescription, Verdict

_PROJECTS = {
    "onnxruntime-ep-webgpu": "onnxruntime",
    "onnxruntime-gpu": "onnxruntime",
    "onnxruntime-node": "onnxruntime",
    "onnxruntime-openvino": "openvino",
    "onnxruntime-qnn": "qnn",
    "onnxruntime-web": "onnxruntime",
}
"""The projects whose kernels a distribution runs, where it is not that of its own name."""


@dataclass(frozen=True)
class SharedResult:
    """The bits of an output of a case that most projects returned, where the judge says that they conform.

    ``others`` are projects that conform with other bits alone: the document leaves something open.
    """

    case: str
    case_sha256: str
    output: str
    digest: str
    projects: frozenset[str]
    others: frozenset[str]


def project(target: TargetDescription) -> str:
    """The project whose kernels a target runs."""
    return _PROJECTS.get(target.distribution, target.distribution)


def shared_results(records: Iterable[Record], outputs: tuple[str, ...] = ("Y", "Indices")) -> list[SharedResult]:
    """For each case and output that was compared, the bits on which most projects agree; in the order of the records."""
    returned: dict[tuple[str, str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        projects = {target.name: project(target) for target in record.header.targets}
        for execution in record.executions:
            if execution.verdict is Verdict.CONFORMS:
                for output in outputs:
                    if output in execution.digests:
                        key = execution.case, execution.case_sha256, output
                        returned[key][execution.digests[output]].add(projects[execution.target])
    return [_shared(*key, by_digest) for key, by_digest in returned.items()]


def _shared(case: str, case_sha256: str, output: str, by_digest: Mapping[str, set[str]]) -> SharedResult:
    # Of equally many, the first in the order of digests: any rule, as long as it is one.
    digest = min(by_digest, key=lambda digest: (-len(by_digest[digest]), digest))
    everyone = frozenset[str]().union(*by_digest.values())
    projects = frozenset(by_digest[digest])
    return SharedResult(case, case_sha256, output, digest, projects, everyone - projects)


def by_number(shared: Iterable[SharedResult]) -> dict[str, Counter[int]]:
    """For each output, how many cases so many projects gave the same bits of."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for result in shared:
        counts[result.output][len(result.projects)] += 1
    return dict(counts)
