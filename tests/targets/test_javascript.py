"""ONNX Runtime in Node.js, from npm: real releases, and clear errors where they cannot be had."""

import json
import os
import shutil
import threading

import pytest

from maxpool_check.targets.cache import NoSuchRelease, NotMade
from maxpool_check.targets.npm_environments import environment, released
from tests.conftest import CASES, command

WEB, NODE = "onnxruntime-web==1.30.0", "onnxruntime-node==1.30.0"
RIGHT = ["edge/batches-channels.yaml", "edge/dilations.yaml", "edge/strides.yaml", "edge/asymmetric-pads.yaml"]

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache/environments"


def run(*arguments):
    process = command("run", *arguments, "--known", "none", "--report", "json")
    assert process.code in (0, 1), process.err
    return process.json


def start(*targets):
    return [each.get("message", "") for each in command("targets", "list", "--json", *targets).json["targets"]]


@pytest.mark.usefixtures("empty_cache")
def test_a_version_of_two_numbers_is_one_release_and_not_the_newest_that_begins_so():
    with pytest.raises(NotMade) as error:
        environment("onnxruntime-web", "1.20", offline=True)
    assert error.value.requirements == ("onnxruntime-web@1.20.0",)


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("version", ["1.20rc1", "v1.20.0", "1!1.20.0", "1.20.0+local", "1.20.0.1"])
def test_a_version_that_npm_writes_otherwise_is_no_release_of_it(version):
    with pytest.raises(NoSuchRelease, match=r"name one by its numbers, as 1\.20\.1"):
        environment("onnxruntime-web", version, offline=False)


@needs_npm
@pytest.mark.runtimes
@pytest.mark.parametrize("target", [WEB, f"{WEB}?threads=2", NODE])
def test_ordinary_geometry_is_right(target):
    paths = [CASES / path for path in RIGHT]
    document = run(*paths, "-t", target)
    (described,) = document["targets"]
    shown = {verdict for verdict, count in described["summary"].items() if count}
    assert shown <= {"conforms", "refuses", "not-expressible", "undefined"}, described["summary"]
    assert described["summary"]["conforms"] > 50
    assert (described["provider"], described["speaks"]) == ("CPUExecutionProvider", "onnx")


@needs_npm
@pytest.mark.runtimes
@pytest.mark.parametrize("target", [WEB, NODE])
def test_both_have_what_every_build_of_the_version_has(target):
    document = run(CASES / "edge/auto-pad.yaml", "-k", "dilated-SAME_UPPER", "-t", target)
    assert {kind for result in document["results"] for kind in result["kinds"]} == {"same-ignores-dilation"}


@needs_npm
@pytest.mark.runtimes
def test_webassembly_has_no_blocks_of_channels_which_lose_neg_inf():
    verdicts = {}
    for target in (WEB, NODE):
        selected = ["-k", "neg-inf-c16", "--variants", "y-only", "-t", target]
        (result,) = run(CASES / "edge/sixteen-channels.yaml", *selected)["results"]
        verdicts[target] = result["verdict"], result["kinds"]
    assert verdicts == {WEB: ("conforms", []), NODE: ("diverges", ["y-lowest-for-neg-inf"])}


@needs_npm
@pytest.mark.runtimes
def test_the_record_holds_the_digests_of_npm_and_of_the_files(tmp_path):
    command("run", CASES / "edge/strides.yaml", "-t", WEB, "-q", "-o", tmp_path / "record.jsonl")
    header = json.loads((tmp_path / "record.jsonl").read_text().partition("\n")[0])
    (made,) = header["targets"][0]["environments"]
    assert made["implementation"] == "Node.js"
    (package,) = [each for each in made["distributions"] if each["name"] == "onnxruntime-web"]
    assert package["integrity"].startswith("sha512-")
    assert len(package["libraries"]["dist/ort-wasm-simd-threaded.wasm"]) == 64
    assert {"onnxruntime-common", "protobufjs"} <= set(package["requires"])


@needs_npm
@pytest.mark.runtimes
def test_options_that_a_release_does_not_have_are_errors():
    names = {
        f"{WEB}?simd=off": "comes with builds with SIMD alone",
        f"{WEB}?threads=0": "threads must be a number from 1 to 99, got 0",
        f"{WEB}?level=3": "unknown option level; onnxruntime-web has simd, threads",
        f"{WEB}@webgpu": "runs on CPUExecutionProvider only, not on webgpu",
        f"{NODE}?threads=2": "unknown option threads; onnxruntime-node has none",
    }
    for message, expected in zip(start(*names), names.values(), strict=True):
        assert expected in message


