"""Bundles of evidence verify, are signed and compared; every manipulation of one is found, and named by its place."""

import contextlib
import json
import random
import re
import shutil
import subprocess

import msgspec
import numpy as np
import pytest

from maxpool_check import inert
from maxpool_check.evidence.bundling.archive import compressed, decompressed, packed, unpacked
from maxpool_check.evidence.bundling.build import derived
from maxpool_check.evidence.bundling.contents import manifest, primary, record_members
from maxpool_check.reference.dtypes import digest
from maxpool_check.results.outputs import StoredOutput
from maxpool_check.results.outputs import packed as marked
from maxpool_check.results.record import Line
from maxpool_check.results.storage import BadRecord, read
from tests.conftest import KERNELS, ROOT, SMALL, command

KERNEL = f"python:{KERNELS}:keeps_the_seed"
KNOWN = f"""\
defects:
  - {{id: SEED, title: The start of the scan is returned, severity: wrong-on-special, mechanism: It starts too low.,
     runtime: "{KERNEL}",
     expect: [{{cases: [small:neg-inf], kinds: [y-lowest-for-neg-inf, indices-sentinel], variants: [indices, y-only]}}]}}
"""
LARGE = """\
cases:
  - {id: neg-inf, input: {dtype: float32, shape: [1, 1, 600, 600], fill: -.inf}, attributes: {kernel_shape: [2, 2]}}
"""
MORE_CASES = SMALL.split("  - id: padded")[0].replace("ordinary", "more").encode()
SIGNATURE = "MANIFEST.sha256.sig"


