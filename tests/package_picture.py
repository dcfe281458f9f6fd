"""The packages of Foreset and which imports which, drawn from the code: `docs/img/packages.svg`.

What is imported by way of another package is not drawn again, nor are the packages that nearly all import.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from foreset.explain.graph import Edge, Graph, Kind, Node
from foreset.explain.placing import Placed, Sizes, place

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "plugins/foreset"
FLOOR = ("records", "values", "ir", "extras", "errors", "render", "diagnostics")  # everybody stands on them
LEFT_OUT = ("__init__", "__main__", *FLOOR)
WIDE, HIGH, BETWEEN, ASIDE, MARGIN = 118.0, 34.0, 42.0, 16.0, 20.0

Imports = Mapping[str, frozenset[str]]


def imports() -> dict[str, frozenset[str]]:
    """Which package imports which; what is only there for types does not count, as in the contracts."""
    names = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    found: dict[str, set[str]] = {name: set() for name in names}
    for file in PACKAGE.rglob("*.py"):
        own = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        found[own] |= set(_imported(ast.parse(file.read_text(encoding="utf-8")))) & names - {own}
    return {name: frozenset(found[name]) for name in sorted(found)}


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "foreset":
        inner = (node.module or "").split(".")[1:]
        yield from inner[:1] or [name.name for name in node.names]
    for child in ast.iter_child_nodes(node):
        yield from _imported(child)


def reduced(graph: Imports) -> dict[str, tuple[str, ...]]:
    """The imports that no way over other packages makes known already."""
    below: dict[str, frozenset[str]] = {}

    def reach(name: str) -> frozenset[str]:
        if name not in below:
            below[name] = graph[name].union(*map(reach, graph[name]))
        return below[name]

    return {name: tuple(sorted(one for one in graph[name] if not any(one in reach(other) for other in graph[name])))
            for name in graph}  # fmt: skip


def pure() -> frozenset[str]:
    """The packages whose contract forbids Spark, Delta, Airflow and pandas."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (modules,) = (contract["source_modules"] for contract in contracts if contract["id"] == "pure")
    return frozenset(module.split(".")[1] for module in modules if module.count(".") == 1)


def drawn() -> str:
    """The picture."""
    shown = {name: below - set(LEFT_OUT) for name, below in imports().items() if name not in LEFT_OUT}
    lines = reduced(shown)
    levels = _levels(lines)
    nodes = tuple(Node(name, Kind.VIEW, levels[name]) for name in sorted(lines))
    edges = tuple(Edge(read, by) for by in sorted(lines) for read in lines[by])
    return _svg(place(Graph("", nodes, edges), Sizes(HIGH, WIDE, BETWEEN, ASIDE)), pure())


def _levels(lines: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """The row of each package, from below: above all that it imports, and near to who imports it if they are more."""
    found: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in found:
            found[name] = 1 + max(map(level, lines[name]), default=-1)
        return found[name]

    for name in sorted(sorted(lines), key=level, reverse=True):
        above = [found[by] for by in lines if name in lines[by]]
        if len(above) >= max(1, len(lines[name])):
            found[name] = min(above) - 1
    return found


# ---------------------------------------------------------------- ink
STYLE = """
:root { color-scheme: light dark; --paper: #fdfcfa; --card: #ffffff; --ink: #1d1c1a; --soft: #5c5953; --core: #e7f0f6; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15171a; --card: #1b1e22; --ink: #e9e6e0; --soft: #a9a59d; --core: #1d2f3b; }
}
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: var(--ink); }
text.name { font-weight: 600; text-anchor: middle; } text.note { fill: var(--soft); font-size: 12px; }
rect { fill: var(--card); stroke: var(--soft); stroke-width: 1.2; } rect.core { fill: var(--core); }
rect.paper { fill: var(--paper); stroke: none; }
path { fill: none; stroke: var(--soft); stroke-width: 1.1; } path.end { fill: var(--soft); }
"""


def _svg(placed: Placed, core: frozenset[str]) -> str:
    """Columns are turned into rows: what imports stands above what it imports."""
    bends = [x + ASIDE for trunk in placed.trunks for _, x1, _, x2 in trunk.curves for x in (x1, x2)]
    across, deep = max(placed.height, *bends), placed.width
    height = deep + BETWEEN + HIGH + 58
    ways, ends = [], []
    for trunk in placed.trunks:
        for low1, x1, low2, x2 in sorted(trunk.curves):
            y1, y2 = deep - low1, deep - low2
            half = (y1 + y2) / 2
            straight = f"V{y2:g}" if x1 == x2 else f"C{x1:g} {half:g} {x2:g} {half:g} {x2:g} {y2:g}"
            ways.append(f"M{x1:g} {y1:g}{straight}")
        x, y = next((x, deep - low) for low, x, _, _ in sorted(trunk.curves))
        ends.append(f"M{x - 4:g} {y - 8:g}L{x:g} {y:g}L{x + 4:g} {y - 8:g}Z")
    boxes = [_box(box.node.name, box.y, deep - box.x - HIGH, WIDE, core=box.node.name in core) for box in placed.boxes]
    floor = deep + BETWEEN
    texts = (
        (f'<rect class="core" x="0" y="{floor + HIGH + 18:g}" width="22" height="13" rx="4"/>', ""),
        (f'<text class="note" x="30" y="{floor + HIGH + 29:g}">', "pure: no Spark, no Delta, no Airflow, no pandas"),
        (f'<text class="note" x="0" y="{floor + HIGH + 50:g}">',
         "An arrow points to what is imported. What is reached over other arrows has none of its own."),
    )  # fmt: skip
    body = [f'<path d="{"".join(ways)}"/>', f'<path class="end" d="{"".join(ends)}"/>', *boxes,
            _box(f"{' · '.join(FLOOR)}: for everybody", 0, floor, across, core=True),
            *(opening + (f"{text}</text>" if text else "") for opening, text in texts)]  # fmt: skip
    frame = f"{-MARGIN:g} {-MARGIN:g} {across + 2 * MARGIN:g} {height + 2 * MARGIN:g}"
    size = f'width="{across + 2 * MARGIN:g}" height="{height + 2 * MARGIN:g}"'
    paper = f'<rect class="paper" x="{-MARGIN:g}" y="{-MARGIN:g}" {size}/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{frame}" {size} role="img"'
        ' aria-label="The packages of Foreset and what each imports">\n'
        f"<style>{STYLE}</style>\n{paper}\n" + "\n".join(body) + "\n</svg>\n"
    )


def _box(text: str, x: float, y: float, width: float, *, core: bool) -> str:
    """A box with a name in its middle."""
    kind = ' class="core"' if core else ""
    middle = f'x="{x + width / 2:g}" y="{y + HIGH / 2 + 4.5:g}"'
    return (
        f'<rect{kind} x="{x:g}" y="{y:g}" width="{width:g}" height="{HIGH:g}" rx="7"/>'
        f'<text class="name" {middle}>{text}</text>'
    )
