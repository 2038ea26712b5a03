# `make demo` and `make test` set up everything they need themselves, in .venv-demo and .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# The demo needs less than a third of what tests do; where the environment of the tests is there, it serves both.
DEMO := $(if $(wildcard $(READY)),.venv,.venv-demo)

.PHONY: demo docs test coverage lint test-slow test-outputs test-interop test-engines test-service pictures bench-core bench-engines bench-service bench-rules bench-quick bench-paper bench-speed bench-growth bench-truth bench-regression bench-slow bench-busy results test-browser test-explorer test-notebook clean test-fuzz fuzz-load audit

demo: $(DEMO)/.ready
	$(DEMO)/bin/python -m illume.cli.demo demo

# Tests start many processes, which should not compile illume each time.
test coverage test-slow test-service: export PYTHONDONTWRITEBYTECODE =

# Two processes of one thread each: more threads than cores make the fits of two tests wait for each other.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile

# The same tests, with the lines that they run; below 95 % it fails. It takes half as long again.
coverage: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile --cov --cov-report=term:skip-covered

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive src

test-slow: $(READY)
	$(BIN)/pytest -m slow

# Whether README and the guides show what their code prints; some minutes.
test-outputs: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -m outputs -n 2 tests/test_outputs.py

# 2,000 examples of every property in tests/fuzz, or as many as EXAMPLES says: hours on one core.
EXAMPLES ?= 2000
test-fuzz: $(READY)
	OMP_NUM_THREADS=1 ILLUME_FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n 2 tests/fuzz

# Files changed with an eye on which lines of illume they reach; atheris has wheels for Linux.
SECONDS_TO_FUZZ ?= 300
fuzz-load: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt atheris
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.fuzz_load -max_total_time=$(SECONDS_TO_FUZZ) -max_len=256 -len_control=0

# Known faults in the packages that tests are run with; asks the vulnerability service of PyPI.
audit: $(READY)
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --requirement constraints.txt --no-deps

# The recipes of the guide on other packages, in an environment of their own: explainerdashboard asks for an older
# numpy, and a plugin that dash brings for pytest does not load where warnings are errors.
test-interop: .venv-interop/.ready
	.venv-interop/bin/python -m pytest -p no:dash -m interop tests/interop

# Explanations on real local clusters of Ray, Spark and Dask, in an environment of their own.
test-engines: .venv-engines/.ready
	@command -v java >/dev/null || { echo "Spark needs Java; on Debian: apt-get install default-jre-headless"; exit 1; }
	OMP_NUM_THREADS=1 .venv-engines/bin/python -m pytest -m engines tests/distributed

# Requests made up from the service's own description, against a real server; some minutes.
test-service: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -m service tests/serve

# Report and explorer in real browsers. axe-core, which checks accessibility, is fetched once and kept in build/.
AXE_VERSION := 4.14.0
AXE := build/axe/package/axe.min.js

test-browser: $(READY) $(AXE)
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  echo "this needs Chromium and its driver; on Debian: apt-get install chromium chromium-driver"; exit 1; }
	@command -v firefox-esr >/dev/null || command -v firefox >/dev/null || { \
	  echo "this needs Firefox; on Debian: apt-get install firefox-esr"; exit 1; }
	AXE_SCRIPT=$(AXE) $(BIN)/pytest -m browser tests/report tests/serve

# The explorer's engine on 10,000 rows of six explainers in Node and Chromium, against Python; some minutes.
test-explorer: $(READY)
	@command -v node >/dev/null && command -v chromedriver >/dev/null || { \
	  echo "this needs Node 20 and Chromium; on Debian: apt-get install nodejs chromium chromium-driver"; exit 1; }
	OMP_NUM_THREADS=1 $(BIN)/pytest -m explorer -rP tests/report

# The explorer as a widget in JupyterLab and marimo, in an environment of their own: marimo asks for an older
# pymdown-extensions.
test-notebook: .venv-notebook/.ready
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  echo "this needs Chromium and its driver; on Debian: apt-get install chromium chromium-driver"; exit 1; }
	.venv-notebook/bin/python -m pytest -m notebook tests/notebook

$(AXE):
	@command -v npm >/dev/null || { echo "this needs npm, to fetch axe-core; on Debian: apt-get install npm"; exit 1; }
	mkdir -p build/axe
	cd build/axe && npm pack --silent axe-core@$(AXE_VERSION) && tar -xzf axe-core-$(AXE_VERSION).tgz

# Figures of the core; the data folder is named by ILLUME_DATA. Every measurement skips cells that benchmarks/results
# has; `--again all` repeats them.
bench-core: $(READY)
	$(BIN)/python -m benchmarks throughput --again all
	$(BIN)/python -m benchmarks memory --again all
	$(BIN)/python -m benchmarks agreement --again all

