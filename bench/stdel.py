"""What deletions cost by StDel, by the other strategies, and by a recompute; and what supports cost in space.

    python -m bench.stdel                             10^5 and 10^6 view rows, 1 to 1,000 deleted rows
    python -m bench.stdel --sizes small --deleted 1,100

Three shapes. `joins`: four views, each a join of the one below with a source, `l1(A, C) :- r1(A, B), r2(B, C)` and so
on, so that rows have many derivations. `dag`: the closure of a layered graph. `sparse`: one rule that joins four
sources, each eight times as large as the view. The in-process reader maintains all strata; its inputs are files, as in
a refresh, and what a refresh does around it (capture, verification, commit) is left out, as it is the same for all.
Every strategy must delete the same rows. CPU seconds are of all threads, and say more than seconds where a machine is
shared.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from bench.graphs import layered
from bench.machine import facts
from bench.strata import Line, Shape, World, measure, world

from foreset.ir.program import is_hidden

RESULTS = Path(__file__).resolve().parent / "results"
STRATEGIES = ("stdel", "dred", "dredf", "dredc", "counting", "recompute")
JOINS = """group: joins
sources: {{{sources}}}
views:
{views}"""
DAG = """group: dag
sources:
  edge: {{table: raw/edge, columns: {{src: bigint, dst: bigint}}}}
views:
  closure:
    columns: {{src: bigint, dst: bigint}}
    strategy: {strategy}
    rules: ["closure(X, Y) :- edge(X, Y)", "closure(X, Y) :- edge(X, Z), closure(Z, Y)"]
"""
SPARSE = """group: sparse
sources:
  r1: {{table: raw/r1, columns: {{a: bigint, b: bigint}}}}
  r2: {{table: raw/r2, columns: {{a: bigint, b: bigint}}}}
  r3: {{table: raw/r3, columns: {{a: bigint, b: bigint}}}}
  r4: {{table: raw/r4, columns: {{a: bigint, b: bigint}}}}
views:
  v:
    columns: {{a: bigint, b: bigint}}
    strategy: {strategy}
    rules: ["v(A, E) :- r1(A, B), r2(B, C), r3(C, D), r4(D, E)"]
