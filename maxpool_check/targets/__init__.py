"""Runtimes to test: names of targets, isolated environments, workers, and the requests that execute a case."""
