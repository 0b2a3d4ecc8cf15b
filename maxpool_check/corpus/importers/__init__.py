"""Cases of other suites: ONNX's test data, and SONNX's generated tests.

Each format is a module that converts files to cases. A case has the same id whether its file is read directly or imported
first: the folder, the document, and the name of the test, e.g. ``node/onnx-22:test_maxpool_2d_default``.
"""
