"""The DuckDB of strata and of looks: what is wrong in the pinned version is switched off."""

from __future__ import annotations

import duckdb
import pytest

from foreset.backends.duckdb.database import connect
from foreset.store.scratch import UNSOUND, opened

# Rederivation of two rules with like bodies: each part must take its own columns.
EDGES = "(1.1, 3), (2, 1), (3, 4), (4, 2), (4, 0), (3, 3)"
GONE = "(2, 1), (3, 3), (4, 0), (4, 2)"
NEW = "FROM edge r ANTI JOIN gone g ON r.a IS NOT DISTINCT FROM g.a AND r.b IS NOT DISTINCT FROM g.b"
NEXT = "JOIN edge r ON l.y = r.a ANTI JOIN gone g ON r.a IS NOT DISTINCT FROM g.a AND r.b IS NOT DISTINCT FROM g.b"
FIRST = f"SELECT l.x FROM (SELECT r.a AS x, r.b AS y {NEW}) l {NEXT}"
SECOND = f"SELECT l.y FROM (SELECT r.b AS y {NEW}) l {NEXT}"
WANTED = "SEMI JOIN wanted w ON h.x IS NOT DISTINCT FROM w.x"
BOTH = f"SELECT h.x FROM ({FIRST}) h {WANTED} UNION ALL SELECT h.x FROM ({SECOND}) h(x) {WANTED}"


def answers(connection: duckdb.DuckDBPyConnection) -> list[float]:
    connection.execute(f"CREATE TEMP TABLE edge AS SELECT a::DOUBLE a, b::DOUBLE b FROM (VALUES {EDGES}) v(a, b)")
    connection.execute(f"CREATE TEMP TABLE gone AS SELECT a::DOUBLE a, b::DOUBLE b FROM (VALUES {GONE}) v(a, b)")
    connection.execute("CREATE TEMP TABLE wanted AS SELECT x::DOUBLE x FROM (VALUES (1.1), (2), (3), (4)) v(x)")
    return sorted(x for (x,) in connection.execute(BOTH).fetchall())


@pytest.mark.parametrize("make", [connect, opened], ids=["strata", "looks"])
def test_like_parts_of_a_statement_keep_their_columns(make) -> None:
    with make() as connection:
        assert answers(connection) == [1.1, 3.0]
        (named,) = connection.execute("SELECT current_setting('disabled_optimizers')").fetchone()
        assert UNSOUND in named


def test_the_pinned_version_still_needs_it() -> None:
    """When this fails, DuckDB has been mended: take the setting away."""
    with duckdb.connect() as connection:
        connection.execute("SET disabled_optimizers = 'join_order'")
        connection.execute("SET preserve_insertion_order = false")
        assert answers(connection) != [1.1, 3.0]
