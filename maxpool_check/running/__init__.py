"""Runs cases on targets, survives crashes and time-outs, and writes the record."""
