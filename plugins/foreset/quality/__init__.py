"""Expectations on a staged result: checked by Great Expectations, told as plain facts.

Only `checker.py` imports Great Expectations, and only once there is something to check:
the import takes seconds.
"""
