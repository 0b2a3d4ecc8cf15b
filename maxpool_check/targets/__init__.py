"""Who is asked: target names, isolated environments, and the worker process that asks one runtime."""
