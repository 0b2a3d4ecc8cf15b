"""Runtimes that take ONNX models."""

import json

from maxpool_check.reproducing.script_runtime import ScriptCall, ScriptRuntime, based, onnx_package

DEFAULT_PROVIDER = "CPUExecutionProvider"

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
"""The levels of graph optimization of ONNX Runtime that all its releases have."""


def onnxruntime(script_call: ScriptCall) -> ScriptRuntime:
    """ONNX Runtime, with any provider or plugin."""
    profile, inputs, level, threads = script_call.profile, script_call.inputs, script_call.level, script_call.threads
    target = profile.description
    provider = json.dumps(target.provider)
    options = {key: value for key, value in profile.name.options.items() if key != "python"}
    plugged = target.session_options.get("onnxruntime")
    settings = []
    if level is not None:
        levels = "onnxruntime.GraphOptimizationLevel"
        value = f"{levels}.{json.loads(level)}" if level.startswith('"') else f"getattr({levels}, {level})"
        settings.append(f"options.graph_optimization_level = {value}")
    if threads is not None:
        settings.append(f"options.intra_op_num_threads = {threads}")
    if target.provider != DEFAULT_PROVIDER:
        settings.append('options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")')
    imports, requirements = ["import onnxruntime"], [onnx_package()]
    given = json.dumps(options)
    arguments = f"providers=[{f'({provider}, {given})' if options else provider}]"
    if plugged:
        requirements.append(f"onnxruntime=={plugged}")
        module = target.distribution.replace("-", "_")
        imports.append(f"import {module}")
        settings += [
            f"if all(device.ep_name != {provider} for device in onnxruntime.get_ep_devices()):",
            f"    onnxruntime.register_execution_provider_library({provider}, {module}.get_library_path())",
            f"devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == {provider}]",
            f"options.add_provider_for_devices(devices[:1], {given})",
        ]
        arguments = ""
    if settings:
        settings.insert(0, "options = onnxruntime.SessionOptions()")
        arguments = ", ".join(filter(None, ["options", arguments]))
    return ScriptRuntime(
        **based(profile, "ONNX Runtime", *requirements), imports=tuple(imports), levels=LEVELS, printed_version="onnxruntime.__version__",
        setup=(*settings, f"session = onnxruntime.InferenceSession(model.SerializeToString(), {arguments})"),
        call=f"session.run(None, {inputs})",
    )  # fmt: skip


def onnx_reference(script_call: ScriptCall) -> ScriptRuntime:
    """Onnx's ReferenceEvaluator."""
    profile, inputs = script_call.profile, script_call.inputs
    return ScriptRuntime(
        **based(profile, "onnx"), imports=("import onnx", "from onnx.reference import ReferenceEvaluator"),
        printed_version="onnx.__version__",
        call=f"ReferenceEvaluator(model).run(None, {inputs})",
    )  # fmt: skip


def opencv(script_call: ScriptCall) -> ScriptRuntime:
    """OpenCV, which reads models from files: from memory, 5.0 does not use the classic engine where that is asked for."""
    profile, inputs = script_call.profile, script_call.inputs
    engine = profile.description.session_options.get("engine", "ENGINE_AUTO")
    argument = f", engine=cv2.dnn.{engine}" if engine != "ENGINE_AUTO" else ""
    set_inputs = (
        ("net.setInput(X)",)
        if "X" in inputs
        else (f"for name, array in {inputs}.items():", "    net.setInput(array, name)")
    )
    return ScriptRuntime(
        **based(profile, "OpenCV", onnx_package()), imports=("import tempfile", "import cv2", "import onnx"),
        setup=(
            "with tempfile.TemporaryDirectory() as folder:",
            '    onnx.save(model, f"{folder}/maxpool.onnx")',
            f'    net = cv2.dnn.readNetFromONNX(f"{{folder}}/maxpool.onnx"{argument})',
            *set_inputs,
        ),
        call="net.forward([output.name for output in model.graph.output])",
    )  # fmt: skip


def tract(script_call: ScriptCall) -> ScriptRuntime:
    """tract, which reads models from files."""
    profile, inputs = script_call.profile, script_call.inputs
    values = "[X]" if "X" in inputs else f"list({inputs}.values())"
    return ScriptRuntime(
        **based(profile, "tract", onnx_package()), imports=("import tempfile", "import onnx", "import tract"),
        setup=(
            "with tempfile.TemporaryDirectory() as folder:",
            '    onnx.save(model, f"{folder}/maxpool.onnx")',
            '    runnable = tract.onnx().load(f"{folder}/maxpool.onnx").into_model().into_runnable()',
        ),
        call=f"[tensor.to_numpy() for tensor in runnable.run({values})]",
    )  # fmt: skip


def iree(script_call: ScriptCall) -> ScriptRuntime:
    """IREE: its tool imports the model, its compiler compiles it in this process, and its runtime executes it."""
    profile, inputs, X = script_call.profile, script_call.inputs, script_call.X
    backend = profile.description.session_options["backend"]
    flags = ["--iree-input-type=onnx", f"--iree-hal-target-backends={backend}"]
    flags += ["--iree-llvmcpu-target-cpu=host"] if backend == "llvm-cpu" else []
    flags += ["--iree-input-demote-f64-to-f32=false"] if X.dtype.name == "float64" else []
    values = "X" if "X" in inputs else f"*{inputs}.values()"
    runtime = f"iree-base-runtime=={profile.description.version}"
    return ScriptRuntime(
        **based(profile, "IREE", onnx_package(), runtime), runs_in_own_process=False,
        imports=(
            "import subprocess", "import tempfile", "import sys", "import iree.runtime", "import onnx",
            "from iree.compiler.api import Invocation, Output, Session, Source",
        ),
        setup=(
            "with tempfile.TemporaryDirectory() as folder:",
            '    onnx.save(model, f"{folder}/maxpool.onnx")',
            '    tool = [sys.executable, "-m", "iree.compiler.tools.import_onnx"]',
            '    subprocess.run([*tool, f"{folder}/maxpool.onnx", "-o", f"{folder}/maxpool.mlir"], check=True)',
            "    session = Session()",
            f"    session.set_flags({', '.join(map(json.dumps, flags))})",
            '    with Source.open_file(session, f"{folder}/maxpool.mlir") as source, Invocation(session) as invocation:',
            "        invocation.enable_console_diagnostics()",
            "        if not (invocation.parse_source(source) and invocation.execute()):",
            '            raise RuntimeError("the compiler refuses the model")',
            "        with Output.open_membuffer() as output:",
            "            invocation.output_vm_bytecode(output)",
            "            compiled = bytes(output.map_memory())",
            'config = iree.runtime.Config("local-sync")',
            "loaded = iree.runtime.VmModule.copy_buffer(config.vm_instance, compiled)",
            "module = iree.runtime.load_vm_module(loaded, config)",
            "(name,) = [name for name in loaded.function_names if name.isidentifier() and not name.startswith(\"__\")]",
            f"pooled = module[name]({values})",
            "pooled = pooled if isinstance(pooled, (tuple, list)) else [pooled]",
        ),
        # Integers of MLIR have no sign.
        call="[each.to_host() for each in pooled]" if X.dtype.kind != "u" else
        "[each.to_host().view(X.dtype) if each.to_host().itemsize == X.itemsize else each.to_host() for each in pooled]",
    )  # fmt: skip
