"""`make bench-refresh`: refreshes against a full recompute of the same change, in one session, on the same data.

    python -m bench.refresh [--case B1|B2|B4|B5|B6|B7|growth|join] [--scale full|medium|small]
                            [--only "delete 1"] [--engine spark] [--built-by spark] [--peer]

`make bench` (python -m bench.suite) measures all of it against peers, and says which targets are met.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench import machine, report
from bench.core import Bench, Line, Settings
from bench.peers.here import DuckDb
from bench.scales import GRAPHS, SCALES, worlds
from bench.worlds import World

from foreset.session import stop_server
from foreset.session.lazy import lazy_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULTS = Path(__file__).parent / "results"
CASES = sorted({*GRAPHS["small"], "B2", "B6"})
PEER_LIMIT = 600.0  # seconds for one result of a peer


@contextmanager
def place(spark: str | SparkSession, *, warm: bool) -> Iterator[tuple[str, SparkSession]]:
    """A warehouse of its own with a session, which is opened now or when it is first used."""
    with tempfile.TemporaryDirectory(prefix="foreset-bench-") as root, lazy_session(spark, root) as session:
        try:
            if warm:
                session.range(1).count()
            yield root, session
        finally:
            stop_server(root)


def run(given: argparse.Namespace, spark: str | SparkSession) -> list[Line]:
    """Run the cases, each in a warehouse and a session of its own."""
    found = worlds(given.scale, given.factor)
    lines = []
    for make in (make for case in given.case or CASES for make in found[case]):
        world: World = make()
        settings = Settings(given.engine, given.built_by or "", given.baseline, given.only)
        peers = [DuckDb(PEER_LIMIT)] if given.peer else []
        with place(spark, warm=given.scale != "small") as (root, session):
            for line in Bench(world, root, session, settings, peers).lines():
                print(report.plain(line), flush=True)
                lines.append(line)
    return lines


def some_of(text: str, known: Sequence[str]) -> Sequence[str]:
    """Names with commas between them, for a command line; all of them must be known."""
    names = text.split(",")
    if unknown := set(names) - set(known):
        message = f"no {', '.join(sorted(unknown))}; there are {', '.join(known)}"
        raise argparse.ArgumentTypeError(message)
    return names


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    engines = ("auto", "spark", "inproc")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=CASES, help="default: all")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--factor", type=float, help="the scale factor of TPC-H, if not that of the scale")
    parser.add_argument("--only", action="append", default=[], help="label of a change, such as `delete 10`")
    parser.add_argument("--baseline", choices=("each", "first", "none"), default="each", help="recompute which changes")
    parser.add_argument("--engine", choices=engines, default="auto", help="what runs the steps")
    parser.add_argument("--built-by", choices=engines, help="what runs the recompute (default: the same)")
    parser.add_argument("--peer", action="store_true", help="time DuckDB's recompute and deltalake's write as well")
    parser.add_argument("--spark", default="embedded", help="as FORESET_SPARK")
    parser.add_argument("--out", type=Path, default=None, help="folder for the report (default: bench/results)")
    parser.add_argument("--name", default="refresh", help="name of the report's files")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> list[Line]:
    """Run, print, keep."""
    given = options(arguments)
    machine.end_in_order()
    facts = {
        **machine.facts(),
        "scale": given.scale,
        "engine": given.engine,
        "recompute": given.built_by or given.engine,
    }
    lines = run(given, given.spark)
    out = given.out or (None if given.scale == "small" else RESULTS)
    text = f"# make bench-refresh\n\n{report.head(facts)}\n\n{report.tables(lines)}"
    print(text)
    if out:
        report.keep(out, given.name, text, report.data(lines, facts))
    return lines


if __name__ == "__main__":
    main()
