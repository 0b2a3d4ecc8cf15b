"""The program that runs requests in one runtime, in the runtime's own environment.

It runs with other versions of Python (3.8 and later) and numpy, and imports nothing else of maxpool_check.
"""
