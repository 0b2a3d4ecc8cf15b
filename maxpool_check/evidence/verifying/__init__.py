"""Verifies bundles of evidence: every file, page and verdict must follow from the records, and these from the cases."""