@needs_npm
@pytest.mark.network
def test_a_release_that_does_not_exist_is_named_with_its_neighbours(empty_cache):
    (message,) = start("onnxruntime-web==1.28.99")
    assert "npm has no release 1.28.99" in message
    assert "1.27.0, 1.29.0" in message
    assert not list(empty_cache.glob("onnxruntime*[!k]"))


@needs_npm
@pytest.mark.network
def test_releases_are_those_that_a_target_can_name():
    versions = [str(version) for version in released("onnxruntime-node")]
    assert versions == sorted(versions, key=lambda text: [int(part) for part in text.split(".")])
    assert {"1.18.0", "1.30.0"} <= set(versions)
    assert "1.22.0.post0" not in versions


def test_a_target_without_a_version_says_what_to_name():
    assert start("onnxruntime-node") == [
        "onnxruntime-node cannot be started: it comes from npm, not with Python; name a release, onnxruntime-node==VERSION"
    ]


def test_offline_there_is_only_what_was_made(empty_cache, monkeypatch):
    monkeypatch.setenv("MAXPOOL_CHECK_OFFLINE", "1")
    (message,) = start(WEB)
    assert "has no environment with onnxruntime-web@1.30.0 for Node.js" in message
    assert f"maxpool-check targets prepare {WEB}" in message
    assert "pip download" not in message
    with pytest.raises(NotMade):
        environment("onnxruntime-web", "1.30.0", offline=True)


@pytest.mark.parametrize("missing", ["npm", "node"])
def test_without_node_or_npm_the_error_says_what_to_install(empty_cache, monkeypatch, tmp_path, missing):
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in {"npm", "node"} - {missing}:
        (folder / name).write_text("#!/bin/sh\nexit 0\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    (message,) = start(WEB)
    assert f"{missing} is not on PATH; install Node.js 18 or later" in message


@needs_npm
def test_a_registry_that_cannot_be_reached_is_said(empty_cache, monkeypatch):
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    (message,) = start(WEB)
    assert "ECONNREFUSED" in message
    assert "npm cannot reach its registry" in message
    assert "/_logs/" not in message
    assert not list(empty_cache.glob("onnxruntime*[!k]"))


def test_environments_of_npm_are_complete_without_a_python(empty_cache, monkeypatch):
    """A program that makes another environment removes what is incomplete, and nothing else."""
    complete, broken = (
        empty_cache / "onnxruntime-web-1.30.0-node-x86_64",
        empty_cache / "onnxruntime-web-1.29.0-node-x86_64.partial",
    )
    for folder in (complete, broken):
        folder.mkdir(parents=True)
    (complete / "package-lock.json").write_text("{}")
    monkeypatch.setenv("PATH", os.devnull)
    start("onnxruntime-web==1.27.0")
    assert complete.exists()
    assert not broken.exists()


@needs_npm
@pytest.mark.runtimes
def test_threads_make_the_same_environment_once(empty_cache):
    folders = []
    threads = [
        threading.Thread(target=lambda: folders.append(environment("onnxruntime-web", "1.18.0", offline=False)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(folders)) == 1
    assert len(folders) == 2
    assert len(list(empty_cache.iterdir())) == 2


@needs_npm
@pytest.mark.runtimes
def test_a_build_without_simd_and_an_exception_that_nothing_catches():
    document = run(
        CASES / "edge/strides.yaml", CASES / "edge/subnormals.yaml", "-t", "onnxruntime-web==1.18.0?simd=off"
    )
    summary = document["targets"][0]["summary"]
    assert document["targets"][0]["session_options"]["simd"] == "off"
    assert summary["conforms"] > 10
    assert not summary.get("crashes")
    assert not summary.get("error")


@needs_npm
@pytest.mark.runtimes
def test_a_reproduction_runs_with_the_package_beside_it(tmp_path):
    done = command("repro", "edge/auto-pad:dilated-SAME_UPPER", "-t", WEB, "-o", tmp_path / "repro")
    assert done.code == 0, done.err
    assert "onnxruntime-web@1.30.0 of npm" in done.out
    text = (tmp_path / "repro/repro.py").read_text()
    assert "# First: npm install onnxruntime-web@1.30.0" in text
    assert (tmp_path / "repro/run.mjs").exists()
    assert not (tmp_path / "repro/node_modules").exists()


def test_the_defects_of_the_native_build_are_listed_for_its_javascript_builds():
    shown = {each["id"] for each in command("defects", "list", "onnxruntime-web", "--json").json["defects"]}
    assert {"ORT-SAME-DILATION", "ORTWEB-SHAPE-MERGE"} <= shown
    assert "ORT-LOWEST-BLOCKED" not in shown
