# make run    the corpus on the installed ONNX Runtime; reports in build/
# make test   lint, types and all tests
# make check  lint and types
# make report the committed reports, from real runs
# make history what every minor version of ONNX Runtime shows

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin
REPORTED := 1.23.2 1.31.1
HISTORY := 1.15.1..1.31.1,every=minor

.PHONY: run test check format report history clean

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
	  $(BIN)/maxpool-check run cases/ -q -t onnxruntime==$$version -o reports/onnxruntime-$$version-cpu.jsonl.gz \
	    --report markdown=reports/onnxruntime-$$version-cpu.md || exit; \
	done
	$(BIN)/maxpool-check documents cases/ > reports/documents.md

history: $(BIN)/.installed
	$(BIN)/maxpool-check history cases/ --versions $(HISTORY) -j 2 \
	  --report markdown=reports/onnxruntime-history.md --report json=reports/onnxruntime-history.json > /dev/null

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
