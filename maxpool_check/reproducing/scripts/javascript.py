"""ONNX Runtime in Node.js: a script in Python that builds the model, and one in JavaScript beside it that runs it."""

from importlib.metadata import version
from pathlib import Path

from maxpool_check.reproducing.script_runtime import ScriptCall, ScriptRuntime, onnx_package
from maxpool_check.reproducing.scripts.onnx_models import LEVELS

PROGRAM = Path(__file__).with_name("run.mjs")


def onnxruntime(script_call: ScriptCall) -> ScriptRuntime:
    """A package of ONNX Runtime on npm."""
    target = script_call.profile.description
    package = f"{target.distribution}@{target.version}"
    encoded = "[value.dtype.name, value.shape, base64.b64encode(value.tobytes()).decode()]"
    return ScriptRuntime(
        "ONNX Runtime for JavaScript", target.version,
        requirements=(f"numpy=={version('numpy')}", onnx_package()),
        imports=("import base64", "import json", "import subprocess"),
        setup=(
            f"# First: npm install {package}",
            f'request = {{"model": base64.b64encode(model.SerializeToString()).decode(), "level": {script_call.level or "None"}}}',
            f'request["inputs"] = {{name: {encoded} for name, value in {script_call.inputs}.items()}}',
            f'command = ["node", "run.mjs", "{target.distribution}"]',
            "done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True)",
            "if done.returncode:",
            '    raise RuntimeError(done.stderr.strip() or f"node exited with {done.returncode}")',
        ),
        call="[np.frombuffer(base64.b64decode(data), dtype).reshape(shape) for dtype, shape, data in json.loads(done.stdout)]",
        levels=LEVELS,
        runs_in_own_process=True,
        files={PROGRAM.name: PROGRAM},
        npm_package=package,
    )  # fmt: skip
