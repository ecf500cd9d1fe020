# heartbeat, from a checkout. `make help` lists what there is to do.
#
# Everything is installed into .venv and nothing outside it. PYTHON names the interpreter, for example
# `PYTHON=python3.12 make test`; another version makes .venv anew. Plain POSIX recipes: they must run
# with the make and the tools that macOS ships (GNU make 3.81, BSD userland) as well as with Debian's.

PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check -qq

VERSION_OF = -c 'import sys; print(sys.version)'

.PHONY: help demo test test-slow bench lint clean venv
# The check of .venv must end before the stamps inside it are looked at.
.NOTPARALLEL:

help:
	@echo "make demo       the whole beat in a throw-away home: calendar, agent, brief"
	@echo "make test       lint, then every test but the slow ones"
	@echo "make test-slow  the tests that take minutes: kills, floods, full disks"
	@echo "make bench      the measurements, each beside its baseline"
	@echo "make lint       format, rules, types and floors"
	@echo "make clean      remove .venv and everything built"
	@echo "PYTHON=python3.12 make test   the same with another interpreter"

demo: venv $(VENV)/runtime.stamp
	@$(BIN)/heartbeat demo

test: lint
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

test-slow: venv $(VENV)/dev.stamp
	$(BIN)/python -m pytest -m slow

bench: venv $(VENV)/bench.stamp
	@$(BIN)/python -m tests.benchmarks.run $(WHAT)

lint: venv $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A .venv of another version, broken, or without pip is made anew.
venv:
	@if test "`$(BIN)/python -c 'import pip' 2>/dev/null && $(BIN)/python $(VERSION_OF)`" \
	    != "`$(PYTHON) $(VERSION_OF) 2>/dev/null`" || ! test -x $(BIN)/python; then \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "cannot use $(PYTHON): heartbeat needs Python 3.11 or later;" \
	      "name one, such as: PYTHON=python3.12 make test" >&2; exit 1; }; \
	  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "cannot make $(VENV): $(PYTHON) comes without venv;" \
	      "on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }; \
	  echo "making $(VENV) with $(PYTHON)"; \
	  rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); \
	fi

# The stamps say for which pyproject.toml the packages were installed; -qq leaves only errors to be seen.
# pip first: dependency groups need 25.1 (Debian 12 has 23), and the script that an older one writes for the command
# imports `re`, which costs `heartbeat health` a third of its time.
$(VENV)/runtime.stamp: pyproject.toml
	@echo "installing heartbeat into $(VENV)"
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/runtime.stamp
	@echo "installing what the tests need into $(VENV)"
	@$(PIP) install --group dev
	@touch $@

# The peers that the benchmarks measure heartbeat beside; nothing else needs them.
$(VENV)/bench.stamp: $(VENV)/dev.stamp
	@echo "installing what the benchmarks need into $(VENV)"
	@$(PIP) install --group bench
	@touch $@
