"""The worlds of each benchmark, by scale: `small` runs in seconds, `medium` suits machines that others use too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bench import debian
from bench.debian import Debian
from bench.graphs import Tree, digraph, layered, path
from bench.shop import Shop
from bench.symmetric import Cliques
from bench.tpch import Tpch, generate
from bench.views import Views
from bench.worlds import World

CACHE = Path(__file__).resolve().parent.parent / ".cache"
TPCHGEN = CACHE / "bench-peers" / "venv" / "bin" / "tpchgen-cli"
SCALES = ("small", "medium", "full")
SCALE_FACTORS = {"small": 0.001, "medium": 0.01, "full": 1.0}
Makers = Mapping[str, list[Callable[[], World]]]


class Missing(Exception):
    """What a benchmark needs is not on this machine."""


def worlds(scale: str, factor: float | None = None) -> Makers:
    """By benchmark, what makes its worlds."""
    return {**GRAPHS[scale], "B2": [lambda: packages(scale)], "B6": [lambda: tpch(factor or SCALE_FACTORS[scale])]}


def tpch(factor: float, name: str = "tpch") -> Tpch:
    """TPC-H of a scale factor; its files are kept."""
    if not TPCHGEN.exists():
        raise Missing("tpchgen-cli is not installed")
    return Tpch(generate(CACHE / "bench-data", factor, TPCHGEN), name)


def packages(scale: str) -> Debian:
    """The example's excerpt where it must be small, all packages elsewhere."""
    if scale != "small" and (reason := debian.missing()):
        raise Missing(reason)
    return Debian(all_packages=scale != "small")


def grown(lines: int) -> Shop:
    """The join over so many lines, of which a thousand change whatever their number."""
    return Shop(lines, f"join of {lines:,}", fixed=min(1_000, lines // 10))


def shops(*sizes: int) -> list[Callable[[], World]]:
    """One for each size."""
    return [lambda size=size: grown(size) for size in sizes]


GRAPHS: Mapping[str, Makers] = {
    "small": {
        "B1": [lambda: digraph(40, 60), lambda: layered(5, 12, 3)],
        "B4": [lambda: Cliques((4, 8), (1, 4)), lambda: path(30, (1, 4))],
        "B5": [lambda: Tree(5)],
        "B7": [lambda: Views(2_000)],
        "growth": shops(1_000, 5_000),
        "join": [lambda: Shop(5_000)],
    },
    "medium": {
        "B1": [lambda: digraph(1_000, 1_500), lambda: layered(16, 100, 3)],
        "B4": [lambda: Cliques((25, 50, 100)), lambda: path(400, (1, 10, 100))],
        "B5": [lambda: Tree(9)],
        "B7": [Views],
        "growth": shops(10_000, 100_000, 1_000_000),
        "join": [lambda: Shop(1_000_000)],
    },
    "full": {
        "B1": [lambda: digraph(2_000, 3_000), lambda: layered(30, 120, 3)],
        "B4": [lambda: Cliques((50, 100, 200)), lambda: path(2_000, (1, 10, 1_000))],
        "B5": [lambda: Tree(10), lambda: Tree(12), lambda: Tree(13)],
        "B7": [Views],
        "growth": shops(100_000, 1_000_000, 10_000_000),
        "join": [lambda: Shop(5_000_000)],
    },
}
