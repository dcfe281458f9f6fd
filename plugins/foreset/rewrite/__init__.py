"""Passes from program to program."""
