"""Sets as the rule says them, for those who judge what is kept: full evaluation in `foreset test`, and verification.

It stands in the place of rewrite/split_aggregates, and shares nothing with it: what is kept and what it is held to may
not have one fault (ADR 0110). Nothing is merged here, and nothing is named by what it holds. Each aggregate of each set
has accumulators of its own, which are built from the members of a group and read by their place; a set groups by what
it grouped by in the rule that the user wrote, whatever rules are made of parts of that one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace

from foreset.analyse import types
from foreset.analyse.aggregates import resolve
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.aggregates import Accumulator, Aggregation, Definition, Kind
from foreset.ir.functions import type_of
from foreset.ir.program import HIDDEN, Column, View
from foreset.ir.renaming import numbered, rename_literal, substituted
from foreset.ir.rules import Atom, Comparison, Literal, Rule, SetOf, literal_variables, owner
from foreset.ir.terms import Var
from foreset.ir.types import BIGINT
from foreset.rewrite.normalise_rules import Schemas, normalise_rule
from foreset.rewrite.type_rules import type_rule

_NOWHERE = Span("", 1, 1)
_COUNT = Accumulator(Kind.MEMBERS, (), BIGINT)


@dataclass(slots=True)
class AsWritten:
    """Reads the sets of one program, which is sound; `made` has a view of groups for each set."""

    schemas: Schemas
    definitions: Mapping[str, Definition]
    made: dict[str, View] = field(default_factory=dict)
    _first: dict[Hashable, SetOf] = field(default_factory=dict)  # each set as it stands in the rule of the user
    _equal: dict[Hashable, View] = field(default_factory=dict)  # by all that a view of groups says

    @property
    def schemas_with_hidden(self) -> Schemas:
        """The columns of everything that a rule may read."""
        return {**self.schemas, **{view.name: view.columns for view in self.made.values()}}

    def split(self, rule: Rule, _strategy: str = "") -> tuple[Rule, tuple[Diagnostic, ...]]:
        """The rule with an atom for each of its sets."""
        body = list(rule.body)
        for number, one in enumerate(rule.sets):
            key = (rule.name, replace(one, groups=(), around=None))  # a rule has its name to itself
            body += self._read(self._first.setdefault(key, one), number, rule)
        return replace(rule, body=tuple(body), sets=()), ()

    def _read(self, one: SetOf, number: int, rule: Rule) -> list[Literal]:
        """The atom of a set, and an equation for each aggregate."""
        members, columns = self._members(one, self._around(one, number), rule)
        element = tuple(column.type for column in columns[len(one.groups) :])
        held, equations = [_COUNT], list[Literal]()
        for made in one.aggregates:
            found = resolve(made, element, self.definitions, made.span or _NOWHERE)
            assert not isinstance(found, Diagnostic), "the program is sound"
            places = {str(i): _place(number, len(held) + i) for i in range(len(found.needs))}
            held += (Accumulator(n.kind, n.inputs, n.type, n.parameter, n.fold) for n in found.needs)
            equations.append(Comparison("=", made.result, substituted(found.term, places), made.span))
        view = self._groups(members, columns, one, tuple(held))
        places_held = (_place(number, i) for i in range(len(held)))
        args = (*map(Var, one.groups), *places_held)
        return [Atom(view.name, args, groups=len(one.groups), span=one.span), *equations]

    def _around(self, one: SetOf, number: int) -> tuple[Literal, ...]:
        """What gives the outer variables of a set their values; it shares no others with it."""
        if one.around is None:
            return ()
        body = self.split(one.around)[0].body
        names = {var.name for literal in body for var in literal_variables(literal)} - {*one.groups, "_"}
        return tuple(rename_literal(literal, {name: f"{name}.around.{number}" for name in names}) for literal in body)

    def _members(self, one: SetOf, around: tuple[Literal, ...], rule: Rule) -> tuple[Rule, tuple[Column, ...]]:
        """The rule of the members, in normal form, and its columns."""
        schemas: Schemas = {**self.schemas_with_hidden, "": ()}
        head = Atom("", (*map(Var, one.groups), *one.elements), span=one.span)
        normal = normalise_rule(Rule(head, (*one.body, *around), rule.name, span=one.span), schemas)
        headless = replace(normal.rule, head=Atom("", ()))
        inferred = types.infer(headless, schemas, normal.pulled)
        typed = type_rule(headless, inferred.types, schemas)
        kinds = [type_of(arg, inferred.types) for arg in normal.rule.head.args]
        columns = tuple(Column(f"c{i}", kind) for i, kind in enumerate(kinds) if kind is not None)
        assert len(columns) == len(kinds), "the program is sound"
        return replace(typed, head=normal.rule.head), columns

    def _groups(self, members: Rule, columns: tuple[Column, ...], one: SetOf, held: tuple[Accumulator, ...]) -> View:
        key = (numbered(members), len(one.groups), held)
        if key not in self._equal:
            name = f"{owner(members)}{HIDDEN}set{len(self._equal) + 1}"
            rule = replace(members, head=replace(members.head, relation=f"{name}{HIDDEN}members"))
            element = tuple(column.type for column in columns[len(one.groups) :])
            aggregation = Aggregation(len(one.groups), held, rule.head.relation, element, stored=False)
            kept = tuple(Column(f"a{i}", each.type) for i, each in enumerate(held))
            view = View(name, (*columns[: len(one.groups)], *kept), (rule,), aggregation=aggregation, hidden=True)
            self._equal[key] = self.made[name] = view
        return self._equal[key]


def _place(number: int, place: int) -> Var:
    return Var(f"set{number}.{place}")
