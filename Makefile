# Two entry points on a machine with Python, make and g++: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Of what is installed only a part is ever imported; that is compiled to bytecode when it is, and kept.
export PIP_COMPILE := 0
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/core/*/*)

.PHONY: demo test sanitize sanitize-threads fuzz bench reproduce browser docs linkcheck wheel clang clean

demo: $(VENV)/package
	@echo "== Training a classifier of handwritten digits (examples/demo.py)"
	@$(BIN)/python examples/demo.py
	@echo "== The same model from the command line: maxmargin predict digits.test.svm digits.mm"
	@$(BIN)/maxmargin predict build/demo/digits.test.svm build/demo/digits.mm
	@echo "== Done. Next: source $(BIN)/activate, then the lines of README.md."

test: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror src/core/*/* fuzz/*.cpp
	$(BIN)/mypy
	$(BIN)/pytest

bench: $(VENV)/dev
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.choosing
	$(BIN)/python -m benchmarks.l1
	$(BIN)/python -m benchmarks.solvers
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.reader
	$(BIN)/python -m benchmarks.command
	$(BIN)/python -m benchmarks.cutting_planes
	$(BIN)/python -m benchmarks.multiclass
	$(BIN)/python -m benchmarks.predict
	$(BIN)/python -m benchmarks.regression
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.blocks
	$(BIN)/python -m benchmarks.scale_dask rounds

# Every table and figure of the papers, and report.html: hours; with QUICK=1 on parts of the data, minutes, and
# report-quick.html.
OUT ?= build/reproduce
reproduce: $(VENV)/dev
	$(BIN)/maxmargin bench --out $(OUT) $(if $(QUICK),--quick)

# The reports in a headless Chromium (apt-get install chromium), at desktop and phone width: every figure has drawn data.
browser: $(VENV)/dev
	ls $(OUT)/report*.html > /dev/null 2>&1 || $(MAKE) reproduce QUICK=1
	$(BIN)/python tests/browser/check.py --figures --pictures build/browser $(OUT)/report*.html

# The site, in build/site/index.html; every example runs, and warnings are errors.
docs: $(VENV)/docs
	$(BIN)/sphinx-build -W --keep-going -b html docs build/site

# Links of the site that lead elsewhere; needs a network.
linkcheck: $(VENV)/docs
	$(BIN)/sphinx-build -b linkcheck docs build/linkcheck

$(VENV)/docs: $(VENV)/package
	@$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

# The sources and a wheel in dist/, by the newest Python from 3.12 on that is found, which makes it one for all of them
# (abi3). It is installed and tried without a compiler, on each that is found. Others can be named in WHEEL_PYTHON and
# SMOKE_PYTHONS.
EXECUTABLE := 'import sys; print(sys.executable)'
STABLE_PYTHONS = $(strip $(foreach version,14 13 12,$(shell python3.$(version) -c $(EXECUTABLE) 2> /dev/null)))
WHEEL_PYTHON ?= $(or $(firstword $(STABLE_PYTHONS)),$(PYTHON))
SMOKE_PYTHONS ?= $(or $(STABLE_PYTHONS),$(WHEEL_PYTHON))
wheel:
	rm -rf dist build/wheel
	$(WHEEL_PYTHON) -m venv build/wheel/make
	build/wheel/make/bin/python -m pip install --quiet build
	build/wheel/make/bin/python -m build --outdir dist .
	@for python in $(SMOKE_PYTHONS); do \
	  home=build/wheel/$$(basename $$python)-$$($$python -c 'import sys; print(*sys.version_info[:3], sep=".")'); \
	  $$python -m venv $$home && \
	  PATH=$$PWD/$$home/bin CC=none CXX=none $$home/bin/python -m pip install --quiet --only-binary :all: dist/*.whl && \
	  (cd $$home && PATH=$$PWD/bin bin/python $(CURDIR)/tests/smoke/check.py) || exit 1; \
	done

# The core by Clang, warnings as errors, and the tests of all that it computes.
clang: $(VENV)-clang/ready
	$(VENV)-clang/bin/pytest tests/core tests/solvers tests/io/test_svmlight.py

# The memory test is left out: the sanitizer's own shadow memory would be counted. What a sanitizer writes before it ends
# the process must not be caught.
sanitize: $(VENV)-sanitize/ready
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	$(VENV)-sanitize/bin/pytest --capture=sys tests --ignore tests/test_memory.py --ignore tests/test_instructions.py \
	  --ignore tests/browser

# Races between threads. numpy and others are not built for this, so that their reports are left out.
sanitize-threads: $(VENV)-threads/ready
	LD_PRELOAD="$$(g++ -print-file-name=libtsan.so)" OPENBLAS_NUM_THREADS=1 \
	TSAN_OPTIONS="halt_on_error=1 ignore_noninstrumented_modules=1 report_signal_unsafe=0" \
	$(VENV)-threads/bin/pytest -p no:cacheprovider -o addopts= -k "not fork" \
	  tests/solvers/test_threads.py tests/solvers/test_together.py tests/io/test_svmlight.py

# Coverage-guided fuzzing of everything that reads files of strangers. Needs clang with libFuzzer.
FUZZ_SECONDS ?= 600
fuzz: build/fuzz/reader $(VENV)/fuzz
	mkdir -p build/fuzz/found-reader build/fuzz/found-model
	build/fuzz/reader -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -print_final_stats=1 build/fuzz/found-reader fuzz/corpus/reader
	$(BIN)/python fuzz/model_loader.py -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -print_final_stats=1 build/fuzz/found-model fuzz/corpus/model

build/fuzz/reader: fuzz/reader.cpp $(wildcard src/core/*/*)
	mkdir -p build/fuzz
	clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -DMAXMARGIN_SANITIZE -Isrc/core \
	  fuzz/reader.cpp src/core/text/svmlight_reader.cpp src/core/numeric/simd.cpp -pthread -o $@

