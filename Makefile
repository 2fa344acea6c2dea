# `make demo` and `make test` are all a fresh machine needs: each creates .venv and installs what it uses.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint fuzz bench counts docs clean

$(VENV)/.installed: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# FUZZ_MINUTES=60 make fuzz; FUZZ_SEED chooses other cases.
fuzz: $(VENV)/.dev
	$(BIN)/python -m fuzz

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/foundation.py
	$(BIN)/python benchmarks/games.py
	$(BIN)/python benchmarks/solvers.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/perfect.py
	$(BIN)/python benchmarks/arena.py
	$(BIN)/python benchmarks/learning.py

counts: $(VENV)/.dev
	$(BIN)/python benchmarks/games.py --counts

docs: $(VENV)/.docs
	$(BIN)/python docs/make_pages.py
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) site build
	find . -name __pycache__ -o -name "*.egg-info" | xargs rm -rf
