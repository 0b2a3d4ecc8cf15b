"""Builds and signs bundles of evidence: everything that somebody needs to check runs and to repeat them."""
