"""Cases: YAML files, their values and bins, other suites; with file, line and column in every error."""
