"""The way of one refresh through the rooms, drawn from its table in docs/ARCHITECTURE.md: `docs/img/walk.svg`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROW = re.compile(r"^\| (\d+) \| `([\w/]+\.py)`: `([\w.]+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)
LANE, STEP, TOP, TEXTS, MARGIN = 82.0, 44.0, 44.0, 470.0, 20.0


@dataclass(frozen=True, slots=True)
class Station:
    """A line of the table."""

    number: int
    file: str
    function: str
    does: str
    hands: str

    @property
    def room(self) -> str:
        """The package."""
        return self.file.split("/")[0].removesuffix(".py")


def stations() -> tuple[Station, ...]:
    """The lines of the table, in order."""
    text = (ROOT / "docs/ARCHITECTURE.md").read_text(encoding="utf-8")
    found = [Station(int(number), *rest) for number, *rest in ROW.findall(text)]
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    return tuple(found)


def rooms(way: tuple[Station, ...]) -> list[str]:
    """The packages on the way, from the highest layer to the lowest."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (one["layers"] for one in settings["tool"]["importlinter"]["contracts"] if one["id"] == "layers")
    order = [name for layer in layers for name in re.findall(r"\w+", layer)]
    return sorted({one.room for one in way}, key=order.index)


STYLE = """
:root { color-scheme: light dark; --paper: #fdfcfa; --ink: #1d1c1a; --soft: #5c5953; --line: #dedad3; --way: #0067a5; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15171a; --ink: #e9e6e0; --soft: #a9a59d; --line: #363a40; --way: #62b4ea; }
}
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: var(--ink); }
.room { font-weight: 600; text-anchor: middle; } .hands { fill: var(--soft); font-size: 12px; }
.number { font-size: 11px; font-weight: 600; text-anchor: middle; fill: var(--paper); }
.paper { fill: var(--paper); } .lane { stroke: var(--line); stroke-width: 1; }
.guide { stroke: var(--line); stroke-width: 1; stroke-dasharray: 1 4; }
.way { fill: none; stroke: var(--way); stroke-width: 3; stroke-linecap: round; } .stop { fill: var(--way); }
"""


def drawn() -> str:
    """A lane for each room, a stop for each station, and what happens there beside it."""
    way = stations()
    lanes = {room: LANE * (i + 0.5) for i, room in enumerate(rooms(way))}
    edge, bottom = LANE * len(lanes), TOP + STEP * len(way)
    at = [(lanes[one.room], TOP + STEP * (i + 0.5)) for i, one in enumerate(way)]
    curve = f"M{at[0][0]:g} {at[0][1]:g}" + "".join(
        f"V{y2:g}" if x1 == x2 else f"C{x1:g} {(y1 + y2) / 2:g} {x2:g} {(y1 + y2) / 2:g} {x2:g} {y2:g}"
        for (x1, y1), (x2, y2) in pairwise(at)
    )
    body = [f'<text class="room" x="{x:g}" y="16">{room}</text>'
            f'<path class="lane" d="M{x:g} 26V{bottom:g}"/>' for room, x in lanes.items()]  # fmt: skip
    body += [f'<path class="guide" d="M{x + 14:g} {y:g}H{edge + 4:g}"/>' for x, y in at]
    body.append(f'<path class="way" d="{curve}"/>')
    for (x, y), one in zip(at, way, strict=True):
        body.append(
            f'<circle class="stop" cx="{x:g}" cy="{y:g}" r="10"/>'
            f'<text class="number" x="{x:g}" y="{y + 4:g}">{one.number}</text>'
            f'<text x="{edge + 12:g}" y="{y - 2:g}">{_plain(one.does)}</text>'
            f'<text class="hands" x="{edge + 12:g}" y="{y + 14:g}">hands on {_plain(one.hands)}</text>'
        )
    width, height = edge + TEXTS + 2 * MARGIN, bottom + 2 * MARGIN
    size = f'width="{width:g}" height="{height:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN:g} {-MARGIN:g} {width:g} {height:g}" {size}'
        ' role="img" aria-label="The way of one refresh through the packages">\n'
        f'<style>{STYLE}</style>\n<rect class="paper" x="{-MARGIN:g}" y="{-MARGIN:g}" {size}/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _plain(text: str) -> str:
    return escape(text.replace("`", ""))
