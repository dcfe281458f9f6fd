"""Where rows lie, and the one way to read them into Spark, DuckDB, Arrow and files, and to stage what comes of them."""
