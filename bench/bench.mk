# Benchmarks; ARGS goes to the program, such as ARGS="--case dag --only 'delete 1'".
.PHONY: bench-refresh
bench-refresh: setup
	@$(BIN)/python -m bench.refresh $(ARGS)

# Cost of aggregates as the base grows, such as ARGS="--sizes 10000,1000000 --engine spark".
.PHONY: bench-aggregates
bench-aggregates: setup
	@$(BIN)/python -m bench.aggregates $(ARGS)

# Deletions by StDel and by the others, and the space of supports, such as ARGS="--shapes dag --sizes small".
.PHONY: bench-stdel
bench-stdel: setup
	@$(BIN)/python -m bench.stdel $(ARGS)
