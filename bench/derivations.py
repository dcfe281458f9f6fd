"""How many derivations each strategy fires for one deleted edge, on average: the table of docs/adr/0004.

Counts, not seconds, in the plain Python reader: the same on every machine.
Run: python bench/derivations.py
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text
from foreset.testing.replica import Delta, Replica
from foreset.testing.run import chooser

SPEC = """group: reach
sources:
  edge: {table: raw/edge, columns: {src: string, dst: string}}
views:
  closure:
    columns: {src: string, dst: string}
    rules: ["closure(X, Y) :- edge(X, Y)", "closure(X, Y) :- edge(X, Z), closure(Z, Y)"]
"""
NODES, TRIES = 100, 5
Edges = list[tuple[str, str]]


def graphs() -> Iterator[tuple[str, Edges]]:
    """A tree, an acyclic graph and a cyclic one, always the same."""
    rng = random.Random(1)
    yield "tree", [(f"n{i}", f"n{rng.randrange(i)}") for i in range(1, NODES)]
    pairs = [(rng.randrange(NODES), rng.randrange(NODES)) for _ in range(2 * NODES)]
    yield "acyclic", sorted({(f"n{max(pair)}", f"n{min(pair)}") for pair in pairs if pair[0] != pair[1]})
    yield "cyclic", sorted({(f"n{rng.randrange(NODES)}", f"n{rng.randrange(NODES)}") for _ in range(3 * NODES)})


def main() -> None:
    """Print one line per graph and strategy."""
    found = prepare(load_text(SPEC).program)
    for title, edges in graphs():
        loaded = Replica(found.program, found.layering)
        loaded.refresh({"edge": Delta(frozenset(edges))})
        rows = len(loaded.contents["closure"])
        for strategy in ("dred", "dredc", "recompute"):
            fired = [derivations(loaded, edge, strategy) for edge in edges[:: len(edges) // TRIES][:TRIES]]
            print(f"{title:<8} {rows:>6,} rows  {strategy:<10} {sum(fired) / TRIES:>9,.0f} derivations")


def derivations(loaded: Replica, edge: tuple[str, str], strategy: str) -> int:
    """What it takes to delete one edge."""
    replica = replace(loaded, contents=dict(loaded.contents), counters=dict(loaded.counters))
    _, done = replica.refresh({"edge": Delta(frozenset(), frozenset([edge]))}, chooser(strategy))
    return done[1].work.derivations


if __name__ == "__main__":
    main()
