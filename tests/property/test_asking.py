"""Random rules that ask domains, against the same rules over tables that hold all the answers there are.

Asking only what rules want to know must change nothing: contents and differentials of every night are the same.
Where a function keeps old answers, arguments without one are in tables too: neither `in` nor `not in` holds of them.
"""

from __future__ import annotations

import os
from itertools import product
from random import Random

import pytest
from tests.refresh_cases import load_program

from foreset.analyse.needs import needs_of
from foreset.inverses.check import proven
from foreset.ir.asked import asks_name, held_name
from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.ir.terms import Row
from foreset.oracle.unasked import unasked
from foreset.plan.translate import MAINTAINING
from foreset.rewrite.pipeline import prepare
from foreset.testing.replica import Delta, Replica
from foreset.testing.run import chooser

LONG = bool(os.environ.get("FORESET_LONG"))
SEEDS = range(40 if LONG else 6)
PROGRAMS, NIGHTS = 25, 4
NODES = range(4)
HEAD = """\
group: g
sources:
  p: {table: raw/p, columns: {a: int, b: int}}
  q: {table: raw/q, columns: {a: int}}
"""
DOMAINS = """\
domains:
  d:
    provider: files
    functions:
      f: {args: {x: int}, results: {y: int, z: int}, on_error: keep}
      g: {results: {y: int}, on_error: keep}
      t: {args: {x: int, y: int}}
"""
TABLES = """\
  f: {table: raw/f, columns: {x: int, y: int, z: int}}
  g: {table: raw/g, columns: {y: int}}
  t: {table: raw/t, columns: {x: int, y: int}}
  f_held: {table: raw/f_held, columns: {x: int}}
  g_held: {table: raw/g_held, columns: {held: boolean}}
"""
WIDTH = {"p": 2, "q": 1, "f": 3, "g": 1, "t": 2}
FUNCTIONS = ("f", "g", "t")


SETS = {  # what is gathered, with the group as {0} and, where there is another variable, as {1}
    "N = {agg}{{T | p({0}, T)}}": 1,
    "N = {agg}{{T | p(T, _), q({0})}}": 1,
    "setof(T, p({0}, T), Z), {agg}(Z, N)": 1,
    "setof(T, p({0}, T), Z), {agg}(Z, M), N = {agg}{{T | p(T, {0})}}": 1,
    "N = {agg}{{T | p(T, W), W > {1}}}": 2,
    "N = {agg}{{T | p(T, {0}), not p({1}, T)}}": 2,
    "N = {agg}{{T - {1}, W | p(T, W), q({0})}}": 2,
    "setof(T, p(T, {0}), T != {1}, Z), {agg}(Z, N)": 2,
    "M = max{{T | p({0}, T)}}, N = {agg}{{T | p(T, W), W <= M}}": 1,
}


def random_set(rng: Random, known: list[str], body: list[str]) -> None:
    """An aggregate, of a group that the rule binds or that nothing else names; its result is N."""
    text = rng.choice([text for text, takes in SETS.items() if takes == 1 or len(known) > 1])
    body.append(text.format(*(known or ["X"]), agg=rng.choice(("count", "sum", "max"))))
    known += [name for name in ("X", "N") if name not in known]


def random_call(rng: Random, number: int, known: list[str]) -> tuple[str, str]:
    """One call, and the table that says the same; what it gives a value is known afterwards."""
    sign = "not " if rng.random() < 0.25 else ""
    name = rng.choice(FUNCTIONS[number % 2 :])
    arg = rng.choice((*(f"int({one})" for one in known[:2]), "1", f"int({rng.choice(known)})"))
    arg = arg[4:-1] if arg in ("int(X)", "int(Y)") and rng.random() < 0.7 else arg
    if name == "f":
        fresh = [f"U{number}", "_"]
        out = rng.choice((fresh, [fresh[0], rng.choice(known)], ["_", fresh[0]], [rng.choice(known), "0"]))
        one = f"in(({out[0]}, {out[1]}), d:f({arg}))", f"f({arg}, {out[0]}, {out[1]})"
        if rng.random() < 0.2:
            one = f"in(z={fresh[0]}, d:f({arg}))", f"f({arg}, _, {fresh[0]})"
            out = [fresh[0], "_"]
        if not sign and fresh[0] in out:
            known.append(fresh[0])
    elif name == "g":
        out = [rng.choice((f"U{number}", rng.choice(known)))]
        one = f"in({out[0]}, d:g())", f"g({out[0]})"
        if not sign and out[0] not in known:
            known.append(out[0])
    else:
        other = rng.choice(known)
        one = f"in(d:t({arg}, int({other})))", f"t({arg}, int({other}))"
    held = {"f": f", not f_held({arg})", "g": ", not g_held(true)"}.get(name, "") if sign else ""
    return sign + one[0], f"{sign}{one[1]}{held}"


