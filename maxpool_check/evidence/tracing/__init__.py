"""Traces clauses to cases, executions, defects and wrong kernels, and back, in the formats of several tools."""
