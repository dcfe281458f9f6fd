"""Full evaluation as the semantics reads: what tests and `foreset test` judge by, and production never imports."""
