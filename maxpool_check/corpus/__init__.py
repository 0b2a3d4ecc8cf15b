"""What is asked: YAML files of cases, with file, line and column in every error."""
