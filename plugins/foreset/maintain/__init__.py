"""Strategies: how a stratum is brought up to date, as translations to steps."""
