# `make demo` and `make test` set up everything they need in .venv themselves.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint test-slow bench-core bench-rules clean

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
