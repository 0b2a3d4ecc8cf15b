"""Models that users might have: ``zoo.py`` those that runtimes run, ``broken.py`` those that nobody should trust.

``wheels.py`` takes real ones out of packages.
"""
