# Foreset: everything starts here. Needs python3 (3.11 to 3.13), make and Java 17+; `setup` says how to get what is missing.
#
#   make setup       .venv from the locked requirements, Delta jars (skips what is up to date)
#   make test        setup, lint, every test
#   make test-fast   tests without a JVM and without Airflow
#   make test-tz     the same, twice, in processes whose time zone is not UTC
#   make lint        ruff, mypy, import-linter, vulture
#   make fuzz N=50000   random programs and nights against the reference
#   make fuzz-all PURE=2000 IN_PROCESS=500 SPARK=50   random programs on every reader, half of them with aggregates
#   make fuzz-check N=20000  specs with mutated rules: check, explain and test end in no internal error
#   make fuzz-spark N=500   the same through Delta tables, each fifth in Spark; all refresh cases with every strategy
#   make test-crash  kill -9 of refreshes at every point, five times each
#   make demo        a nightly refresh, a bulk load, a second refresh and a load that is stopped, through Airflow
#   make up          Airflow and Spark for this project, until Ctrl-C
#   make trigger GROUP=reach   refresh a group through that Airflow, and wait for its end
#   make cluster     a Spark cluster on this machine, until Ctrl-C
#   make test-cluster   refreshes on such a cluster, with parts of it killed (FORESET_SEEDS=5 FORESET_LONG=1 for more)
#   make test-airflow   every test against a live Airflow: kills, nights, loads
#   make bench       every benchmark with its peers, one report (ARGS="--only B1,B6 --scale small|medium|full")
#   make bench-spark   Foreset with every step in Spark beside Spark's own overwrite (ARGS="--factor 0.1,1,10 --engine auto")
#   make bench-choice    what `auto` chooses after ten nights, beside every way that there is (ARGS="--without-spark")
#   make bench-refresh   refreshes against recomputes of the same change alone (ARGS="--case B1 --scale medium")
#   make test-install  the wheel in fresh environments outside the repository, one for each extra (needs the index)
#   make lock        requirements.in -> requirements.txt

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
BIN := .venv/bin
N ?= 50000
ARGS ?=
WORKERS ?= 3

# Nothing of the caller's Python or Spark may leak in; spark-submit finds our Python by PATH.
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport PYTHONPATH PYTHONHOME SPARK_HOME VIRTUAL_ENV

.PHONY: help
help:
	@sed -n 's/^#   //p' Makefile

# ---------------------------------------------------------------------------- set up
.PHONY: setup lock
setup:
	@.ci/setup

lock: setup
	$(BIN)/uv pip compile requirements.in --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --custom-compile-command 'make lock' --output-file requirements.txt

# ---------------------------------------------------------------------------- check
.PHONY: lint test test-fast test-tz fuzz
lint: setup
	@.ci/lint

# A lint fault does not hide the tests: both run, side by side, and either fails the target. Of a whole run pytest has the last word.
# Each worker has one warm Spark session for its files. One more than two cores: what waits for Spark or Airflow leaves one free.
test: setup
	@.ci/lint & lint=$$!; tests=0; \
	    $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS) || tests=$$?; \
	    wait $$lint || tests=$$(( tests ? tests : 1 )); exit $$tests

test-fast: setup
	@$(BIN)/pytest -n auto -m "not spark and not airflow and not slow" $(ARGS)

test-tz: setup
	@for zone in America/New_York Asia/Kolkata; do \
	    TZ=$$zone $(BIN)/pytest -n auto -m "not spark and not airflow and not slow" $(ARGS); done

fuzz: setup
	@$(BIN)/python -m tests.property.fuzz --programs $(N)
	@FORESET_FUZZ=$(N) $(BIN)/pytest tests/property --hypothesis-profile=fuzz $(ARGS)

PURE ?= 2000
IN_PROCESS ?= 500
SPARK ?= 50
fuzz-all: setup
	@$(BIN)/python -m tests.property.fuzz --pure $(PURE) --in-process $(IN_PROCESS)
	@FORESET_FUZZ_SPARK=$(SPARK) FORESET_ENGINE=spark $(BIN)/python -m pytest tests/spark/test_random_refresh.py $(ARGS)

.PHONY: fuzz-all fuzz-check fuzz-spark test-crash test-install
fuzz-check: setup
	@$(BIN)/python -m tests.property.check_fuzz --specs $(N) $(ARGS)

fuzz-spark: setup
	@FORESET_LONG=1 FORESET_FUZZ_SPARK=$(N) $(BIN)/python -m pytest tests/spark/test_refresh_cases.py tests/spark/test_aggregates.py tests/spark/test_random_refresh.py tests/spark/test_far.py tests/spark/test_random_respecs.py $(ARGS)

test-install: setup
	@$(BIN)/python .ci/try_install.py $(ARGS)

test-crash: setup
	@FORESET_LONG=1 $(BIN)/python -m pytest tests/spark/test_crashes.py $(ARGS)

# ---------------------------------------------------------------------------- show
.PHONY: demo up trigger test-airflow
demo: setup
	@$(BIN)/python examples/demo.py $(ARGS)

up: setup
	@$(BIN)/foreset up $(ARGS)

GROUP ?= reach
trigger: setup
	@$(BIN)/foreset trigger $(GROUP) --wait $(ARGS)

test-airflow: setup
	@FORESET_LONG=1 $(BIN)/python -m pytest tests/airflow $(ARGS)

.PHONY: cluster test-cluster
cluster: setup
	@$(BIN)/python examples/cluster.py $(ARGS)

test-cluster: setup
	@FORESET_CLUSTER=1 $(BIN)/python -m pytest tests/cluster $(ARGS)

# ---------------------------------------------------------------------------- measure: targets bench, bench-*
-include bench/bench.mk
