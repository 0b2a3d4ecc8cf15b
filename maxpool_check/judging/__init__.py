"""What is right or wrong: comparison by bits, kinds of divergence, verdicts, known divergences."""
