"""The floor: ONNX Runtime alone, a session of ready bytes for each variant, as the worker makes them, in one process.

``python tests/bench/floor.py FILE``, the file as :func:`tests.bench.work.ready_models` writes it.
"""

import pickle
import sys
from pathlib import Path

import onnxruntime


def main(path: Path) -> None:
    for model, outputs, X in pickle.loads(path.read_bytes()):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        if hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"):
            options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        session = onnxruntime.InferenceSession(
            model, options, providers=[("CPUExecutionProvider", {})], enable_fallback=0
        )
        session.disable_fallback()
        session.run(outputs, {"X": X})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
