"""What domains have to be asked, told from the rules that use the answers and not from what was made to ask for them.

`v(K, R) :- groups(K, N), d~g(N, R)` needs an answer for every N of `groups(K, N)`. A rule of what is asked that lost
a variable on the way would be followed by verification too, and the answers that are lacking would never be missed:
so what was asked is held to this as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from foreset.analyse.binding import bound_by_atoms
from foreset.analyse.order import can_fail, classified, ordered
from foreset.ir.asked import asks_name
from foreset.ir.program import Column, View
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables
from foreset.ir.terms import Const, Term, Var, names_in

_NEEDED = "needed~"


@dataclass(frozen=True, slots=True)
class Need:
    """A rule whose rows have to have been asked: those of `asks`. `seed` is the atom by whose rows one may look."""

    asks: str
    rule: Rule
    seed: Atom | None

    @property
    def view(self) -> View:
        """A view of the seed's variables and the arguments."""
        args = (*map(Var, self.seeds), *self.rule.head.args)
        kinds = [arg.type if isinstance(arg, Const) else self.rule.types[arg.name] for arg in args]  # type: ignore[union-attr]
        columns = tuple(Column(f"c{place}", kind) for place, kind in enumerate(kinds))
        return View(_NEEDED, columns, (replace(self.rule, head=Atom(_NEEDED, args)),), hidden=True)

    @property
    def seeds(self) -> tuple[str, ...]:
        """The variables of the seed, each once."""
        return tuple(dict.fromkeys(v.name for v in literal_variables(self.seed))) if self.seed else ()


def needs_of(views: Sequence[View]) -> tuple[Need, ...]:
    """A need for each place where a rule of rows uses an answer."""
    called = {view.name: view for view in views if view.called}
    if not called:
        return ()
    below = _waiting(views, called)
    own = {view.aggregation.members for view in views if view.aggregation} | {asks_name(v.called) for v in views}
    found: list[Need] = []
    for view in views:
        if view.name not in own and not (view.aggregation or view.constrained or view.called):
            found += [need for rule in view.rules for need in _of_rule(rule, called, below)]
    return tuple(found)


def _of_rule(rule: Rule, called: Mapping[str, View], below: Mapping[str, frozenset[str]]) -> Iterator[Need]:
    for literal in rule.body:
        atom = literal.atom if isinstance(literal, Negation) else literal
        if isinstance(atom, Atom) and atom.relation in called:
            asked = _asked(atom, called)
            if asked:
                part = _without(rule, literal, asked, called, below)
                seed = next((one for one in part.body if isinstance(one, Atom) and one.relation not in called), None)
                yield Need(part.head.relation, part, seed)


def _asked(answers: Atom, called: Mapping[str, View]) -> tuple[Term, ...]:
    """The arguments of a call, which the atom that stands for it begins with."""
    view = called[answers.relation]
    asks = next((one for one in view.rules[0].body if isinstance(one, Atom) and one.relation == asks_name(view.called)),
                None)  # fmt: skip
    return answers.args[: len(asks.args)] if asks else ()


def _waiting(views: Sequence[View], called: Collection[str]) -> dict[str, frozenset[str]]:
    """For each view of groups the answers without which its sets are not made."""
    rules = {view.name: view.rules for view in views}
    members = {view.name: view.aggregation.members for view in views if view.aggregation}

    def of(name: str) -> Iterator[str]:
        for rule in rules.get(members[name], rules[name]):
            for atom in (one for one in rule.body if isinstance(one, Atom)):
                if atom.relation in called:
                    yield atom.relation
                elif atom.relation in members:
                    yield from of(atom.relation)

    return {name: frozenset(of(name)) for name in members}


