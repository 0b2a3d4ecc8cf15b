# make run    the corpus on the installed ONNX Runtime; reports in build/
# make test   lint, types and all tests
# make check  lint and types
# make report the committed reports, from real runs

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin
REPORTED := 1.23.2 1.31.1

.PHONY: run test check format report clean

run: $(BIN)/.installed
	$(BIN)/maxpool-check run cases/ -o build/record.jsonl --report markdown=build/report.md --report json=build/report.json

test: check
	$(BIN)/pytest

check: $(BIN)/.installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/maxpool-check lint cases/

format: $(BIN)/.installed-for-tests
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

report: $(BIN)/.installed
	for version in $(REPORTED); do \
	  $(BIN)/maxpool-check run cases/ -q -t onnxruntime==$$version -o reports/onnxruntime-$$version-cpu.jsonl \
	    --report markdown=reports/onnxruntime-$$version-cpu.md || exit; \
	done
	$(BIN)/maxpool-check documents cases/ > reports/documents.md

clean:
	rm -rf $(ENVIRONMENT) build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(ENVIRONMENT)

$(BIN)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(BIN)/.installed-for-tests: $(BIN)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@
