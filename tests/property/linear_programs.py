"""Random linear recursions that carry columns along: one to three columns, both directions, several rules of each kind.

Lower parts have joins, negations, comparisons and constants; data have circles and NULLs. One program in some is not
admitted by `spread`: it multiplies, or reads the key in another way.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.property.nights import nights_of
from tests.refresh_cases import Case, load_program

from foreset.ir.terms import Value
from foreset.ir.types import STRING, Type

LINKS = {  # lower parts that link the head's key X, Y with a key Z, T that it needs
    1: ("e(X, Z)", "e(Z, X)", "f(X, Z, _)", "f(_, X, Z)", "e(X, U), e(U, Z)", "e(X, Z), s(Z)", "f(Z, U, X), s(U)"),
    2: ("f(X, Y, Z), e(Z, T)", "e(X, Y), e(Y, Z), e(Z, T)", "f(X, Y, T), Z = X", "f(X, Z, U), f(U, Y, T)",
        "f(Z, T, X), e(T, Y)"),
}  # fmt: skip
MORE = ("not s(X)", "not s(Z)", "X != Z", "X < Z", "Z >= {one}", "not e(Z, X)", "not f(X, Z, _)", "not is_null(X)")
BASES = ("e(A, B), e(B, C)", "f(A, B, C)", "f(C, A, B), not s(A)", "e(A, B), s(C), A != B", "e(A, B), C = {one}",
         "e(B, A), f(B, C, _)")  # fmt: skip


def random_linear(seed: int) -> Case:
    """The program and the nights that `seed` names."""
    rng = Random(seed)
    kind = rng.choice(("int", "int", "string"))
    wide = "bigint" if kind == "int" and rng.random() < 0.15 else kind
    program = load_program("\n".join(_spec(rng, kind, wide)), f"linear {seed}")
    columns = {source.name: source.columns for source in program.sources}
    size = rng.choice((3, 5, 8))

    def domain(of: Type) -> Value:
        return rng.choice("abcdefgh"[:size]) if of == STRING else rng.randrange(size)

    growth = {"e": "insert", "f": "insert", "s": rng.choice(("delete", "nothing"))}
    nights = nights_of(rng, columns, growth, domain, rng.choice((0.0, 0.0, 0.08)))
    return Case(replace(program, file=""), nights, seed=seed, name=f"linear {seed}")


def _spec(rng: Random, kind: str, wide: str) -> list[str]:
    width = rng.choices((1, 2, 3), (10, 55, 35))[0]
    moving = min(rng.choices((1, 2), (75, 25))[0], width)
    key = sorted(rng.sample(range(width), moving))
    one = "1" if kind == "int" else '"b"'
    rules = [_base(rng, width, one) for _ in range(rng.choices((1, 2, 3), (60, 30, 10))[0])]
    doubled = width == 2 and rng.random() < 0.2
    steps = ["v(X, Y) :- v(X, Z), v(Z, Y)", *["v(X, Y) :- v(Y, X)"] * (rng.random() < 0.5)] if doubled else [
        _step(rng, width, key, one) for _ in range(rng.choices((1, 2, 3), (60, 30, 10))[0])]  # fmt: skip
    columns = ", ".join(f"c{i}: {wide}" for i in range(width))
    blank = ", ".join(["X", *["_"] * (width - 1)])
    return [
        "group: linear",
        "sources:",
        f"  e: {{table: t/e, columns: {{a: {kind}, b: {kind}}}}}",
        f"  f: {{table: t/f, columns: {{a: {kind}, b: {kind}, c: {kind}}}}}",
        f"  s: {{table: t/s, columns: {{a: {kind}}}}}",
        "views:",
        *("  v:", f"    columns: {{{columns}}}", "    rules:", *(f"      - '{rule}'" for rule in [*rules, *steps])),
        *("  w:", f"    columns: {{c0: {wide}}}", "    rules:", f"      - 'w(X) :- s(X), not v({blank})'"),
        "",
    ]


def _base(rng: Random, width: int, one: str) -> str:
    body = rng.choice(BASES).format(one=one)
    shown = [one if rng.random() < 0.05 else name for name in rng.sample("ABC", width)]
    return f"v({', '.join(shown)}) :- {body}"


def _step(rng: Random, width: int, key: list[int], one: str) -> str:
    """`v(K, C) :- lower parts, v(K', C)`, in any order."""
    heads, needed = ["X", "Y"][: len(key)], ["Z", "T"][: len(key)]
    link = rng.choice(LINKS[len(key)])
    if rng.random() < 0.08:
        link, needed[0] = link.replace("Z", one), one
    carried = iter(("P", "Q"))
    args = [(heads[key.index(i)], needed[key.index(i)]) if i in key else (next(carried),) * 2 for i in range(width)]
    head, atom = (", ".join(arg[side] for arg in args) for side in (0, 1))
    body = [link, f"v({atom})"]
    if rng.random() < 0.4 and one not in needed:
        body.append(rng.choice(MORE).format(one=one))
    rng.shuffle(body)
    return f"v({head}) :- {', '.join(body)}"
