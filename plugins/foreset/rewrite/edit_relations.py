"""What the edits of a view come to: rows, which stand in hidden relations, and regions, which stand in rules.

    delete a = 1, b = 2    v~-deleted(1, 2)      each rule of v ends with `not v~-deleted(A, B)`
    delete a = 1           v~-deleted_0(1)       ... with `not v~-deleted_0(A)`: the places of the columns that are told
    insert a = 1, b = 3    v~-inserted(1, 3)     v(X0, X1) :- v~-inserted(X0, X1)

So another edit of a kind that is there already changes rows below the view, and no rule: it is maintained as any change
is, and a thousand edits are one join. All other deletions are conditions, `not (a >= 5, ...)`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from foreset.constraints.form import Constraint, Linear, Text
from foreset.constraints.instances import contains
from foreset.constraints.rows import variables_of
from foreset.constraints.sorts import from_ticks
from foreset.ir.program import HIDDEN, View
from foreset.ir.rules import Atom, Negation, Rule
from foreset.ir.terms import Const, Row, Term, Value, Var
from foreset.ir.values import Misfit, coerce

Places = tuple[int, ...]
_DELETED, _INSERTED = f"{HIDDEN}-deleted", f"{HIDDEN}-inserted"  # no function of a domain has such a name
ADMITTING = ("auto", "incremental", "strict", "recompute")  # a declared strategy may not suit what reads relations


@dataclass(frozen=True, slots=True)
class Corrections:
    """The edits of one view of rows, in their order, summed up."""

    deleted: Mapping[Places, tuple[Row, ...]] = field(default_factory=dict)  # by the columns that are told
    regions: tuple[Constraint, ...] = ()
    inserted: tuple[Row, ...] = ()


def exact_places(view: View, prepared: View | None) -> frozenset[int]:
    """The columns by which relations may tell rows: each rule has them from variables of just that type, or constants.

    A variable that is compared with a wider column becomes wider itself, and the rule another one.
    """
    if prepared is None or view.strategy not in ADMITTING:
        return frozenset()
    kinds = [column.type for column in view.columns]

    def exact(rule: Rule, place: int) -> bool:
        arg = rule.head.args[place]
        return isinstance(arg, Const) or (isinstance(arg, Var) and rule.types.get(arg.name) == kinds[place])

    return frozenset(i for i in range(len(kinds)) if all(exact(rule, i) for rule in prepared.rules))


def summed(view: View, edits: Iterable[tuple[Constraint, Sequence[Row]]], exact: Collection[int]) -> Corrections:
    """Edits as regions to delete, or rows to insert; later ones win: what is deleted was put in before, or derived.

    `exact` are the columns by which relations may tell rows.
    """
    deleted: dict[Places, dict[Row, None]] = {}
    regions: dict[Constraint, None] = {}
    inserted: dict[Row, None] = {}
    own = variables_of(view.columns)
    for region, rows in edits:
        if rows:
            inserted |= dict.fromkeys(rows)
            continue
        told = point(region, view)
        if told is None or not set(told[0]) <= set(exact):
            regions[region] = None
            inserted = {row: None for row in inserted if not contains(region, own, row)}
            continue
        places, values = told
        deleted.setdefault(places, {})[values] = None
        if len(places) == len(view.columns):
            inserted.pop(values, None)
        else:
            inserted = {row: None for row in inserted if tuple(row[i] for i in places) != values}
    return Corrections({places: tuple(rows) for places, rows in deleted.items()}, tuple(regions), tuple(inserted))


def point(region: Constraint, view: View) -> tuple[Places, Row] | None:
    """The places and values of a region that is columns equal to constants; None for any other."""
    if region.locals or not region.literals:
        return None
    columns = {column.name: i for i, column in enumerate(view.columns)}
    values: dict[int, Value] = {}
    for literal in region.literals:
        match literal:
            case Linear(terms=((variable, 1),), op="=", bound=bound):
                value: object = from_ticks(bound, variable.sort)
            case Text(left=variable, op="=", right=str() as value):
                pass
            case _:
                return None
        place = columns[variable.name]
        try:
            values[place] = coerce(value, view.columns[place].type)
        except Misfit:  # the column can never hold it
            return None
    return tuple(sorted(values)), tuple(values[place] for place in sorted(values))


def with_relations(view: View, own: Corrections, shapes: Corrections) -> tuple[View, ...]:
    """The view with its hidden relations below it, which have the rows of `own` and the kinds of both."""
    told = sorted({*own.deleted, *shapes.deleted})
    hidden = [_deleted(view, places, own.deleted.get(places, ())) for places in told]
    rules = tuple(_without(rule, view, told) for rule in view.rules)
    if own.inserted or shapes.inserted:
        made = View(f"{view.name}{_INSERTED}", view.columns, (), hidden=True, given=own.inserted, span=view.span)
        terms = tuple(Var(f"X{i}") for i in range(len(view.columns)))
        head, body = Atom(view.name, terms, span=view.span), Atom(made.name, terms, span=view.span)
        rules, hidden = (*rules, Rule(head, (body,), f"{view.name}#edits", span=view.span)), [*hidden, made]
    return (*hidden, replace(view, rules=rules))


def corrected_by(name: str) -> str:
    """The view to which a relation of edits belongs; empty for any other relation."""
    view, mark, rest = name.partition(HIDDEN)
    return view if f"{mark}{rest}".startswith((_DELETED, _INSERTED)) else ""


def _deleted(view: View, places: Places, rows: tuple[Row, ...]) -> View:
    columns = tuple(view.columns[place] for place in places)
    return View(_name(view, places), columns, (), hidden=True, given=rows, span=view.span)


def _name(view: View, places: Places) -> str:
    whole = len(places) == len(view.columns)
    return f"{view.name}{_DELETED}" + ("" if whole else "".join(f"_{place}" for place in places))


def _without(rule: Rule, view: View, told: Sequence[Places]) -> Rule:
    names = rule.head.columns or tuple(column.name for column in view.columns)
    terms: dict[str, Term] = dict(zip(names, rule.head.args, strict=True))
    args = (tuple(terms[view.columns[place].name] for place in places) for places in told)
    tests = (Atom(_name(view, places), each, span=rule.span) for places, each in zip(told, args, strict=True))
    return replace(rule, body=(*rule.body, *(Negation(atom, rule.span) for atom in tests)))
