"""What Foreset keeps on disk as JSON, typed: marks of phases, manifest rows, results; and their one codec."""
