"""The whole Debian index: what each package pulls in, and what reaches it; day 2 adds security and updates.

The views are those of view_specs/supply_chain.yaml, all of them and of all packages; the indexes are those that
`apt-get update` leaves. Expectations are left out: no peer checks any.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from bench import specs
from bench.worlds import NO_KEYS, Change, Fingerprints, by_duckdb, fingerprints, write_changes, write_table

HERE = Path(__file__).resolve().parent
SPEC = HERE.parent / "view_specs" / "supply_chain.yaml"
LISTS = Path("/var/lib/apt/lists")
SUITE = "bookworm"
Rows = set[tuple[Any, ...]]
Days = tuple[dict[str, Rows], dict[str, Rows]]
TYPES = {"int": pa.int32(), "bigint": pa.int64(), "date": pa.date32(), "string": pa.string()}

sys.path.insert(0, str(HERE.parent / "examples" / "supply_chain"))
import make_excerpt  # noqa: E402 - an example is no package
from read import TABLES, read_day1, read_day2  # noqa: E402


def missing() -> str:
    """Why the whole index is not there; empty where it is."""
    for part in ("", "-security", "-updates"):
        try:
            make_excerpt.find_index(LISTS, SUITE + part)
        except SystemExit as problem:
            return f"{problem}; `apt-get update` fetches them on Debian {SUITE}"
    return ""


def whole() -> Days:
    """Both days with every package."""
    paths = [make_excerpt.find_index(LISTS, SUITE + part) for part in ("", "-security", "-updates")]
    stable, security, updates = (list(make_excerpt.read_stanzas(path)) for path in paths)
    before, after = make_excerpt.newest(stable), make_excerpt.newest([*stable, *security, *updates])
    names = before.keys() | after.keys()
    first, second = make_excerpt.facts(before, names), make_excerpt.facts(after, names)
    fixes = {(make_excerpt.source_of(stanza), make_excerpt.source_version_of(stanza)) for stanza in security}
    dates = [make_excerpt.release_date(path) for path in paths]
    make_excerpt.add_advisories(first, second, fixes, (dates[0], max(dates)))
    return dict(first), dict(second)


def excerpt() -> Days:
    """Both days of the excerpt that lies with the example."""
    first = {name: set(rows) for name, rows in read_day1().items()}
    changes = read_day2()
    return first, {name: (rows - set(changes[name][1])) | set(changes[name][0]) for name, rows in first.items()}


@dataclass(slots=True)
class Debian:
    """Packages and advisories of two days."""

    all_packages: bool = True
    name: str = "debian"
    days: Days | None = field(default=None, repr=False)
    tables = tuple(TABLES)
    keyed = NO_KEYS
    queries: Mapping[str, str] = field(default_factory=lambda: specs.queries(HERE / "debian.sql"))
    peers: Mapping[str, str] = field(
        default_factory=lambda: {
            "spark": "not: `requires` is recursive, and Spark's recursive queries keep duplicates (UNION ALL only)",
            "merge": "not: no keys say which rows a change touches",
            "pg_ivm": "not: no recursion",
            "pathway": "not: 20 views with negation would have to be written by hand in its API",
            "nemo": "rules",
            "clingo": "rules",
        }
    )

    def spec(self, group: str, strategy: str = "auto") -> str:
        """Sources and rules as they stand in the spec."""
        return specs.spec(SPEC, group, strategy)

    def create(self, root: str) -> None:
        """Write day 1."""
        self.days = whole() if self.all_packages else excerpt()
        for name in TABLES:
            write_table(root, f"raw/{name}", _table(name, self.days[0].get(name, set())))

    def changes(self) -> list[tuple[str, int, str]]:
        """One package gone and back, then the real lists of the second day."""
        return [("1 package gone", 1, "gone"), ("1 package back", 1, "back"), ("day 2", 0, "day")]

    def apply(self, root: str, size: int, kind: str) -> Change:
        """Take the middle package of those that others need away, put it back, or bring all lists to the second day."""
        assert self.days is not None
        first, second = self.days
        both = {name: (rows, second.get(name, set())) for name, rows in first.items()}
        changes = {name: (new - old, old - new) for name, (old, new) in both.items()}
        if kind != "day":
            needed = {row[3] for row in first["depends"]}
            there = sorted(row for row in first["package"] if row[0] in needed)
            rows = set(itertools.islice(there, len(there) // 2, len(there) // 2 + size))
            changes = {"package": (set(), rows) if kind == "gone" else (rows, set())}
        for name, (plus, minus) in changes.items():
            write_changes(root, f"raw/{name}", _table(name, plus), _table(name, minus))
        return Change(*(sum(len(pair[side]) for pair in changes.values()) for side in (0, 1)))

    def expected(self, root: str) -> Fingerprints:
        """All views by DuckDB's recursive queries."""
        return fingerprints(by_duckdb(self, root))


def _table(name: str, rows: Rows) -> pa.Table:
    ordered = sorted(rows)
    columns = enumerate(TABLES[name].items())
    return pa.table({column: pa.array([row[i] for row in ordered], TYPES[kind]) for i, (column, kind) in columns})
