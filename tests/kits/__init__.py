"""Makes the kits that the package ships: ``python -m tests.kits`` writes ``maxpool_check/exporting/kits/*.jsonl.xz``.

The vectors are cases of the corpus and others that are drawn (:mod:`.drawn`); :mod:`.kills` measures which wrong kernels each notices,
which takes some minutes and is kept in ``build/kits/``; :mod:`.features` says what a vector has. ``python -m tests.kits.validation`` measures
what a kit notices of wrong kernels that nobody chose it for.
"""
