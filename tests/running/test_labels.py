"""The defect of a recorded execution: the same in a run of the corpus, and of a copy of its case in a user's file."""

import math
import random
from dataclasses import replace
from datetime import date
from functools import cache

import msgspec

from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.writing import case_file
from maxpool_check.running.labels import Labels
from tests.conftest import shipped
from tests.report_matrix import RECORDS, record_at

TODAY = date(2026, 11, 29)


@cache
def defects():
    return read_all_defects(shipped().known_files)


def recorded():
    """The executions with a defect of all committed records, each with its case and its target."""
    cases = {case.id: case for case in shipped().cases}
    for path in RECORDS:
        record = record_at(path)
        targets = {target.name: target for target in record.header.targets}
        for execution in record.executions:
            case = cases.get(execution.case)
            if execution.known and case is not None and case.sha256 == execution.case_sha256:
                yield case, targets[execution.target], execution


def plain(execution):
    """An execution before it has a label."""
    return msgspec.structs.replace(execution, known=None, status="", explained_by=(), unexplained=())


def test_a_copy_of_a_recorded_case_in_a_file_of_the_users_has_the_same_defect(tmp_path):
    small = [each for each in recorded() if math.prod(each[0].X.shape) <= 10_000]
    drawn = random.Random(61).sample(small, 500)
    copies, kept = {}, []
    for number, (case, target, execution) in enumerate(drawn):
        if case.id not in copies:
            path = tmp_path / f"own-{number}.yaml"
            path.write_text(case_file(case, "A copy."))
            (copies[case.id],) = collect([path]).cases
        # The payload of a NaN is not written.
        if copies[case.id].sha256 == case.sha256:
            kept.append((copies[case.id], target, execution))
    assert len(kept) > 450
    different = []
    for copy, target, execution in kept:
        of_user = msgspec.structs.replace(plain(execution), case=copy.id)
        labelled = Labels([target], (), TODAY, defects).label(copy, of_user)
        different += [(execution.case, execution.known, labelled.known)] * (labelled.known != execution.known)
        # A defect explains, and excuses nothing in a file of the user's.
        assert labelled.status in ("new", "inconsistent")
    assert different == []


def test_every_observation_of_a_recorded_case_is_needed():
    by_case = {}
    for case, target, execution in recorded():
        by_case.setdefault((case.id, execution.variant), []).append((case, target, execution))
    observed = [
        (defect, effect, case)
        for defect in defects()
        for effect in defect.effects
        for case in effect.digests.values()
        # What was seen without AVX-512 was not recorded, and an observation with it covers the same cases.
        if effect.variants is not None and "no-avx512f" not in effect.conditions.processor
    ]
    tried, needless = 0, []
    for defect, effect, name in random.Random(61).sample(observed, 300):
        (variant,) = effect.variants
        executions = [
            each
            for each in by_case.get((name, variant.name), ())
            if effect.covers(each[1]) and each[2].known == defect.id and each[2].status == "expected"
        ]
        if not executions:
            continue
        tried += 1
        cases = tuple(each for each in effect.cases if each != name)
        digests = {digest: case for digest, case in effect.digests.items() if case != name}
        # Without any case, an effect would be about every case.
        less = replace(effect, cases=cases or ("none",), digests=digests)
        changed = [
            replace(each, effects=tuple(less if of is effect else of for of in each.effects))
            if each is defect
            else each
            for each in defects()
        ]
        labels = [
            Labels([target], changed, TODAY).label(case, plain(execution)) for case, target, execution in executions
        ]
        if all(each.status == "expected" and each.known == defect.id for each in labels):
            needless.append((defect.id, name, variant.name))
    assert needless == []
    assert tried > 150
