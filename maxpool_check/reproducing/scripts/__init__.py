"""How a script runs a model, or calls a function, on each runtime: one module for each, or for a few that are alike."""
