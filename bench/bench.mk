# Benchmarks; ARGS goes to the program. All of them with peers, one report: ARGS="--only B1,B6 --scale small|medium|full"
.PHONY: bench
bench: setup
	@$(BIN)/python -m bench.suite $(ARGS)

# Foreset in Spark beside Spark's own overwrite; `make bench ARGS="--engine spark"` is the same. ARGS="--engine auto
# --factor 0.1,1 --world tpch,closures --only 'mixed 0.1 %'"; FORESET_SPARK_MEMORY and FORESET_SPARK_CORES hold for both.
.PHONY: bench-spark
bench-spark: setup
	@$(BIN)/python -m bench.beside_spark $(ARGS)

# Locks of the peers, which Foreset itself never installs.
.PHONY: bench-lock
bench-lock: setup
	$(BIN)/uv pip compile bench/requirements-peers.in --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --custom-compile-command 'make bench-lock' --output-file bench/requirements-peers.txt
	cd bench && npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts

# Refreshes against our own recompute alone, such as ARGS="--case B1 --only 'delete 1'".
.PHONY: bench-refresh
bench-refresh: setup
	@$(BIN)/python -m bench.refresh $(ARGS)

# What `auto` chooses after ten nights, beside every way that there is, such as ARGS="--rows 20000,2000000".
.PHONY: bench-choice
bench-choice: setup
	@$(BIN)/python -m bench.choice $(ARGS)

# Cost of aggregates as the base grows, such as ARGS="--sizes 10000,1000000 --engine spark".
.PHONY: bench-aggregates
bench-aggregates: setup
	@$(BIN)/python -m bench.aggregates $(ARGS)

# Deletions by StDel and by the others, and the space of supports, such as ARGS="--shapes dag --sizes small".
.PHONY: bench-stdel
bench-stdel: setup
	@$(BIN)/python -m bench.stdel $(ARGS)

# Refreshes on one warm Spark server, and what of each stays in its heap, such as ARGS="--refreshes 200".
.PHONY: bench-longrun
bench-longrun: setup
	@$(BIN)/python -m bench.longrun $(ARGS)
