"""Asking many variants at once, surviving crashes and time-outs, and the record of it."""
