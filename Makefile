# Kernaut. `make discover` searches for a kernel and prints what it found; `make test` checks everything but the slow repetitions.
#
#   PYTHON          the Python that makes .venv, 3.11 or newer                  (python3)
#   TORCH_INDEX     URL of a package index with PyTorch's CPU builds; needed where the default index serves CUDA builds
#   ARGS            further arguments of `kernaut notebook run discover`        (e.g. ARGS="-p runs 4 -p seed 7")
#   PYTEST_OPTIONS  further arguments of pytest                                  (-n 2)
#   LAB_OPTIONS     further arguments of JupyterLab                              (e.g. LAB_OPTIONS="--allow-root --no-browser")

PYTHON ?= python3
TORCH_INDEX ?=
ARGS ?=
PYTEST_OPTIONS ?= -n 2
LAB_OPTIONS ?=

BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: help install browser discover test test-slow lint lab bench pictures clean distclean

help:
	@sed -n 's/^# \{0,1\}//p; /^PYTHON/q' Makefile
	@echo "Targets: discover test test-slow lint lab bench pictures clean distclean"

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Expected Python 3.11 or newer as '$(PYTHON)'. Got: $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { \
		echo "Expected '$(PYTHON) -m venv' to work. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Expected Python 3.11 or newer in .venv. Got an older one; make distclean removes it." >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) \
		-c constraints.txt -e '.[dev]'
	@touch $@

discover: $(INSTALLED)
	$(BIN)/kernaut notebook run discover $(ARGS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The browser tests drive Debian's Chromium. Root on Debian or Ubuntu gets it here; elsewhere the tests say what is missing.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
		else \
			echo "Expected Chromium for the browser tests. Got none. On Debian: apt-get install chromium" >&2; exit 1; \
		fi; }

test: lint browser
	$(BIN)/python -m pytest $(PYTEST_OPTIONS)

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -m slow $(PYTEST_OPTIONS)

lab: $(INSTALLED)
	$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks $(LAB_OPTIONS)

bench: $(INSTALLED)
	$(BIN)/python benchmarks/speed.py

# The documentation's pictures of pages: what the browser tests saw.
pictures: $(INSTALLED) browser
	KERNAUT_SCREENSHOTS=docs/images $(BIN)/python -m pytest -n 0 tests/browser

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find kernaut widgets tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv
