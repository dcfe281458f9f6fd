"""Bars of seconds as plain SVG; every number of a chart also stands in the table below it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

LABEL, WIDE, THICK, GAP = 230, 560, 11, 10  # pixels: room for labels, the longest bar, a bar, between groups
COLOURS = ("#1b6ca8", "#9fb8c8", "#d98e04", "#b5532a", "#8a5a9e", "#5b8c5a", "#777777", "#c2a878", "#3f7f8c")
Group = tuple[str, Mapping[str, float]]


def bars(title: str, groups: Sequence[Group]) -> str:
    """A group of horizontal bars for each label; lengths are logarithmic, from a hundredth of a second."""
    names = list(dict.fromkeys(name for _, values in groups for name in values))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    most = max((value for _, values in groups for value in values.values()), default=1.0)
    parts, y = _legend(title, colours), 46
    for label, values in groups:
        middle = y + len(values) * THICK / 2 + 4
        parts.append(f'<text x="{LABEL - 8}" y="{middle:.0f}" text-anchor="end">{escape(label)}</text>')
        for name, value in values.items():
            parts.append(_bar(y, _length(value, most), colours[name], f"{name}: {value:.2f} s"))
            y += THICK
        y += GAP
    size = f'width="{LABEL + WIDE + 90}" height="{y}" viewBox="0 0 {LABEL + WIDE + 90} {y}"'
    style = 'font-family="sans-serif" font-size="11"'
    back = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>', back, *parts, "</svg>", ""])


def _legend(title: str, colours: Mapping[str, str]) -> list[str]:
    parts = [f'<text x="8" y="16" font-size="13" font-weight="bold">{escape(title)}</text>']
    x = 8
    for name, colour in colours.items():
        parts.append(f'<rect x="{x}" y="25" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="34">{escape(name)}</text>')
        x += 24 + 7 * len(name)
    return parts


def _bar(y: float, length: float, colour: str, told: str) -> str:
    said = told.partition(": ")[2]
    return (
        f'<rect x="{LABEL}" y="{y}" width="{length:.1f}" height="{THICK - 2}" fill="{colour}"><title>{escape(told)}'
        f'</title></rect><text x="{LABEL + length + 4:.1f}" y="{y + THICK - 3}" font-size="9">{said}</text>'
    )


def _length(seconds: float, most: float) -> float:
    least = 0.01
    if seconds <= least or most <= least:
        return 1.0
    return max(1.0, WIDE * math.log(seconds / least) / math.log(most / least))
