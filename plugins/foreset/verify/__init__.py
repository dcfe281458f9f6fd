"""Recompute sampled rows from the sources, goal by goal, and compare: before anything is published.

Shares nothing with what it judges: no rewriting, no steps, no backend. Contracts in pyproject.toml hold that.
"""
