"""How a script calls a user's own kernel: a Python function, or a program that speaks the protocol."""

from importlib.metadata import version
from pathlib import Path

from maxpool_check.reproducing.literals import keywords_text
from maxpool_check.reproducing.runtimes import ScriptRuntime
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import TargetProfile


def kernel_runtime(profile: TargetProfile, request: Request, seconds: float) -> ScriptRuntime:
    """How a script runs a request on a kernel; a program may take so many seconds."""
    name: TargetName = profile.name
    if name.function is not None:
        return _function(Path(name.function[0]).resolve(), name.function[1], request, takes_spec=profile.takes_spec)
    assert name.program is not None
    return _program(list(name.program), request, seconds)


def _function(path: Path, function: str, request: Request, *, takes_spec: bool) -> ScriptRuntime:
    beside = path.name if path.stem.isidentifier() and path.stem != "repro" else "kernel.py"
    spec = f", spec={request.spec!r}" if takes_spec else ""
    return ScriptRuntime(
        f"{path.name}:{function}", "", takes_models=False, arguments=keywords_text(request.attributes),
        imports=(f"from {beside.removesuffix('.py')} import {function}",),
        setup=(
            f"outputs = {function}(X.copy(), dict({{arguments}}){spec})",
            "outputs = outputs if isinstance(outputs, tuple) else (outputs,)",
        ),
        call=f"[np.asarray(output) for output in outputs{'[:1]' if len(request.outputs) == 1 else ''}]",
        files={beside: path},
    )  # fmt: skip


def _program(program: list[str], request: Request, seconds: float) -> ScriptRuntime:
    # What names a file is found from any folder.
    words = [str(Path(word).resolve()) if "/" in word and Path(word).is_file() else word for word in program]
    spec = {} if request.spec is None else {"spec": request.spec}
    fields = keywords_text({"outputs": list(request.outputs), **spec})
    return ScriptRuntime(
        Path(program[0]).name, "", takes_models=False, arguments=keywords_text(request.attributes),
        runs_in_own_process=True, imports=("import base64", "import json", "import signal", "import subprocess"),
        setup=(
            'tensor = dict(dtype=X.dtype.name, shape=X.shape, data=base64.b64encode(X.tobytes()).decode())',
            f'request = dict(id=1, model="", attributes=dict({{arguments}}), inputs={{"X": tensor}}, {fields})',
            'lines = [json.dumps(message) + "\\n" for message in (dict(protocol=1, options={}), request)]',
            f"program = subprocess.run({words!r}, input=\"\".join(lines), stdout=subprocess.PIPE, text=True, timeout={seconds:g})",
            "if program.returncode < 0:",
            '    print("killed by", signal.Signals(-program.returncode).name)',
            "    sys.exit(1)",
            "result = json.loads(program.stdout.splitlines()[1])",
            'if result["type"] != "result":',
            '    raise RuntimeError(result["message"])',
            'tensors = [result["outputs"][name] for name in request["outputs"]]',
        ),
        call='[np.frombuffer(base64.b64decode(t["data"]), t["dtype"]).reshape(t["shape"]) for t in tensors]',
    )  # fmt: skip


def requirement() -> str:
    """What a script of a kernel requires besides the kernel."""
    return f"numpy=={version('numpy')}"
