"""How others can see it: a script, a model, test data and the text of an issue, tried before they are written."""
