# Each target works on a machine with nothing but Python 3.11+ (venv and pip): it makes .venv itself.
PYTHON ?= python3
BIN := .venv/bin
# Without byte-compiling all packages: what is imported is compiled then.
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check
SLOW := soak or ray or browser or wheel

.PHONY: demo test test-slow check screenshots clean

demo: .venv/demo
	$(BIN)/mnistpro-replay demo --out mnistpro-demo

test: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not ($(SLOW))"

# Needs a Chromium at /usr/bin/chromium.
test-slow: .venv/dev
	$(BIN)/python -m pytest -m "$(SLOW)"

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd / && $(CURDIR)/$(BIN)/lint-imports $(CURDIR)/pyproject.toml
	$(BIN)/pyright --pythonpath $(BIN)/python

# Needs a Chromium at /usr/bin/chromium.
screenshots: .venv/dev
	$(BIN)/python scripts/screenshots.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: pyproject.toml | .venv/bin/python
	$(PIP) -e ".[ocr]"
	touch $@

.venv/dev: pyproject.toml | .venv/bin/python
	$(PIP) -e ".[ocr,llm,mcp,inspect,minari,dev]"
	touch $@

clean:
	rm -rf .venv build dist mnistpro-demo mnistpro_replay.egg-info
