# Benchmarks; ARGS goes to the program, such as ARGS="--case dag --only 'delete 1'".
.PHONY: bench-refresh
bench-refresh: setup
	@$(BIN)/python -m bench.refresh $(ARGS)
