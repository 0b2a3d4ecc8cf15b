"""How a script calls a user's own kernel: a Python function, or a program that speaks the protocol."""

import json
from importlib.metadata import version
from pathlib import Path

from maxpool_check.reproducing.literals import keywords_text
from maxpool_check.reproducing.script_runtime import ScriptRuntime
from maxpool_check.results.outcomes import Crashed, Outcome, TimedOut
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import TargetProfile


def kernel_runtime(profile: TargetProfile, request: Request, outcome: Outcome) -> ScriptRuntime:
    """How a script runs a request on a kernel, whose outcome was this."""
    name: TargetName = profile.name
    if name.function is not None:
        return _function(Path(name.function[0]).resolve(), name.function[1], request, takes_spec=profile.takes_spec)
    assert name.program is not None
    return _program(list(name.program), request, outcome)


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


def _program(program: list[str], request: Request, outcome: Outcome) -> ScriptRuntime:
    # What names a file is found from any folder.
    words = [str(Path(word).absolute()) if "/" in word and Path(word).is_file() else word for word in program]
    spec = {} if request.spec is None else {"spec": request.spec}
    fields = ", ".join(f"{name}={json.dumps(value)}" for name, value in {"outputs": request.outputs, **spec}.items())
    return ScriptRuntime(
        Path(program[0]).name, "", takes_models=False, arguments=keywords_text(request.attributes),
        runs_in_own_process=True, imports=("import base64", "import json", "import subprocess"),
        setup=(
            'tensor = dict(dtype=X.dtype.name, shape=X.shape, data=base64.b64encode(X.tobytes()).decode())',
            f'request = dict(id=1, model="", attributes=dict({{arguments}}), inputs={{"X": tensor}}, {fields})',
            'lines = [json.dumps(message) + "\\n" for message in (dict(protocol=1, options={}), request)]',
            f"command = {json.dumps(words)}",
            *_run(outcome),
            "result = json.loads(program.stdout.splitlines()[1])",
            'if result["type"] != "result":',
            '    raise RuntimeError(result["message"])',
            'tensors = [result["outputs"][name] for name in request["outputs"]]',
        ),
        call='[np.frombuffer(base64.b64decode(t["data"]), t["dtype"]).reshape(t["shape"]) for t in tensors]',
    )  # fmt: skip


def _run(outcome: Outcome) -> list[str]:
    """The lines that run a program, and end the script if it dies or hangs."""
    run = 'program = subprocess.run(command, input="".join(lines), stdout=subprocess.PIPE, text=True'
    if isinstance(outcome, TimedOut):
        return [
            "try:",
            f"    {run}, timeout={outcome.seconds:g})",
            "except subprocess.TimeoutExpired:",
            f'    print("expected a result, but there was none within {outcome.seconds:g} s")',
            "    sys.exit(1)",
        ]
    lines = [f"{run})"]
    if isinstance(outcome, Crashed):
        lines += [
            "if program.returncode < 0:",
            '    print("expected a result, but the process was killed by", signal.Signals(-program.returncode).name)',
            "elif program.returncode > 0:",
            '    print("expected a result, but the process ended with exit code", program.returncode)',
            "if program.returncode:",
            "    sys.exit(1)",
        ]
    return lines


def requirement() -> str:
    """What a script of a kernel requires besides the kernel."""
    return f"numpy=={version('numpy')}"
