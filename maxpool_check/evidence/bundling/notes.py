"""What a bundle says in Markdown for everybody: what limits its evidence, and how to repeat the runs."""

import shlex
from collections.abc import Iterator

from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.evidence.bundling.documentation import passage
from maxpool_check.evidence.bundling.target_results import TargetResults
from maxpool_check.evidence.bundling.untested import not_compared, not_read, why
from maxpool_check.reporting.markup import bullets, code, codes, escaped, fenced, joined, table, wrapped
from maxpool_check.results.record import COMPARED, Verdict
from maxpool_check.results.variants import DEFAULT_THREADS, DEFAULT_VARIANTS, GRAPH_VARIANTS, VARIATIONS
from maxpool_check.words import plural

_USUAL = {variant.name for variant in (*DEFAULT_VARIANTS, *GRAPH_VARIANTS)}

_ALTERED = """\
The digests of `MANIFEST.sha256` show that a file was altered, removed or added. Whoever rewrites the manifest as well is found by
the signature alone, if the bundle has one (`MANIFEST.sha256.sig`), or by `maxpool-check evidence verify FILE --rerun`, which
executes the cases again. Without either, a bundle shows no more than that it is consistent."""


_VARYING = """\
Outputs that vary from run to run, such as those of a case that is `unstable`, and everything that a processor or the version of a
library changes, may differ."""


