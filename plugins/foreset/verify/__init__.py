"""Recompute sampled rows from the sources, goal by goal, and compare: before anything is published.

Shares nothing with `maintain`: no rewriting, no steps, no engine.
"""
