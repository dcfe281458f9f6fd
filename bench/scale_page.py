"""Write the tables of docs/scale.md anew from what `make bench-spark` has kept.

    python -m bench.scale_page [bench/results/spark-DATE.json]

What stands between `<!-- table: NAME -->` and `<!-- end -->` is replaced; all else is written by hand.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench import carried, on_paper, report, spark_targets
from bench.carried import Line, Lines
from bench.core import IDLE
from bench.refresh import RESULTS

PAGE = RESULTS.parent.parent / "docs" / "scale.md"
_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def tables(found: Lines) -> Mapping[str, list[str]]:
    """Every table of the page by its name."""
    return {
        "run": textwrap.wrap(f"{report.head(found.facts)}; all of it: `bench/results/{found.name}.md`", 118),
        "targets": _table(
            ("", "target", "measured", ""),
            ((one.benchmark, one.target, one.measured, one.verdict) for one in spark_targets.judged(found.lines)),
        ),
        "lines": _table(
            ("data", "engine", "change", "rows changed", "Foreset s", "beside s", "ratio", "CPU s", "its", "peak MB",
             "its", "MB read", "its", "jobs", "its"),
            map(_cells, (line for line in found.lines if line.change != IDLE)),
        ),
        "growth": _table(
            ("data", "engine", "changed rows", "Foreset ms a row", "Spark ms a row", "Foreset KB a row",
             "Spark KB a row"),
            map(_growth, (line for line in found.lines if line.change == "mixed 0.1 %" and line.kept.seconds)),
        ),
        "paper": _paper(found.lines),
    }  # fmt: skip


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    found = [report.row(row) for row in rows]
    return [report.row(head), report.row(["---"] * len(head)), *found] if found else ["Not measured yet."]


def _cells(line: Line) -> tuple[str, ...]:
    kept, built = line.kept, line.built
    pairs = [(one.cost.cpu_s, one.cost.peak_mb, one.cost.read_mb, one.counts.jobs) for one in (kept, built)]
    costs = [f"{value:,.0f}" for pair in zip(*pairs, strict=True) for value in pair]
    seconds = (carried.seconds(kept), carried.seconds(built))
    return (
        line.world, line.engine, line.change, f"{line.came + line.gone:,}", *seconds, report.times(line.ratio), *costs
    )  # fmt: skip


def _growth(line: Line) -> tuple[str, ...]:
    own, other = on_paper.per_row(line, line.kept), on_paper.per_row(line, line.built)
    told = [f"{value:.3g}" for pair in zip(own, other, strict=True) for value in pair]
    return line.world, line.engine, f"{line.came + line.gone:,}", *told


def _paper(lines: Sequence[Line]) -> list[str]:
    found = on_paper.carried(lines)
    head = ("change", "measured at", "Foreset: CPU hours", "GB read", "seconds, of them in one process",
            "Spark: CPU hours", "seconds", "ratio")  # fmt: skip
    rows = []
    for one in found:
        own, other = one.seconds
        rows.append((
            one.change, ", ".join(f"{scale:g}" for scale, _ in one.own.points),
            f"{one.own.at(on_paper.SCALE) / 3600:.1f}", f"{one.read.at(on_paper.SCALE) / 1024:,.0f}",
            f"{own:,.0f}, {one.alone.at(on_paper.SCALE):,.0f}", f"{one.other.at(on_paper.SCALE) / 3600:.1f}",
            f"{other:,.0f}", f"{other / own:.1f}x",
        ))  # fmt: skip
    return _table(head, rows)


def filled(page: str, found: Mapping[str, Sequence[str]]) -> str:
    """The page with these tables; a name that the page has and nobody fills is an error."""
    return _PLACE.sub(lambda place: f"{place[1]}{chr(10).join(found[place[2]])}\n{place[3]}", page)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill the page from one report, by default the newest."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    path = Path(given[0]) if given else max(RESULTS.glob("spark-*.json"))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tables(Lines.read(path))), encoding="utf-8")
    print(f"{PAGE.name}: filled from {path.name}")


if __name__ == "__main__":
    main()
