"""A reader of steps that runs them in Spark: DataFrames, classic or over Spark Connect."""
