"""What runs the steps: on Spark, on DuckDB inside the job, and on Python sets."""
