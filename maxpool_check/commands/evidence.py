"""``maxpool-check evidence``."""

import sys
from pathlib import Path

import click

from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.evidence_verify import diff, verify
from maxpool_check.commands.old_output import Output
from maxpool_check.corpus.collection import NAME as CORPUS
from maxpool_check.corpus.tensors import MOST_CELLS
from maxpool_check.evidence.bundling.archive import BadArchive, packed, unpacked
from maxpool_check.evidence.bundling.build import build as members_of
from maxpool_check.evidence.bundling.build import check_targets
from maxpool_check.evidence.bundling.contents import BadBundle, IncompleteRecord
from maxpool_check.evidence.bundling.signing import CannotSign, signed
from maxpool_check.files import STDOUT, named, not_found
from maxpool_check.results.record import ExitCode
from maxpool_check.words import plural


@click.group("evidence")
def command() -> None:
    """Build a bundle of evidence that verifies itself, sign it, verify it, and compare two.

    \b
    Examples:
      maxpool-check evidence build record.jsonl -o evidence.tar
      maxpool-check evidence sign evidence.tar --key ~/.ssh/id_ed25519
    """


@command.command("build", short_help="Build a bundle from records.")
@click.argument("records", nargs=-1, required=True, type=options.FILE, metavar="RECORD...")
@click.option(
    "-o", "--output", required=True, type=options.FILE, metavar="FILE", help="The bundle, such as evidence.tar."
)
@click.option(
    "--cases", "paths", multiple=True, type=case_files.PATH, metavar="PATH",
    help=f"The case files of the runs, or folders of them. Repeatable.  [default: '{CORPUS}', the one that comes with the tool]",
)  # fmt: skip
@case_files.max_cells
def build(records: tuple[Path, ...], output: Path, paths: tuple[Path, ...], max_cells: int) -> int:
    """Build a bundle of evidence from RECORD...: one file with the records, their cases, clauses, pages and digests.

    The same records, cases and tool make the same file.

    \b
    Examples:
      maxpool-check evidence build record.jsonl -o evidence.tar
      maxpool-check evidence build old.jsonl new.jsonl --cases cases/ -o evidence.tar
    """
    stored = [(path, options.read_record(path)) for path in records]
    try:
        check_targets(stored)
        corpus = case_files.CaseFiles(paths or (Path(CORPUS),), max_cells or MOST_CELLS).read()
        Output(reports=[("bundle", output)]).check_writable([*records, *corpus.files, *corpus.known_files])
        content = packed(members := members_of(stored, corpus, max_cells))
    except IncompleteRecord as error:
        raise options.Incomplete(str(error)) from error
    except (BadBundle, BadArchive) as error:
        raise click.UsageError(str(error)) from error
    if output == STDOUT:
        sys.stdout.buffer.write(content)
        return ExitCode.AS_EXPECTED
    with named(output):
        output.write_bytes(content)
    options.echo(f"{output}: {plural(len(members), 'file')}, {len(content) / 2**20:.1f} MiB")
    return ExitCode.AS_EXPECTED


@command.command("sign", short_help="Sign a bundle.")
@click.argument("bundle", type=options.FILE, metavar="FILE")
@click.option(
    "--key", required=True, type=options.FILE, metavar="KEY",
    help="A private key of OpenSSH, such as ~/.ssh/id_ed25519, or a public one whose private key an agent has.",
)  # fmt: skip
def sign(bundle: Path, key: Path) -> int:
    """Add a signature of its manifest to the bundle FILE, made by ssh-keygen.

    \b
    Examples:
      maxpool-check evidence sign evidence.tar --key ~/.ssh/id_ed25519
      maxpool-check evidence sign evidence.tar --key ~/.ssh/id_ed25519.pub
    """
    try:
        content = packed(signed(unpacked(bundle), key.expanduser()))
    except CannotSign as error:
        raise click.UsageError(str(error)) from error
    except (BadBundle, BadArchive) as error:
        raise click.UsageError(f"{bundle}: {error}") from error
    except FileNotFoundError as error:
        raise click.UsageError(
            f"{not_found(bundle, is_file=True)}; 'maxpool-check evidence build' writes a bundle"
        ) from error
    except OSError as error:
        raise click.UsageError(f"cannot read {bundle}: {error.strerror}") from error
    # The bundle is there as a whole, with or without a signature.
    new = bundle.with_name(f".{bundle.name}.signed")
    with named(new):
        new.write_bytes(content)
        new.replace(bundle)
    options.echo(f"{bundle}: signed with {key}")
    return ExitCode.AS_EXPECTED


command.add_command(verify)
command.add_command(diff)
