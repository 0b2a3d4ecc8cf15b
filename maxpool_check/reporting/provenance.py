"""What a run was made with, which must be the same for it to be repeated; and how its targets interpret open points."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from maxpool_check.judging.cells import MIXED
from maxpool_check.judging.faults import by_size
from maxpool_check.results.details import Distribution
from maxpool_check.results.record import Execution, Record, RunHeader, TargetDescription
from maxpool_check.words import plural, some

_MOST_CHANGED = 5
"""How many changed files of a distribution are named; the record has all."""


def environment(header: RunHeader, targets: Sequence[TargetDescription] | None = None) -> Iterator[tuple[str, str]]:
    """What a run, or what it has of some targets, was made with: the name of each fact, and the fact."""
    targets = header.targets if targets is None else targets
    libraries = ", ".join(f"{name} {version}" for name, version in header.libraries.items())
    yield "maxpool-check", f"{header.tool} on Python {header.python}, with {libraries}"
    yield "machine of the tool", f"{header.system}, {header.cpu}"
    yield "started", header.started
    for target in targets:
        opsets = [f"operator sets up to {target.newest_opset}"] if target.newest_opset is not None else []
        options = (f"{name}={value}" for name, value in target.session_options.items())
        yield target.name, "; ".join([target.software(numpy=True), *opsets, *options])
    yield from _inputs(header)
    # Records of older versions have none of these.
    if (files := header.tool_files) is not None:
        revision = f"; git revision {files.revision}{', modified' if files.modified else ''}" if files.revision else ""
        yield "files of maxpool-check", f"SHA-256 {files.sha256}{revision}"
    if (machine := header.machine) is not None:
        features = f"{plural(len(machine.features), 'feature')} of the processor, which the record lists"
        yield "kernel and C library of the tool", "; ".join(filter(None, (machine.kernel, machine.libc, features)))
        yield "environment variables", ", ".join(map(_variable, machine.environment.items())) or "none that matter"
    if header.editions:
        yield "editions", "; ".join(map(str, header.editions.values()))
    if (references := header.references) is not None:
        log = f"; log SHA-256 {references.log_sha256}" if references.log_sha256 else ""
        yield "references", f"agree on {references.agreed} of {plural(references.compared, 'case')}{log}"
    if header.seeds:
        yield "seeds", ", ".join(f"{name} {seed}" for name, seed in header.seeds.items())
    for target in targets:
        yield f"processor of {target.name}", str(target.processor or "unknown")
        if lines := [*_files(target)]:
            yield f"files of {target.name}", "; ".join(lines)


def _inputs(header: RunHeader) -> Iterator[tuple[str, str]]:
    """The digests of the files that a run has read."""
    if (corpus := header.corpus) is not None:
        yield "corpus", f"{corpus}, {plural(corpus.cases, 'case')}, SHA-256 {corpus.sha256}"
    yield "cases", f"SHA-256 {header.cases_sha256}"
    yield "known defects", f"SHA-256 {header.known_sha256}" if header.known_sha256 else "none used"
    if header.configuration_sha256:
        yield "configuration file", f"SHA-256 {header.configuration_sha256}"


def _variable(item: tuple[str, str]) -> str:
    """A variable and its value; a path of the machine stays in the record."""
    name, value = item
    return f"{name} (set)" if "/" in value or "\\" in value else f"{name}={value}"


def _files(target: TargetDescription) -> Iterator[str]:
    """The files of a kernel, and the distributions of the environments; of the tested one, wheel and libraries."""
    yield from (f"{name} SHA-256 {digest}" for name, digest in target.program.items())
    own = target.distribution.replace("_", "-").lower()
    for environment in target.environments:
        for each in environment.distributions:
            yield from _digests(each) if each.name == own else ()
            if each.changed:
                files = f"{plural(len(each.changed), 'file')} missing or of another size than RECORD states"
                yield f"{each.name} {each.version} with {files}: {', '.join(some(each.changed, _MOST_CHANGED))}"
        others = ", ".join(f"{each.name} {each.version}" for each in environment.distributions if each.name != own)
        yield f"on {environment.implementation} {environment.version}" + (f" with {others}" if others else "")


def _digests(distribution: Distribution) -> Iterator[str]:
    if distribution.wheel is not None:
        yield f"{distribution.wheel} SHA-256 {distribution.wheel_sha256}"
    elif distribution.integrity is not None:
        yield f"{distribution.name} {distribution.version}, by npm {distribution.integrity}"
    elif distribution.files_sha256 is not None:
        yield f"{distribution.name} {distribution.version}, its list of files SHA-256 {distribution.files_sha256}"
    else:
        yield f"{distribution.name} {distribution.version}, without a digest: no RECORD lists its files"
    for name, digest in distribution.libraries.items():
        yield f"{name.rpartition('/')[2]} SHA-256 {digest}"


@dataclass(frozen=True)
class Interpretation:
    """How a target interprets a point that documents leave open, in one variant.

    ``text`` names the interpretations with which all results agree. If there is none, it names two cases whose results
    agree with different ones, or a case whose cells do.
    """

    target: str
    point: str
    variant: str
    translated: bool
    executions: int
    text: str


def interpretations(record: Record) -> list[Interpretation]:
    """What the results of a record show of open points, by target, point and variant."""
    # An execution for each result that occurs, so that the size does not grow with their number.
    groups: dict[tuple[str, str, str, bool], dict[tuple[str, ...], Execution]] = defaultdict(dict)
    numbers: Counter[tuple[str, str, str, bool]] = Counter()
    for execution in record.executions:
        for point, names in execution.interpretations.items():
            key = (execution.target, point, execution.variant, bool(execution.translation))
            numbers[key] += 1
            first = groups[key].setdefault(names, execution)
            if names == (MIXED,):
                groups[key][names] = min(first, execution, key=by_size)
    return [Interpretation(*key, numbers[key], _agreement(groups[key])) for key in sorted(groups)]


def _agreement(results: Mapping[tuple[str, ...], Execution]) -> str:
    first, *others = results
    common = [name for name in first if name != MIXED and all(name in names for names in others)]
    if common:
        return " or ".join(common)
    if (MIXED,) in results:
        return f"inconsistent (differs between elements in {results[MIXED,].case})"
    different = [names for names in others if not set(names) & set(first)]
    witnesses = [f"{' or '.join(names)} in {results[names].case}" for names in (first, *different[:1])]
    return f"inconsistent ({'; '.join(witnesses)})"


def profiles(record: Record) -> list[tuple[list[str], dict[str, str]]]:
    """The policies by which results were judged, each with the documents that have them."""
    result: list[tuple[list[str], dict[str, str]]] = []
    for policies in record.header.profile.values():
        if policies not in [others for _, others in result]:
            result.append(([name for name, others in record.header.profile.items() if others == policies], policies))
    return result
