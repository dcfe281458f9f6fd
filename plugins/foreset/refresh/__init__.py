"""One refresh, phase by phase; each leaves a mark in the run directory, so that a retry goes on from there."""
