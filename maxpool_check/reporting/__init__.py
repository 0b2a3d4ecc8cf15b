"""Records made readable, for people and machines: pure functions, a record in, text out."""
