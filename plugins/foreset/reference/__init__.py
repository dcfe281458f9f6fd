"""Full evaluation in plain Python sets, and what is found by it: the oracle."""
