"""Fixpoints of linear recursion as rows of bits: who needs whom, level by level, in memory; for `Spread`."""
