"""The results of runs: what a record holds, and how it is read and written."""
