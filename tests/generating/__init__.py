"""The cases of ``cases/generated/``, which cover every possible pair of bins: ``python -m tests.generating`` writes them."""
