"""The unit tests in specs: run in memory, by the semantics and by every strategy."""
