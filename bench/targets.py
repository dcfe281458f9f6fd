"""What a benchmark must show, line by line: the target, what was measured, and whether it is met."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench import instances
from bench.core import FIRST, IDLE, Line
from bench.peers import own
from bench.strata import Line as Strata

FIFTY, CHAIN, ONE = "all 50", "chain of 10", "one view"
MEMORY_MB = 6 << 10


@dataclass(frozen=True, slots=True)
class Judgement:
    """One target of the table."""

    benchmark: str
    target: str
    measured: str
    verdict: str  # met | not met | in part | not measured


@dataclass(slots=True)
class Results:
    """All that was measured, by benchmark."""

    lines: Mapping[str, Sequence[Line]] = field(default_factory=dict)
    instances: Sequence[Strata] = ()

    def of(self, benchmark: str, case: str = "", change: str = "") -> list[Line]:
        """Lines of changes whose world and label begin so."""
        return [
            line
            for line in self.lines.get(benchmark, ())
            if line.case.startswith(case) and line.change.startswith(change) and line.change not in (FIRST, IDLE)
        ]


Ratio = Callable[[Line], float | None]


def judged(found: Results) -> list[Judgement]:
    """Every target, in the order of the table."""
    return [
        _each("B1", "insert >= 20x own recompute", found.of("B1", change="insert"), _own, 20),
        _each("B1", "delete >= 20x own recompute on the layered DAG", found.of("B1", "dag", "delete"), _own, 20),
        _each("B1", "delete >= 5x own recompute in the giant component", found.of("B1", "digraph", "delete"), _own, 5),
        *_in_spark(found),
        _each("B1", "one edge faster than DuckDB's recompute + write", _single_edges(found), _of("DuckDB"), 1),
        _each("B2", "day 2 and single packages >= 20x own recompute", found.of("B2"), _own, 20),
        _each("B2", "day 2 and single packages >= 2x DuckDB's recompute + write", found.of("B2"), _of("DuckDB"), 2),
        _work(found.instances),
        _each("B5", ">= 10x own recompute", found.of("B5"), _own, 10),
        *(
            _each("B6", f"mixed {share} >= {least}x Spark's recompute", found.of("B6", change=f"mixed {share}"),
                  _of("Spark"), least)
            for share, least in (("0.1 %", 10), ("1 %", 4), ("10 %", 1))
        ),
        _each("B6", "mixed 0.1 % >= 1x DuckDB's recompute + write", found.of("B6", change="mixed 0.1 %"),
              _of("DuckDB"), 1),
        _reads(found.of("B6")),
        *_views(found),
        _growth(found.lines.get("growth", ())),
        _memory([line for lines in found.lines.values() for line in lines]),
    ]  # fmt: skip


def _in_spark(found: Results) -> Iterable[Judgement]:
    """The same ratios beside our own recompute with its steps in Spark, of which a world has one."""
    for benchmark, what, lines, least in (
        ("B1", "insert", found.of("B1", change="insert"), 20),
        ("B1", "delete, layered DAG,", found.of("B1", "dag", "delete"), 20),
        ("B1", "delete, giant component,", found.of("B1", "digraph", "delete"), 5),
        ("B2", "day 2 and single packages", found.of("B2"), 20),
        ("B5", "leaves", found.of("B5"), 10),
    ):
        took = {line.case: one.seconds for line in found.of(benchmark) if (one := line.peers.get(own.NAME))
                and one.seconds is not None}  # fmt: skip

        def ratio(line: Line, took: Mapping[str, float] = took) -> float | None:
            return took[line.case] / line.kept.seconds if line.case in took else None

        yield _each(benchmark, f"{what} >= {least}x own recompute in Spark", lines, ratio, least)


def _own(line: Line) -> float | None:
    return line.ratio


def _of(peer: str) -> Ratio:
    return lambda line: line.against(peer)


def _single_edges(found: Results) -> list[Line]:
    return [line for line in found.of("B1") if line.change in ("insert 1", "delete 1")]


def _each(benchmark: str, target: str, lines: Iterable[Line], ratio: Ratio, least: float) -> Judgement:
    """Every line for itself; met when all are."""
    found = [(f"{line.case} {line.change}", value) for line in lines if (value := ratio(line)) is not None]
    text = ", ".join(f"{name} {value:.1f}x" for name, value in found)
    return Judgement(benchmark, target, text, verdict([value >= least for _, value in found]))


def verdict(held: Sequence[bool]) -> str:
    if not held:
        return "not measured"
    return "met" if all(held) else "in part" if any(held) else "not met"


def _work(lines: Sequence[Strata]) -> Judgement:
    ratios = instances.ratios(list(lines), instances.CLIQUE)
    text = ", ".join(f"clique of {size}, {gone} deleted {ratio:.0f}x" for (size, gone), ratio in ratios.items())
    target = "dredc >= 10x fewer rule instances than dred on cliques"
    return Judgement("B4", target, text, verdict([ratio >= 10 for ratio in ratios.values()]))


def _reads(lines: Iterable[Line]) -> Judgement:
    """The worst refresh of each view: rows read for each row that its query has to read."""
    worst: dict[str, float] = {}
    for line in lines:
        for view, rows in line.vanilla.items():
            worst[view] = max(worst.get(view, 0.0), line.kept.reads.get(view, 0) / max(1, rows))
    text = ", ".join(f"{view} {ratio:.2f}x" for view, ratio in worst.items())
    held = [ratio <= 1.2 for ratio in worst.values()]
    return Judgement("B6", "rows read <= 1.2x of vanilla in every view", text, verdict(held))


def _views(found: Results) -> Iterable[Judgement]:
    by = {line.change: line.kept.seconds for line in found.lines.get("B7", ())}
    idle, one, chain, fifty = (by.get(name) for name in (IDLE, ONE, CHAIN, FIFTY))
    yield _one("no-op <= 2 s in all", idle, 2.0, "s")
    views = len(next((line.vanilla for line in found.lines.get("B7", ())), {}))
    each = (fifty - idle) / views if fifty is not None and idle is not None and views else None
    yield _one("fixed cost <= 0.3 s per touched view", each, 0.3, f"s each, from {IDLE} to all {views} views")
    yield _one("chain of 10 <= 2x one view", chain / one if chain and one else None, 2.0, "x")


def _one(target: str, value: float | None, most: float, unit: str) -> Judgement:
    text = "" if value is None else f"{value:.2f} {unit}"
    return Judgement("B7", target, text, verdict([] if value is None else [value <= most]))


def _growth(lines: Sequence[Line]) -> Judgement:
    seconds = {line.case: line.kept.seconds for line in lines if line.change not in (FIRST, IDLE)}
    ends = list(seconds.values())
    text = ", ".join(f"{case} {value:.2f} s" for case, value in seconds.items())
    held = [ends[-1] <= 1.5 * ends[0]] if len(ends) > 1 else []
    told = f"{text}: {ends[-1] / ends[0]:.2f}x" if held else text
    return Judgement("growth", "a fixed change from the least to the largest base <= 1.5x", told, verdict(held))


def _memory(lines: Sequence[Line]) -> Judgement:
    most = max(lines, key=lambda line: line.kept.peak_mb, default=None)
    target = "driver + JVM < 6 GB"
    if most is None:
        return Judgement("memory", target, "", "not measured")
    text = f"{most.kept.peak_mb:,} MB ({most.case}, {most.change})"
    return Judgement("memory", target, text, verdict([most.kept.peak_mb < MEMORY_MB]))
