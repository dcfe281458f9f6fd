"""What there is to say of aggregates: how groups are kept, and whether a refresh can do without the base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from foreset.ir.aggregates import Aggregation
from foreset.ir.program import Program, View
from foreset.ir.rules import Atom, Negation, atoms
from foreset.ir.text import print_atom, print_body, print_term, print_value

SELF = "never read in a refresh: the view is self-maintainable"


def groups_rule(view: View) -> str:
    """A view of groups in one line: what names the group, what is accumulated, and of which members."""
    aggregation = view.aggregation
    assert aggregation is not None
    (rule,) = view.rules
    names = ", ".join(map(print_term, rule.head.args[: aggregation.groups]))
    held = ", ".join(held_by(aggregation))
    body = "" if aggregation.stored else f" :- {print_body(rule.body)}"
    return f"{view.name}({names}; {held}) of each {print_atom(rule.head)}{body}"


def held_by(aggregation: Aggregation) -> tuple[str, ...]:
    """The accumulators of a group: `total_1`, `percentile_1(0.9)`."""
    return tuple(
        each.label if each.parameter is None else f"{each.label}({print_value(each.parameter)})"
        for each in aggregation.accumulators
    )


def base_reading(program: Program, name: str) -> str:
    """Whether a refresh of a view that aggregates reads more than its auxiliaries and the change; empty for others."""
    views = {view.name: view for view in program.views}
    if not any(views[read].hidden for read in _read(views[name]) if read in views) and not views[name].hidden:
        return ""
    reasons = dict.fromkeys(_reasons(name, views))
    return f"read: {'; '.join(reasons)}" if reasons else SELF


def _read(view: View) -> Iterator[str]:
    return (atom.relation for rule in view.rules for atom, _ in atoms(rule))


def _reasons(name: str, views: Mapping[str, View]) -> Iterator[str]:
    """Why a refresh reads a relation that is no auxiliary, from the view down to the first shown ones."""
    view = views[name]
    for rule in view.rules:
        shown = [a.relation for a, _ in atoms(rule) if not (a.relation in views and views[a.relation].hidden)]
        positive = [one for one in rule.body if isinstance(one, Atom)]
        if any(isinstance(one, Negation) for one in rule.body):
            yield f"{_listed(shown)} under `not` is looked up around a change"
        elif shown and len(positive) > 1:
            yield f"{_listed(shown)}, as a change of one literal is joined with the others"
    if view.aggregation and not view.aggregation.stored:
        return
    for read in dict.fromkeys(_read(view)):
        if read in views and views[read].hidden and read != name:
            yield from _reasons(read, views)


def _listed(names: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(names))
