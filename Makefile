# Everything sets itself up in .venv inside the checkout; all that is needed beforehand is Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help demo test long bench format clean

help:
	@echo "make demo    install into .venv and run a simulated crowd and a panel of judges through the line"
	@echo "make test    install, then format, lint, types and all tests (what CI runs)"
	@echo "make long    the slow guarantees as well"
	@echo "make bench   speed and memory, as ratios"
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

$(VENV)/long.stamp: $(VENV)/dev.stamp
	$(BIN)/pip install --quiet --editable '.[dev,long,spark]'
	@touch $@

demo: $(VENV)/run.stamp
	$(BIN)/majorant demo --out demo-out

test: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q -n auto

long: $(VENV)/long.stamp
	$(BIN)/pytest -q -n auto -m 'long or not long'

bench: $(VENV)/long.stamp
	$(BIN)/python -m benchmarks

format: $(VENV)/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) demo-out .pytest_cache .mypy_cache .ruff_cache
