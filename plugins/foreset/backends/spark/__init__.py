"""Steps in Spark: DataFrames, classic or over Spark Connect."""
