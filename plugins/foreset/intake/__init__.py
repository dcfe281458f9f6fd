"""Own files become Delta tables: what `foreset import` does, without Spark."""
