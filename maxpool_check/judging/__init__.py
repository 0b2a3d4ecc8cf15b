"""Judges results: comparison by bits, kinds of divergence, verdicts, known defects."""
