# `make demo` and `make test` set up everything they need in .venv themselves.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint test-slow test-browser bench-core bench-rules bench-quick bench-paper results clean

demo: $(READY)
	$(BIN)/python -m illume.demo demo

test: lint
	$(BIN)/pytest --cov --cov-report=term:skip-covered

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test-slow: $(READY)
	$(BIN)/pytest -m slow

# The report in a real browser. axe-core, which checks accessibility, is fetched once and kept in build/.
AXE_VERSION := 4.14.0
AXE := build/axe/package/axe.min.js

test-browser: $(READY) $(AXE)
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  echo "this needs Chromium and its driver; on Debian: apt-get install chromium chromium-driver"; exit 1; }
	AXE_SCRIPT=$(AXE) $(BIN)/pytest -m browser tests/report

$(AXE):
	@command -v npm >/dev/null || { echo "this needs npm, to fetch axe-core; on Debian: apt-get install npm"; exit 1; }
	mkdir -p build/axe
	cd build/axe && npm pack --silent axe-core@$(AXE_VERSION) && tar -xzf axe-core-$(AXE_VERSION).tgz

# Figures of the core; the data folder is named by ILLUME_DATA.
bench-core: $(READY)
	$(BIN)/python -m benchmarks.throughput
	$(BIN)/python -m benchmarks.stability
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.agreement

# Figures of rules and counterfactuals; the peers they are compared with get an environment of their own.
bench-rules: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks.rule_speed
	.venv-peers/bin/python -m benchmarks.neighbours
	.venv-peers/bin/python -m benchmarks.refinement
	.venv-peers/bin/python -m benchmarks.rule_precision
	.venv-peers/bin/python -m benchmarks.counterfactual_quality

# A few cells of every table of the paper's evaluation, and the tables and figures made of them, in build/quick.
# Without ILLUME_DATA, the synthetic ones.
bench-quick: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks run --quick --workers 2 --results build/quick/cells
	.venv-peers/bin/python -m benchmarks figures --results build/quick/cells --out build/quick
	.venv-peers/bin/python -m benchmarks tables --results build/quick/cells --out build/quick

# The whole evaluation under both protocols: many hours on two cores; it goes on where it was stopped.
bench-paper: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks run --protocol clean --workers 2
	.venv-peers/bin/python -m benchmarks run --protocol paper --workers 2

# Tables, figures and the page of results from what is in benchmarks/results/cells.
results: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks figures
	.venv-peers/bin/python -m benchmarks tables

.venv-peers/.ready: pyproject.toml constraints.txt
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[bench,peers]"
	touch $@

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv .venv-peers demo dist build .pytest_cache .mypy_cache .ruff_cache .coverage
