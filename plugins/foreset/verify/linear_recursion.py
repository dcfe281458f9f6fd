"""Recursion that only hands some columns on: of `closure(X, Y) :- edge(X, Z), closure(Z, Y)` that is `Y`.

Goals that differ in such *carried* columns alone take the same way down, and their answers the same way up. So the
view is taken apart: *steps* lead from the key of a goal (its other columns) to the keys of the goals below, whatever
is carried, and the rules without recursion start what goes up. `flows.py` sends what is carried along the steps.

A goal that gives the key alone wants all that is carried. As written, each key below it would be such a goal, too, with
all answers of its own; instead, what the goal's key reaches by steps is found first (`LinearRecursion.from_key`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from foreset.ir.program import HIDDEN, View
from foreset.ir.rules import Atom, Literal, Rule, atoms, literal_variables
from foreset.ir.terms import Const, Term, Var
from foreset.ir.types import Type
from foreset.verify.binding_order import Asked, Fanout, Passage
from foreset.verify.value_numbering import alike

END = "the other end"  # no variable of a spec has spaces in its name
FEW = 4.0  # rows for one key; a rule without recursion that reads more of a source is asked by whole rows


@dataclass(frozen=True, slots=True)
class LinearRecursion:
    """A recursive view that hands columns on, taken apart."""

    view: str
    kinds: tuple[Type, ...]
    key: Asked
    carried: Asked
    steps: View  # its rows: the key of a goal, and that of a goal whose answers are answers to it
    starts: tuple[Rule, ...]

    @property
    def whole(self) -> Asked:
        """Every column."""
        return tuple(range(len(self.kinds)))

    @property
    def key_of_step(self) -> Asked:
        """The columns by which steps are asked for: those of the key above."""
        return tuple(range(len(self.key)))

    @property
    def by_key(self) -> str:
        """The name of those rules without recursion that are asked by the key alone."""
        return f"{self.view}{HIDDEN}by key"

    @property
    def by_row(self) -> str:
        """The name of the others, which are asked by whole rows."""
        return f"{self.view}{HIDDEN}by row"

    @property
    def _from_key(self) -> tuple[str, str, str]:
        """The names of the parts that goals by key alone have: steps, what is reached by some, and what starts."""
        return f"{self.view}{HIDDEN}onward", f"{self.view}{HIDDEN}reached", f"{self.view}{HIDDEN}begun"

    def schemas(self) -> dict[str, tuple[Type, ...]]:
        """The columns of its parts."""
        key = tuple(self.kinds[position] for position in self.key)
        onward, reached, begun = self._from_key
        rows = {self.by_key: self.kinds, self.by_row: self.kinds, begun: self.kinds}
        return {**rows, self.steps.name: (*key, *key), onward: (*key, *key), reached: (*key, *key)}

    def from_key(self) -> tuple[View, ...]:
        """The view for goals that give its key alone, and then its parts."""
        onward, reached, begun = self._from_key
        here, there, beyond = (tuple(Var(f"{place} {p}") for p in self.key) for place in ("here", "there", "beyond"))
        types = {var.name: self.kinds[p] for at in (here, there, beyond) for var, p in zip(at, self.key, strict=True)}
        types |= {f"carried {p}": self.kinds[p] for p in self.carried}

        def row(relation: str, key: Sequence[Var]) -> Atom:
            given = dict(zip(self.key, key, strict=True))
            return Atom(relation, tuple(given.get(p, Var(f"carried {p}")) for p in self.whole))

        def view(name: str, *rules: tuple[Atom, ...]) -> View:
            return View(name, (), tuple(Rule(head, tuple(body), types=types) for head, *body in rules))

        pair = Atom(reached, (*here, *there))
        return (
            view(self.view, (row(self.view, here), row(begun, here)), (row(self.view, here), pair, row(begun, there))),
            view(
                reached,
                (pair, Atom(onward, (*here, *there))),
                (Atom(reached, (*here, *beyond)), pair, Atom(onward, (*there, *beyond))),
            ),
            View(onward, (), tuple(named(rule, onward) for rule in self.steps.rules)),
            View(begun, (), tuple(named(rule, begun) for rule in self.starts)),
        )


def taken_apart(view: View) -> LinearRecursion | None:
    """`view`, the only one of its stratum, taken apart; None where it reads itself in another way, or not at all."""
    kinds = tuple(column.type for column in view.columns)
    links = [(rule, link) for rule in view.rules if (link := _link(rule, view.name)) is not None]
    starts = tuple(rule for rule in view.rules if not _reads(rule, view.name))
    if not links or len(links) + len(starts) < len(view.rules):
        return None
    carried = tuple(p for p, kind in enumerate(kinds) if all(_hands_on(rule, link, p, kind) for rule, link in links))
    key = tuple(p for p in range(len(kinds)) if p not in carried)
    if not carried or not all(_knows(rule, link, key, kinds) for rule, link in links):
        return None
    name = f"{view.name}{HIDDEN}steps"
    steps = View(name, (), tuple(_step(rule, link, key, name) for rule, link in links))
    return LinearRecursion(view.name, kinds, key, carried, steps, starts)


def parted(
    one: LinearRecursion, steps: Sequence[Passage], starts: Sequence[Passage], fanout: Fanout
) -> tuple[View, View]:
    """The rules without recursion: those that are asked by key, and those that are asked by whole rows.

    By key they are asked once for all that is carried, which is less unless it finds many rows that nobody needs.
    `steps` are passed by key, and so are `starts`, which stand for `one.starts` in this order.
    """
    asked = {look for way in steps for look in _looks(way)}

    def cheap(way: Passage) -> bool:
        rows = (fanout(*look) for look in _looks(way) if look not in asked)
        return all(found is not None and found <= FEW for found in rows)

    chosen = [cheap(way) for way in starts]
    return tuple(
        View(name, (), tuple(named(rule, name) for rule, by in zip(one.starts, chosen, strict=True) if by is side))
        for name, side in ((one.by_key, True), (one.by_row, False))
    )  # type: ignore[return-value]  # two names, two views


def named(rule: Rule, name: str) -> Rule:
    """The same rule for a view of another name."""
    return replace(rule, head=replace(rule.head, relation=name))


def _looks(way: Passage) -> Iterable[tuple[str, Asked]]:
    return [(stage.literal.relation, stage.known) for stage in way.stages if isinstance(stage.literal, Atom)]


def _reads(rule: Rule, view: str) -> bool:
    return any(atom.relation == view for atom, _ in atoms(rule))


def _link(rule: Rule, view: str) -> Atom | None:
    """The atom of the view itself, if there is exactly one."""
    own = [atom for atom, _ in atoms(rule) if atom.relation == view]
    return own[0] if len(own) == 1 else None


def _rest(rule: Rule, link: Atom) -> tuple[Literal, ...]:
    return tuple(literal for literal in rule.body if literal is not link)


def _hands_on(rule: Rule, link: Atom, position: int, kind: Type) -> bool:
    """Whether the column is a variable that goes from the head to the same place of the link, and nowhere else."""
    arg = rule.head.args[position]
    if not isinstance(arg, Var) or link.args[position] != arg or not alike(rule.types[arg.name], kind):
        return False
    occurrences = [variable for literal in rule.body for variable in literal_variables(literal) if variable == arg]
    return len(occurrences) == 1


def _knows(rule: Rule, link: Atom, key: Asked, kinds: Sequence[Type]) -> bool:
    """Whether atoms of the rest of the rule bind both keys of a step, in the types of the view's own columns."""
    rest = (literal for literal in _rest(rule, link) if isinstance(literal, Atom))
    bound = {variable.name for literal in rest for variable in literal_variables(literal)}

    def fits(arg: Term, kind: Type) -> bool:
        if isinstance(arg, Const):
            return alike(arg.type, kind)
        return isinstance(arg, Var) and arg.name in bound and alike(rule.types[arg.name], kind)

    return all(fits(atom.args[p], kinds[p]) for atom in (rule.head, link) for p in key)


