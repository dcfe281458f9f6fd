"""Make a failing case small: fewer nights, views, rules, literals and rows, as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tests.property.checks import Difference
from tests.refresh_cases import Case, Night

from foreset.ir.program import Program, View
from foreset.ir.rules import Atom, Comparison, Rule, atoms, literal_variables
from foreset.ir.terms import Row, Var, variables
from foreset.ir.values import sort_key
from foreset.testing.replica import Delta

Rows = frozenset[Row]
State = Mapping[str, Rows]
Verdict = Callable[[Case], object]


def minimise(case: Case, verdict: Verdict) -> Case:
    """The smallest case that steps of ours reach from `case` and that fails `verdict` in the same line."""
    line = _failing_line(case, verdict)
    smaller = bool(line)
    while smaller:
        smaller = False
        for candidate in _candidates(case):
            if _failing_line(candidate, verdict) == line:
                case, smaller = candidate, True
                break
    return case


def _failing_line(case: Case, verdict: Verdict) -> str:
    """The line and the kind of the difference; empty where there is none."""
    try:
        verdict(case)
    except Difference as difference:
        return difference.kind
    except Exception:  # noqa: BLE001 - a candidate need not make sense
        return ""
    return ""


def _candidates(case: Case) -> Iterator[Case]:
    """Each way to take one thing away, the big ones first."""
    states = _states(case)
    for i in reversed(range(1, len(states))):
        yield _with_states(case, [*states[:i], *states[i + 1 :]])
    for i in range(len(states) - 1):
        yield _with_states(case, [*states[:i], *states[i + 1 :]])
    for program in _programs(case.program):
        names = {source.name for source in program.sources}
        kept = tuple({name: delta for name, delta in night.items() if name in names} for night in case.nights)
        yield replace(case, program=program, nights=kept)
    for source in case.program.sources:
        for row in sorted({row for state in states for row in state[source.name]}, key=sort_key):
            yield _with_states(case, [{**s, source.name: s[source.name] - {row}} for s in states])
    for source in case.program.sources:
        for i in range(1, len(states)):
            if states[i][source.name] != states[i - 1][source.name]:
                tail = ({**s, source.name: states[i - 1][source.name]} for s in states[i : i + 1])
                yield _with_states(case, [*states[:i], *tail, *states[i + 1 :]])


def _programs(program: Program) -> Iterator[Program]:
    used = {atom.relation for rule in program.rules for atom, _ in atoms(rule)}
    for view in program.views:
        if not any(atom.relation == view.name for other in program.views if other != view
                   for rule in other.rules for atom, _ in atoms(rule)):  # fmt: skip
            yield replace(program, views=tuple(v for v in program.views if v != view))
    for view in program.views:  # with what it needs: so a circle of other views goes as one
        needed = _needed(program, view.name)
        if len(needed) < len(program.views):
            yield replace(program, views=tuple(v for v in program.views if v.name in needed))
    for source in program.sources:
        if source.name not in used:
            yield replace(program, sources=tuple(s for s in program.sources if s != source))
    for place, view in enumerate(program.views):
        for smaller in _views(view):
            yield replace(program, views=(*program.views[:place], smaller, *program.views[place + 1 :]))


def _needed(program: Program, name: str) -> set[str]:
    """The view and all views below it."""
    reads = {view.name: {atom.relation for rule in view.rules for atom, _ in atoms(rule)} for view in program.views}
    found, waiting = {name}, [name]
    while waiting:
        below = (reads[waiting.pop()] & reads.keys()) - found
        found |= below
        waiting += below
    return found


def _views(view: View) -> Iterator[View]:
    for i in range(len(view.rules)):
        if len(view.rules) > 1:
            yield replace(view, rules=(*view.rules[:i], *view.rules[i + 1 :]))
    for i, rule in enumerate(view.rules):
        for smaller in _rules(rule):
            yield replace(view, rules=(*view.rules[:i], smaller, *view.rules[i + 1 :]))


def _rules(rule: Rule) -> Iterator[Rule]:
    for i in range(len(rule.body)):
        smaller = replace(rule, body=(*rule.body[:i], *rule.body[i + 1 :]))
        if _safe(smaller):
            yield smaller


def _safe(rule: Rule) -> bool:
    """Every variable that is needed is bound: the head's too."""
    bound = {v.name for literal in rule.body if isinstance(literal, Atom) for v in literal_variables(literal)}
    rest = [literal for literal in rule.body if not isinstance(literal, Atom)]
    for _ in rest:
        for literal in rest:
            if isinstance(literal, Comparison) and literal.op == "=":
                for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
                    if isinstance(side, Var) and {v.name for v in variables(other)} <= bound:
                        bound.add(side.name)
    needed = {v.name for literal in (rule.head, *rest) for v in literal_variables(literal)} - {"_"}
    return needed <= bound


def _states(case: Case) -> list[State]:
    current: dict[str, Rows] = {source.name: frozenset() for source in case.program.sources}
    states: list[State] = []
    for night in case.nights:
        for name, delta in night.items():
            current[name] = (current[name] - delta.minus) | delta.plus
        states.append(dict(current))
    return states


def _with_states(case: Case, states: list[State]) -> Case:
    nights: list[Night] = []
    before: State = {source.name: frozenset() for source in case.program.sources}
    for state in states:
        nights.append({name: Delta(rows - before[name], before[name] - rows) for name, rows in state.items()})
        before = state
    return replace(case, nights=tuple(nights))
