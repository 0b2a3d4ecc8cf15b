"""Optimisers of ONNX models that are wrong on purpose, and some that are right: functions that change a model."""