# ---------------------------------------------------------------- the part of a rule
def _without(
    rule: Rule,
    call: Literal,
    args: tuple[Term, ...],
    called: Mapping[str, View],
    below: Mapping[str, frozenset[str]],
) -> Rule:
    """What holds of a rule before a call: no literal that waits for its answer, and no condition that can fail."""
    answers = call.atom.relation if isinstance(call, Negation) else call.relation  # type: ignore[union-attr]
    rest = [one for one in rule.body if one is not call]
    atoms = [one for one in rest if isinstance(one, Atom) and one.relation not in called]
    atoms = [one for one in atoms if answers not in below.get(one.relation, ())]
    waiting = [one for one in rest if isinstance(one, Atom) and one.relation in called]
    conditions = [_compared(one) for one in rest if not isinstance(one, Atom | Negation)]
    wanted = _wanted(names_in(*args), waiting, conditions, called)
    while True:
        lets = _values(atoms, conditions, wanted)
        known = bound_by_atoms(atoms) | {let.var.name for let in lets}
        told = next((one for one in waiting if names_in(*_asked(one, called)) <= known), None)
        if told is None:
            break
        atoms.append(told)
        waiting.remove(told)
    kept = [one for one in classified([*atoms, *conditions]) if _holds_before(one, known, wanted)]
    flips = [one for one in rest if isinstance(one, Negation) and one.atom.relation not in called]
    apart = [one for one in flips if {v.name for v in literal_variables(one)} & _elsewhere(rule, one) <= known]
    head = Atom(asks_name(called[answers].called), args, span=call.span)
    return replace(rule, head=head, body=ordered((*atoms, *lets, *kept, *apart)))


def _compared(literal: Literal) -> Literal:
    return Comparison("=", literal.var, literal.term, literal.span) if isinstance(literal, Let) else literal


def _wanted(
    names: frozenset[str], answers: Sequence[Atom], conditions: Sequence[Literal], called: Mapping[str, View]
) -> frozenset[str]:
    """These variables, and those that they wait for, by calls and assignments."""
    while True:
        inputs = [names_in(*_asked(one, called)) for one in answers if names & {v.name for v in literal_variables(one)}]
        inputs += [names_in(*_sides(one)) for one in conditions if _gives(one, names)]
        more = names.union(*inputs)
        if more == names:
            return names
        names = more


def _sides(literal: Literal) -> tuple[Term, ...]:
    return (literal.left, literal.right) if isinstance(literal, Comparison) else ()


def _gives(literal: Literal, names: Collection[str]) -> bool:
    """An `=` with one of these variables by itself on a side."""
    alone = (side for side in _sides(literal) if isinstance(side, Var))
    return isinstance(literal, Comparison) and literal.op == "=" and any(side.name in names for side in alone)


def _values(atoms: Sequence[Atom], conditions: Sequence[Literal], wanted: Collection[str]) -> list[Let]:
    """The assignments that cannot fail, that finish an aggregate, or that give a wanted variable."""
    lets = [one for one in classified([*atoms, *conditions]) if isinstance(one, Let)]
    kept: list[Let] = []
    known = set(bound_by_atoms(atoms))
    while more := [let for let in lets if let not in kept and names_in(let.term) <= known
                   and (not can_fail(let) or _finishes(let) or let.var.name in wanted)]:  # fmt: skip
        kept += more
        known |= {let.var.name for let in more}
    return kept


def _finishes(literal: Literal) -> bool:
    """It makes the result of an aggregate from accumulators, whose names nobody can write."""
    return any("." in var.name for var in literal_variables(literal))


def _holds_before(literal: Literal, known: Collection[str], wanted: Collection[str]) -> bool:
    if not isinstance(literal, Comparison | Test) or not {v.name for v in literal_variables(literal)} <= set(known):
        return False
    return not can_fail(literal) or _finishes(literal) or _gives(literal, wanted)


def _elsewhere(rule: Rule, literal: Literal) -> set[str]:
    others = (one for one in (rule.head, *rule.body) if one is not literal)
    return {v.name for one in others for v in literal_variables(one)}
