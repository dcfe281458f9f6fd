"""A reader in a process of its own: reads all views of a group again and again, and tells of mixed states.

    python -m tests.spark.reader WAREHOUSE GROUP READS

Every row carries the generation of its source, so two generations in one reading are a mixture. A
reading resolves the manifest once (a snapshot), or asks for each view at one seq, or reads a view alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import foreset
from foreset.store import manifest

GENERATION = "gen"
GENERATIONS = 3  # that must have been seen, however slow the refreshes are
TELL = 250  # readings between two lines of progress


def main() -> int:
    """Read until it is enough, or until the writer says that it has stopped."""
    root, group, reads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    wh = foreset.open(root, "")
    seen: set[int] = set()
    mixed: list[object] = []
    done = 0
    while (done < reads or len(seen) < GENERATIONS) and not Path(root, "stop").exists():
        if done % 3 < 2:
            with foreset.open_snapshot(root, group, lease=done % 3 == 0) as snapshot:
                tables = {view: snapshot.arrow(view) for view in snapshot.views}
        else:
            row = manifest.newest(root, group)
            assert row is not None
            tables = {view: wh.read(f"{group}.{view}", at=row.seq) for view in row.views}
        found = {view: sorted(set(rows.column(GENERATION).to_pylist())) for view, rows in tables.items()}
        sizes = {view: rows.num_rows for view, rows in tables.items()}
        every = {generation for generations in found.values() for generation in generations}
        # So many rows has each view in each generation: a row of another one, or one too few, shows too.
        whole = len(every) == 1 and all(sizes[view] == expected(view, *every) for view in sizes)
        if not whole:
            mixed.append({"generations": found, "rows": sizes})
        seen |= every
        done += 1
        if not done % TELL:
            print(f"{done} readings of {len(seen)} generations, {len(mixed)} mixed", file=sys.stderr, flush=True)
    print(json.dumps({"reads": done, "mixed": mixed[:3], "wrong": len(mixed), "generations": len(seen)}))
    return 0


def expected(view: str, generation: int) -> int:
    """How many rows a view has in a generation."""
    keys = 20 + generation % 7
    return {"every": keys, "pairs": keys * (keys - 1) // 2, "last": 1}[view]


if __name__ == "__main__":
    sys.exit(main())
