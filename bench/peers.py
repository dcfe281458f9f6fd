"""What others do to keep a view true: compute all of it anew, and write it."""

from __future__ import annotations

import time

import duckdb
from bench.worlds import World, fingerprint
from deltalake import DeltaTable, write_deltalake


def duckdb_recompute(world: World, root: str) -> float:
    """Seconds that DuckDB takes for the view's SQL over the same tables, and deltalake to write the result."""
    started = time.monotonic()
    with duckdb.connect() as connection:
        for name in world.tables:
            connection.read_parquet(DeltaTable(f"{root}/raw/{name}").file_uris()).create_view(name)
        rows = connection.sql(world.query).to_arrow_table()
    write_deltalake(f"{root}/peer/{world.view}", rows, mode="overwrite")
    seconds = time.monotonic() - started
    expected = world.expected(root)
    if fingerprint(rows) != expected:
        raise SystemExit(f"{world.name}: DuckDB has {fingerprint(rows)}, expected {expected}")
    return seconds
