"""One module per command: parsing and printing only. Nothing here imports numpy, onnx or onnxruntime at its top."""
