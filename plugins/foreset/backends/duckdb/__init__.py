"""Steps on tables in DuckDB, inside the job and without Spark: for small changes."""
