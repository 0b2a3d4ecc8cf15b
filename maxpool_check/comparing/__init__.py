"""Two records, or many: what has changed between runtimes, and since when."""
