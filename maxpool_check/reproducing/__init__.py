"""One divergence for others: a script, its model and its data, and the text of an issue; tried before they are written."""
