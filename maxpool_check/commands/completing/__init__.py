"""Completion in a shell: fast, so nothing of it imports what the commands do unless a cache is out of date."""
