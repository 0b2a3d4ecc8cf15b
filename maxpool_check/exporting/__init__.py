"""Cases in the forms of others: vectors in JSON, and ONNX's test data."""
