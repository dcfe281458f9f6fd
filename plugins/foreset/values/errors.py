"""The failure of one expression on one row."""

from __future__ import annotations


class Failure(Exception):
    """Division by zero, overflow, a bad cast: the text says which. It stops the refresh."""
