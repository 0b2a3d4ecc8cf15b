"""Counts the named functions of the package that one conforming case passes, from the parsed entry of its file to its lines in a
record, in the process of the run: ``python -m tests.functions_of_a_case [-v]``, which also names them by module.
"""

import contextlib
import sys
import tempfile
from collections import defaultdict
from datetime import date
from pathlib import Path

import maxpool_check
from maxpool_check.corpus import case_file, document
from maxpool_check.corpus.collection import Corpus
from maxpool_check.results.storage import Recorder
from maxpool_check.running.decisions import Decisions, RunPlan
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.targets.name import parse

CASE = """\
cases:
  - id: case
    input: {dtype: float32, shape: [1, 1, 4, 4], arange: {}}
    attributes: {kernel_shape: [2, 2], strides: [2, 2]}
"""
PACKAGE = str(Path(maxpool_check.__file__).parent)


def main():
    functions = defaultdict(set)

    def count(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            functions[code.co_filename[len(PACKAGE) + 1 :]].add(
                code.co_qualname if hasattr(code, "co_qualname") else code.co_name
            )

    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "cases.yaml").write_text(CASE)
        parsed = document.read(folder / "cases.yaml")
        target = parse("onnxruntime")
        executor = LocalExecutor(ExecutionConfig((target,)))
        stack.callback(executor.close)
        recorder = stack.enter_context(Recorder(folder / "record.jsonl"))
        decisions = Decisions(RunPlan(Corpus((), (folder,), True), (), [target]), executor.descriptions, date.today())
        sys.setprofile(count)
        cases = case_file.cases_of(parsed, folder / "cases.yaml", folder)
        for case, results in zip(cases, executor.results(cases), strict=True):
            for execution in decisions.take(case, results):
                assert execution.verdict == "conforms"
                recorder.write(execution)
        sys.setprofile(None)
    for module, names in sorted(functions.items()) if "-v" in sys.argv else ():
        print(f"{module}: {', '.join(sorted(names))}")
    print(f"{sum(map(len, functions.values()))} functions in {len(functions)} modules")


if __name__ == "__main__":
    main()
