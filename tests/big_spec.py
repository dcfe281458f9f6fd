"""A large spec, made up: every kind of literal, long chains, recursion."""

from __future__ import annotations

SOURCES = 10


def big_spec(views: int, rules: int) -> str:
    """A group `big` with so many views of so many rules each (at most five kinds)."""
    lines = ["group: big", "sources:"]
    lines += [f"  src{n}: {{table: raw/src{n}, columns: {{a: string, b: string, n: bigint}}}}" for n in range(SOURCES)]
    lines.append("views:")
    for view in range(views):
        lines += [f"  v{view}:", "    columns: {a: string, b: string, n: bigint}", "    rules:"]
        lines += [f"      - v{view}(X, Y, N) :- {body(view, rule)}" for rule in range(rules)]
    return "\n".join(lines) + "\n"


def body(view: int, rule: int) -> str:
    """One rule's body, over sources and the views before."""
    before = view - 1 - rule
    read = f"v{before}" if before >= 0 else f"src{rule % SOURCES}"
    one, other = f"src{(view + rule) % SOURCES}", f"src{(view + rule + 1) % SOURCES}"
    return (
        f"{one}(X, Y, N)",
        f"{other}(X, Y, N), {read}(Y, _, M), N > M",
        f"v{view}(Y, X, N), {read}(Y, X, N)",
        f"{read}(X, Y, M), not {one}(X, Y, _), N = M + 1 - 1",
        f"{read}(a=X, b=Y, n=N), X != 'k{rule}'",
    )[rule % 5]
