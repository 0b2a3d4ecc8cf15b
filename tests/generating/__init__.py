"""The cases of ``cases/generated/``, which cover every possible pair of bins: ``make generated`` writes them."""
