# Every target does its own set-up: a virtual environment in .venv with Python >= 3.11.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= 2

.PHONY: demo test lint format docs bench clean
.DEFAULT_GOAL := test

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "rulecore needs Python 3.11 or newer on PATH (or: make PYTHON=/path/to/python)" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[sidecar,dev]'
	@touch $@

demo: $(READY)
	@$(BIN)/rulecore demo

test: $(READY)
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

lint: $(READY)
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports --no-logo

format: $(READY)
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

docs: $(READY)
	@$(BIN)/python -m rulecore_hooks.docgen && $(BIN)/python -m rulecore_sidecar.docgen

bench: $(READY)
	@for b in tests/benchmarks/bench_*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
