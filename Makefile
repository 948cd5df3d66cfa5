# Each target works on a machine with nothing but Python 3.11+ (venv and pip): it makes .venv itself.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all check clean

demo: .venv/demo
	$(BIN)/mnistpro-replay demo --out mnistpro-demo

test: .venv/dev
	$(BIN)/python -m pytest -n 2 -m "not soak and not ray and not browser and not wheel"

test-all: .venv/dev
	$(BIN)/python -m pytest -n 2

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd / && $(CURDIR)/$(BIN)/lint-imports $(CURDIR)/pyproject.toml
	$(BIN)/pyright

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[ocr]"
	touch $@

.venv/dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[ocr,dev]"
	touch $@

clean:
	rm -rf .venv build dist mnistpro-demo mnistpro_replay.egg-info
