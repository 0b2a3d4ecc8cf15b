# make run              the corpus on the installed ONNX Runtime; reports in build/
# make test             lint, types, and every test that is neither slow nor long
# make test-slow        the slow tests; CI runs both
# make test-all         both, the long tests, and the adapters of the other runtimes, on the real ones (about 1.5 GB)
# make slow-tests       write tests/slow.txt, which tests are slow
# make test-time        which tests of both use most processor time
# make check            lint, types, and a case for each clause of the documents
# make format           format the code
# make prove            compare the evaluator with the definition wherever everything is small; writes evidence/proof.json
# make public_checks    measure what public tests of MaxPool notice of our wrong kernels; writes reports/public-checks.md
# make bench            measure how fast the tool is, compared with what it stands on; writes reports/benchmark.md
# make generated        write cases/generated/
# make reports          write reports/ from real runs, those that tests/reports.yaml lists; NAMES="jax-0.10.2 pages": these alone
# make site             write build/site/, the committed records as a static site
# make picture          draw the picture of the README; needs Chromium
# make constraints      renew tests/constraints.txt, the versions that are installed for the tests

PYTHON ?= python3
# The environment of the tests has the versions of tests/constraints.txt; that of runs and reports the newest.
BIN := .venv/bin
TESTS_BIN := .venv-tests/bin

# Python is started hundreds of times by the tests: what it has compiled is kept, also where this is set, as in many images.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-slow test-all slow-tests test-time prove bench public_checks check style types corpus format generated reports site picture constraints clean

# The head of this file.
help:
	@sed -n '/^$$/q; s/^# //p' $(firstword $(MAKEFILE_LIST))

run: $(BIN)/.installed
	$(BIN)/maxpool-check run cases/ -o build/record.jsonl --report markdown=build/report.md --report json=build/report.json

test: check
	$(TESTS_BIN)/pytest -n auto --dist worksteal

test-slow: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/pytest -m "slow and not long and not runtimes" -n auto --dist worksteal

test-all: export ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER = 1
test-all: export VK_ICD_FILENAMES = /usr/lib/chromium/vk_swiftshader_icd.json
test-all: test test-slow
	$(TESTS_BIN)/pytest -m "runtimes or long"

slow-tests test-time: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m pytest -p tests.processor_time $(if $(filter slow-tests,$@),--write-slow tests/slow.txt) -m "not runtimes and not long" -n auto --dist worksteal

bench public_checks generated picture: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m tests.$(subst generated,generating,$@)

# Some minutes on two cores.
prove: $(BIN)/.installed
	$(BIN)/python -m maxpool_check.evidence.proof -o maxpool_check/evidence/proof.json -j 2

# The types take as long as all the others.
check: $(TESTS_BIN)/.installed
	+$(MAKE) --no-print-directory -j 2 --output-sync=target style types corpus

style:
	$(TESTS_BIN)/ruff check .
	$(TESTS_BIN)/ruff format --check .
	$(TESTS_BIN)/lint-imports

types:
	$(TESTS_BIN)/mypy

corpus:
	$(TESTS_BIN)/maxpool-check cases lint cases/
	$(TESTS_BIN)/maxpool-check evidence trace cases/ --report text=build/trace.txt > /dev/null

format: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/ruff format .
	$(TESTS_BIN)/ruff check --fix .

reports: $(BIN)/.installed $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m tests.make_reports --tool $(BIN)/maxpool-check $(NAMES)

site: $(BIN)/.installed
	$(BIN)/maxpool-check report reports/*.jsonl.xz reports/*-history.json.xz -o build/site/

clean:
	rm -rf .venv .venv-tests build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/.installed: pyproject.toml
	@echo "making $(@D:/bin=), about half a minute"
	@$(PYTHON) -m venv $(@D:/bin=) && $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . && touch $@

$(TESTS_BIN)/.installed: pyproject.toml tests/constraints.txt
	@echo "making $(@D:/bin=), about two minutes"
	@$(PYTHON) -m venv $(@D:/bin=) && $(TESTS_BIN)/python -m pip install --quiet --disable-pip-version-check --constraint tests/constraints.txt --editable '.[test]' && touch $@

constraints: $(BIN)/.installed
	$(BIN)/uv pip compile --quiet --upgrade --universal --extra test --no-header --no-annotate pyproject.toml -o tests/constraints.txt