$(VENV)/fuzz: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-sanitize $(VENV)-threads $(VENV)-clang build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Where Python has a pip of its own, that puts another one into the environment in half the time that `venv` takes.
$(VENV)/python:
	@echo "== Making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip 2>/dev/null \
	  || $(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/package: $(VENV)/python $(SOURCES)
	@echo "== Installing numpy, scipy, scikit-learn and others, and compiling the C++ core: one to two minutes"
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/dev: $(VENV)/python $(SOURCES)
	@echo "== Installing the tools for tests, and compiling the C++ core: one to two minutes"
	@$(BIN)/python -m pip install --quiet --editable '.[dev]' --config-settings=cmake.define.MAXMARGIN_WERROR=ON
	@touch $@ $(VENV)/package

$(VENV)-sanitize/ready: $(SOURCES)
	$(PYTHON) -m venv $(VENV)-sanitize
	$(VENV)-sanitize/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-sanitize/bin/python -m pip install --quiet --editable '.[dev]' \
	  --config-settings=cmake.define.MAXMARGIN_SANITIZE=ON --config-settings=build-dir=build/sanitize
	touch $@

$(VENV)-clang/ready: $(SOURCES)
	$(PYTHON) -m venv $(VENV)-clang
	CXX=clang++ $(VENV)-clang/bin/python -m pip install --quiet --editable '.[dev]' \
	  --config-settings=cmake.define.MAXMARGIN_WERROR=ON --config-settings=build-dir=build/clang
	touch $@

$(VENV)-threads/ready: $(SOURCES)
	$(PYTHON) -m venv $(VENV)-threads
	$(VENV)-threads/bin/python -m pip install --quiet --editable '.[dev]' \
	  --config-settings=cmake.define.MAXMARGIN_SANITIZE_THREADS=ON --config-settings=build-dir=build/threads
	touch $@
