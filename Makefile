# make run    the corpus on the installed ONNX Runtime; reports in build/
# make test   lint, types and all tests
# make check  lint and types
# make mutants which cases notice which of the kernels that are wrong on purpose
# make bench how fast the tool is, against what it stands on; writes reports/benchmark.md
# make test-runtimes the adapters of the other runtimes, against the real ones
# make generated the cases of cases/generated/
# make report the committed reports, from real runs
# make report-runtimes those of the other runtimes
# make history what every minor version of ONNX Runtime shows

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin
REPORTED := 1.23.2 1.31.1
HISTORY := 1.15.1..1.31.1,every=minor

GENERATED := onnx-22 sonnx openvino-14 ort-nhwc-11 ngraph-0 xmos-maxpool2d

.PHONY: run test mutants bench test-runtimes check format generated report report-runtimes history clean

run: $(BIN)/.installed
	$(BIN)/maxpool-check run cases/ -o build/record.jsonl --report markdown=build/report.md --report json=build/report.json

test: check
	$(BIN)/pytest -n auto --dist loadfile

mutants: $(BIN)/.installed-for-tests
	$(BIN)/python -m tests.mutants

bench: $(BIN)/.installed-for-tests
	$(BIN)/python -m tests.bench

test-runtimes: export ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER = 1
test-runtimes: export VK_ICD_FILENAMES = /usr/lib/chromium/vk_swiftshader_icd.json
test-runtimes: $(BIN)/.installed-for-tests
	$(BIN)/pytest -m runtimes

check: $(BIN)/.installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/maxpool-check lint cases/

format: $(BIN)/.installed-for-tests
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

generated: $(BIN)/.installed
	for spec in $(GENERATED); do \
	  $(BIN)/maxpool-check generate --spec $$spec --strength 2 --seed 0 -o cases/generated/$$spec.yaml || exit; \
	done

report: $(BIN)/.installed
	for version in $(REPORTED); do \
	  $(BIN)/maxpool-check run cases/ -q -t onnxruntime==$$version -o reports/onnxruntime-$$version-cpu.jsonl.gz \
	    --report markdown=reports/onnxruntime-$$version-cpu.md || exit; \
	done
	$(BIN)/maxpool-check documents cases/ > reports/documents.md
	$(BIN)/maxpool-check explain --format markdown > reports/kinds.md

history: $(BIN)/.installed
	$(BIN)/maxpool-check history cases/ --versions $(HISTORY) -j 2 \
	  --report markdown=reports/onnxruntime-history.md --report json=reports/onnxruntime-history.json > /dev/null

# The other runtimes: NAME=TARGET. WebGPU needs a Vulkan driver (Debian: chromium-common libvulkan1). One that you installed
# yourself: make report-runtimes ENVIRONMENT=its/environment RUNTIMES=torch-2.13.0=torch
RUNTIMES := \
  onnxruntime-openvino-1.24.1=onnxruntime-openvino==1.24.1@OpenVINOExecutionProvider \
  onnxruntime-qnn-2.7.0=onnxruntime-qnn==2.7.0@QNNExecutionProvider?backend_type=htp \
  onnxruntime-webgpu-0.4.0=onnxruntime-ep-webgpu==0.4.0@WebGpuExecutionProvider \
  openvino-2026.4.1-opset14=openvino==2026.4.1?opset=14 \
  openvino-2026.4.1-opset1=openvino==2026.4.1?opset=1 \
  onnx-reference-1.23.2=onnx-reference==1.23.2 \
  jax-0.10.2=jax==0.10.2 \
  tract-0.23.9=tract==0.23.9 \
  xmos-1.4.2=xmos==1.4.2

report-runtimes: export ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER = 1
report-runtimes: export VK_ICD_FILENAMES = /usr/lib/chromium/vk_swiftshader_icd.json
report-runtimes: $(BIN)/.installed
	for runtime in $(RUNTIMES); do \
	  $(BIN)/maxpool-check run cases/ -q --no-known --exit-zero -t "$${runtime#*=}" \
	    -o "reports/$${runtime%%=*}.jsonl.gz" --report "markdown=reports/$${runtime%%=*}.md"; \
	done

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