"""
SIZES: dict[str, dict[str, Any]] = {
    "joins": {"small": 250, "large": 1000},
    "dag": {"small": (15, 40), "large": (20, 80)},
    "sparse": {"small": 800_000, "large": 4_000_000},
}


def joins_spec(strategy: str) -> str:
    """Four levels of joins."""
    sources = ", ".join(f"r{i}: {{table: raw/r{i}, columns: {{a: bigint, b: bigint}}}}" for i in range(1, 6))
    below = ["r1", "l1", "l2", "l3"]
    views = "".join(
        f"  l{i}:\n    columns: {{a: bigint, b: bigint}}\n    strategy: {strategy}\n"
        f'    rules: ["l{i}(A, C) :- {below[i - 1]}(A, B), r{i + 1}(B, C)"]\n'
        for i in range(1, 5)
    )
    return JOINS.format(sources=sources, views=views)


def joins_data(width: int) -> dict[str, pa.Table]:
    """Five bipartite graphs, each node with four edges."""
    rng = np.random.default_rng(1)
    return {
        f"r{i}": _edges({(node, int(to)) for node in range(width) for to in rng.choice(width, 4, replace=False)})
        for i in range(1, 6)
    }


def sparse_data(rows: int) -> dict[str, pa.Table]:
    """Keys and references, half of which find a key."""
    rng = np.random.default_rng(1)
    keys = np.arange(rows, dtype=np.int64)
    return {f"r{i}": pa.table({"c0": keys, "c1": rng.integers(0, 2 * rows, rows)}) for i in range(1, 5)}


def dag_data(shape: tuple[int, int]) -> dict[str, pa.Table]:
    """A layered graph, each node with three edges."""
    return {"edge": _edges(layered(*shape, 3).edges)}


def _edges(pairs: set[tuple[int, int]]) -> pa.Table:
    both = np.array(sorted(pairs), dtype=np.int64)
    return pa.table({"c0": both[:, 0], "c1": both[:, 1]})


SHAPES = {
    "joins": Shape("joins", joins_spec, joins_data, "stdel"),
    "dag": Shape("dag", lambda strategy: DAG.format(strategy=strategy), dag_data, "stdel-acyclic"),
    "sparse": Shape("sparse", lambda strategy: SPARSE.format(strategy=strategy), sparse_data, "stdel"),
}


def space(made: World, size: str) -> dict[str, Any]:
    """Rows and bytes (Parquet, zstd) for each row of the views."""
    rows = sum(made.rows[name] for name in made.views)
    supports = [name for name in made.rows if is_hidden(name)]
    counters = [name for name in made.rows if name.endswith(".counters")]

    def per_row(names: Sequence[str], what: Mapping[str, int]) -> float:
        return round(sum(what[name] for name in names) / rows, 2)

    return {"shape": made.shape, "size": size, "view_rows": rows, "view_bytes": per_row(made.views, made.bytes),
            "supports": per_row(supports, made.rows), "support_bytes": per_row(supports, made.bytes),
            "counter_bytes": per_row(counters, made.bytes)}  # fmt: skip


def table(lines: Sequence[Line], spaces: Sequence[Mapping[str, Any]]) -> str:
    """As text: how often StDel goes into each of the others, and the space for each row."""
    stdel = {(one.shape, one.size, one.deleted): one.cpu for one in lines if one.strategy == "stdel"}
    text = ["shape  size    deleted strategy    seconds   cpu s  cpu/stdel       gone  over-deleted"]
    for one in lines:
        own = stdel.get((one.shape, one.size, one.deleted))
        ratio = f"{one.cpu / own:9.1f}x" if own else ""
        what = f"{one.shape:<6} {one.size:<6} {one.deleted:>8,} {one.strategy:<10}"
        text.append(f"{what} {one.seconds:>8.2f} {one.cpu:>7.2f} {ratio:>10} {one.gone:>10,} {one.overdeleted:>13,}")
    text += [
        f"{one['shape']} {one['size']}: {one['view_rows']:,} view rows of {one['view_bytes']} bytes each; for each "
        f"{one['supports']} supports of {one['support_bytes']} bytes together; counters {one['counter_bytes']} bytes"
        for one in spaces
    ]
    return "\n".join(text)


def main() -> None:
    """Parse arguments, measure, print and keep the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="joins,dag,sparse")
    parser.add_argument("--sizes", default="small,large")
    parser.add_argument("--deleted", default="1,10,100,1000")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    about, lines, spaces = facts(), list[Line](), list[dict[str, Any]]()
    for shape in options.shapes.split(","):
        for size in options.sizes.split(","):
            with tempfile.TemporaryDirectory(prefix="foreset-bench-") as folder:
                made = world(SHAPES[shape], SIZES[shape][size], Path(folder))
                spaces.append(space(made, size))
                print(spaces[-1], flush=True)
                for deleted in map(int, options.deleted.split(",")):
                    for line in measure(made, STRATEGIES, size, deleted, options.repeat):
                        lines.append(line)
                        print(table([line], []).splitlines()[1], flush=True)
                    keep(lines, spaces, about, options.out)
    print(table(lines, spaces))


def keep(lines: Sequence[Line], spaces: Sequence[Mapping[str, Any]], about: Mapping[str, Any], folder: Path) -> None:
    """Write what is known so far: a long run that is cut leaves its lines behind."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"stdel-inproc-{about['date']}.json"
    kept = {"machine": about, "lines": [asdict(one) for one in lines], "space": spaces}
    path.write_text(json.dumps(kept, indent=1) + "\n")
    path.with_suffix(".txt").write_text(table(lines, spaces) + "\n")


if __name__ == "__main__":
    main()