def built(folder, files, *targets, words=()):
    """The path of the bundle of a run of case files."""
    (folder / "corpus").mkdir()
    for name, text in files.items():
        (folder / "corpus" / name).write_text(text)
    words = ("run", "corpus", *(word for target in targets for word in ("-t", target)), *words)
    assert command(*words, "-q", "-o", "r.jsonl", cwd=folder).code in (0, 1)
    command("evidence", "build", "r.jsonl", "--cases", "corpus", "-o", "evidence.tar", cwd=folder).check(0)
    return folder / "evidence.tar"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The members of a bundle of a few cases on the installed ONNX Runtime, and on a kernel with a known defect."""
    files = {"small.yaml": SMALL, "known-divergences.yaml": KNOWN}
    return unpacked(built(tmp_path_factory.mktemp("bundle"), files, "onnxruntime", KERNEL))


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A folder with two keys of OpenSSH, whose public keys end with .pub."""
    program = shutil.which("ssh-keygen")
    if program is None:
        pytest.skip("no ssh-keygen (Debian: apt-get install openssh-client)")
    folder = tmp_path_factory.mktemp("keys")
    for name in ("lab", "other"):
        subprocess.run([program, "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name], check=True)
    return folder


def written(tmp_path, content):
    (tmp_path / "evidence.tar").write_bytes(content)
    return tmp_path / "evidence.tar"


def verify(tmp_path, members, *options):
    return command("evidence", "verify", written(tmp_path, packed(members)), *options)


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


def with_manifest(members):
    """The members with the manifest that belongs to them."""
    return {**members, "MANIFEST.sha256": manifest(members)}


def rewritten(members):
    """All made again that follows from the primary members: the best that a forger without a key can do."""
    made = primary(members)
    return with_manifest(made | derived(made))


def edited(*edits, seal=rewritten):
    """A manipulation of the lines of the record."""

    def manipulate(members):
        lines = lines_of(members)
        for edit in edits:
            edit(lines)
        content = compressed(b"".join(written_line(line) for line in lines))
        return seal({**members, record_name(members): content})

    return manipulate


RIGHT, WRONG = ("onnxruntime", "small:ordinary", "indices"), (KERNEL, "small:neg-inf", "y-only")


def execution(lines, *which):
    (found,) = (each for each in lines if which == (each.get("target"), each.get("case"), each.get("variant")))
    return found


def change(which, verdict=None, **fields):
    """An execution gets another verdict, with the counts of it, or other fields; None: no longer."""

    def edit(lines):
        line = execution(lines, *which)
        if verdict is not None:
            counts = lines[-1]["summary"][line["target"]]
            counts[line["verdict"]] -= 1
            counts[verdict] = counts.get(verdict, 0) + 1
            lines[-1]["summary"][line["target"]] = {name: count for name, count in counts.items() if count}
            line["verdict"] = verdict
        for name, value in fields.items():
            line.pop(name, None) if value is None else line.update({name: value})

    return edit


def put(value, *path):
    """A value in the header (0) or in the footer (-1) becomes another."""

    def edit(lines):
        *way, last = path
        place = lines
        for key in way:
            place = place[key]
        assert place[last] != value
        place[last] = value

    return edit


def remove(**fields):
    """Executions with these fields are removed, and from the numbers."""

    def edit(lines):
        for line in [each for each in lines if fields.items() <= each.items()]:
            lines.remove(line)
            lines[-1]["executions"] -= 1
            lines[-1]["summary"][line["target"]][line["verdict"]] -= 1

    return edit


def held_output(lines):
    """The line of the output of a divergence."""
    sha256 = execution(lines, *WRONG)["digests"]["Y"]
    return next(each for each in lines if each.get("sha256") == sha256)


def member(name, edit, seal=with_manifest):
    return lambda members: seal({**members, name: edit(members.get(name))})


def added(name, content, seal=with_manifest):
    return member(name, lambda _: content, seal)


def replaced(old, new):
    def edit(content):
        assert old in content
        return content.replace(old, new, 1)

    return edit


def without(name, seal=with_manifest):
    return lambda members: seal({each: members[each] for each in members if each != name})


def renamed(members, old, new):
    return with_manifest({new if each == old else each: members[each] for each in members})


def described(edit):
    def edited(content):
        data = json.loads(content)
        edit(data)
        return json.dumps(data).encode()

    return member("bundle.json", edited)


def place(which, text):
    return f"{which[1]} ({which[2]}) on {which[0]}: {text}"


CONFORMING = dict.fromkeys(
    ("kinds", "known", "status", "message", "counts", "severity", "windows", "wrong", "cells", "input", "causes")
)
NONE_OF_THEM = "0" * 64
OTHER_OUTPUT = msgspec.to_builtins(StoredOutput.of(np.zeros(2, np.float32), digest(np.zeros(2, np.float32))))
FIELDS = {
    "kinds": ["y-not-in-input"], "counts": {"y-lowest-for-neg-inf": 10**12}, "severity": "wrong-on-finite",
    "windows": {"y-lowest-for-neg-inf": {"finite": 1}}, "wrong": {"Y": {"finite": marked(np.ones(8, bool))}},
    "message": "all is well", "title": "Another", "clauses": ["ONNX-MAX"], "limit": True, "size": 77, "opset": 9,
    "translation": ["as it is"], "case_sha256": NONE_OF_THEM,
}  # fmt: skip
REMOVED = ("kinds", "cells", "counts", "severity", "windows", "wrong")
VERDICTS = [
    # The verdict that it gets, and the one that it has.
    ((KERNEL, "small:neg-inf", "indices"), "conforms", "diverges", CONFORMING),
    (WRONG, "unstable", "diverges", {"kinds": ["unstable"]}),
    (RIGHT, "diverges", "conforms", {"kinds": ["y-not-in-input"]}),
    (("onnxruntime", "small:ordinary", "y-only"), "crashes", "conforms", {"kinds": ["crash"]}),
    (("onnxruntime", "small:padded", "indices"), "undefined", "conforms", {}),
    (("onnxruntime", "small:padded", "y-only"), "not-expressible", "conforms", {}),
    (("onnxruntime", "small:stride-0", "indices"), "refuses", "conforms", {"kinds": ["refuses-valid"]}),
    ((KERNEL, "small:empty", "indices"), "conforms", "undefined", {"message": None, "input": None}),
]
NOT_HELD = "Y is not the reference's, and the record does not hold it"
SHAPE = {"expected": [1, 1, 2, 2], "got": [1, 1, 2, 3]}
OF_NO_RUN = "is nothing that this run writes"
CASE_FILE, DEFECT_FILE, GZIP = "cases/small.yaml", "cases/known-divergences.yaml", "references.json.gz"

MANIPULATIONS = [
    # Executions and their outputs.
    (edited(*(change(each, new, **fields) for each, new, _, fields in VERDICTS)),
     *(place(each, f"verdict is {new}; it follows {old}") for each, new, old, _ in VERDICTS)),
    (edited(change(WRONG, **FIELDS)), *(place(WRONG, f"{name} is ") for name in FIELDS)),
    (edited(change(WRONG, **dict.fromkeys(REMOVED))), *(place(WRONG, f"{name} is ") for name in REMOVED)),
    (edited(change(WRONG, kinds=["y-off"], cells=[])), "records/"),
    (edited(change(("onnxruntime", *WRONG[1:]), known="SEED", status="expected")), "(y-only) on onnxruntime: known is"),
    (edited(change(RIGHT, digests={"Y": NONE_OF_THEM})), place(RIGHT, NOT_HELD)),
    (edited(change(WRONG, digests=None)), place(WRONG, "")),
    # What the line itself says of shapes and kinds excuses no output of a line that conforms, and no other variant.
    (edited(change(RIGHT, digests={"Y": NONE_OF_THEM, "Indices": NONE_OF_THEM}, shapes={"Y": SHAPE, "Indices": SHAPE})),
     place(RIGHT, NOT_HELD), place(RIGHT, NOT_HELD.replace("Y", "Indices"))),
    (edited(change(RIGHT, digests={"Y": NONE_OF_THEM}, kinds=["dtype"])), place(RIGHT, NOT_HELD)),
    (edited(change(WRONG, digests={"Y": NONE_OF_THEM}, shapes={"Y": SHAPE})), place(WRONG, NOT_HELD)),
    (edited(change(WRONG, digests={"Y": NONE_OF_THEM, "Z": NONE_OF_THEM})), place(WRONG, "has a digest of Z")),
    (edited(change(WRONG, "conforms", **CONFORMING, digests={"Y": NONE_OF_THEM})), place(WRONG, NOT_HELD)),
    (edited(lambda lines: lines.remove(held_output(lines)), put(1, -1, "outputs_left_out")), place(WRONG, NOT_HELD)),
    (edited(put(None, -1, "outputs_left_out")), "footer: outputs_left_out is null; it follows 0"),
    (edited(lambda lines: held_output(lines).update(data=bytes(8).hex()), seal=with_manifest), "has another digest"),
    (edited(lambda lines: held_output(lines).update(shape=[9]), seal=with_manifest), "is not one of the shape [9]"),
    (edited(lambda lines: lines.insert(-1, {**held_output(lines), **OTHER_OUTPUT})), OF_NO_RUN),
    # Lines, header and footer.
    (edited(remove(case="small:padded")), "header: cases is 6; it follows 5"),
    (edited(remove(case="small:padded"), put(5, 0, "cases")), "header: cases_sha256"),
    (edited(remove(target=RIGHT[0], case=RIGHT[1], variant="y-only")), "(y-only) on onnxruntime: is missing"),
    (edited(lambda lines: lines.insert(1, lines[1]), seal=with_manifest), "small:ordinary (indices)"),
    (edited(lambda lines: lines.insert(1, lines.pop(2))), "is in another order than that of a run"),
    (edited(lambda lines: lines.pop()), "footer: is missing, or does not count"),
    (edited(lambda lines: lines.insert(3, lines[-1])), ":4: a record has one header"),
    (edited(put(4, -1, "exit_code"), put(1, -1, "outputs_left_out"), put("stale", -1, "known", 0, "status")),
     "footer: exit_code is 4; ", "footer: outputs_left_out is 1; it follows 0", "status is stale; it follows "),
    (edited(put(23, -1, "executions")), "footer"),
    (edited(put(99, -1, "summary", "onnxruntime", "conforms")), "footer: summary"),
    (edited(put(["x was given up: y"], -1, "errors")), "footer: exit_code"),
    (edited(put([], -1, "known")), "footer: known defect SEED"),
    (edited(put(["indices"], 0, "settings", "variants")), f"(y-only) on onnxruntime: {OF_NO_RUN}"),
    (edited(lambda lines: lines[0]["settings"]["variants"].append("y-only-twice")), "(y-only-twice) on onnxruntime: "),
    (edited(put("first", 0, "profile", "onnx-22", "tie"), put(NONE_OF_THEM, 0, "cases_sha256")),
     "header: profile is ", "header: cases_sha256 is "),
    (edited(lambda lines: lines[0]["targets"].append({**lines[0]["targets"][0], "name": "openvino"})), "openvino"),
    (edited(put("9.9.9", 0, "tool")), "maxpool-check 9.9.9 made the record"),
    (edited(put("9.9.9", 0, "targets", 0, "version")), "header: onnxruntime: its versions differ: "),
    (edited(put({"name": "onnx-22@other"}, 0, "editions", "onnx-22")), "header: editions is "),
    (edited(remove(case="small:stride-0"), put(5, 0, "cases"), put(5, 0, "corpus", "cases")),
     "header: corpus: is of 5 cases, and the files of its cases have 6"),
    (edited(lambda lines: lines.insert(-1, held_output(lines))), "the output occurs twice"),
    (edited(put("numpy", 0, "targets", 0, "distribution")), "header: onnxruntime: is of the distribution onnxruntime, not "),
    (edited(put("shapes", 0, "targets", 1, "decides")), "decides shapes only, and a bundle is evidence of values"),
    (edited(put({}, 0, "editions")), "header: editions is "),
    (edited(put(None, 0, "corpus")), "header: corpus: is missing"),
    (edited(put(7, 0, "corpus", "cases")), "header: corpus"),
    (edited(lambda lines: held_output(lines).update(data=held_output(lines)["data"].upper() + " "), seal=with_manifest),
     "an output is not written as 'run' writes it"),
    # Other libraries write other pages, and nothing else.
    (lambda members: with_manifest({**members, "bundle.json": members["bundle.json"].replace(b'"numpy"', b'"n"'),
                                    "clauses/onnx.yaml": b"evil"}), "PROBLEM  clauses/onnx.yaml:1: does not follow"),
    # It claims the corpus of the tool, which has other cases.
    (edited(put("0.1.0", 0, "corpus", "version")), "header: corpus: is not the one that comes with maxpool-check 0.1.0"),
    # Other members.
    (member(DEFECT_FILE, replaced(KERNEL.encode(), b"torch"), rewritten), "which divergences are known"),
    (without(CASE_FILE, dict), f"{CASE_FILE}: is missing"),
    (without(CASE_FILE), "small:ordinary"),
    (member(CASE_FILE, replaced(b"start: -9", b"start: -8"), rewritten), "small:padded (indices)"),
    (member(CASE_FILE, replaced(b"arange: {start: -9}", b"npy: ../../secret.npy")), CASE_FILE),
    (added("cases/more.yaml", MORE_CASES, rewritten), "cases/more.yaml: holds no case"),
    (added("cases/defects/evil.bin", b"x", rewritten), "cases/defects/evil.bin: holds no case"),
    (added("notes.txt", b"x", dict), "notes.txt: was added"),
    (added("notes.txt", b"x"), "notes.txt: is no file of such a bundle"),
    (lambda members: renamed(members, "limitations.md", "limits.md"), "limitations.md: is missing: it follows"),
    (without("MANIFEST.sha256", dict), "MANIFEST.sha256: is missing"),
    (member("MANIFEST.sha256", lambda content: content.replace(b"\n", b"\r\n"), dict), "is not in the form"),
    (lambda members: renamed(members, record_name(members), "records/x.jsonl.gz"), "other files than those of its"),
    (lambda members: added("records/x.jsonl.gz", members[record_name(members)])(members), "other files than those"),
    (lambda members: without(record_name(members))(members), "it has no records"),
    (member("bundle.json", replaced(b"{", b'{"records": 7,')), """it says '{"records": 7"""),
    (member("bundle.json", lambda content: b"{"), "bundle.json"),
    (member("bundle.json", lambda content: b'{"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}"), "nested too deeply"),
    (described(lambda data: data.update(schema="maxpool-check/evidence/2")), "the schema maxpool-check/evidence/2"),
    (described(lambda data: data["tool"].update(version="9.9")), "maxpool-check 9.9 made the bundle"),
    (member(GZIP, lambda content: compressed(decompressed("", content).replace(b"0", b"1"))), "does not follow from the records"),
    (member(GZIP, lambda content: content[:3] + b"\x10" + content[4:10] + b"a\0" + content[10:]), "its header of gzip"),
]  # fmt: skip


@pytest.mark.parametrize(("manipulate", "places"), [(each, places) for each, *places in MANIPULATIONS])
def test_a_manipulation_is_found_and_its_place_is_named(bundle, tmp_path, manipulate, places):
    done = verify(tmp_path, manipulate(bundle), "-v")
    assert done.code in (1, 3)
    assert "\nVERIFIED" not in done.out
    assert [each for each in places if each not in done.out] == [], done.out


def test_a_target_is_in_one_record_of_a_bundle(tmp_path):
    """The attestation of the second record would replace that of the first, which has the divergence."""
    case = "cases: [{{id: one, input: {{dtype: float32, data: [[[[{}]]]]}}, attributes: {{kernel_shape: [1, 1]}}}}]\n"
    members = unpacked(
        built(tmp_path, {"a.yaml": case.format("-.inf"), "b.yaml": case.format("1")}, KERNEL, words=("--known", "none"))
    )
    records = []
    for file, targets in (("a.yaml", [KERNEL]), ("b.yaml", [KERNEL, "onnxruntime"])):
        words = [word for target in targets for word in ("-t", target)]
        command("run", f"corpus/{file}", *words, "--known", "none", "-q", "-o", f"{file}.jsonl", cwd=tmp_path)
        records.append(tmp_path / f"{file}.jsonl")
    both = {name: content for name, content in members.items() if not name.startswith("records/")}
    names = record_members([read(path) for path in records])
    both |= {name: compressed(path.read_bytes()) for name, path in zip(names, records, strict=True)}
    verify(tmp_path, rewritten(dict(sorted(both.items())))).check(
        1, "are both of", "a bundle has one record of a target"
    )


def test_what_a_bundle_says_is_one_line_of_the_result(bundle, tmp_path):
    name = "x\nok  all is well\nVERIFIED  evidence.tar"
    done = verify(tmp_path, edited(change(WRONG, message=name))(bundle), "-v")
    assert "\nok  all is well" not in done.out
    assert "\nVERIFIED" not in done.out


def test_a_bundle_verifies_in_another_folder(bundle, tmp_path):
    done = verify(tmp_path, bundle).check(0, "24 of 24 executions, their verdicts and counts follow")
    assert "run again" not in done.out
    assert done.out.endswith(f"VERIFIED  {tmp_path / 'evidence.tar'}\n")
    assert packed(rewritten(bundle)) == packed(bundle)
    added = verify(tmp_path, {**bundle, "index.txt": b"x"}, "--json")
    problem = {"place": "index.txt", "message": "was added: MANIFEST.sha256 does not have it"}
    assert (added.code, added.json["exit_code"], problem in added.json["problems"]) == (1, 1, True)


def leaves(value, path=()):
    """The values of a line that are no table, with their paths; a list is one, too, besides its elements."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    else:
        yield path, value
        for place, inner in enumerate(value if isinstance(value, list) else ()):
            yield from leaves(inner, (*path, place))


def forgeries(lines, seed):
    """Changes of single fields to other values: for each field, by its type of line and its path, one line drawn at random."""
    drawn, found = random.Random(seed), {}
    for number, line in enumerate(lines):
        for path, value in leaves(line):
            name = ".".join(str(each) for each in (line["type"], *path) if not isinstance(each, int))
            found.setdefault(name, []).append((number, path, value))
    for name, places in found.items():
        number, path, value = drawn.choice(places)
        others = [each for _, _, each in places if type(each) is type(value) and each != value]
        others += {
            str: [f"{value}x"], bool: [not value], int: [value + 1 if isinstance(value, int) else 0],
            float: [7.5], list: [value[:-1]] if isinstance(value, list) and value else [], type(None): ["x"],
        }[type(value)]  # fmt: skip
        if others:
            yield name, put(drawn.choice(others), number, *path)


def carried_along():
    """The fields that evidence.md says a record only carries along."""
    page = (ROOT / "maxpool_check/docs/evidence.md").read_text()
    table = page.split("only carried along:\n\n")[1].split("\n\n")[0]
    return {name for row in table.splitlines()[2:] for name in re.findall("`([a-z_0-9.]+)`", row.split("|")[1])}


@pytest.mark.parametrize("seed", [1, 2])
def test_every_field_of_every_line_follows_unless_the_page_says_that_it_is_carried_along(bundle, tmp_path, seed):
    kept, missed, tried = carried_along(), {}, 0
    for name, edit in forgeries(lines_of(bundle), seed):
        try:
            forged = edited(edit)(bundle)
        except (BadRecord, ValueError):
            # No value that a record has there.
            continue
        tried += 1
        if verify(tmp_path, forged).code == 0:
            missed[name] = next((each for each in kept if name == each or name.startswith(f"{each}.")), None)
    assert tried >= 50
    assert sorted(name for name, entry in missed.items() if entry is None) == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["onnxruntime-cpu", "openvino-2026.4.1"])
def test_a_committed_record_verifies_but_for_files_of_defects_that_have_changed_since(name, tmp_path):
    path = tmp_path / "evidence.tar"
    assert command("evidence", "build", ROOT / f"reports/{name}.jsonl.xz", "-o", path).code == 0
    done = command("evidence", "verify", path)
    unchecked = [line for line in done.out.splitlines() if line.startswith("NOT CHECKED")]
    assert done.code == (3 if unchecked else 0), done.out
    assert all("which divergences are known: the run had files of defects" in line for line in unchecked), done.out
    assert "have outputs that are too large" not in done.out


def test_an_output_that_is_too_large_for_the_record_is_counted(tmp_path):
    counted = ("2 executions: an output is too large for the record", f"large:neg-inf (y-only) on {KERNEL}: diverges")
    path = built(tmp_path, {"large.yaml": LARGE}, KERNEL)
    command("evidence", "verify", path, "-v").check(3, *counted, "NOT COMPLETELY VERIFIED")
    # Nor is it verified where the line says that it conforms.
    forged = edited(change((KERNEL, "large:neg-inf", "y-only"), "conforms", **CONFORMING))(unpacked(path))
    verify(tmp_path, forged).check(3)


def test_a_number_on_any_page_and_a_byte_of_any_file_is_named(bundle, tmp_path):
    pages = [name for name in bundle if name not in primary(bundle) and name != "MANIFEST.sha256"]
    assert len(pages) > 10
    longer = with_manifest({**bundle, **{name: bundle[name] + b" " for name in pages}})
    verify(tmp_path, longer, "-v").check(1, *(f"PROBLEM  {name}:" for name in pages))
    flipped = {}
    for name, content in bundle.items():
        at = len(content) // 2
        flipped[name] = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    done = verify(tmp_path, {**flipped, "MANIFEST.sha256": bundle["MANIFEST.sha256"]}, "-v")
    done.check(1, *(f"PROBLEM  {name}: was altered: its SHA-256 is" for name in bundle if name != "MANIFEST.sha256"))
    assert "PROBLEM  MANIFEST.sha256" not in done.out
    assert verify(tmp_path, {**bundle, "MANIFEST.sha256": flipped["MANIFEST.sha256"]}).code == 1


def test_what_is_no_bundle_is_refused(bundle, tmp_path):
    for content in (b"", b"text", packed(bundle)[:-1], packed({"x": b""})):
        assert command("evidence", "verify", written(tmp_path, content)).code == 1
        assert command("gate", tmp_path / "evidence.tar", tmp_path / "evidence.tar").code == 2
    assert command("evidence", "verify", tmp_path).code == 2
    none = command("evidence", "verify", tmp_path / "none.tar")
    none.check(2, "not found; 'maxpool-check evidence build' writes a bundle")


def test_a_signature_is_one_of_the_manifest_that_ssh_keygen_verifies(bundle, keys, tmp_path):
    path = written(tmp_path, packed(bundle))
    assert command("evidence", "sign", path, "--key", keys / "lab").code == 0
    members = unpacked(path)
    (tmp_path / "signature").write_bytes(members.pop(SIGNATURE))
    assert members == bundle
    (tmp_path / "signers").write_text(f"lab {(keys / 'lab.pub').read_text()}")
    words = ["sh", "-c", "ssh-keygen -Y verify -f signers -I lab -n maxpool-check-evidence -s signature"]
    for content, code in ((members["MANIFEST.sha256"], 0), (members["MANIFEST.sha256"] + b"\n", 255)):
        process = subprocess.run(words, input=content, cwd=tmp_path, capture_output=True, check=False)
        assert process.returncode == code, process.stderr


def test_what_follows_from_nothing_is_found_by_the_signature_alone(bundle, keys, tmp_path):
    path = written(tmp_path, packed(bundle))
    assert command("evidence", "sign", path, "--key", keys / "lab").code == 0
    signed, forged = unpacked(path), edited(put("another processor", 0, "cpu"))(bundle)
    signature = {SIGNATURE: signed[SIGNATURE]}
    for members, options, code, message in [
        (signed, (), 0, ""),
        (signed, ("--key", keys / "lab.pub"), 0, "The manifest is signed by the ED25519 key SHA256:"),
        (signed, ("--key", keys / "other.pub"), 1, "is by none of the keys"),
        (forged, (), 0, ""),
        (forged, ("--key", keys / "lab.pub"), 1, f"{SIGNATURE}: is missing"),
        (
            {**signed, SIGNATURE: signed[SIGNATURE] + b"evil\n"},
            (),
            1,
            "the file is not one signature of OpenSSH, and nothing besides",
        ),
        ({**forged, **signature}, (), 1, "the signature is not of this manifest"),
        ({**forged, **signature}, ("--key", keys / "lab.pub"), 1, "is not of this manifest"),
    ]:
        verify(tmp_path, members, *options).check(code, message)


def test_signers_may_be_allowed_by_name(bundle, keys, tmp_path):
    path, allowed, public = tmp_path / "evidence.tar", tmp_path / "allowed", (keys / "lab.pub").read_text()
    written(tmp_path, packed(bundle))
    assert command("evidence", "sign", path, "--key", keys / "lab").code == 0
    # Of one key, some lines allow other purposes only.
    for text in ("# who may sign\n", f'git@example.org namespaces="git" {public}'):
        allowed.write_text(f"{text}lab@example.org {public}")
        command("evidence", "verify", path, "--key", allowed).check(0, "of lab@example.org")
    private = command("evidence", "verify", path, "--key", keys / "lab")
    private.check(3, "is no public key and no file of allowed signers")
    assert command("evidence", "verify", path, "--key", tmp_path / "none").code == 2


def altered(path, key):
    path.write_bytes(packed({**unpacked(path), "limitations.md": b"None."}))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (altered, "evidence.tar: its files are not those of its manifest"),
        (lambda path, key: command("evidence", "sign", path, "--key", key), "evidence.tar: it is signed already; "),
        (lambda path, key: key.unlink(), "no key "),
        (lambda path, key: shutil.copy(f"{key}.pub", key), "ssh-keygen does not sign with "),
        (lambda path, key: path.write_text("no bundle"), "evidence.tar: not an archive of evidence"),
        (lambda path, key: path.unlink(), "evidence.tar' not found; 'maxpool-check evidence build' writes a bundle"),
        (None, "ssh-keygen not found; install the client of OpenSSH"),
    ],
)
def test_what_cannot_be_signed_stays_as_it_is(bundle, keys, tmp_path, spoil, message):
    path, key = written(tmp_path, packed(bundle)), shutil.copytree(keys, tmp_path / "keys") / "lab"
    if spoil is not None:
        spoil(path, key)
    before = path.read_bytes() if path.exists() else None
    variables = {"PATH": str(tmp_path)} if spoil is None else {}
    command("evidence", "sign", path, "--key", key, **variables).check(2, message, out="")
    assert (path.read_bytes() if path.exists() else None) == before


def test_running_again_compares_every_execution_and_starts_no_program_of_a_bundle(bundle, tmp_path):
    verify(tmp_path, bundle, "--run").check(
        3, "onnxruntime, run again, returned the same in 12 executions by verdict and digest.",
        "keeps_the_seed was not run again: it is a program of the machine that made the record",
    )  # fmt: skip
    # A divergence that the record hides behind the right output, which only another run tells.
    which = ("onnxruntime", "small:neg-inf", "y-only")
    digests = {"Y": execution(lines_of(bundle), *which[:2], "indices")["digests"]["Y"]}
    kept = [each for each in lines_of(bundle)[-1]["known"] if each["target"] != "onnxruntime"]
    hide = change(which, "conforms", **CONFORMING, digests=digests)
    forged = edited(hide, lambda lines: lines[-1].update(known=kept, exit_code=0))(bundle)
    assert verify(tmp_path, forged).code == 0
    differs = "small:neg-inf (y-only) on onnxruntime: run again, verdict: diverges; the record has conforms"
    verify(tmp_path, forged, "--run").check(1, differs)


@pytest.mark.parametrize(
    "options",
    [
        "machine=aarch64&sysroot=rootfs",
        "python=bin/python",
        "@QNNExecutionProvider?backend_path=./evil.so",
        "cpu=../evil",
        "cpu=-g,1234",
    ],
)
def test_no_release_is_run_again_with_an_option_that_may_name_a_file(tmp_path, options):
    """A stranger's record names such a target; a build takes it as it is."""
    built(tmp_path, {"small.yaml": SMALL}, "onnxruntime", words=("--known", "none"))
    name = {"@": "onnxruntime-qnn==2.7.0", "p": "onnxruntime?"}.get(options[0], "onnxruntime==1.32.0?") + options
    record = tmp_path / "r.jsonl"
    text = re.sub('"(name|target)":"onnxruntime"', lambda match: f'"{match[1]}":{json.dumps(name)}', record.read_text())
    record.write_text(text.replace('{"onnxruntime":', f"{{{json.dumps(name)}:"))
    command("evidence", "build", "r.jsonl", "--cases", "corpus", "-o", "evidence.tar", cwd=tmp_path).check(0)
    done = command("evidence", "verify", "evidence.tar", "--run", cwd=tmp_path)
    assert done.code in (1, 3)
    assert f"{name} was not run again: its options may name a file of this machine, which would be executed" in done.out


def test_a_gate_compares_the_records_of_two_bundles(bundle, tmp_path):
    old, new = tmp_path / "old.tar", tmp_path / "new.tar"
    old.write_bytes(packed(bundle))
    hide = change((KERNEL, "small:neg-inf", "indices"), "conforms", **CONFORMING)
    new.write_bytes(packed(edited(hide, seal=dict)(bundle)))
    sides = ("--base", KERNEL, "--head", KERNEL)
    command("gate", old, old, *sides).check(0, "SAFE  no observable change")
    command("gate", old, new, *sides).check(0, "REVIEW  1 fixed of ")
    command("gate", new, old, *sides, "--report", "json").check(1)
    command("gate", old, tmp_path / "none.tar").check(2, "not found; 'maxpool-check evidence build' writes a bundle")
    new.write_bytes(b"text")
    command("gate", old, new, *sides).check(2, f"cannot read the bundle {new}: not an archive of evidence")


def test_a_record_of_some_cases_verifies_with_all_that_they_were_selected_from(tmp_path):
    # The case of the defect that was not executed does not make it stale.
    known = KNOWN.replace("[small:neg-inf]", "['*:[om]*', small:neg-inf]")
    files = {"small.yaml": SMALL, "more.yaml": MORE_CASES.decode(), "known-divergences.yaml": known}
    members = unpacked(built(tmp_path, files, KERNEL, words=("-k", "small:*")))
    assert "cases/more.yaml" in members
    verify(tmp_path, members, "-v").check(0)
    stale = edited(put("stale", -1, "known", 0, "status"))(members)
    assert "footer: known defect SEED" in verify(tmp_path, stale).out
    fewer = verify(tmp_path, without("cases/more.yaml", rewritten)(members))
    fewer.check(3, "which known defects are stale: the run selected its cases from")
