"""The picture of a group: sources at the left, views at the right, and a line from what is read to who reads it.

A pure function from a graph to SVG. It needs no script and no font of its own: on a page the sheet of the page
colours it (`RULES`, with the page's variables), and in a file of its own it carries both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from html import escape as as_markup

from foreset.explain.graph import ASKED, Graph, Kind, Node
from foreset.explain.placing import Box, Placed, Sizes, Trunk, place

LETTERS, TAIL = 24, 9  # of a name, and of its end; a longer one is shortened, and whole when pointed at
LETTER, EDGE, MARK = 7.7, 12.0, 18.0  # widths: a letter, the rim of a box, a mark in it
MARGIN = 14.0
LEGEND_LINE, LEGEND_WIDTH = 24.0, 420.0


class State(StrEnum):
    """What became of a node in a refresh."""

    CHANGED = "changed"
    SAME = "same"
    FAILED = "failed"
    WAITING = "waiting"  # not reached


@dataclass(frozen=True, slots=True)
class Tonight:
    """What a refresh did to a source or view."""

    state: State
    plus: int = 0
    minus: int = 0
    whole: bool = False  # read from end to end: nobody knows what came and went

    @property
    def words(self) -> str:
        """The same as text."""
        match self.state:
            case State.CHANGED if self.whole:
                return "read as a whole"
            case State.CHANGED:
                return " ".join(self.counts)
            case State.SAME:
                return "unchanged"
            case State.FAILED:
                return "failed"
            case State.WAITING:
                return "not reached"

    @property
    def counts(self) -> tuple[str, ...]:
        """Rows that came and rows that went, as far as any did."""
        signed = (("+", self.plus), ("\N{MINUS SIGN}", self.minus))
        return tuple(f"{sign}{count:,}" for sign, count in signed if count)


Changes = Mapping[str, Tonight]
Links = Mapping[str, str]

COLOURS = """
:root { color-scheme: light dark; --paper: #fdfcfa; --card: #ffffff; --ink: #1d1c1a; --soft: #5c5953;
  --line: #dedad3; --head: #f3f0ea; --bad: #ad3208; --bad-bg: #fbe9e2; --plus: #0067a5; --minus: #b8500a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15171a; --card: #1b1e22; --ink: #e9e6e0; --soft: #a9a59d; --line: #363a40; --head: #23272c;
    --bad: #ff936a; --bad-bg: #3c1d12; --plus: #62b4ea; --minus: #f0945a; }
}"""
RULES = """
.picture { display: block; font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.picture .paper { fill: var(--paper); }
.picture .box rect { fill: var(--card); stroke: var(--soft); stroke-width: 1.2; }
.picture .source rect { fill: var(--head); }
.picture .domain rect { fill: var(--head); stroke-dasharray: 1.5 2.5; }
.picture text { fill: var(--ink); } .picture .name { font-weight: 600; } .picture .note { font-size: 11.5px; }
.picture .note, .picture .legend text { fill: var(--soft); }
.picture .note .plus { fill: var(--plus); } .picture .note .minus { fill: var(--minus); }
.picture .changed rect { stroke: var(--plus); stroke-width: 1.8; }
.picture .same rect, .picture .waiting rect { stroke: var(--line); } .picture .waiting rect { stroke-dasharray: 4 3; }
.picture .same .name, .picture .waiting .name { fill: var(--soft); font-weight: 400; }
.picture .failed rect { fill: var(--bad-bg); stroke: var(--bad); stroke-width: 2.2; }
.picture .failed text { fill: var(--bad); }
.picture .mark { fill: none; stroke: var(--soft); stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
.picture .line path { fill: none; stroke: var(--soft); stroke-width: 1.2; } .picture .line .end { fill: var(--soft); }
.picture .line .near { stroke: transparent; stroke-width: 9; }
.picture .not path { stroke-dasharray: 5 4; } .picture .not .end { stroke-dasharray: none; }
.picture .quiet { opacity: .42; }
.picture .line:hover { opacity: 1; }
.picture .line:hover path { stroke: var(--plus); stroke-width: 2; } .picture .line:hover .end { fill: var(--plus); }
.picture .line:hover .near { stroke: transparent; stroke-width: 9; }
.picture a:hover rect, .picture a:focus rect { stroke: var(--plus); stroke-width: 2.2; }
.picture a:hover .name { text-decoration: underline; }
"""


def drawing(graph: Graph, tonight: Changes | None = None, links: Links | None = None) -> str:
    """The picture as an element of a page that has `RULES` in its sheet; `links` leads from nodes to pages."""
    found = tonight or {}
    lines = 2 if found else 1
    sizes = _sizes(graph, found)
    placed = place(graph, sizes)
    across = max(placed.width, LEGEND_WIDTH)
    legend = list(_legend(graph, found, across))
    height = placed.height + (MARGIN + LEGEND_LINE * (1 + max(row for _, row, _ in legend)) if legend else 0)
    body = [
        *_lines(placed, found),
        *(_node(box, sizes, lines, found.get(box.node.name), (links or {}).get(box.node.name)) for box in placed.boxes),
        *(_sample(x, row, kind, placed.height + MARGIN) for kind, row, x in legend),
    ]
    width, tall = across + 2 * MARGIN, height + 2 * MARGIN
    called = escape(f"Sources and views of {graph.group}: what reads what")
    return (
        f'<svg class="picture" viewBox="{-MARGIN:g} {-MARGIN:g} {width:g} {tall:g}"'
        f' width="{width:g}" height="{tall:g}" role="{"group" if links else "img"}" aria-label="{called}">\n'
        f'<rect class="paper" x="{-MARGIN:g}" y="{-MARGIN:g}" width="{width:g}" height="{tall:g}"/>\n'
        + "\n".join(body)
        + "\n</svg>"
    )


def sheet() -> str:
    """The style sheet of a picture that is a file."""
    return f"{COLOURS}{RULES}"


def file(graph: Graph, tonight: Changes | None = None) -> str:
    """The picture as a file of its own."""
    opening, rest = drawing(graph, tonight).split("\n", 1)
    named = opening.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return f"{named}\n<style>{sheet()}</style>\n{rest}\n"


def escape(text: str) -> str:
    """Text as markup, without the control characters that no SVG may hold."""
    return as_markup("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text))


# ---------------------------------------------------------------- boxes
def label(node: Node) -> str:
    """A node as people call it."""
    return node.name.removesuffix(ASKED)


def _sizes(graph: Graph, tonight: Changes) -> Sizes:
    """Boxes of one size, that of the longest name."""

    def wide(node: Node) -> float:
        marks = MARK * (node.recursive + node.aggregates)
        return len(shortened(label(node))) * LETTER + marks

    notes = [len(one.words) * LETTER * 0.85 for one in tonight.values()]
    width = max([96.0, *map(wide, graph.nodes), *notes]) + 2 * EDGE
    return Sizes(round(width), 46.0 if tonight else 30.0)


def shortened(name: str) -> str:
    """A name that is not too long for its box: long names often differ at their ends only."""
    return name if len(name) <= LETTERS else f"{name[: LETTERS - TAIL - 1]}…{name[-TAIL:]}"


def _node(box: Box, sizes: Sizes, lines: int, tonight: Tonight | None, link: str | None) -> str:
    node, x, y = box.node, box.x, box.y
    state = tonight.state if tonight else ""
    round_ = {Kind.SOURCE: 2, Kind.VIEW: 7, Kind.DOMAIN: 15}[node.kind]
    middle = y + sizes.height / 2
    base = middle + 4.5 if lines == 1 or tonight is None else y + 19
    parts = [
        f"<title>{escape(_told(node, tonight))}</title>",
        f'<rect x="{x:g}" y="{y:g}" width="{sizes.width:g}" height="{sizes.height:g}" rx="{round_}"/>',
        f'<text class="name" x="{x + EDGE:g}" y="{base:g}">{escape(shortened(label(node)))}</text>',
    ]
    marks = [shape for shape, has in ((_RECURSION, node.recursive), (_SUM, node.aggregates)) if has]
    for i, shape in enumerate(reversed(marks)):
        place_ = x + sizes.width - EDGE / 2 - MARK * (i + 0.5)
        parts.append(f'<path class="mark" transform="translate({place_:g} {base - 4.5:g})" d="{shape}"/>')
    if tonight is not None:
        parts.append(f'<text class="note" x="{x + EDGE:g}" y="{y + 37:g}">{_note(tonight)}</text>')
    classes = " ".join(filter(None, ("box", node.kind, state)))
    group = f'<g class="{classes}">{"".join(parts)}</g>'
    return f'<a href="{escape(link)}">{group}</a>' if link else group


_RECURSION = "M3.6 -3.4A5 5 0 1 0 5 0M4.4 -6.2V-3H1.2"
_SUM = "M4 -5H-4L1 0L-4 5H4"


def _note(tonight: Tonight) -> str:
    if tonight.state is not State.CHANGED or tonight.whole:
        return escape(tonight.words)
    parts = (f'<tspan class="{"plus" if part[0] == "+" else "minus"}">{part}</tspan>' for part in tonight.counts)
    return " ".join(parts)


def _told(node: Node, tonight: Tonight | None) -> str:
    marks = [word for word, has in (("recursive", node.recursive), ("aggregates", node.aggregates)) if has]
    said = [f"{node.kind} {label(node)}", node.about, ", ".join(marks), tonight.words if tonight else ""]
    return " \N{EN DASH} ".join(" ".join(one.split()) for one in said if one)


# ---------------------------------------------------------------- lines
def _lines(placed: Placed, tonight: Changes) -> Iterator[str]:
    for trunk in placed.trunks:
        found = tonight.get(trunk.read)
        quiet = found is not None and found.state is not State.CHANGED
        classes = " ".join(["line", *(["not"] if trunk.negated else []), *(["quiet"] if quiet else [])])
        way = _way(trunk)
        ends = "".join(f"M{x - 7:g} {y - 3.5:g}L{x:g} {y:g}L{x - 7:g} {y + 3.5:g}Z" for x, y in trunk.ends)
        ends += "".join(f"M{x + 7:g} {y - 0.5:g}L{x:g} {y + 4:g}L{x + 7:g} {y + 8.5:g}Z" for x, _, y in trunk.beside)
        how = "read with `not` by" if trunk.negated else "read by"
        title = escape(f"{trunk.read.removesuffix(ASKED)} is {how} {', '.join(trunk.by)}")
        yield (
            f'<g class="{classes}"><title>{title}</title><path class="near" d="{way}"/><path d="{way}"/>'
            f'<path class="end" d="{ends}"/></g>'
        )


def _way(trunk: Trunk) -> str:
    ways = []
    for x1, y1, x2, y2 in sorted(trunk.curves):
        half = (x1 + x2) / 2
        flat = f"H{x2:g}" if y1 == y2 else f"C{half:g} {y1:g} {half:g} {y2:g} {x2:g} {y2:g}"
        ways.append(f"M{x1:g} {y1:g}{flat}")
    for x, y1, y2 in trunk.beside:
        ways.append(f"M{x:g} {y1 - 4:g}C{x + 34:g} {y1 - 4:g} {x + 34:g} {y2 + 4:g} {x:g} {y2 + 4:g}")
    return "".join(ways)


# ---------------------------------------------------------------- the legend
_SAMPLES = {
    "source": "source table",
    "domain": "outside source that is asked",
    "view": "view",
    "line": "is read by",
    "not": "is read with not",
    "recursion": "recursive",
    "sum": "aggregates",
    "changed": "changed",
    "same": "unchanged",
    "failed": "failed",
    "waiting": "not reached",
}


def _legend(graph: Graph, tonight: Changes, width: float) -> Iterator[tuple[str, int, float]]:
    """What stands in the legend, each with its row and its place in the row: only what is in the picture."""
    x, row = 0.0, 0
    for kind in _kinds(graph, tonight):
        wide = 36 + len(_SAMPLES[kind]) * 6.9 + 16
        if x and x + wide > width:
            x, row = 0.0, row + 1
        yield kind, row, x
        x += wide


def _kinds(graph: Graph, tonight: Changes) -> Iterable[str]:
    drawn = [edge for edge in graph.edges if edge.read != edge.by]
    there = {
        **{str(kind): any(node.kind is kind for node in graph.nodes) for kind in Kind},
        "line": any(not edge.negated for edge in drawn),
        "not": any(edge.negated for edge in drawn),
        "recursion": any(node.recursive for node in graph.nodes),
        "sum": any(node.aggregates for node in graph.nodes),
        **{str(state): any(one.state is state for one in tonight.values()) for state in State},
    }
    return [kind for kind in _SAMPLES if there[kind]]


def _sample(x: float, row: int, kind: str, top: float) -> str:
    y = top + LEGEND_LINE * row + LEGEND_LINE / 2
    match kind:
        case "line" | "not":
            mark = f'<g class="line{" not" if kind == "not" else ""}"><path d="M{x:g} {y:g}h20"/>'
            mark += f'<path class="end" d="M{x + 20:g} {y - 3.5:g}l7 3.5l-7 3.5Z"/></g>'
        case "recursion" | "sum":
            shape = _RECURSION if kind == "recursion" else _SUM
            mark = f'<path class="mark" transform="translate({x + 14:g} {y:g})" d="{shape}"/>'
        case _:
            round_ = {"source": 2, "domain": 7}.get(kind, 5)
            mark = f'<g class="box {kind}"><rect x="{x:g}" y="{y - 7:g}" width="27" height="14" rx="{round_}"/></g>'
    return f'<g class="legend">{mark}<text class="note" x="{x + 34:g}" y="{y + 4:g}">{_SAMPLES[kind]}</text></g>'
