# Everything sets itself up in .venv inside the checkout; all that is needed beforehand is Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
unexport PYTHONDONTWRITEBYTECODE  # each process that a test starts would compile the package anew

.PHONY: help demo test long coverage fuzz browser spark bench paper docs release-check format clean

help:
	@echo "make demo    install into .venv and run a simulated crowd and a panel of judges through the line"
	@echo "make test    install, then format, lint, types and all tests (what CI runs)"
	@echo "make long    the slow guarantees as well, and all draws where make test takes a tenth"
	@echo "make coverage  which lines the tests run"
	@echo "make fuzz    300,000 hostile files, calls, uploads, tables and kills (hours); goes on where it was cut off"
	@echo "make browser what the tests of report and page need: Chromium (as root, on Debian), playwright-core, axe-core"
	@echo "make spark   PySpark into .venv, for the tests on Spark (Java 17 is needed too)"
	@echo "make bench   speed and memory, as ratios"
	@echo "make paper   every table and figure of the paper into paper-out"
	@echo "make docs    the site, into site/, with nothing from the network"
	@echo "make release-check  build, check what is built, install it on the lowest and the newest versions, run the demo there"
	@echo "make format  rewrite the sources in the project's format"

$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit("majorant needs Python 3.11 or newer, this is %d.%d; say make PYTHON=/path/to/python3.11" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/run.stamp: $(VENV)/python.stamp pyproject.toml
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

$(VENV)/spark.stamp: $(VENV)/dev.stamp
	$(BIN)/pip install --quiet --editable '.[dev,spark]'
	@touch $@

$(VENV)/long.stamp: $(VENV)/dev.stamp
	$(BIN)/pip install --quiet --editable '.[dev,long,spark]'
	@touch $@

demo: $(VENV)/run.stamp
	$(BIN)/majorant demo --out demo-out

# Types are checked beside the tests: alone, mypy leaves half of two cores idle. What it says stands below what the tests say.
test: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@echo "$(BIN)/mypy & $(BIN)/pytest -q -n auto --dist loadgroup"
	@$(BIN)/mypy >$(VENV)/types.txt 2>&1 & mypy=$$!; \
	$(BIN)/pytest -q -n auto --dist loadgroup; tests=$$?; \
	wait $$mypy; types=$$?; cat $(VENV)/types.txt; exit $$((tests ? tests : types))

long: $(VENV)/long.stamp
	$(BIN)/pytest -q -n auto --dist loadgroup -m 'long or not long'

coverage: $(VENV)/dev.stamp
	$(BIN)/pytest -q -n auto --dist loadgroup --cov=majorant --cov-report=term:skip-covered

fuzz: $(VENV)/dev.stamp
	PYTHONPATH=tests $(BIN)/python -m corpus.campaign --state .fuzz-state.json --processes $$(getconf _NPROCESSORS_ONLN)

# Chromium is taken from the machine; the two packages that drive it stay in .browser. Without them the test is skipped.
# Debian's npm conflicts with the Node.js of others, which brings its own: only what is missing is installed.
browser:
	@missing=; \
	command -v chromium || command -v chromium-browser || command -v google-chrome || missing=chromium; \
	command -v npm || missing="$$missing nodejs npm"; \
	[ -z "$$missing" ] || { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -q -y --no-install-recommends $$missing; } || { echo "Install $$missing, or run make browser as root on Debian." >&2; exit 1; }
	npm install --prefix .browser --no-save --no-audit --no-fund playwright-core@1 axe-core@4

# Without PySpark or Java the tests on Spark are skipped.
spark: $(VENV)/spark.stamp

bench: $(VENV)/long.stamp
	$(BIN)/python -m benchmarks

paper: $(VENV)/run.stamp
	$(BIN)/python -m paper --out paper-out

$(VENV)/docs.stamp: $(VENV)/run.stamp
	$(BIN)/pip install --quiet --editable '.[docs]'
	@touch $@

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "site/index.html"

$(VENV)/release.stamp: $(VENV)/run.stamp
	$(BIN)/pip install --quiet --editable '.[release]'
	@touch $@

release-check: $(VENV)/release.stamp
	$(BIN)/python release_check.py

format: $(VENV)/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .fuzz-state.json demo-out paper-out site dist .pytest_cache .mypy_cache .ruff_cache