# Parquet to Parquet: Covertype, memory for many rows, and what engines cost beside explaining; the machine should be idle.
bench-engines: .venv-engines/.ready
	.venv-engines/bin/python -m benchmarks covertype --again all
	.venv-engines/bin/python -m benchmarks engines --rows 100000 1000000 10000000 --again all

# Latency of the service at 100 requests a second for a minute; the machine should be idle.
bench-service: $(READY)
	$(BIN)/python -m benchmarks service-load --again all

# Figures of rules and counterfactuals; the peers they are compared with get an environment of their own.
bench-rules: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks rule-speed --again all
	.venv-peers/bin/python -m benchmarks rule-precision --again all
	.venv-peers/bin/python -m benchmarks counterfactuals --again all

# A few cells of every table of the paper's evaluation, and the tables and figures made of them, in build/quick.
# Without ILLUME_DATA, the synthetic ones.
bench-quick: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks run --quick --workers 2
	.venv-peers/bin/python -m benchmarks figures --results build/quick --out build/quick
	.venv-peers/bin/python -m benchmarks tables --results build/quick --out build/quick

# The whole evaluation under both protocols: many hours on two cores; it goes on where it was stopped.
bench-paper: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks run --protocol clean --workers 2
	.venv-peers/bin/python -m benchmarks run --protocol paper --workers 2

# illume and its peers side by side, some 25 minutes on two cores, and how cost grows, some 5; the machine must be
# idle. Adult is read from the folder that ILLUME_DATA names. Finished cells are not measured again.
bench-speed: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks speed

bench-growth: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks growth

# Contributions against the model's Shapley values on data sets that no setting was chosen on; many hours. The tables
# and pictures are made of what is there.
bench-truth: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks truth --split heldout
	.venv-peers/bin/python -m benchmarks truth-page

# Models that answer with a number: contributions, rules, counterfactuals and speed, some hours on two cores.
bench-regression: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks regression --split heldout
	.venv-peers/bin/python -m benchmarks regression-page

bench-slow: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks slow

bench-busy: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks busy

# Tables, figures and the page of results from what is in benchmarks/results/cells.
results: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks figures
	.venv-peers/bin/python -m benchmarks tables

# The documentation, in build/site; a warning is an error. Examples are run by the environment of the tests, pages
# are written by one of their own, which has only the packages of the extra `docs`.
docs: $(READY) .venv-docs/.ready
	NO_MKDOCS_2_WARNING=1 ILLUME_PYTHON=$(BIN)/python .venv-docs/bin/mkdocs build --strict

# The pictures of README, of docs/method.md and of the explorer's guide, which needs Chromium.
pictures: $(READY)
	$(BIN)/python tools/front_picture.py docs/picture.png
	$(BIN)/python tools/method_pictures.py docs/images/method
	$(BIN)/python tools/explorer_picture.py docs/images

# Without compiled files for modules that the demo never imports, and without the headers and test programs that
# torch may bring: both are a third of the size.
.venv-demo/.ready: pyproject.toml constraints.txt
	test -x .venv-demo/bin/python || $(PYTHON) -m venv .venv-demo
	.venv-demo/bin/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[demo]"
	cd .venv-demo/lib/python*/site-packages/torch && rm -rf include test bin/test_*
	touch $@

.venv-docs/.ready: pyproject.toml constraints.txt
	test -x .venv-docs/bin/python || $(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --constraint constraints.txt $$($(PYTHON) tools/extra.py docs)
	touch $@

.venv-peers/.ready: pyproject.toml constraints.txt
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[bench,peers]"
	touch $@

.venv-interop/.ready: pyproject.toml constraints.txt
	test -x .venv-interop/bin/python || $(PYTHON) -m venv .venv-interop
	sed '/^numpy==/d' constraints.txt > .venv-interop/constraints.txt
	.venv-interop/bin/python -m pip install --quiet --constraint .venv-interop/constraints.txt --editable ".[interop]"
	touch $@

.venv-notebook/.ready: pyproject.toml constraints.txt
	test -x .venv-notebook/bin/python || $(PYTHON) -m venv .venv-notebook
	sed '/^pymdown-extensions==/d' constraints.txt > .venv-notebook/constraints.txt
	.venv-notebook/bin/python -m pip install --quiet --constraint .venv-notebook/constraints.txt --editable ".[notebooks]"
	touch $@

.venv-engines/.ready: pyproject.toml constraints.txt
	test -x .venv-engines/bin/python || $(PYTHON) -m venv .venv-engines
	.venv-engines/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[engines]"
	touch $@

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv .venv-demo .venv-docs .venv-peers .venv-interop .venv-engines .venv-notebook demo dist build .pytest_cache .mypy_cache .ruff_cache .coverage
