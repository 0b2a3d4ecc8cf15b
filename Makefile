# make run              the corpus on the installed ONNX Runtime; reports in build/
# make test             lint, types, and every test that is neither slow nor long
# make test-slow        the slow tests; CI runs both
# make slow-tests       write tests/slow.txt, which tests are slow
# make test-time        the tests of both, and which of them use most processor time
# make test-all         both, the long tests, the adapters of all runtimes, the smallest benchmark
# make test-runtimes    the adapters of the other runtimes, on the real ones
# make check            lint, types, and a case for each clause of the documents
# make format           format the code
# make mutants          print which cases notice which of the kernels that are wrong on purpose
# make prove            compare the evaluator with the definition wherever everything is small; writes maxpool_check/evidence/proof.json
# make bench            measure how fast the tool is, compared with what it stands on; writes reports/benchmark.md
# make generated        write cases/generated/
# make reports          write reports/ from real runs: report, report-runtimes, history and pages
# make report           ... of ONNX Runtime
# make report-runtimes  ... of the other runtimes
# make contexts         ... of graphs of several nodes, by runtime, tool and level of optimization
# make history          ... of every minor version of ONNX Runtime, and of the last of other runtimes
# make shapes           ... of what infers shapes or checks graphs, and computes nothing
# make defects          ... a page and a reproduction for each live defect of the worst kinds
# make pages            ... the pages that need no runtime: documents, kinds, the matrix, and those of defects from their records
# make site             write build/site/, the committed records as a static site
# make picture          draw the picture of the README, the HTML report of a committed record; needs Chromium
# make constraints      renew tests/constraints.txt, the versions that are installed for the tests

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin
# That of the tests has the versions of tests/constraints.txt: what runs and reports use does not change with them.
TESTS := .venv-tests
TESTS_BIN := $(TESTS)/bin
REPORTED := 1.23.2 1.32.0

# Python is started hundreds of times by the tests: what it has compiled is kept, also where this is set, as in many images.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-slow slow-tests test-time test-all test-runtimes mutants prove bench check style types corpus format generated reports report report-runtimes contexts shapes history defects pages site picture constraints clean

run: $(BIN)/.installed
	$(BIN)/maxpool-check run cases/ -o build/record.jsonl --report markdown=build/report.md --report json=build/report.json

test: check
	$(TESTS_BIN)/pytest -n auto --dist worksteal

test-slow: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/pytest -m "slow and not long and not runtimes" -n auto --dist worksteal

slow-tests: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m pytest -p tests.processor_time --write-slow tests/slow.txt -m "not runtimes and not long" -n auto --dist worksteal

test-time: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m pytest -p tests.processor_time -m "not runtimes and not long" -n auto --dist worksteal

test-all: test test-slow test-runtimes
	$(TESTS_BIN)/pytest -m long

# They need about 1.5 GB and a Vulkan driver; what is not there is skipped.
test-runtimes: export ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER = 1
test-runtimes: export VK_ICD_FILENAMES = /usr/lib/chromium/vk_swiftshader_icd.json
test-runtimes: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/pytest -m runtimes

mutants: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m tests.mutants

# Some minutes on two cores.
prove: $(BIN)/.installed
	$(BIN)/python -m maxpool_check.evidence.proof -o maxpool_check/evidence/proof.json -j 2

bench: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m tests.bench

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
	$(TESTS_BIN)/maxpool-check evidence trace cases/ --fail-uncovered --report text=build/trace.txt > /dev/null

format: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/ruff format .
	$(TESTS_BIN)/ruff check --fix .

generated: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m tests.generating

reports: report report-runtimes contexts shapes history defects pages

# Those that need no runtime.
pages: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m tests.report_pages
	$(TESTS_BIN)/python -m tests.report_matrix
	$(TESTS_BIN)/python -m tests.report_contexts
	$(TESTS_BIN)/python -m tests.report_shapes
	$(TESTS_BIN)/python -m tests.report_agreement
	$(TESTS_BIN)/python -m tests.report_defects

