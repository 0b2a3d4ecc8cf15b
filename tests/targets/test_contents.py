"""What an environment says that it is made of: what the RECORD files of its distributions state, and where they do not hold."""

import base64
import hashlib
import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

FILES = {
    "fast.so.1": "machine code\n",
    "thing/__init__.py": "import thing\n",
    '"a,b".py': "",
    "thing/server": "program\n",
}


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def record_of(files):
    """The lines of a RECORD that state the digests and sizes of these files, texts by their names."""
    return "".join(
        '"{}",sha256={},{}\n'.format(
            path.replace('"', '""'),
            base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("="),
            len(text.encode()),
        )
        for path, text in files.items()
    )


def contents(python, packages=None):
    """The distributions of an environment, by name; with a folder of packages, those that are there."""
    words = [python, *([] if packages is None else ["-S"]), ROOT / "maxpool_check/targets/worker/contents.py"]
    variables = {**os.environ, "PYTHONPATH": str(packages or "")}
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
    return {each["name"]: each for each in json.loads(done.stdout)["distributions"]}


def thing(folder, files=FILES, information="thing-1.0.dist-info/METADATA", **others):
    """What an environment says of one distribution, with these files; ``others`` are files beside its metadata."""
    for path, text in {**files, information: "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n"}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for name, text in others.items():
        (folder / information).with_name(name.replace("__", ".")).write_text(text)
    return contents(sys.executable, folder)["thing"]


def test_what_installers_add_or_change_is_not_in_the_digest(tmp_path):
    by_installer = [
        {"../../../bin/thing": "#!/a/bin/python\n", "thing-1.0.dist-info/INSTALLER": "uv", **FILES},
        {
            **dict(reversed(FILES.items())), "thing/__pycache__/__init__.cpython-311.pyc": "", "../../Scripts/thing.exe": "",
            "thing-1.0.dist-info/INSTALLER": "pip\n", "thing-1.0.dist-info/direct_url.json": "{}",
        },
    ]  # fmt: skip
    one, other = [
        thing(tmp_path / str(at), RECORD=(record_of(listed) + "thing-1.0.dist-info/RECORD,,\n").replace("\n", newline))
        for at, (listed, newline) in enumerate(zip(by_installer, ("\n", "\r\n"), strict=True))
    ]
    assert one == other
    # As sha256sum writes it, in the order of the names.
    lines = "".join(f"{sha256(text)}  {path}\n" for path, text in sorted(FILES.items()))
    assert (one["files_sha256"], one["changed"]) == (sha256(lines), [])
    assert one["libraries"] == {"fast.so.1": sha256("machine code\n")}


def test_another_release_has_another_digest(tmp_path):
    one, other = [
        thing(tmp_path / text, files, RECORD=record_of(files))["files_sha256"]
        for text in ("1", "2")
        for files in [{**FILES, "thing/__init__.py": text}]
    ]
    assert one != other


@pytest.mark.parametrize(
    "installed",
    [
        # As Debian installs it; as a develop installation; an egg; and a pointer to a folder.
        {},
        {"RECORD": "thing-1.0.dist-info/RECORD,,\n"},
        {"information": "thing-1.0.egg-info/PKG-INFO", "SOURCES__txt": "fast.so.1\n"},
        {
            "RECORD": record_of({"thing.pth": ""}),
            "direct_url__json": '{"url": "file:///a", "dir_info": {"editable": true}}',
        },
    ],
)
def test_without_a_record_of_its_files_a_distribution_has_no_digest(tmp_path, installed):
    assert thing(tmp_path, **installed) == {"name": "thing", "version": "1.0", "requires": []}


def test_files_that_are_missing_or_of_another_size_are_named_and_no_file_is_read(tmp_path):
    there = {**FILES, "fast.so.1": "other machine code\n", "thing/server": "PROGRAM\n"}
    del there["thing/__init__.py"]
    before, found = (
        thing(tmp_path / name, files, RECORD=record_of(FILES)) for name, files in (("1", FILES), ("2", there))
    )
    # What has the same size is not noticed.
    assert found == {**before, "changed": ["fast.so.1", "thing/__init__.py"]}


def test_a_file_whose_digest_or_size_is_not_stated_is_in_the_digest_as_it_is(tmp_path):
    found = thing(tmp_path, RECORD="fast.so.1,,\nthing/server,sha512=ab,8\nthing/__init__.py\n")
    assert found["files_sha256"] == sha256("  fast.so.1\n  thing/__init__.py\nsha512=ab  thing/server\n")
    assert (found["libraries"], found["changed"]) == ({"fast.so.1": ""}, [])
