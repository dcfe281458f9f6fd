"""A reader of steps for small differentials: tables in DuckDB, inside the job, without Spark."""