def random_rule(rng: Random, view: str, lower: list[str]) -> tuple[str, str]:
    """One rule, asking and reading; every argument is bound by something before it."""
    bare = rng.random() < 0.25  # nothing but a set binds what is asked
    known: list[str] = [] if bare else ["X", "Y"]
    plain = [] if bare else [f"{rng.choice(['p', *lower])}(X, Y)"]
    if bare or rng.random() < 0.3:
        random_set(rng, known, plain)
    asked, told = list(plain), list(plain)
    if "N" in known and rng.random() < 0.4:
        sign = rng.choice(("", "not "))
        asked.append(f"{sign}big(N)")
        told.append("N < 2" if sign else "N >= 2")
    if rng.random() < 0.4:
        both = rng.choice((f"q({rng.choice(known)})", f"not q({rng.choice(known)})", f"{rng.choice(known)} < 3"))
        asked.append(both)
        told.append(both)
    if rng.random() < 0.3:
        known.append("S")
        asked.append("S = X + 1" if rng.random() < 0.5 else "S = 2")
        told.append(asked[-1])
    for number in range(rng.choice((1, 1, 2, 3))):
        one = random_call(rng, number, known)
        asked.append(one[0])
        told.append(one[1])
    if rng.random() < 0.5:  # what only an answer decides must not be looked at before it is asked for
        late = rng.choice((f"not q({known[-1]})", f"not p({rng.choice(known)}, {known[-1]})", f"{known[-1]} >= 1"))
        asked.append(late)
        told.append(late)
    if "U0" in known and "N" not in known and rng.random() < 0.3:  # what was answered is an outer variable
        asked.append("N = count{T | p(T, W), W >= U0}")
        told.append(asked[-1])
        known.append("N")
    head = f"{view}({', '.join(shown(rng.choice(known)) for _ in range(2))})"
    return f"{head} :- {', '.join(asked)}", f"{head} :- {', '.join(told)}"


def shown(name: str) -> str:
    """The variable as an int."""
    return f"int({name})" if name in ("S", "N") else name


def random_pair(rng: Random) -> tuple[str, str]:
    """The spec that asks, and the one that reads tables."""
    views = [("  big:\n    columns: {n: bigint}\n    rules: ['big(N) :- N >= 2']\n", "")]
    for number, view in enumerate(("v", "w")[: rng.choice((1, 2))]):
        rules = [random_rule(rng, view, ["v"][:number]) for _ in range(rng.choice((1, 2)))]
        head = f"  {view}:\n    columns: {{a: int, b: int}}\n    rules:\n"
        lines = [head + "".join(f'      - "{rule[i]}"\n' for rule in rules) for i in (0, 1)]
        views.append((lines[0], lines[1]))
    asks, reads = ("views:\n" + "".join(one[i] for one in views) for i in (0, 1))
    return HEAD + DOMAINS + asks, HEAD + TABLES + reads


def prepared(text: str) -> tuple[Program, Layering] | None:
    """None where a random rule is refused for what it asks."""
    found = proven(prepare(load_program(text, "g.yaml")))
    if found.program is None or found.layering is None:
        assert {fault.code for fault in found.report.errors} <= {"FS905"}, list(found.report)
        return None
    return found.program, found.layering


def random_night(rng: Random, now: dict[str, frozenset[Row]]) -> dict[str, Delta]:
    """What comes and goes, also of answers."""
    night = {}
    for name, rows in now.items():
        whole = list(product(NODES, repeat=WIDTH[name]))
        came = frozenset(rng.sample(whole, min(len(whole), rng.choice((0, 1, 4))))) - rows
        night[name] = Delta(came, frozenset(row for row in rows if rng.random() < 0.2))
    return night


def random_held(rng: Random, now: dict[str, frozenset[Row]]) -> dict[str, frozenset[Row]]:
    """Arguments without an answer; those have no rows."""
    free = [(x,) for x in NODES if not any(row[0] == x for row in now["f"])]
    held_g = rng.random() < 0.3 and not now["g"]
    return {"f": frozenset(row for row in free if rng.random() < 0.4), "g": frozenset([(True,)] if held_g else ())}


def replaced(old: frozenset[Row], new: frozenset[Row]) -> Delta:
    return Delta(new - old, old - new)


def compared(rng: Random) -> tuple[int, int]:
    """Hold one spec that asks to the one that reads, night by night: was less asked than it could, was any held?"""
    pair = None
    while pair is None:
        asking, reading = random_pair(rng)
        first, second = prepared(asking), prepared(reading)
        pair = (first, second) if first and second else None
    (program, layering), whole = pair
    one, other = Replica(program, layering), Replica(*whole)
    now: dict[str, frozenset[Row]] = {name: frozenset() for name in WIDTH}
    held = {"f": frozenset[Row](), "g": frozenset[Row]()}
    waiting = 0
    for night in range(NIGHTS):
        changes = random_night(rng, now)
        now = {name: (rows - changes[name].minus) | changes[name].plus for name, rows in now.items()}
        strategy = rng.choice((*MAINTAINING, "auto")) if night else "auto"
        answers = {f"d:{name}": changes[name] for name in FUNCTIONS}
        before, held = held, random_held(rng, now)
        one.contents |= {f"d:{name}~held": rows for name, rows in held.items()}
        changes |= {f"{name}_held": replaced(before[name], held[name]) for name in held}
        came, _ = one.refresh({**changes, **answers}, chooser(strategy))
        true, _ = other.refresh(changes, chooser("recompute"))
        waiting += any(one.contents.get(held_name(f"d:{name}")) for name in held)
        for view in whole[0].shown:
            assert one.contents[view.name] == other.contents[view.name], (night, strategy, asking)
            assert came[view.name] == true[view.name], (night, strategy, asking)
        assert not list(unasked(program, one.contents, needs_of(program.views))), (night, asking)
    wanted = one.contents.get(asks_name("d:f"), frozenset())
    return len(wanted) < len({row[0] for row in now["f"]}), waiting


@pytest.mark.parametrize("seed", SEEDS)
def test_asking_is_reading(seed: int) -> None:
    rng = Random(seed)
    fewer, waiting = map(sum, zip(*(compared(rng) for _ in range(PROGRAMS)), strict=True))
    assert fewer, "not everything that could be asked is asked"
    assert waiting, "sometimes there is no answer"