def _step(rule: Rule, link: Atom, key: Asked, name: str) -> Rule:
    ends = (*(rule.head.args[p] for p in key), *(link.args[p] for p in key))
    return replace(rule, head=Atom(name, ends), body=_rest(rule, link))


# ---------------------------------------------------------------- rules that read their view twice
def linear(view: View) -> View:
    """A view whose rules read it twice with rules that read it once; any other view as it is.

    `p(X, Y) :- p(X, Z), p(Z, Y)` gives the closure of what the other rules give; with `p(X, Y) :- p(Y, X)` beside it,
    that of those rows and of the same turned round. Said as `p(X, Y) :- b(X, Z), p(Z, Y)`, where `b` is the body of
    such a rule, it hands `Y` on, and no pair between the ends of a goal is a goal of its own.
    """
    kinds = [column.type for column in view.columns]
    recursive = [rule for rule in view.rules if any(atom.relation == view.name for atom, _ in atoms(rule))]
    if len(kinds) != 2 or kinds[0] != kinds[1] or not any(map(_doubles, recursive)):
        return view
    if not all(_doubles(rule) or _mirrors(rule) for rule in recursive):
        return view
    base = [rule for rule in view.rules if rule not in recursive]
    if any(map(_mirrors, recursive)):
        base += [replace(rule, head=replace(rule.head, args=rule.head.args[::-1])) for rule in base]
    return replace(view, rules=(*base, *(_onward(rule, kinds[0]) for rule in base)))


def _onward(rule: Rule, kind: Type) -> Rule:
    start, middle = rule.head.args
    link = Atom(rule.head.relation, (middle, Var(END)))
    head = replace(rule.head, args=(start, Var(END)))
    return replace(rule, head=head, body=(*rule.body, link), types={**rule.types, END: kind})


def _doubles(rule: Rule) -> bool:
    """`p(X, Y) :- p(X, Z), p(Z, Y)`, in any order."""
    own = _own(rule)
    return len(own) == 2 and any(
        one[1] == other[0] and (one[0], other[1]) == rule.head.args and _count(rule) == 3
        for one, other in (own, own[::-1])
    )


def _mirrors(rule: Rule) -> bool:
    """`p(X, Y) :- p(Y, X)`."""
    own = _own(rule)
    return len(own) == 1 and own[0][::-1] == rule.head.args and _count(rule) == 2


def _own(rule: Rule) -> list[tuple[Term, Term]]:
    """The arguments of the body's atoms, if all of them are the view's own and are variables; else nothing."""
    found = [(one.args[0], one.args[1]) for one in rule.body if isinstance(one, Atom) and _own_pair(rule, one)]
    return found if len(found) == len(rule.body) else []


def _own_pair(rule: Rule, atom: Atom) -> bool:
    return atom.relation == rule.head.relation and len(atom.args) == 2 and all(isinstance(x, Var) for x in atom.args)


def _count(rule: Rule) -> int:
    return len({var.name for literal in rule.body for var in literal_variables(literal)})
