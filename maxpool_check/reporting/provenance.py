"""What a run was made with: the parts of a header that say what must be the same for it to be repeated."""

from collections.abc import Iterable, Iterator, Sequence

from maxpool_check.results.details import Distribution
from maxpool_check.results.record import RunHeader, TargetDescription
from maxpool_check.words import plural


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
    if (corpus := header.corpus) is not None:
        yield "corpus", f"{corpus}, {plural(corpus.cases, 'case')}, SHA-256 {corpus.sha256}"
    yield "cases", f"SHA-256 {header.cases_sha256}"
    yield "known defects", f"SHA-256 {header.known_sha256}" if header.known_sha256 else "none used"
    yield from made_with(header, targets)


def made_with(header: RunHeader, targets: Iterable[TargetDescription]) -> Iterator[tuple[str, str]]:
    """The name of each fact, and the fact; none for records of older versions."""
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


def _variable(item: tuple[str, str]) -> str:
    """A variable and its value; a path of the machine stays in the record."""
    name, value = item
    return f"{name} (set)" if "/" in value or "\\" in value else f"{name}={value}"


def _files(target: TargetDescription) -> Iterator[str]:
    """The files of a kernel, and the distributions of the environments; of the tested one, wheel and libraries."""
    yield from (f"{name} SHA-256 {digest}" for name, digest in target.program.items())
    for environment in target.environments:
        tested = [each for each in environment.distributions if _is_same(each.name, target.distribution)]
        others = [f"{each.name} {each.version}" for each in environment.distributions if each not in tested]
        for each in tested:
            yield from _digests(each)
        yield f"on {environment.implementation} {environment.version}" + (
            f" with {', '.join(others)}" if others else ""
        )


def _digests(distribution: Distribution) -> Iterator[str]:
    if distribution.wheel is not None:
        yield f"{distribution.wheel} SHA-256 {distribution.wheel_sha256}"
    elif distribution.integrity is not None:
        yield f"{distribution.name} {distribution.version}, by npm {distribution.integrity}"
    elif distribution.files_sha256 is not None:
        yield f"{distribution.name} {distribution.version}, its list of files SHA-256 {distribution.files_sha256}"
    for name, digest in distribution.libraries.items():
        yield f"{name.rpartition('/')[2]} SHA-256 {digest}"


def _is_same(name: str, distribution: str) -> bool:
    return name == distribution.replace("_", "-").lower()
