"""Readers in plain Python sets: the oracle of the tests and the engine of `foreset test`."""
