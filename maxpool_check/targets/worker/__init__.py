"""The program that asks one runtime, in the runtime's own environment.

It imports nothing of maxpool_check: it runs on other versions of Python (3.8 on) and numpy, as a package of its own name.
"""
