"""The relations that rewrite makes have names of their own; people read words for them, wherever they look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli_runner import foreset

from foreset.ir.hidden import in_words, plainly
from foreset.verify.verdict import Mismatch

SPEC = """\
group: g
sources:
  orders: {table: s/orders, columns: {id: bigint, city: string, amount: bigint}}
  edge: {table: s/edge, columns: {src: string, dst: string}}
domains:
  book:
    provider: files
    options: {format: csv, path: s/book.csv}
    functions:
      city: {args: {name: string}, results: {country: string}}
views:
  total:
    columns: {city: string, n: bigint, t: bigint}
    rules:
      - total(C, N, T) :- N = count{I | orders(I, C, _)}, T = sum{A, I | orders(I, C, A), A > 0}
  big:
    columns: {city: string}
    rules:
      - big(C) :- total(C, N, _), N > 1
  ids:
    columns: {city: string, ids: array<bigint>}
    rules:
      - ids(C, S) :- orders(_, C, _), setof(I, A^orders(I, C, A), S)
  reach:
    columns: {src: string, dst: string}
    strategy: stdel-acyclic
    rules:
      - reach(X, Y) :- edge(X, Y)
      - reach(X, Y) :- edge(X, Z), reach(Z, Y)
  home:
    columns: {id: bigint, country: string}
    rules:
      - home(I, L) :- orders(I, C, _), in(L, book:city(C))
  adult:
    columns: {x: bigint}
    rules:
      - adult(X) :- X >= 18, X < 30
  pick:
    columns: {id: bigint, x: bigint}
    rules:
      - pick(I, X) :- orders(I, _, A), adult(X), X = A
"""
HIDDEN = re.compile(r"[a-z0-9]~|~[a-z0-9:]|\b[a-z]+:[a-z]+_[0-9a-f]{8}")
COMMANDS = [
    ("refresh", "g", "--mode", "recompute", "--json"),
    ("status",),
    ("status", "--json"),
    ("report", "g"),
    ("report", "g", "--output", "r.html"),
    ("report", "g", "--history", "--output", "h.html"),
    ("check", "--against-warehouse"),
    ("verify", "g"),
    ("verify", "g", "--json"),
    ("explain", "g"),
    ("explain", "g.total"),
    ("explain", "g", "--svg", "p.svg"),
    ("why", "g.total", "a, 2, 45"),
    ("why", "g.total", "a, 2, 45", "--json"),
    ("why", "g.big", "a", "--all"),
    ("why", "g.home", "1, DE"),
    ("why", "g.pick", "1, 20"),
    ("why", "g.reach", "a, c"),
    ("why-not", "g.total", "a, 3, 45"),
    ("why-not", "g.home", "1, FR"),
    ("why-not", "g.pick", "3, 40"),
    ("why-not", "g.pick", "3, 40", "--json"),
    ("changes", "g.total"),
    ("gc", "g"),
]


def imported(name: str, text: str, *options: str) -> None:
    Path(f"{name}.csv").write_text(text)
    assert foreset("import", f"{name}.csv", f"s/{name}", *options).code == 0


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("view_specs").mkdir()
    Path("view_specs/g.yaml").write_text(SPEC)
    imported("orders", "id,city,amount\n1,a,20\n2,a,25\n3,b,40\n", "--key", "id")
    imported("edge", "src,dst\na,b\nb,c\n", "--no-key")
    Path("warehouse/s/book.csv").write_text("name,country\na,DE\nb,FR\n")
    first = foreset("refresh", "g")
    assert (first.code, HIDDEN.findall(first.out + first.err)) == (0, [])
    imported("orders", "id,city,amount\n1,a,20\n2,a,25\n4,c,41\n", "--replace")


@pytest.mark.usefixtures("_here")
def test_no_command_shows_a_hidden_name() -> None:
    for command in COMMANDS:
        shown = foreset(*command)
        assert shown.code == 0, (command, shown.err)
        assert not HIDDEN.findall(shown.out + shown.err), (command, shown.out)
    for file in ("r.html", "h.html", "p.svg"):
        found = re.sub(r"<style>.*?</style>", "", Path(file).read_text(), flags=re.DOTALL)
        assert not HIDDEN.findall(found), file


@pytest.mark.usefixtures("_here")
def test_why_shows_the_rule_as_written_and_what_groups_were_gathered_from() -> None:
    rule = "total(C, N, T) :- N = count{I | orders(I, C, _)}, T = sum{A, I | orders(I, C, A), A > 0}"
    assert foreset("why", "g.total", "a, 2, 45").out.splitlines()[:5] == [
        'total("a", 2, 45)',
        f"  by total#1, line 15: {rule}",
        '    a group of `orders` ("a", 2)',
        '      orders(2, "a", 25)   source s/orders',
        '      orders(1, "a", 20)   source s/orders',
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("orders", "orders"),
        ("orders~groups_81aa0d97", "the groups of `orders`"),
        ("orders~members_e6ecc85d", "the elements from `orders`"),
        ("reach~support_8db9984a", "the derivations of `reach`"),
        ("book~city", "`book:city`"),
        ("book~city~asks", "what `book:city` is asked"),
        ("adult~~0", "`adult`"),
        ("adult~~0~asks", "what `adult` is asked"),
    ],
)
def test_each_kind_has_words(name: str, words: str) -> None:
    assert in_words(name) == words
    assert plainly(f"{name} +3") == f"{words} +3"


def test_values_are_left_alone() -> None:
    assert plainly('orders~groups_81aa0d97("a~b", "\\"x~y(")') == 'a group of `orders` ("a~b", "\\"x~y(")'


def test_a_mismatch_names_the_groups() -> None:
    found = str(Mismatch("orders~groups_81aa0d97", ("a", 3), claimed=True, kind="changed"))
    assert found.startswith("the groups of `orders`('a', 3)")
