"""Algorithm 1 of paper 000: the printed rules are the paper's, and Theorem 1 holds for them as printed."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest

from foreset.ir.program import Column, View
from foreset.ir.rules import Atom, Negation, Rule, atoms
from foreset.ir.strata import Stratum
from foreset.ir.terms import Const, Var
from foreset.ir.text import print_rule
from foreset.ir.types import STRING
from foreset.ir.versions import Version
from foreset.maintain.algorithm1 import Labelled, maintenance_rules
from foreset.oracle.naive import evaluate

PAIR = (Column("src", STRING), Column("dst", STRING))
ONE = (Column("src", STRING),)
COLUMNS = {"edge": PAIR, "hop": PAIR, "closure": PAIR, "dead_end": PAIR, "blocked": ONE, "free": PAIR}


def atom(relation: str, *names: str) -> Atom:
    return Atom(relation, tuple(Const(n, STRING) if n.islower() else Var(n) for n in names))


def rule(head: Atom, *body: Atom | Negation) -> Rule:
    variables = {arg.name for a in (head, *(b.atom if isinstance(b, Negation) else b for b in body)) for arg in a.args
                 if isinstance(arg, Var)}  # fmt: skip
    return Rule(head, body, f"{head.relation}#1", dict.fromkeys(variables, STRING))


def stratum(*views: View, recursive: bool = False) -> Stratum:
    own = {view.name for view in views}
    reads = {a.relation for view in views for r in view.rules for a, _ in atoms(r)} - own
    return Stratum(1, 1, views, recursive, True, recursive, tuple(sorted(reads)), ())


CLOSURE = View(
    "closure",
    PAIR,
    (
        rule(atom("closure", "X", "Y"), atom("edge", "X", "Y")),
        rule(atom("closure", "X", "Y"), atom("edge", "X", "Z"), atom("closure", "Z", "Y")),
    ),
)
# Typed from example 1: first what R1 gives, then what R2 adds to it.
EXAMPLE_1 = """
D1    closure_del(X, Y) :- edge_del(X, Y)
N1    closure_new(X, Y) :- closure(X, Y), not closure_del(X, Y)
N'1   edge_new(X, Y) :- edge(X, Y), not edge_del(X, Y)
R     closure_red(X, Y) :- closure_del(X, Y), edge_new(X, Y)
N2    closure_new(X, Y) :- closure_red(X, Y)
I1    closure_ins(X, Y) :- edge_ins(X, Y)
N3    closure_new(X, Y) :- closure_ins(X, Y)
N''1  edge_new(X, Y) :- edge_ins(X, Y)
E1    closure_plus(X, Y) :- closure_ins(X, Y), not closure(X, Y)
E2    closure_minus(X, Y) :- closure_del(X, Y), not closure_ins(X, Y), not closure_red(X, Y)
D1    closure_del(X, Y) :- edge_del(X, Z), closure(Z, Y)
D2    closure_del(X, Y) :- edge(X, Z), closure_del(Z, Y)
R     closure_red(X, Y) :- closure_del(X, Y), edge_new(X, Z), closure_new(Z, Y)
I1    closure_ins(X, Y) :- edge_ins(X, Z), closure_new(Z, Y)
I2    closure_ins(X, Y) :- edge_new(X, Z), closure_ins(Z, Y)
"""


def printed(view: View, home: Stratum) -> list[str]:
    return [f"{r.label:<5} {print_rule(r.rule, 'paper')}" for r in maintenance_rules(view, home, COLUMNS)]


def test_example_1_of_the_paper() -> None:
    assert printed(CLOSURE, stratum(CLOSURE, recursive=True)) == EXAMPLE_1.strip().splitlines()


def test_a_negated_literal_falls_with_an_insertion_and_rises_with_a_deletion() -> None:
    """Section 4.2: D reads `ins` of the negated relation, I its `del`; elsewhere it keeps its sign."""
    free = View("free", PAIR, (rule(atom("free", "X", "Y"), atom("edge", "X", "Y"), Negation(atom("blocked", "X"))),))
    assert (
        printed(free, stratum(free))
        == """
