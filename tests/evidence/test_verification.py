"""Bundles of evidence verify, and every manipulation of one is found, and named by its place."""

import contextlib
import gzip
import json
import shutil
import subprocess

import msgspec
import numpy as np
import pytest

from maxpool_check import inert
from maxpool_check.evidence.bundling.archive import compressed, decompressed, packed, unpacked
from maxpool_check.evidence.bundling.build import derived
from maxpool_check.evidence.bundling.contents import BundleDescription, manifest, primary
from maxpool_check.reference.dtypes import digest
from maxpool_check.results.outputs import StoredOutput
from maxpool_check.results.outputs import packed as marked
from maxpool_check.results.record import Line
from tests.conftest import KERNELS, ROOT, SMALL, command

KERNEL = f"python:{KERNELS}:keeps_the_seed"
KNOWN = f"""\
defects:
  - id: SEED
    runtime: {KERNEL}
    title: The start of the scan is returned
    severity: wrong-on-special
    mechanism: The scan starts at the lowest value.
    expect:
      - cases: [small:neg-inf]
        kinds: [y-lowest-for-neg-inf, indices-sentinel]
        variants: [indices, y-only]
"""


LARGE = """\
cases:
  - id: neg-inf
    title: A large output of windows that are all -inf
    input: {dtype: float32, shape: [1, 1, 600, 600], fill: -.inf}
    attributes: {kernel_shape: [2, 2]}
"""
MORE_CASES = SMALL.split("  - id: padded")[0].replace("ordinary", "more").encode()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The members of a bundle of a few cases on the installed ONNX Runtime, and on a kernel with a known defect."""
    folder = tmp_path_factory.mktemp("bundle")
    cases, record = folder / "corpus", folder / "record.jsonl"
    cases.mkdir()
    (cases / "small.yaml").write_text(SMALL)
    (cases / "known-divergences.yaml").write_text(KNOWN)
    assert command("run", cases, "-t", "onnxruntime", "-t", KERNEL, "-q", "-o", record).code in (0, 1)
    done = command("evidence", "build", record, "--cases", cases, "-o", folder / "evidence.tar")
    assert done.code == 0, done.err
    return unpacked(folder / "evidence.tar")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Two keys of OpenSSH, whose public keys end with .pub."""
    program = shutil.which("ssh-keygen")
    if program is None:
        pytest.skip("there is no ssh-keygen")
    folder = tmp_path_factory.mktemp("keys")
    for name in ("lab", "other"):
        subprocess.run([program, "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name], check=True)
    return folder


def verify(tmp_path, members, *options):
    path = tmp_path / "evidence.tar"
    path.write_bytes(packed(members))
    return command("evidence", "verify", path, *options)


def record_name(members):
    return next(name for name in members if name.startswith("records/"))


def lines_of(members):
    name = record_name(members)
    return [json.loads(line) for line in decompressed(name, members[name]).splitlines()]


def written_line(line):
    """A line in the form that a run writes, if it can be one."""
    text = json.dumps(line, separators=(",", ":")).encode()
    with contextlib.suppress(msgspec.MsgspecError):
        text = inert.ascii_json(msgspec.json.encode(msgspec.json.decode(text, type=Line)))
    return text + b"\n"


def with_lines(members, lines):
    """The members with another record."""
    return {**members, record_name(members): compressed(b"".join(written_line(line) for line in lines))}


def with_manifest(members):
    """The members with the manifest that belongs to them."""
    return {**members, "MANIFEST.sha256": manifest(members)}


def rewritten(members):
    """The members with everything made again that follows from the primary ones: the best that a forger without a key can do."""
    made = primary(members)
    made |= derived(made)
    return with_manifest(made)


def executions(lines, target, case=None, variant="indices"):
    return [
        line
        for line in lines
        if line["type"] == "execution" and target in line["target"] and line["variant"] == variant
        and case in (None, line["case"])
    ]  # fmt: skip


def test_a_bundle_verifies_in_another_folder(bundle, tmp_path):
    done = verify(tmp_path, bundle)
    assert done.code == 0, done.out
    assert "24 of 24 executions, their verdicts and counts follow" in done.out
    assert done.out.endswith(f"VERIFIED  {tmp_path / 'evidence.tar'}\n")
    assert verify(tmp_path, rewritten(bundle)).code == 0
    assert packed(rewritten(bundle)) == packed(bundle)


def test_the_result_is_json_too(bundle, tmp_path):
    done = verify(tmp_path, bundle, "--json")
    assert done.json["exit_code"] == 0
    assert (done.json["problems"], done.json["unchecked"], done.json["undecided"]) == ([], [], [])
    done = verify(tmp_path, {**bundle, "index.txt": b"x"}, "--json")
    assert done.json["exit_code"] == done.code == 1
    assert {"place": "index.txt", "message": "was added: MANIFEST.sha256 does not have it"} in done.json["problems"]


def edited(edit, seal=rewritten):
    """A manipulation of the lines of the record."""

    def manipulate(members):
        lines = lines_of(members)
        edit(lines)
        return seal(with_lines(members, lines))

    return manipulate


def flip(target, case, verdict, variant="indices", **fields):
    def edit(lines):
        (line,) = executions(lines, target, case, variant)
        before = line["verdict"]
        line["verdict"] = verdict
        for name, value in fields.items():
            line.pop(name, None) if value is None else line.update({name: value})
        summary = lines[-1]["summary"][line["target"]]
        summary[before] -= 1
        if not summary[before]:
            del summary[before]
        summary[verdict] = summary.get(verdict, 0) + 1

    return edit


CONFORMING = {
    "kinds": None,
    "known": None,
    "status": None,
    "message": None,
    "counts": None,
    "severity": None,
    "windows": None,
    "wrong": None,
    "cells": None,
    "input": None,
    "causes": None,
}


def remove_case(lines):
    lines[:] = [line for line in lines if line.get("case") != "small:padded"]


def remove_case_everywhere(lines):
    kept = [line for line in lines if line.get("case") != "small:padded"]
    for line in lines:
        if line.get("case") == "small:padded":
            kept[-1]["summary"][line["target"]][line["verdict"]] -= 1
            kept[-1]["executions"] -= 1
    kept[0]["cases"] -= 1
    lines[:] = kept


def remove_variant(lines):
    (line,) = executions(lines, "onnxruntime", "small:ordinary", "y-only")
    lines.remove(line)
    lines[-1]["executions"] -= 1
    lines[-1]["summary"]["onnxruntime"][line["verdict"]] -= 1


def repeat_line(lines):
    (line,) = executions(lines, "onnxruntime", "small:ordinary")
    lines.insert(lines.index(line), line)


def swap_lines(lines):
    lines[1], lines[2] = lines[2], lines[1]


def change(path, value):
    """A manipulation of the line of the first execution, the header (0) or the footer (-1)."""

    def edit(lines):
        *way, last = path
        place = lines
        for key in way:
            place = place[key]
        assert place[last] != value
        place[last] = value

    return edit


def wrong_cell(field, value):
    def edit(lines):
        (line,) = executions(lines, "keeps_the_seed", "small:neg-inf", "y-only")
        line["cells"][0][field] = value

    return edit


def member(name, edit, seal=lambda members: members):
    return lambda members: seal({**members, name: edit(members[name])})


def replaced(old, new):
    def edit(content):
        assert old in content
        return content.replace(old, new, 1)

    return edit


def without(name, seal=lambda members: members):
    return lambda members: seal({each: members[each] for each in members if each != name})


def renamed(old, new, seal=lambda members: members):
    return lambda members: seal({new if each == old else each: members[each] for each in members})


def described(**changes):
    def manipulate(members):
        description = msgspec.json.decode(members["bundle.json"], type=BundleDescription)
        return with_manifest({**members, "bundle.json": msgspec.structs.replace(description, **changes).json()})

    return manipulate


def swapped_references(members):
    """Both references of a case, and the digests of its conforming outputs, changed together."""
    log = json.loads(gzip.decompress(members["references.json.gz"]))
    log["cases"][0]["results"][0]["evaluator"]["Y"] = "0" * 64
    return with_manifest({**members, "references.json.gz": compressed(json.dumps(log).encode())})


def other_digest(lines):
    (line,) = executions(lines, "onnxruntime", "small:ordinary")
    line["digests"]["Y"] = "0" * 64


def other_wheel(lines):
    for target in lines[0]["targets"]:
        target["version"] = "9.9.9"


def record_elsewhere(members):
    name = record_name(members)
    lines = decompressed(name, members[name])
    kept = {each: members[each] for each in members if each != name}
    return with_manifest({**kept, "cases/lines.jsonl": lines})


WRONG = ("keeps_the_seed", "small:neg-inf")
STRIPPED = {**CONFORMING, "counts": None, "differences": None}
NONE_OF_THEM = "0" * 64
OTHER_OUTPUT = msgspec.to_builtins(StoredOutput.of(np.zeros(2, np.float32), digest(np.zeros(2, np.float32))))


def divergence(**fields):
    """A divergence with other fields."""
    return edited(flip(*WRONG, "diverges", "y-only", **fields))


def held_output(lines):
    """The line of the output of a divergence."""
    (line,) = executions(lines, *WRONG, "y-only")
    return next(each for each in lines if each.get("sha256") == line["digests"]["Y"])


def without_output(lines):
    lines.remove(held_output(lines))


def left_out_output(lines):
    without_output(lines)
    lines[-1]["outputs_left_out"] += 1


def other_output(lines):
    held_output(lines)["data"] = bytes(8).hex()


def output_of_another_shape(lines):
    held_output(lines)["shape"] = [10**6]


def added_output(lines):
    lines.insert(-1, {**held_output(lines), **OTHER_OUTPUT})


def fake_differences(got):
    difference = {"at": [0, 0, 0, 0], "output": "Y", "reference": "-inf", "got": got}
    return {**STRIPPED, "digests": {"Y": NONE_OF_THEM}, "differences": 5 * [difference]}


MANIPULATIONS = {
    # A verdict, in each direction, whatever is made again.
    "a divergence becomes right": (edited(flip("keeps_the_seed", "small:neg-inf", "conforms", **CONFORMING)), "small:neg-inf (indices)"),
    "a divergence becomes right, by the verdict alone": (edited(flip("keeps_the_seed", "small:neg-inf", "conforms")), "small:neg-inf (indices)"),
    "a divergence becomes right, nothing made again": (
        edited(flip("keeps_the_seed", "small:neg-inf", "conforms", **CONFORMING), lambda members: members), "records/"
    ),
    "a divergence becomes right, only the manifest made again": (
        edited(flip("keeps_the_seed", "small:neg-inf", "conforms", **CONFORMING), with_manifest), "small:neg-inf (indices)"
    ),
    "a divergence becomes a refusal": (edited(flip("keeps_the_seed", "small:neg-inf", "refuses")), "small:neg-inf (indices)"),
    "a divergence becomes not expressible": (edited(flip("keeps_the_seed", "small:neg-inf", "not-expressible")), "small:neg-inf (indices)"),
    "right outputs become a divergence": (edited(flip("onnxruntime", "small:ordinary", "diverges", kinds=["y-not-in-input"])), "small:ordinary (indices)"),
    "right outputs become a crash": (edited(flip("onnxruntime", "small:ordinary", "crashes", kinds=["crash"])), "small:ordinary (indices)"),
    "right outputs become undefined": (edited(flip("onnxruntime", "small:padded", "undefined")), "small:padded (indices)"),
    "a right refusal becomes a wrong one": (edited(flip("onnxruntime", "small:stride-0", "refuses", kinds=["refuses-valid"])), "small:stride-0 (indices)"),
    "undefined becomes right": (edited(flip("keeps_the_seed", "small:empty", "conforms", message=None, input=None)), "small:empty (indices)"),
    "the kind of a divergence": (edited(wrong_cell("kind", "y-nan-introduced")), "small:neg-inf (y-only)"),
    "what a wrong cell should be": (edited(wrong_cell("expected", "7.0")), "small:neg-inf (y-only)"),
    "what a wrong cell is": (edited(wrong_cell("got", "-inf")), "small:neg-inf (y-only)"),
    "the digest of an output": (edited(other_digest), "small:ordinary (indices)"),
    "the digest of a case": (edited(change((1, "case_sha256"), "0" * 64)), "small:ordinary (indices)"),
    "the title of a case": (edited(change((1, "title"), "Another")), "small:ordinary (indices)"),
    "the clauses of a case": (edited(lambda lines: lines[1].update(clauses=["ONNX-MAX"])), "small:ordinary (indices)"),
    # Outputs that the record holds, and such that it does not.
    "an output is removed": (edited(without_output), "small:neg-inf (y-only)"),
    "an output is removed, and counted as left out": (edited(left_out_output), "and the record does not hold it"),
    "the number of outputs that are left out": (edited(change((-1, "outputs_left_out"), 1)), "footer: outputs_left_out is 1; it follows 0"),
    "the number of outputs that are left out is removed": (edited(change((-1, "outputs_left_out"), None)), "footer: outputs_left_out is null; it follows 0"),
    "an output has other values": (edited(other_output, with_manifest), "has another digest"),
    "an output has another shape": (edited(output_of_another_shape, with_manifest), "is not one of the shape [1000000]"),
    "an output of no execution": (edited(added_output), "is nothing that this run writes"),
    "a divergence becomes inconsistent, with the same digest": (
        edited(flip(*WRONG, "inconsistent", "y-only", **{**STRIPPED, "kinds": ["y-depends-on-indices"]})), "small:neg-inf (y-only)",
    ),
    "a divergence becomes inconsistent, with another digest": (
        edited(flip(*WRONG, "inconsistent", "y-only", **{**STRIPPED, "kinds": ["y-depends-on-indices"], "digests": {"Y": NONE_OF_THEM}})),
        "Y is not the reference's, and the record does not hold it",
    ),
    "a divergence becomes unstable": (
        edited(flip(*WRONG, "unstable", "y-only", **{**STRIPPED, "kinds": ["unstable"]})), "verdict is unstable; it follows diverges",
    ),
    "a divergence depends on another variant of the same digest": (
        edited(flip(*WRONG, "diverges", "y-only", **{**STRIPPED, "kinds": ["y-depends-on-indices"]})), "small:neg-inf (y-only)",
    ),
    "a divergence becomes right, one cell is five differences": (
        edited(flip(*WRONG, "conforms", "y-only", **fake_differences("-inf"))), "and the record does not hold it"
    ),
    "a divergence becomes right, with a wrong value": (
        edited(flip(*WRONG, "conforms", "y-only", **fake_differences("7.0"))), "and the record does not hold it"
    ),
    "the wrong cells are removed": (divergence(cells=None), "cells is []"),
    "the wrong cells are removed, and their counts": (divergence(cells=None, counts=None, causes=None), "counts is {}"),
    "the kinds are removed": (divergence(kinds=None), "kinds is []"),
    "the kinds are others": (divergence(kinds=["y-not-in-input"]), 'kinds is ["y-not-in-input"]'),
    "a kind that does not exist, of a divergence": (divergence(kinds=["y-off"]), 'kinds is ["y-off"]'),
    "a kind of a cell that does not exist": (divergence(counts={"y-off": 1}), 'counts is {"y-off":1}'),
    "more wrong cells than there are": (divergence(counts={"y-lowest-for-neg-inf": 10**12}), "counts is"),
    "the severity of a divergence": (divergence(severity="wrong-on-finite"), "severity is wrong-on-finite; it follows wrong-on-special"),
    "the severity is removed": (divergence(severity=None), "severity is ; it follows wrong-on-special"),
    "what the windows of a divergence hold": (divergence(windows={"y-lowest-for-neg-inf": {"finite": 1}}), "windows is"),
    "the windows are removed": (divergence(windows=None), "windows is {}"),
    "which cells are wrong": (divergence(wrong={"Y": {"finite": marked(np.ones(8, bool))}}), "wrong is"),
    "the marks of wrong cells are removed": (divergence(wrong=None), "wrong is {}"),
    "severity, windows and marks become those of other values": (
        divergence(severity="wrong-on-finite", windows={"y-lowest-for-neg-inf": {"finite": 1}}, wrong={"Y": {"finite": marked(np.ones(1, bool))}}),
        "severity is wrong-on-finite",
    ),
    "the operator set of an execution": (edited(change((1, "opset"), 9)), "opset is 9; it follows"),
    "how a case was translated": (edited(lambda lines: lines[1].update(translation=["as it is"])), 'translation is ["as it is"]'),
    "the message is another": (divergence(message="all is well"), "message is all is well"),
    "the title of a divergence": (divergence(title="Another"), "title is Another"),
    "the clauses of a divergence": (divergence(clauses=["ONNX-MAX"]), "clauses is"),
    "the input of a divergence": (divergence(input=None), "input is null"),
    "the limit of a divergence": (divergence(limit=True), "limit is true"),
    "the size of a divergence": (divergence(size=77), "size is 77"),
    "the digests are removed": (divergence(digests=None), "small:neg-inf (y-only)"),
    "a digest of another output": (divergence(digests={"Y": NONE_OF_THEM, "Z": NONE_OF_THEM}), "has a digest of Z"),
    # Lines of a record.
    "a case is removed from the record": (edited(remove_case), "cases"),
    "a case is removed from the record, and its numbers": (edited(remove_case_everywhere), "header: cases_sha256"),
    "an execution is removed, and its number": (edited(remove_variant), "small:ordinary (y-only) on onnxruntime: is missing"),
    "an execution is repeated": (edited(repeat_line, with_manifest), "small:ordinary (indices)"),
    "executions are exchanged": (edited(swap_lines), "small:ordinary"),
    "the footer is removed": (edited(lambda lines: lines.pop()), "footer"),
    "the number of executions": (edited(change((-1, "executions"), 23)), "footer"),
    "the counts of a target": (edited(change((-1, "summary", "onnxruntime", "conforms"), 99)), "footer: summary"),
    "the exit code": (edited(change((-1, "exit_code"), 4)), "footer: exit_code"),
    "an error is hidden": (edited(change((-1, "errors"), ["x was given up: y"])), "footer: exit_code"),
    "the status of a defect": (edited(change((-1, "known", 0, "status"), "stale")), "footer: known defect"),
    "a defect is removed": (edited(change((-1, "known"), [])), "footer: known defect SEED"),
    "a divergence is expected": (edited(lambda lines: executions(lines, "onnxruntime", "small:neg-inf", "y-only")[0].update(known="SEED", status="expected")), "small:neg-inf (y-only) on onnxruntime"),
    "the variants of the run": (edited(change((0, "settings", "variants"), ["indices"])), "small:ordinary (y-only) on onnxruntime: is nothing that this run writes"),
    "variants that were not executed": (edited(lambda lines: lines[0]["settings"]["variants"].append("y-only-twice")), "small:ordinary (y-only-twice) on onnxruntime: is missing"),
    "a policy": (edited(change((0, "profile", "onnx-22", "tie"), "first")), "header: profile"),
    "the digest of the cases": (edited(change((0, "cases_sha256"), "0" * 64)), "header: cases_sha256"),
    "a target is added": (edited(lambda lines: lines[0]["targets"].append({**lines[0]["targets"][0], "name": "openvino"})), "openvino"),
    # Other members.
    "a defect that expects more": (member("cases/known-divergences.yaml", replaced(b"runtime: python", b"runtime: onnxruntime # "), rewritten), "which divergences are known"),
    "a case file is removed": (without("cases/small.yaml"), "cases/small.yaml"),
    "a case file is removed, and from the manifest": (without("cases/small.yaml", with_manifest), "small:ordinary"),
    "an input": (member("cases/small.yaml", replaced(b"start: -9", b"start: -8"), rewritten), "small:padded (indices)"),
    "an attribute": (member("cases/small.yaml", replaced(b"kernel_shape: [2, 2]}", b"kernel_shape: [2, 1]}"), rewritten), "small:ordinary (indices)"),
    "an expectation": (member("cases/small.yaml", replaced(b"expect: {refuse: invalid-attribute}", b"expect: {refuse: invalid-shape}"), with_manifest), "cases/small.yaml"),
    "a case file is added": (lambda members: rewritten({**members, "cases/more.yaml": MORE_CASES}), "cases/more.yaml"),
    "a file is added": (lambda members: {**members, "notes.txt": b"all is well\n"}, "notes.txt: was added"),
    "a file is added, and to the manifest": (lambda members: with_manifest({**members, "notes.txt": b"all is well\n"}), "notes.txt: is no file of such a bundle"),
    "a file is renamed": (renamed("limitations.md", "limits.md", with_manifest), "limitations.md: is missing"),
    "the manifest is removed": (without("MANIFEST.sha256"), "MANIFEST.sha256: is missing"),
    "a line of the manifest is removed": (member("MANIFEST.sha256", lambda content: content.split(b"\n", 1)[1]), "was added"),
    "the order of the manifest": (member("MANIFEST.sha256", lambda content: b"".join(reversed(content.splitlines(keepends=True)))), "MANIFEST.sha256: is not in the form"),
    "the text of a clause": (member("clauses/sonnx.yaml", replaced(b"states: ", b"states: Not: "), with_manifest), "clauses/sonnx.yaml"),
    "the digest of an edition": (member("clauses/sonnx.yaml", replaced(b"1458290b", b"00000000"), with_manifest), "clauses/sonnx.yaml"),
    "a limitation is removed": (member("limitations.md", lambda content: content[:-20], with_manifest), "limitations.md"),
    "the references": (swapped_references, "references.json"),
    "the number of records": (member("bundle.json", replaced(b"{", b'{"records": 7,'), with_manifest), """it says '{"records": 7"""),
    "the name of a record": (lambda members: with_manifest(renamed(record_name(members), "records/other.jsonl.gz")(members)), "other files than those of its targets"),
    "a record twice": (lambda members: with_manifest({**members, "records/x.jsonl.gz": members[record_name(members)]}), "other files than those of its targets"),
    "the schema": (described(schema="maxpool-check/evidence/2"), "the schema maxpool-check/evidence/2"),
    "the description is no JSON": (member("bundle.json", lambda content: b"{", with_manifest), "bundle.json"),
    **{
        f"{name} is nested deeply": (member(name, lambda content: b'{"x": ' + b"[" * 200_000 + b"]" * 200_000 + b", " + content[1:], with_manifest), place)
        for name, place in (("bundle.json", "bundle.json: nested too deeply"), ("kills.json", "kills.json:1"), ("proof.json", "proof.json:1"))
    },
    "a note in the description": (member("bundle.json", replaced(b"{", b'{"note": "all is well",'), with_manifest), "bundle.json:1"),
    "a comment of gzip": (member("references.json.gz", lambda content: content[:3] + b"\x10" + content[4:10] + b"all is well\0" + content[10:], with_manifest), "references.json.gz: its header"),
    "a file beside those of defects": (lambda members: rewritten({**members, "cases/defects/evil.bin": b"x"}), "cases/defects/evil.bin: holds no case"),
    "another tool made the record": (edited(change((0, "tool"), "9.9.9")), "maxpool-check 9.9.9 made the record"),
    "a second footer": (edited(lambda lines: lines.insert(3, lines[-1])), ":4: a record has one header"),
    "a record is elsewhere": (record_elsewhere, "it has no records"),
    "a kernel of another form": (member("kills.json", replaced(b'"kernels": {', b'"kernels": {"x": "y",'), with_manifest), "kills.json:"),
    "no digest of an output": (edited(lambda lines: executions(lines, "onnxruntime", "small:ordinary")[0].update(digests={})), "small:ordinary (indices)"),
    "a kind that does not exist": (edited(lambda lines: executions(lines, "keeps_the_seed", "small:neg-inf", "y-only")[0].update(kinds=["y-off"], cells=[])), "records/"),
    "another tool made it": (
        lambda members: described(tool=msgspec.structs.replace(msgspec.json.decode(members["bundle.json"], type=BundleDescription).tool, version="9.9"))(members),
        "maxpool-check 9.9 made the bundle",
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", ["onnxruntime-1.32.0-cpu", "openvino-2026.4.1"])
def test_a_committed_record_verifies_completely(name, tmp_path):
    path = tmp_path / "evidence.tar"
    assert command("evidence", "build", ROOT / f"reports/{name}.jsonl.xz", "-o", path).code == 0
    done = command("evidence", "verify", path)
    assert done.code == 0, done.out
    assert "have outputs that are too large" not in done.out


@pytest.mark.parametrize("what", MANIPULATIONS)
def test_a_manipulation_is_found_and_its_place_is_named(bundle, tmp_path, what):
    manipulate, place = MANIPULATIONS[what]
    done = verify(tmp_path, manipulate(bundle), "-v")
    assert done.code in (1, 3)
    assert place in done.out
    assert "\nVERIFIED" not in done.out


def test_an_output_that_is_too_large_for_the_record_is_counted(tmp_path):
    cases, record, path = tmp_path / "corpus", tmp_path / "record.jsonl", tmp_path / "evidence.tar"
    cases.mkdir()
    (cases / "large.yaml").write_text(LARGE)
    command("run", cases, "-t", KERNEL, "-q", "-o", record)
    assert command("evidence", "build", record, "--cases", cases, "-o", path).code == 0
    done = command("evidence", "verify", path, "-v")
    assert done.code == 0, done.out
    assert "2 executions: an output is too large for the record" in done.out
    assert f"large:neg-inf (y-only) on {KERNEL}: diverges" in done.out


def test_a_number_on_any_page_is_held_to_the_records(bundle, tmp_path):
    pages = [name for name in bundle if name not in primary(bundle) and name != "MANIFEST.sha256"]
    assert len(pages) > 10
    altered = {name: content + b" " for name, content in bundle.items() if name in pages}
    done = verify(tmp_path, with_manifest({**bundle, **altered}), "-v")
    assert done.code == 1
    for name in pages:
        assert f"PROBLEM  {name}:" in done.out


def test_a_byte_of_any_file_is_named(bundle, tmp_path):
    flipped = {}
    for name, content in bundle.items():
        at = len(content) // 2
        flipped[name] = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    done = verify(tmp_path, {**flipped, "MANIFEST.sha256": bundle["MANIFEST.sha256"]}, "-v")
    assert done.code == 1
    for name in bundle.keys() - {"MANIFEST.sha256"}:
        assert f"PROBLEM  {name}: was altered: its SHA-256 is" in done.out
    assert verify(tmp_path, {**bundle, "MANIFEST.sha256": flipped["MANIFEST.sha256"]}).code == 1


def test_any_byte_of_the_archive_counts(bundle, tmp_path):
    path = tmp_path / "evidence.tar"
    content = packed({name: bundle[name] for name in bundle if not name.startswith(("clauses/", "reports/"))})
    baseline = command("evidence", "verify", _written(path, content), "--json").json
    for at in range(0, len(content), len(content) // 12):
        flipped = content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]
        assert command("evidence", "verify", _written(path, flipped), "--json").json != baseline


def _written(path, content):
    path.write_bytes(content)
    return path


def test_what_is_no_bundle_is_refused(bundle, tmp_path):
    for content in (b"", b"text", packed(bundle)[:-1], packed({"x": b""})):
        path = _written(tmp_path / "evidence.tar", content)
        assert command("evidence", "verify", path).code == 1
    assert command("evidence", "verify", tmp_path).code == 2
    done = command("evidence", "verify", tmp_path / "none.tar")
    assert done.code == 2
    assert "not found; 'maxpool-check evidence build' writes a bundle" in done.err


def test_a_signature_finds_what_follows_from_nothing(bundle, keys, tmp_path):
    """A wheel of another version, a case less in every place: the digests are rewritten, and only the signature tells."""
    path = _written(tmp_path / "evidence.tar", packed(bundle))
    assert command("evidence", "sign", path, "--key", keys / "lab").code == 0
    signed = unpacked(path)
    done = verify(tmp_path, signed, "--key", keys / "lab.pub")
    assert done.code == 0, done.out
    assert "The manifest is signed by the ED25519 key SHA256:" in done.out
    assert verify(tmp_path, signed).code == 0
    lines = lines_of(bundle)
    other_wheel(lines)
    forged = rewritten(with_lines(bundle, lines))
    assert verify(tmp_path, forged).code == 0
    signature = {"MANIFEST.sha256.sig": signed["MANIFEST.sha256.sig"]}
    for members, options, message in [
        ({**forged, **signature}, (), "the signature is not of this manifest"),
        ({**forged, **signature}, ("--key", keys / "lab.pub"), "is not of this manifest"),
        (forged, ("--key", keys / "lab.pub"), "MANIFEST.sha256.sig: is missing"),
        (signed, ("--key", keys / "other.pub"), "is by none of the keys"),
    ]:
        done = verify(tmp_path, members, *options)
        assert done.code == 1
        assert message in done.out
    # Signed again, by somebody else.
    path.write_bytes(packed(forged))
    assert command("evidence", "sign", path, "--key", keys / "other").code == 0
    assert command("evidence", "verify", path).code == 0
    assert command("evidence", "verify", path, "--key", keys / "lab.pub").code == 1


def test_signers_may_be_allowed_by_name(bundle, keys, tmp_path):
    path = _written(tmp_path / "evidence.tar", packed(bundle))
    assert command("evidence", "sign", path, "--key", keys / "lab").code == 0
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(f"# who may sign\nlab@example.org {(keys / 'lab.pub').read_text()}")
    done = command("evidence", "verify", path, "--key", allowed)
    assert done.code == 0
    assert "of lab@example.org" in done.out
    # Of one key, some lines allow other purposes only.
    public = (keys / "lab.pub").read_text()
    allowed.write_text(f'git@example.org namespaces="git" {public}lab@example.org {public}')
    done = command("evidence", "verify", path, "--key", allowed)
    assert done.code == 0, done.out
    assert "of lab@example.org" in done.out
    done = command("evidence", "verify", path, "--key", keys / "lab")
    assert done.code == 3
    assert "is no public key and no file of allowed signers" in done.out
    assert command("evidence", "verify", path, "--key", tmp_path / "none").code == 2


def test_a_case_file_cannot_name_tensors_outside_of_the_bundle(bundle, tmp_path):
    (tmp_path / "secret.npy").write_bytes(b"secret")
    text = bundle["cases/small.yaml"].replace(b"arange: {start: -9}", b"npy: ../../secret.npy")
    done = verify(tmp_path, with_manifest({**bundle, "cases/small.yaml": text}), "-v")
    assert done.code == 1
    assert "cases/small.yaml" in done.out


def test_running_again_compares_every_execution_and_starts_no_program_of_a_bundle(bundle, tmp_path):
    done = verify(tmp_path, bundle, "--run")
    assert done.code == 3
    assert "onnxruntime, run again, returned the same in 12 executions by verdict and digest." in done.out
    assert "keeps_the_seed was not run again: it is a program of the machine that made the record" in done.out
    # A divergence that the record hides behind the right answer, which only another run tells.
    lines = lines_of(bundle)
    (right,) = executions(lines, "keeps_the_seed", "small:ordinary", "y-only")
    (line,) = executions(lines, "onnxruntime", "small:neg-inf", "y-only")
    assert right["verdict"] == "conforms"
    before = line["verdict"]
    (honest,) = executions(lines, "onnxruntime", "small:neg-inf", "indices")
    for name in CONFORMING:
        line.pop(name, None)
    line |= {"verdict": "conforms", "digests": {"Y": honest["digests"]["Y"]}}
    lines[-1]["known"] = [each for each in lines[-1]["known"] if each["target"] != "onnxruntime"]
    summary = lines[-1]["summary"]["onnxruntime"]
    summary[before] -= 1
    summary = {verdict: count for verdict, count in summary.items() if count}
    lines[-1]["summary"]["onnxruntime"] = {**summary, "conforms": summary["conforms"] + 1}
    lines[-1]["exit_code"] = 0
    forged = rewritten(with_lines(bundle, lines))
    assert verify(tmp_path, forged).code == 0
    done = verify(tmp_path, forged, "--run")
    assert done.code == 1
    assert "small:neg-inf (y-only) on onnxruntime: run again, verdict: diverges; the record has conforms" in done.out


def test_what_changed_between_bundles(bundle, tmp_path):
    old, new = tmp_path / "old.tar", tmp_path / "new.tar"
    old.write_bytes(packed(bundle))
    new.write_bytes(packed(bundle))
    done = command("evidence", "diff", old, new)
    assert (done.code, done.out) == (0, "Nothing changed.\n")
    changed = member("cases/small.yaml", replaced(b"start: -9", b"start: -8"))(bundle)
    changed = member("clauses/sonnx.yaml", replaced(b"states: ", b"states: Not "))(changed)
    changed = member("cases/known-divergences.yaml", replaced(b"id: SEED", b"id: OTHER"))(changed)
    lines = lines_of(changed)
    flip("keeps_the_seed", "small:neg-inf", "conforms", **CONFORMING)(lines)
    other_wheel(lines)
    new.write_bytes(packed(with_lines(changed, lines)))
    done = command("evidence", "diff", old, new)
    assert done.code == 1
    for text in (
        "changed: small:padded", "removed: SEED", "added: OTHER", "version: ", " -> 9.9.9", "1 fixed",
        "fixed: small:neg-inf (indices): diverges -> conforms", "clauses: 1 change\n  changed: ",
    ):  # fmt: skip
        assert text in done.out
    found = command("evidence", "diff", old, new, "--json").json["differences"]
    assert {"clauses", "cases", "known defects", "environments", "results"} == set(found)
    assert command("evidence", "diff", old, tmp_path / "none.tar").code == 2
    new.write_bytes(b"text")
    assert command("evidence", "diff", old, new).code == 2


@pytest.mark.long
@pytest.mark.network
def test_running_again_compares_the_wheels_of_new_environments(tmp_path, monkeypatch):
    # An environment of the cache may be older than the digests of wheels.
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path / "cache"))
    cases, record, path = tmp_path / "small.yaml", tmp_path / "record.jsonl", tmp_path / "evidence.tar"
    cases.write_text(SMALL)
    assert command("run", cases, "-t", "onnxruntime==1.31.1", "-q", "-k", "small:ordinary", "-o", record).code == 0
    assert command("evidence", "build", record, "--cases", cases, "-o", path).code == 0
    members = unpacked(path)
    done = verify(tmp_path, members, "--run")
    assert done.code == 0, done.out
    lines = lines_of(members)
    (environment,) = lines[0]["targets"][0]["environments"]
    (runtime,) = (each for each in environment["distributions"] if each["name"] == "onnxruntime")
    runtime["wheel_sha256"] = 64 * "0"
    forged = rewritten(with_lines(members, lines))
    assert verify(tmp_path, forged).code == 0
    done = verify(tmp_path, forged, "--run")
    assert done.code == 1
    assert f"{runtime['wheel']}: has the SHA-256 {64 * '0'} in the record" in done.out


def test_a_record_of_some_cases_verifies_with_all_that_they_were_selected_from(tmp_path):
    cases, record, path = tmp_path / "corpus", tmp_path / "record.jsonl", tmp_path / "evidence.tar"
    cases.mkdir()
    (cases / "small.yaml").write_text(SMALL)
    (cases / "more.yaml").write_bytes(MORE_CASES)
    # Its case was not executed, so that it is not stale.
    (cases / "known-divergences.yaml").write_text(KNOWN.replace("[small:neg-inf]", "['*:[om]*', small:neg-inf]"))
    command("run", cases, "-t", KERNEL, "-q", "-k", "small:*", "-o", record)
    assert command("evidence", "build", record, "--cases", cases, "-o", path).code == 0
    members = unpacked(path)
    assert "cases/more.yaml" in members
    done = verify(tmp_path, members, "-v")
    assert done.code == 0, done.out
    lines = lines_of(members)
    lines[-1]["known"][0]["status"] = "stale"
    assert "footer: known defect SEED" in verify(tmp_path, rewritten(with_lines(members, lines))).out
    done = verify(tmp_path, rewritten({name: members[name] for name in members if name != "cases/more.yaml"}))
    assert (done.code, "which known defects are stale: the run selected its cases from" in done.out) == (3, True)


def test_what_bundles_need_besides_is_an_extra_that_names_itself(tmp_path, monkeypatch):
    cases, record = tmp_path / "small.yaml", tmp_path / "record.jsonl"
    cases.write_text(SMALL)
    assert command("run", cases, "-t", "onnxruntime", "-q", "-k", "small:ordinary", "-o", record).code == 0
    monkeypatch.setattr("maxpool_check.evidence.bundling.build._LIBRARIES", ("not-installed",))
    done = command("evidence", "build", record, "--cases", cases, "-o", tmp_path / "evidence.tar")
    assert done.code == 2
    assert "bundles of evidence need not-installed" in done.err
    assert "pip install 'maxpool-check[evidence]'" in done.err


def test_a_record_of_other_words_for_its_cases_is_not_bundled(tmp_path):
    cases, record = tmp_path / "small.yaml", tmp_path / "record.jsonl"
    cases.write_text(SMALL)
    assert command("run", cases, "-t", "onnxruntime", "-q", "-k", "small:ordinary", "-o", record).code == 0
    cases.write_text(SMALL.replace("title: ", "title: Renamed, ", 1))
    done = command("evidence", "build", record, "--cases", cases, "-o", tmp_path / "evidence.tar")
    assert done.code == 2
    assert "1 case of the record is different in" in done.err
