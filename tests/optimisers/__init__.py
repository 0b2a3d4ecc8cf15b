"""Optimisers of ONNX models that are wrong on purpose, and some that are right.

Each is a function that changes a model in place and returns it; its docstring says what it does. ``kind`` is the kind that
its mistake has in ``judging/rewrites.py``, if it has one.
"""
