"""How costs grow with the source: seconds and bytes for each changed row, over scale factors, both logarithmic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.carried import Line, Side

WIDE, HIGH, LEFT, TOP, APART = 300, 220, 70, 40, 110
CHANGE = "mixed 0.1 %"
COLOURS = {"Foreset, spark": "#1b6ca8", "Foreset, auto": "#5b8c5a", "Spark": "#d98e04"}
Points = dict[str, list[tuple[float, float]]]


def growth(lines: Sequence[Line]) -> str:
    """Two charts beside each other."""
    those = [line for line in lines if line.change == CHANGE and line.world.startswith("TPC-H")]
    plots = [
        chart("ms for each changed row", points(those, lambda side: 1000 * (side.seconds or 0.0)), LEFT),
        chart("KB read for each changed row", points(those, lambda side: 1024 * side.cost.read_mb),
              LEFT + WIDE + APART),
    ]  # fmt: skip
    wide, high = 2 * (LEFT + WIDE) + APART, TOP + HIGH + 60
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, *plots, "</svg>", ""])


def points(lines: Sequence[Line], what: Callable[[Side], float]) -> Points:
    """By side: scale factor, and what a changed row costs."""
    found: Points = {}
    for line in sorted(lines, key=lambda line: float(line.world.removeprefix("TPC-H "))):
        scale, rows = float(line.world.removeprefix("TPC-H ")), max(1, line.came + line.gone)
        for name, side in ((f"Foreset, {line.engine}", line.kept), ("Spark", line.built)):
            if side.seconds is not None and (value := what(side)) > 0:
                found.setdefault(name, []).append((scale, value / rows))
    return {name: list(dict(those).items()) for name, those in found.items()}


def chart(title: str, found: Points, left: int) -> str:
    """Lines between points; every point bears its figure."""
    flat = [point for those in found.values() for point in those]
    parts = [f'<text x="{left}" y="20" font-weight="bold">{escape(title)}</text>']
    if not flat:
        return "\n".join([*parts, f'<text x="{left}" y="{TOP + 20}">not measured</text>'])
    across, up = _axis([x for x, _ in flat]), _axis([y for _, y in flat])
    parts.append(f'<path d="M{left},{TOP} V{TOP + HIGH} H{left + WIDE}" fill="none" stroke="#777"/>')
    for scale in sorted({x for x, _ in flat}):
        x = left + WIDE * _place(scale, across)
        parts.append(f'<text x="{x:.0f}" y="{TOP + HIGH + 16}" text-anchor="middle">TPC-H {scale:g}</text>')
    for number, (name, those) in enumerate(found.items()):
        colour = COLOURS.get(name, "#b5532a")
        at = [(left + WIDE * _place(x, across), TOP + HIGH * (1 - _place(y, up)), y) for x, y in those]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in at)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y, value in at:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
            parts.append(f'<text x="{x + 5:.1f}" y="{y - 5:.1f}" font-size="10" fill="{colour}">{value:.3g}</text>')
        parts.append(f'<text x="{left + 110 * number}" y="{TOP + HIGH + 36}" fill="{colour}">{escape(name)}</text>')
    return "\n".join(parts)


def _axis(values: Sequence[float]) -> tuple[float, float]:
    least, most = math.log(min(values)), math.log(max(values))
    return (least, most) if most - least > 0.1 else (least - 1, most + 1)


def _place(value: float, axis: tuple[float, float]) -> float:
    return (math.log(value) - axis[0]) / (axis[1] - axis[0])
