# Everything is installed into .venv inside the checkout; you only need Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
ifneq ($(wildcard .data),)
export MAJORANT_DATA ?= $(CURDIR)/.data
endif
unexport PYTHONDONTWRITEBYTECODE  # otherwise every process started by a test compiles the package again

.PHONY: help demo data test long coverage fuzz browser spark bench paper docs release-check format clean

help:
	@echo "make demo           install into .venv and run the demo: a simulated crowd and a panel of judges"
	@echo "make data           download the public data sets to .data, with checksums: the tests use them"
	@echo "make test           install, then check format, lint and types and run all tests (as in CI)"
	@echo "make long           also run the slow tests, with all random draws (make test uses a tenth)"
	@echo "make coverage       run the tests and report line coverage"
	@echo "make fuzz           300,000 hostile files, calls, uploads, tables and kills (hours; resumes if interrupted)"
	@echo "make browser        install what the browser tests need: Chromium (as root, on Debian), playwright-core, axe-core"
	@echo "make spark          install PySpark into .venv for the Spark tests (Java 17 is also needed)"
	@echo "make bench          measure speed and memory, as ratios to named peers"
	@echo "make paper          write every table and figure of the paper to paper-out"
	@echo "make docs           build the site in site/, without network access"
	@echo "make release-check  build, check and install the package on the lowest and newest dependencies, and run the demo"
	@echo "make format         format the sources"

$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit("majorant needs Python 3.11 or newer, but this is %d.%d; use make PYTHON=/path/to/python3.11" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
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
	$(BIN)/majorant data demo --out demo-out

data: $(VENV)/run.stamp
	MAJORANT_DATA=.data $(BIN)/python tools/get_data.py .data

# mypy runs in parallel with the tests, because it uses only one core. Its output is printed after theirs.
test: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@echo "$(BIN)/mypy & $(BIN)/pytest -q -n auto --dist loadgroup --timeout 300"
	@$(BIN)/mypy >$(VENV)/types.txt 2>&1 & mypy=$$!; \
	$(BIN)/pytest -q -n auto --dist loadgroup --timeout 300; tests=$$?; \
	wait $$mypy; types=$$?; cat $(VENV)/types.txt; exit $$((tests ? tests : types))

long: $(VENV)/long.stamp
	$(BIN)/pytest -q -n auto --dist loadgroup -m 'long or not long'

coverage: $(VENV)/dev.stamp
	$(BIN)/pytest -q -n auto --dist loadgroup --cov=majorant --cov-report=term:skip-covered

fuzz: $(VENV)/dev.stamp
	PYTHONPATH=tests $(BIN)/python -m corpus.campaign --state .fuzz-state.json --processes $$(getconf _NPROCESSORS_ONLN)

# Uses the system's Chromium; the two packages that drive it are installed in .browser. Without them the tests are skipped.
# Debian's npm conflicts with other Node.js packages, which include their own npm, so only what is missing is installed.
browser:
	@missing=; \
	command -v chromium || command -v chromium-browser || command -v google-chrome || missing=chromium; \
	command -v npm || missing="$$missing nodejs npm"; \
	[ -z "$$missing" ] || { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -q -y --no-install-recommends $$missing; } || { echo "Install $$missing, or run make browser as root on Debian." >&2; exit 1; }
	npm install --prefix .browser --no-save --no-audit --no-fund playwright-core@1 axe-core@4

# Without PySpark or Java, the Spark tests are skipped.
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
	$(BIN)/python tools/release_check.py

format: $(VENV)/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .fuzz-state.json demo-out paper-out site dist .pytest_cache .mypy_cache .ruff_cache