def statements(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The limitations, and the commands to repeat the runs."""
    results = contents.results
    yield "limitations.md", f"{limitations(contents, results)}\n".encode()
    yield "repeat.md", f"{_repeat(contents, results)}\n".encode()


def limitations(contents: Contents, results: list[TargetResults]) -> str:
    """What the evidence does not show: of the bundle, and in general."""
    return joined(
        [
            "# Limitations",
            "What the evidence of this bundle does not show.",
            "## Of this bundle",
            bullets([*_of_bundle(contents, results), *(text for each in results for text in _of_target(each))]),
            "### How the cases were executed",
            bullets(_execution(each) for each in results),
            "### Testable clauses without a compared execution",
            *_clauses_not_compared(contents),
            "### Statements that were not read",
            *_clauses_not_read(contents),
            "## Of every bundle",
            _ALTERED,
            passage("evidence", "What it does not claim"),
        ]
    )


def _of_bundle(contents: Contents, results: list[TargetResults]) -> Iterator[str]:
    started = sorted({each.header.started[:10] for each in results})
    yield wrapped(
        f"It holds {plural(len(contents.records), 'run')} of {plural(len(results), 'target')}, of {' and '.join(started)}: "
        "each run was on one machine, with the session options and the variants that are listed below. Other releases, providers, "
        "processors, options and variants were not executed."
    )
    tools = {each.header.tool_files for each in results}
    if len({each and each.sha256 for each in tools}) > 1 or None in tools:
        yield "Not all runs are known to be made by the same version of the tool."
    if any(each is not None and each.modified for each in tools):
        yield "A run was made by a tool whose files differ from the git revision that it names."


def _of_target(results: TargetResults) -> Iterator[str]:
    name = code(results.target.name)
    outside = {verdict: count for verdict, count in results.executions.items() if verdict not in COMPARED and count}
    if outside:
        counts = ", ".join(
            f"{count} {verdict.value}"
            for verdict, count in sorted(outside.items(), key=lambda item: list(Verdict).index(item[0]))
        )
        yield wrapped(
            f"{name}: {sum(outside.values())} of {sum(results.executions.values())} executions were not compared with a document: {counts}."
        )
    if results.not_compared:
        yield wrapped(f"{name}: of {plural(len(results.not_compared), 'case')} nothing was compared with a document.")
    main = [
        each
        for environment in results.target.environments
        for each in environment.distributions
        if each.name == results.target.distribution
    ]
    if not main and not results.target.program:
        yield wrapped(f"{name}: the record has no digest of the runtime, which is known by its version alone.")
    elif any(each.wheel_sha256 is None and each.integrity is None for each in main):
        yield wrapped(
            f"{name}: the record has no digest of the wheel that the runtime was installed from, but of its installed files."
        )
    for problem in results.record.footer.errors if results.record.footer else ():
        yield wrapped(f"{name}: {escaped(problem)}")


def _execution(results: TargetResults) -> str:
    """The options and variants of a target, and the variations that none of its variants has."""
    options = results.target.session_options
    names = sorted({execution.variant for execution in results.record.executions})
    missing = [each for each in VARIATIONS if not any(name.endswith(f"-{each.name}") for name in names)]
    has_one_thread = options.get("intra_op_num_threads") == 1 and DEFAULT_THREADS in missing
    shown = (
        f"session options {codes(f'{name}={value}' for name, value in options.items())}" if options else "no options"
    )
    parts = (
        f"{code(results.target.name)}: {shown}; variants {codes(names) or 'none'}.",
        "Nothing was executed with more than one thread." if has_one_thread else "",
        f"Not executed: the variations {codes(each.name for each in missing)}." if missing else "",
    )
    return wrapped(" ".join(filter(None, parts)))


def _clauses_not_compared(contents: Contents) -> Iterator[str]:
    trace = contents.trace
    targets = tuple(trace.targets)
    on_none = not_compared(trace, targets)
    of = f"of {plural(trace.testable, 'testable clause')}"
    if not on_none:
        yield wrapped(f"Each {of} had a compared execution on some target.")
    else:
        yield wrapped(
            f"{len(on_none)} {of} had no compared execution on any target, so that the results say nothing about them: "
            f"{codes(clause.id for clause in on_none)}."
        )
    lines = []
    for target in targets:
        missing = not_compared(trace, (target,))
        ids = "the same" if missing == on_none else codes(clause.id for clause in missing)
        lines.append(
            wrapped(f"{code(target)}: {len(missing)} {of} ({', '.join(why(missing, target))}): {ids}.")
            if missing
            else wrapped(f"{code(target)}: none.")
        )
    yield bullets(lines)


def _clauses_not_read(contents: Contents) -> Iterator[str]:
    clauses = not_read(contents.trace)
    if not clauses:
        yield "None is known."
        return
    yield "The documents refer to what was not read. Nobody knows whether it asks for more, and nothing tests it:"
    yield bullets(wrapped(f"{code(each.id)}: {escaped(each.states)} {escaped(each.reason)}") for each in clauses)


def _repeat(contents: Contents, results: list[TargetResults]) -> str:
    return joined(
        [
            "# Repeat the runs",
            wrapped(
                "How to execute the same cases on the same runtimes again, and to compare the results. `FILE` stands for this bundle. "
                "`SAFE` of `compare` says that the results are the recorded ones, not that they conform."
            ),
            "## The tool",
            bullets(_tools(results)),
            "## All at once",
            wrapped(
                "This makes fresh environments, which needs a package index, and compares the digests of all outputs:"
            ),
            fenced(["maxpool-check evidence verify FILE --rerun"], "sh"),
            "## By hand",
            "Unpack the bundle, and check its files:",
            fenced(["tar -xf FILE", "cd evidence", "sha256sum -c MANIFEST.sha256"], "sh"),
            *(block for each in results for block in _of_run(contents, each)),
            _VARYING,
        ]
    )


def _tools(results: list[TargetResults]) -> list[str]:
    lines: dict[str, None] = {}
    for each in results:
        files = each.header.tool_files
        revision = f", git revision {code(files.revision)}" if files and files.revision else ""
        modified = ", with changes that no revision has" if files and files.modified else ""
        digest = f", SHA-256 of its files {code(files.sha256)}" if files else ""
        libraries = ", ".join(f"{name} {version}" for name, version in each.header.libraries.items())
        lines[
            wrapped(
                f"maxpool-check {escaped(each.header.tool)}{revision}{modified}{digest}; Python {escaped(each.header.python)}, {escaped(libraries)}"
            )
        ] = None
    return list(lines)


def _of_run(contents: Contents, results: TargetResults) -> Iterator[str]:
    header, target = results.header, results.target
    yield f"## {escaped(target.name)}"
    yield wrapped(
        f"{escaped(target.software(numpy=True))}, on {escaped(header.system)}; processor: {escaped(str(target.processor or 'unknown'))}. The command of the run was:"
    )
    yield fenced([shlex.join(header.command) or "(the record does not have it)"], "sh")
    of_files = {case.id.rpartition(":")[0] for case in contents.cases.values() if case.id in results.cases}
    yield wrapped(
        f"It executed {plural(len(results.cases), 'case')} of {plural(len(of_files), 'file')}. With the cases of this bundle, "
        "and the options of the command above that choose cases and limits (`-k`, `--spec`, `--timeout`, `--memory`):"
    )
    used = {execution.variant for execution in results.record.executions}
    variants = [] if used <= _USUAL else ["--variants", ",".join(sorted(used))]
    again = f"{results.name}.again.jsonl"
    # A target without a version is what was installed.
    installed = [f"pip install {target.distribution}=={target.version}"] if target.name == target.distribution else []
    yield fenced(
        [
            *installed,
            shlex.join(["maxpool-check", "run", "cases", "-t", target.name, *variants, "-q", "-o", again]),
            shlex.join(["maxpool-check", "compare", results.bundled.member, again]),
        ],
        "sh",
    )
    if header.machine is not None and header.machine.environment:
        yield wrapped(
            f"Variables of the environment: {codes(f'{name}={value}' for name, value in header.machine.environment.items())}."
        )
    rows = [
        (
            escaped(each.name),
            escaped(each.version),
            code(each.wheel) if each.wheel else "",
            code(digest) if (digest := each.wheel_sha256 or each.integrity) else "",
        )
        for environment in target.environments
        for each in environment.distributions
    ]
    if rows:
        yield "The distributions of its environment:"
        yield table(["distribution", "version", "wheel", "SHA-256 of the wheel, or digest of npm"], rows)
