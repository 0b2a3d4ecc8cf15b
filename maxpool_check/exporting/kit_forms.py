"""The vectors of a kit in the forms of those who would take it: GoogleTest, ONNX Runtime, SONNX's loop, Rust and pytest."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from maxpool_check import inert
from maxpool_check.exporting.export import document_data, rendered
from maxpool_check.exporting.vectors import NO_CELL
from maxpool_check.reference.dtypes import NUMPY, is_float

_ONNX, _SONNX = "onnx-", ("sonnx", "sonnx@2026-10")
_OF_ONNX_RUNTIME = {"float32": "float", "float64": "double", "float16": "MLFloat16", "bfloat16": "BFloat16"}
_SPECIAL = {"inf": "kInf", "-inf": "-kInf", "nan": "kNaN"}
_OF_THE_LOOP = ("id", "result", "attributes", "inputs", "outputs", "results")

Test = Mapping[str, Any]


def form_files(kit: str, document: str, tests: Sequence[Test]) -> dict[str, bytes]:
    """The files of a kit of a document by their paths, from vectors that C can hold.

    ONNX Runtime and SONNX's loop compare with one answer: the files say how many vectors are left out for that.
    """
    values = {"kit": kit, "title": document_data(document)["title"], "tests": tests, "name": _name}
    comparison = rendered("kits/compare.py.j2")
    files = {
        "gtest/maxpool_kit_gtest.h": rendered("kits/gtest.h.j2", **values),
        "rust/maxpool_kit.rs": rendered("kits/rust.rs.j2", **values, numbers=_numbers, number=_number, NO_CELL=NO_CELL)
        + rendered("kits/rust_check.rs.j2"),
        "pytest/test_maxpool_kit.py": rendered("kits/pytest.py.j2", **values, document=document) + comparison,
        "pytest/conftest.py": rendered("kits/conftest.py.j2"),
    }
    if document.startswith(_ONNX):
        held = [test for test in tests if _outputs(test) or test["result"] == "invalid"]
        files["gtest/maxpool_kit_optester.cc"] = rendered(
            "kits/optester.cc.j2", **values, held=held, left_out=len(tests) - len(held), opset=document.removeprefix(_ONNX),
            literal=_literal, list=_list, type=_type, cells=_cells, outputs=_outputs,
        )  # fmt: skip
    if document in _SONNX:
        with_numpy = [test for test in tests if test["inputs"]["X"]["dtype"] != "bfloat16"]
        lines = [inert.dumps({key: test[key] for key in _OF_THE_LOOP}, separators=(",", ":")) for test in with_numpy]
        ids = [test["id"] for test in with_numpy if _outputs(test)]
        counts = {"left_out": len(with_numpy) - len(ids), "lacking": len(tests) - len(with_numpy)}
        of_loop = {**values, **counts, "tests": with_numpy, "lines": lines, "ids": ids}
        files["specloop/cases.py"] = rendered("kits/specloop.py.j2", **of_loop) + comparison
    return files


def _name(test: Test) -> str:
    """The name of a vector in C++ and Rust."""
    return re.sub(r"\W", "_", test["id"])


def _outputs(test: Test) -> dict[str, Any]:
    """The outputs of a vector of which one answer alone is right; Indices only beside Y."""
    result = (test["results"] or [{"outputs": {}}])[0]
    single = {name: tensor for name, tensor in result["outputs"].items() if "also" not in tensor}
    if "Y" not in single or test["result"] != "valid":
        return {}
    return {"Y": single["Y"]} if "together" in result else single


def _numbers(tensor: Mapping[str, Any]) -> list[Any]:
    """The values of a tensor."""
    return np.frombuffer(bytes.fromhex(tensor["hex"]), NUMPY[tensor["dtype"]].newbyteorder("<")).tolist()


def _number(text: str) -> int:
    """The integer of some bytes."""
    return int.from_bytes(bytes.fromhex(text), "little", signed=True)


def _type(tensor: Mapping[str, Any]) -> str:
    """The type of a tensor in ONNX Runtime."""
    return _OF_ONNX_RUNTIME.get(tensor["dtype"], f"{tensor['dtype']}_t")


def _cells(tensor: Mapping[str, Any]) -> str:
    """The values of a tensor in C++."""
    numbers, dtype = _numbers(tensor), tensor["dtype"]
    if not is_float(NUMPY[dtype]):
        return _list(numbers)
    suffix = "" if dtype == "float64" else "f"
    texts = [_SPECIAL.get(str(number), f"{number}{suffix}") for number in numbers]
    return _list([f"{_type(tensor)}({text})" for text in texts] if dtype.endswith("16") else texts)


def _literal(value: Any) -> str:
    """The value of an attribute in C++."""
    if isinstance(value, str):
        return f'std::string("{value}")'
    return f"std::vector<int64_t>{_list(value)}" if isinstance(value, list) else f"int64_t{_list([value])}"


def _list(values: Iterable[Any]) -> str:
    """A list in C++, which has no literal for the smallest integer."""
    return f"{{{', '.join(map(str, values))}}}".replace(str(-(2**63)), "INT64_MIN")
