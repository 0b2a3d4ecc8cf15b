"""Configuration: which keys there are, and the values that files and the environment give them."""
