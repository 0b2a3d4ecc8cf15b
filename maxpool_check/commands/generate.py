"""``maxpool-check generate``."""

from __future__ import annotations

from pathlib import Path

import click

from maxpool_check.commands import options


@click.command("generate")
@options.document(required=True)
@click.option(
    "--strength",
    type=click.IntRange(1, 3),
    default=2,
    metavar="N",
    help="How many factors are combined with each other: 1, 2 or 3.  [default: 2]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Other cases.  [default: 0]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.yaml", help="Write them here, not to stdout."
)
def command(spec: str, strength: int, seed: int, output: Path | None) -> int:
    """Write cases that cover what can be particular about a MaxPool.

    Ranks, sizes, attributes, element types and values are put in bins; every possible combination of the bins of N
    factors is in some case. The same arguments give the same bytes.
    """
    from maxpool_check.corpus.generating import written

    if output is not None:
        options.hold_writable([output])
    text = written(spec, strength, seed)
    if output is None:
        click.echo(text, nl=False)
        return 0
    output.write_text(text, encoding="utf-8")
    click.echo(f"{text.count('  - id: ')} cases: {output}", err=True)
    return 0
