"""Another edition of a document is another document of its family: an adapter of its own, beside the first."""

from dataclasses import replace

import pytest
import yaml

from maxpool_check.reference.policies import Nan
from maxpool_check.specifications import SPECIFICATIONS, documents
from maxpool_check.specifications.sonnx import SONNX
from tests.conftest import KERNELS, command

CASE = {
    "input": {"dtype": "float32", "data": [[[[1, float("nan")], [2, 3]]]]},
    "attributes": {
        "kernel_shape": [2, 2], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0], "auto_pad": "NOTSET",
        "ceil_mode": 0, "storage_order": 0,
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def edition(monkeypatch):
    policies = replace(SONNX.policies, nan=Nan.PROPAGATES)
    edition = replace(SONNX, name="sonnx-2026-10", title="SONNX MaxPool, 2026-10", policies=policies)
    monkeypatch.setitem(SPECIFICATIONS, edition.name, edition)


def test_a_family_has_all_editions():
    assert documents("sonnx") == ("sonnx", "sonnx-2026-10")
    assert documents("sonnx-2026-10") == ("sonnx-2026-10",)


def test_each_edition_judges_by_its_own_rules(tmp_path):
    for name, printed in (("sonnx", 3), ("sonnx-2026-10", float("nan"))):
        case = {**CASE, "id": "one", "title": "One", "expect": {"Y": [[[[printed]]]]}}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump({"spec": name, "cases": [case]}, sort_keys=False))
    run = command(
        "run", tmp_path, "-t", f"python:{KERNELS}:right", "--spec", "sonnx", "--report", "json", "--known", "none"
    )
    assert {(each["case"], each["verdict"]) for each in run.json["results"]} == {
        ("sonnx:one", "conforms"),
        ("sonnx-2026-10:one", "diverges"),
    }
