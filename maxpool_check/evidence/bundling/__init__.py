"""Builds, signs and verifies bundles of evidence: everything that somebody needs to check runs and to repeat them."""
