"""Writes the fingerprints of reviewed outputs into the catalogue: ``python -m tests.reviewed_outputs RECORD...``.

An item of ``expect`` needs them where its kinds say neither which cells are wrong nor what comes out, and no ``windows`` say it
either. The records are those that were reviewed; their versions replace what the items have of them.
"""

import sys
from collections import defaultdict
from pathlib import Path

from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.conditions import with_cases
from maxpool_check.corpus.defect_file import read_defects
from maxpool_check.corpus.editing import EditedFile, on_one_line
from maxpool_check.judging.defects import fingerprint
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.results.record import REPORTED
from maxpool_check.results.storage import read
from tests.conftest import CASES, shipped


def needs_outputs(entry, execution):
    """Whether only its digest tells whether an entry explains an execution."""
    causes = {each.kind for each in execution.causes if each.cells}
    named = causes & {*entry.windows, *(kind.value for kind in entry.kinds)}
    is_open = any(DESCRIPTIONS[DivergenceKind(kind)].open for kind in execution.kinds)
    return is_open and bool(execution.windows) and not named and (not entry.windows or "nan" in entry.windows)


def reviewed(records, entry):
    """The fingerprints of what an item of ``expect`` needs, by version."""
    found = defaultdict(set)
    for record in records:
        versions = {target.name: target.version for target in record.header.targets if entry.covers(target)}
        for execution in record.executions if versions else ():
            is_about = execution.target in versions and execution.verdict in REPORTED
            # The version "" has no fingerprints yet.
            if is_about and entry.expects(execution, "") and needs_outputs(entry, execution):
                found[versions[execution.target]].add(fingerprint(execution))
    return found


def main(paths):
    records = [read(Path(path)) for path in paths]
    for path in defect_files(CASES):
        file, count = EditedFile(path, "defects: []\n"), 0
        for number, defect in enumerate(with_cases(read_defects(path), shipped().cases)):
            for item, entry in enumerate(defect.expected):
                if found := reviewed(records, entry):
                    fields = file.data["defects"][number]["expect"][item]
                    new = {version: on_one_line(sorted(digests)) for version, digests in found.items()}
                    fields["outputs"] = dict(sorted({**fields.get("outputs", {}), **new}.items()))
                    count += sum(map(len, found.values()))
        if count:
            print(f"{path.name}: {count} outputs")
            if not file.replace(lambda new: bool(read_defects(new))):
                raise SystemExit(f"{path} cannot be written")


if __name__ == "__main__":
    main(sys.argv[1:])
