"""A user's model: its MaxPool nodes, what is around them, the profile check, and their tests in place."""
