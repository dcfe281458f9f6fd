"""Is a declared inverse of an aggregate one? Counterexamples by samples, by a solver, and by long runs."""
