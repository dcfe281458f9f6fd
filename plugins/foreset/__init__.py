"""Datalog views over Delta tables, refreshed exactly every night."""
