# Every target sets up what it needs by itself; a second call finds it there. Only Python 3.11 or newer is needed.
#   make demo                 the example pipeline on Spark, from nothing
#   make test ARGS="-k name"  all suites, or a choice
#   make lint                 style, types and the import rules, of Python and of the page
#   make bench NAME=x         one benchmark, or all of them
#   make chaos SEEDS=n        the fault matrix with real processes, each fault n times
#   make fuzz SEEDS=n FIRST=m n random trees of flows on Spark from seed m on, each compared with a straight evaluation
#   make fuzz KIND=incremental SEEDS=n   random queries kept up to date on Spark, each compared with computing everything
#   make bare                 `make demo` as a stranger has it: fresh clone, no Java or Node, empty HOME
#   make setup | lock | wheel | clean

ifeq ($(origin PYTHON), undefined)
PYTHON := $(shell for name in python3.11 python3.12 python3.13 python3; do \
    $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$name; exit; }; \
    done; echo python3)
endif
BOOTSTRAP := $(PYTHON) scripts/bootstrap.py
BIN := .venv/bin

NAME ?= all
SEEDS ?= 1
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test setup lint bench chaos fuzz bare lock clean wheel

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | sed '/^$$/q'

demo:
	@$(BOOTSTRAP) demo server page
	@$(BIN)/pondage demo

test:
	@$(BOOTSTRAP) dev page
	@$(BIN)/python -m scripts.packages
	@$(BIN)/python scripts/test.py $(ARGS)

setup:
	@$(BOOTSTRAP) demo dev page

lint:
	@$(BOOTSTRAP) dev page
	@$(BIN)/python scripts/lint.py

bench:
	@$(BOOTSTRAP) dev
	@$(BIN)/python -m benchmarks.run $(NAME)

chaos:
	@$(BOOTSTRAP) dev
	@$(BIN)/python -m tests.chaos --seeds $(SEEDS) $(ARGS)

fuzz: KIND = flows
fuzz: SEEDS = 600
fuzz: FIRST = 0
FUZZ_flows := tests/spark/flows/test_random_flows.py
FUZZ_incremental := tests/spark/incremental/test_random_queries.py
fuzz:
	@$(BOOTSTRAP) dev
	@PONDAGE_FUZZ_SEEDS=$(SEEDS) PONDAGE_FUZZ_FIRST=$(FIRST) $(BIN)/python -m pytest -q $(FUZZ_$(KIND)) $(ARGS)

bare:
	@$(PYTHON) scripts/bare.py

lock:
	@$(PYTHON) scripts/lock.py $(ARGS)

wheel:
	@$(BOOTSTRAP) build page
	@$(BIN)/python -m hatchling build --target wheel

clean:
	@$(PYTHON) scripts/clean.py
