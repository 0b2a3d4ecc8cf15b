"""Random cases: drawn, run, and kept where they show a new divergence."""