site: $(BIN)/.installed
	$(BIN)/maxpool-check report reports/*.jsonl.xz reports/contexts/*.jsonl.xz $(foreach history,$(wildcard reports/*-history.json.xz),--history $(history)) -o build/site/

picture: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m tests.picture

report: $(BIN)/.installed
	for version in $(REPORTED); do \
	  $(BIN)/maxpool-check run cases/ -q -t onnxruntime==$$version -o reports/onnxruntime-$$version-cpu.jsonl.gz \
	    --report markdown=reports/onnxruntime-$$version-cpu.md || exit; \
	done
	$(call compress,$(REPORTED:%=reports/onnxruntime-%-cpu.jsonl.gz))

# NAME=TARGET,VERSIONS: one release of each minor version.
HISTORIES := \
  onnxruntime=onnxruntime,1.15.1..1.32.0 \
  openvino=openvino?opset=14,2026.0..2026.4 \
  tract=tract,0.19..0.23 \
  onnx-reference=onnx-reference,1.19..1.23

history: $(BIN)/.installed
	for history in $(HISTORIES); do \
	  of="$${history#*=}"; report="reports/$${history%%=*}-history"; \
	  $(BIN)/maxpool-check history cases/ -t "$${of%,*}" --versions "$${of##*,},every=minor" -j 2 \
	    --report "markdown=$$report.md" --report "json=$$report.json" > /dev/null && xz -9ef "$$report.json" || exit; \
	done

# The other runtimes: NAME=TARGET,TARGET...; those of one name are in one record, which is then hardly larger than that of one. WebGPU
# needs a Vulkan driver (Debian: chromium-common libvulkan1). One that you installed yourself:
# make report-runtimes ENVIRONMENT=its/environment RUNTIMES=torch-2.13.0=torch
PROVIDERS := \
  onnxruntime-openvino==1.24.1@OpenVINOExecutionProvider \
  onnxruntime-qnn==2.7.0@QNNExecutionProvider?backend_type=htp \
  onnxruntime-ep-webgpu==0.4.0@WebGpuExecutionProvider

comma := ,
space := $(subst ,, )
RUNTIMES := \
  onnxruntime-providers=$(subst $(space),$(comma),$(strip $(PROVIDERS))) \
  onnxruntime-javascript-1.30.0=onnxruntime-web==1.30.0,onnxruntime-node==1.30.0 \
  openvino-2026.4.1=openvino==2026.4.1?opset=14,openvino==2026.4.1?opset=1,openvino==2026.4.1?frontend=onnx \
  onnx-reference-1.23.2=onnx-reference==1.23.2 \
  jax-0.10.2=jax==0.10.2 \
  ncnn-1.0.20261020=ncnn==1.0.20261020 \
  iree-3.13.0=iree==3.13.0 \
  tract-0.23.9=tract==0.23.9 \
  tinygrad-0.14.0=tinygrad==0.14.0 \
  tvm-0.27.0.post1=tvm==0.27.0.post1 \
  opencv-5.0.0.93=opencv==5.0.0.93 \
  opencv-5.0.0.93-classic=opencv==5.0.0.93?engine=classic \
  tensorflow-2.21.0=tensorflow==2.21.0 \
  litert-2.3.0=litert==2.3.0,litert==2.3.0?xnnpack=0 \
  xmos-1.4.2=xmos==1.4.2

# These execute MaxPool alone: their records hold no graphs.
WITHOUT_GRAPHS := $(filter-out cases/contexts cases/defects cases/generated,$(wildcard cases/*)) \
  $(filter-out %/contexts.yaml,$(wildcard cases/generated/*.yaml))

# tinygrad schedules and compiles every request anew, in a fifth to half a second of processor time; for its CPU it needs
# clang (Debian: clang). So it executes what is about MaxPool alone, in ONNX and SONNX; so do both engines of OpenCV, whose record
# would otherwise be three times as large. IREE compiles for half a second, and executes less. ncnn has no Indices.
MAXPOOL_ALONE := cases/edge cases/onnx cases/documents/onnx-22.yaml cases/refusals cases/sonnx cases/generated/onnx-22.yaml
IREE_CASES := cases/edge cases/onnx cases/sonnx cases/documents/onnx-22.yaml cases/documents/sonnx.yaml \
  $(foreach theme,window shapes attributes types,cases/refusals/$(theme).yaml)

# TVM refuses every graph with Indices: with the generated cases of all documents its record would be twice as large.
TVM_CASES := cases/contexts cases/documents cases/edge cases/nhwc cases/onnx cases/openvino cases/refusals cases/sonnx cases/generated/onnx-22.yaml

# Processes: more of them make the record sooner.
JOBS := 1
report-runtimes: export ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER = 1
report-runtimes: export VK_ICD_FILENAMES = /usr/lib/chromium/vk_swiftshader_icd.json
report-runtimes: $(BIN)/.installed
	for runtime in $(RUNTIMES:%='%'); do \
	  name="$${runtime%%=*}"; targets="-t $${runtime#*=}"; \
	  case $$name in \
	    tinygrad-*) cases="$(MAXPOOL_ALONE) --timeout 60";; \
	    tensorflow-*|litert-*|torch-*|jax-*|xmos-*) cases="$(WITHOUT_GRAPHS)";; \
	    opencv-*) cases="$(MAXPOOL_ALONE)";; onnxruntime-javascript-*) cases="$(MAXPOOL_ALONE) cases/contexts";; \
	    tvm-*) cases="$(TVM_CASES) --timeout 60";; \
	    iree-*) cases="$(IREE_CASES) --timeout 60";; \
	    ncnn-*) cases="$(WITHOUT_GRAPHS) --variants y-only";; \
	    *) cases=cases/;; \
	  esac; \
	  $(BIN)/maxpool-check run $$cases -q -j $(JOBS) $$(echo "$$targets" | sed 's/,/ -t /g') \
	    -o "reports/$$name.jsonl.gz" --report "markdown=reports/$$name.md" || echo "$$name: not as expected"; \
	done
	$(call compress,$(foreach runtime,$(RUNTIMES),reports/$(firstword $(subst =, ,$(runtime))).jsonl.gz))

# The levels of optimization between none and all, and the tools that rewrite models.
LEVELS := y-only-optimization-off,y-only-optimization-basic,y-only-optimization-extended,y-only-optimization-layout
ON := :on:onnxruntime==1.31.1
GRAPH_TOOLS := onnxoptimizer==0.4.2 onnxsim==0.8.1 onnxsim==0.4.36 onnxslim==0.1.98 onnxscript==0.7.2 onnxconverter-common==1.16.0 \
  onnxruntime==1.31.1?level=extended onnxruntime==1.31.1?tool=quant-pre-process

contexts: $(BIN)/.installed $(TESTS_BIN)/.installed
	$(BIN)/maxpool-check run cases/contexts -q --variants $(LEVELS) -t onnxruntime==1.31.1 -t onnxruntime==1.24.4 \
	  -o reports/contexts/levels.jsonl.gz > /dev/null || true
	$(BIN)/maxpool-check run cases/contexts -q --variants default $(GRAPH_TOOLS:%=-t 'transform:%$(ON)') \
	  -o reports/contexts/tools.jsonl.gz > /dev/null || true
	$(call compress,reports/contexts/*.jsonl.gz)
	$(TESTS_BIN)/python -m tests.report_contexts

# NAME=TARGET, the first of each name; those that are installed by the user or need a driver as for report-runtimes.
DEFECT_TARGETS := \
  onnxruntime=onnxruntime==1.32.0 \
  onnxruntime-openvino-1.24.1=$(word 1,$(PROVIDERS)) \
  onnxruntime-qnn-2.7.0=$(word 2,$(PROVIDERS)) \
  onnxruntime-webgpu-0.4.0=$(word 3,$(PROVIDERS)) \
  $(foreach runtime,$(filter-out onnxruntime-providers%,$(RUNTIMES)),$(firstword $(subst $(comma), ,$(runtime)))) \
  openvino-2026.4.1-frontend=openvino==2026.4.1?frontend=onnx \
  onnxoptimizer-0.4.2=transform:onnxoptimizer==0.4.2:on:onnxruntime==1.31.1 \
  onnxsim-0.8.1=transform:onnxsim==0.8.1:on:onnxruntime==1.31.1 \
  onnxscript-0.7.2=transform:onnxscript==0.7.2:on:onnxruntime==1.31.1

defects: export ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER = 1
defects: export VK_ICD_FILENAMES = /usr/lib/chromium/vk_swiftshader_icd.json
defects: $(TESTS_BIN)/.installed
	$(TESTS_BIN)/python -m tests.report_defects $(foreach target,$(DEFECT_TARGETS),'$(target)')

# What decides without computing, on MaxPool alone, in one record: most of it are the digests of the cases. torch-meta needs PyTorch:
# make shapes ENVIRONMENT=its/environment
SHAPE_TARGETS := onnx-shape-inference==1.23.2 onnx-shape-inference==1.23.2?strict=0 \
  onnx-checker==1.23.2 onnx-checker==1.23.2?full=0 onnxruntime-symbolic==1.32.0 onnxruntime-load==1.32.0 \
  openvino-reshape==2026.4.1 torch-meta
SHAPE_CASES := $(filter-out cases/contexts cases/defects cases/generated,$(wildcard cases/*))

shapes: $(BIN)/.installed $(TESTS_BIN)/.installed
	$(BIN)/maxpool-check run $(SHAPE_CASES) -q $(foreach target,$(SHAPE_TARGETS),-t '$(target)') \
	  -o reports/shapes/record.jsonl.gz > /dev/null
	$(call compress,reports/shapes/record.jsonl.gz)
	$(TESTS_BIN)/python -m tests.report_shapes

# A record that is written line by line compresses less well than the whole.
compress = for record in $(1); do gzip -dc $$record | xz -9e > $${record%.gz}.xz && rm $$record || exit; done

clean:
	rm -rf $(ENVIRONMENT) $(TESTS) build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python $(TESTS_BIN)/python:
	$(PYTHON) -m venv $(@:/bin/python=)

$(BIN)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

# The versions in tests/constraints.txt, so that a new release of a runtime changes no test result.
$(TESTS_BIN)/.installed: $(TESTS_BIN)/python pyproject.toml tests/constraints.txt
	$(TESTS_BIN)/python -m pip install --quiet --disable-pip-version-check --constraint tests/constraints.txt --editable '.[test]'
	touch $@

constraints: $(BIN)/.installed
	$(BIN)/uv pip compile --quiet --upgrade --universal --extra test --no-header --no-annotate pyproject.toml -o tests/constraints.txt