D1    free_del(X, Y) :- edge_del(X, Y), not blocked(X)
D2    free_del(X, Y) :- edge(X, Y), blocked_ins(X)
N1    free_new(X, Y) :- free(X, Y), not free_del(X, Y)
N'1   edge_new(X, Y) :- edge(X, Y), not edge_del(X, Y)
N'2   blocked_new(X) :- blocked(X), not blocked_del(X)
R     free_red(X, Y) :- free_del(X, Y), edge_new(X, Y), not blocked_new(X)
N2    free_new(X, Y) :- free_red(X, Y)
I1    free_ins(X, Y) :- edge_ins(X, Y), not blocked_new(X)
I2    free_ins(X, Y) :- edge_new(X, Y), blocked_del(X)
N3    free_new(X, Y) :- free_ins(X, Y)
N''1  edge_new(X, Y) :- edge_ins(X, Y)
N''2  blocked_new(X) :- blocked_ins(X)
E1    free_plus(X, Y) :- free_ins(X, Y), not free(X, Y)
E2    free_minus(X, Y) :- free_del(X, Y), not free_ins(X, Y), not free_red(X, Y)
""".strip().splitlines()
    )


DEAD_END = View(
    "dead_end",
    PAIR,
    (rule(atom("dead_end", "X", "Y"), atom("edge", "X", "Y"), Negation(atom("hop", "Y", "_1"))),),
)
SELF = View(
    "closure",
    PAIR,
    (
        rule(atom("closure", "X", "X"), atom("edge", "X", "X")),
        rule(atom("closure", "A", "B"), atom("hop", "A", "b"), atom("edge", "A", "B")),
    ),
)


def test_rules_about_any_row_do_not_borrow_constants_or_repeats() -> None:
    lines = printed(SELF, stratum(SELF))
    assert "N1    closure_new(Src, Dst) :- closure(Src, Dst), not closure_del(Src, Dst)" in lines
    assert "N'1   hop_new(Src, Dst) :- hop(Src, Dst), not hop_del(Src, Dst)" in lines
    assert sum(line.startswith("E1") for line in lines) == 1


def test_arguments_of_a_negation_alone_need_a_helper() -> None:
    lines = printed(DEAD_END, stratum(DEAD_END))
    assert "HD2   dead_end#1~1fell(Y) :- hop_ins(Y, _1), not hop(Y, _1~)" in lines
    assert "HI2   dead_end#1~1rose(Y) :- hop_del(Y, _1), not hop_new(Y, _1~)" in lines


# ---------------------------------------------------------------- Theorem 1, for the rules as they are printed
def flat(a: Atom) -> Atom:
    """Each state becomes a relation of its own, as in the paper."""
    name = a.relation if a.version in (Version.OLD, Version.CURRENT) else f"{a.relation}_{a.version}"
    return replace(a, relation=name, version=Version.CURRENT)


def run_as_datalog(labelled: tuple[Labelled, ...], facts: dict[str, frozenset]) -> dict[str, frozenset]:
    """Evaluate maintenance rules as what they are: a stratified program over all the states."""
    rules: dict[str, list[Rule]] = {}
    for found in labelled:
        body = tuple(Negation(flat(b.atom)) if isinstance(b, Negation) else flat(b) for b in found.rule.body)
        made = rule(flat(found.rule.head), *body)
        rules.setdefault(made.head.relation, []).append(made)
    width = {a.relation: len(a.args) for r in chain(*rules.values()) for a in (r.head, *(a for a, _ in atoms(r)))}
    schemas = {name: (STRING,) * width.get(name, 2) for name in {*width, *facts}}
    database = {**dict.fromkeys(schemas.keys() - rules.keys(), frozenset()), **facts}
    level = dict.fromkeys(schemas, 0)
    for _ in rules:
        for head, found in rules.items():
            level[head] = max([level[head], *(level[a.relation] + no for r in found for a, no in atoms(r))])
    for number in sorted({level[head] for head in rules}):
        heads = [head for head in rules if level[head] == number]
        views = (View(h, (Column("a", STRING),) * width[h], tuple(rules[h])) for h in heads)
        database = evaluate((stratum(*views, recursive=True),), database, schemas, 99)
    return database


E_OLD = {"fe", "ed", "ea", "ab", "dc", "bc", "cg"}


def rows(words: set[str]) -> frozenset:
    return frozenset(tuple(word) for word in words)


def contents(home: Stratum, facts: dict[str, frozenset]) -> frozenset:
    schemas = dict.fromkeys((*facts, *home.names), (STRING,) * 2)
    return evaluate((home,), facts, schemas, 99)[home.names[0]]


@pytest.mark.parametrize(
    ("view", "old", "ins", "dele"),
    [
        (CLOSURE, {"edge": E_OLD}, {"edge": {"hd"}}, {"edge": {"bc"}}),
        (CLOSURE, {"edge": {"ab", "bc", "cb"}}, {}, {"edge": {"ab"}}),
        (DEAD_END, {"edge": {"ab", "bc", "cd"}, "hop": {"ba", "bb"}}, {"hop": {"da"}}, {"hop": {"ba"}}),
        (DEAD_END, {"edge": {"ab", "bc"}, "hop": {"ba", "bb"}}, {"hop": {"ca"}}, {"hop": {"ba", "bb"}}),
        (SELF, {"edge": {"aa", "ab", "cb"}, "hop": {"ab", "cb"}}, {"edge": {"cc"}}, {"edge": {"aa"}, "hop": {"cb"}}),
    ],
)
def test_theorem_1_holds_for_the_rules_as_printed(view: View, old: dict, ins: dict, dele: dict) -> None:
    home = stratum(view, recursive=view is CLOSURE)
    before = {name: rows(old.get(name, set())) for name in home.reads}
    after = {name: (before[name] - rows(dele.get(name, set()))) | rows(ins.get(name, set())) for name in home.reads}
    was, now = contents(home, before), contents(home, after)
    facts = {**before, view.name: was}
    facts |= {f"{name}_ins": rows(words) for name, words in ins.items()}
    facts |= {f"{name}_del": rows(words) for name, words in dele.items()}
    found = run_as_datalog(maintenance_rules(view, home, COLUMNS), facts)
    assert (found[f"{view.name}_plus"], found[f"{view.name}_minus"]) == (now - was, was - now)
    assert set(chain(now, was))
