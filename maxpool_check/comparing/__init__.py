"""Comparisons of two records or many: what has changed between runtimes, and with which release."""
