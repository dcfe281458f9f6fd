"""What Foreset must show beside Spark, line by line: the target, what was measured, and whether it is met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from bench.core import FIRST, IDLE
from bench.targets import Judgement, verdict

if TYPE_CHECKING:
    from bench.carried import Line

LEAST = {  # times faster than Spark's own overwrite, every step in Spark
    "TPC-H 1": {"mixed 0.1 %": 2.0, "mixed 1 %": 1.3, "mixed 10 %": 0.9},
    "TPC-H 10": {"mixed 0.1 %": 5.0, "mixed 1 %": 2.5, "mixed 10 %": 1.0},
}
FIRST_LOAD = 1.3  # times as long
READS = 1.2
MEMORY_MB = 8 << 10
ELSEWHERE = (
    ("cluster", "two workers and a Connect server: same rows, kills survived, within 1.3x of local[2]"),
    ("long run", "200 refreshes on one warm server: heap, blocks and sessions flat"),
)


def judged(lines: Sequence[Line]) -> list[Judgement]:
    """Every target, in the order of the table."""
    found: list[Judgement] = []
    for world, least in LEAST.items():
        those = _of(lines, world, "spark")
        found.append(
            _ratio(world, f"first load <= {FIRST_LOAD}x of Spark's own", _change(those, FIRST), 1 / FIRST_LOAD)
        )
        for change, times in least.items():
            found.append(_ratio(world, f"{change} >= {times:g}x faster than Spark", _change(those, change), times))
        found.append(_reads(world, those))
    auto = _of(lines, "TPC-H 10", "auto")
    found += [
        _ratio("TPC-H 10, auto", "first load no slower than Spark's own", _change(auto, FIRST), 1.0),
        _ratio("TPC-H 10, auto", "mixed 0.1 % >= 15x faster than Spark", _change(auto, "mixed 0.1 %"), 15.0),
        _memory("TPC-H 10, auto", auto),
        *_closures(lines),
        *_large(lines),
        _growth(lines),
    ]
    return found + [Judgement(name, target, "by its own command", "not measured") for name, target in ELSEWHERE]


def _of(lines: Iterable[Line], world: str, engine: str) -> list[Line]:
    return [line for line in lines if (line.world, line.engine) == (world, engine)]


def _change(lines: Iterable[Line], change: str) -> list[Line]:
    return [line for line in lines if line.change == change]


def _ratio(name: str, target: str, lines: Sequence[Line], least: float) -> Judgement:
    """Met where the other side takes so many times as long; one that died has not met it."""
    told, held = [], []
    for line in lines:
        if line.kept.seconds is None:
            told.append(f"{line.world} {line.change}: died: {line.kept.died}")
            held.append(False)
        elif line.ratio is None:
            told.append(f"{line.world} {line.change}: {line.kept.seconds:.1f} s, the other: {line.built.died}")
        else:
            told.append(f"{line.ratio:.2f}x ({line.kept.seconds:.1f} s beside {line.built.seconds:.1f} s)")
            held.append(line.ratio >= least)
    return Judgement(name, target, "; ".join(told), verdict(held))


def _reads(name: str, lines: Sequence[Line]) -> Judgement:
    found = [(line.change, *line.worst_read) for line in lines if line.worst_read and line.change != IDLE]
    told = ", ".join(f"{change}: {view} {ratio:.2f}x" for change, view, ratio in found)
    held = [ratio <= READS for _, _, ratio in found]
    return Judgement(name, f"rows read <= {READS}x of vanilla in every view", told, verdict(held))


def _memory(name: str, lines: Sequence[Line]) -> Judgement:
    peaks = {line.change: line.kept.cost.peak_mb for line in lines}
    told = ", ".join(f"{change} {peak:,} MB" for change, peak in peaks.items())
    return Judgement(name, "Python and JVM together < 8 GB", told, verdict([p < MEMORY_MB for p in peaks.values()]))


def _closures(lines: Sequence[Line]) -> Iterator[Judgement]:
    those = [line for line in lines if line.engine == "spark" and not line.world.startswith("TPC-H")]
    for world in dict.fromkeys(line.world for line in those):
        here = [line for line in those if line.world == world]
        edges = [line for line in here if line.change in ("insert 1", "delete 1")]
        name = f"closure, {world}"
        yield _ratio(name, "one edge >= 10x our recompute in Spark", edges, 10.0)
        rounds = [(line.run.phases.get("stratum", 0.0) / line.run.rounds, line) for line in edges
                  if line.run and line.run.rounds]  # fmt: skip
        told = ", ".join(f"{line.change} {each:.2f} s ({line.run and line.run.rounds} rounds)" for each, line in rounds)
        yield Judgement(name, "a round <= 0.4 s", told, verdict([each <= 0.4 for each, _ in rounds]))
        first = ", ".join(f"{line.kept.seconds} s" for line in _change(here, FIRST))
        yield Judgement(name, "first load <= 0.5x of 20 November", first, "compare" if first else "not measured")


def _large(lines: Sequence[Line]) -> Iterator[Judgement]:
    """In `auto`, a first load beside DuckDB's recompute with write, and its commit beside deltalake's write alone."""
    firsts = [line for line in _change(lines, FIRST) if line.engine == "auto" and line.kept.seconds is not None]
    beside = [(line, line.peers["DuckDB"].seconds) for line in firsts if "DuckDB" in line.peers]
    ratios = {line.world: line.kept.seconds / took for line, took in beside if took and line.kept.seconds}
    told = ", ".join(f"{world} {ratio:.2f}x" for world, ratio in ratios.items())
    yield Judgement(
        "auto", "first loads <= 3x DuckDB's recompute with write", told, verdict([r <= 3 for r in ratios.values()])
    )
    writes = {line.world: line.run.phases.get("commit", 0.0) / took for line in firsts
              if line.run and "write" in line.peers and (took := line.peers["write"].seconds)}  # fmt: skip
    told = ", ".join(f"{world} {ratio:.2f}x" for world, ratio in writes.items())
    yield Judgement(
        "auto", "a first load's commit <= 1.5x of deltalake's write", told, verdict([r <= 1.5 for r in writes.values()])
    )


def _growth(lines: Sequence[Line]) -> Judgement:
    those = [line for line in _change(lines, "mixed 0.1 %") if line.engine == "spark" and line.kept.seconds]
    told = ", ".join(
        f"{line.world} {1000 * (line.kept.seconds or 0) / (line.came + line.gone):.2f} ms" for line in those
    )
    return Judgement(
        "growth", "seconds per changed row, 0.1 % changed", told, "plotted" if len(those) > 1 else "not measured"
    )
