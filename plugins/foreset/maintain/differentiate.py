"""What a change of the body does to the head, as rules.

Two families. Algorithm 1 of paper 000 (`deletions`, `rederivation`,
`insertions`) over-estimates, reads the old state around a deletion and the new
one around an insertion, and is right for sets. `lost` and `gained` are for
counters: every derivation that falls or arises is named exactly once, at its
first literal that changed, since literals before that one read what holds both
before and after.

`own` names the views of the stratum at work; everything else is lower, so its
net differentials are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace

from foreset.ir.program import Column, Helper
from foreset.ir.rules import Atom, Literal, Negation, Rule, literal_variables
from foreset.ir.steps import Derivation, Ref
from foreset.ir.terms import Const, Term, Var
from foreset.ir.types import BOOLEAN
from foreset.ir.versions import Version

Reading = Callable[[int], Version]


@dataclass(frozen=True, slots=True)
class Flip:
    """A negated literal that changed its truth, as a positive atom; `helper` must be derived first."""

    atom: Atom
    helper: Derivation | None = None
    relation: Helper | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """A maintenance rule with the change that it starts from."""

    rule: Rule
    flip: Flip
    within_stratum: bool  # it starts from rows of the stratum itself, so it belongs to the rounds


def deletions(rule: Rule, own: Set[str]) -> Iterator[Variant]:
    """Yield D_i: each way in which one changed literal may take a row of the head away."""
    for i, literal in _changeable(rule):
        flip = _changed(rule, i, own, (Version.DEL_NEXT, Version.MINUS), fallen=True)
        body = _body(rule, own, i, flip.atom, own_at=lambda _: Version.OLD, lower_at=lambda _: Version.OLD)
        yield Variant(_headed(rule, Version.DEL, body), flip, _is_own(literal, own))


def changes(rule: Rule, own: Set[str]) -> Iterator[tuple[Literal, Flip]]:
    """Yield each lower literal whose change may end derivations, with the atom that reads that change."""
    for i, literal in _lower(rule, own):
        yield literal, _changed(rule, i, own, (Version.DEL_NEXT, Version.MINUS), fallen=True)


def rederivation(rule: Rule, own: Set[str], own_version: Version) -> Rule:
    """Return R: the rule over the new state, to be read within the over-estimate."""
    body = _body(rule, own, None, None, own_at=lambda _: own_version, lower_at=lambda _: Version.NEW)
    return _headed(rule, Version.RED, body)


def support(rule: Rule, own: Set[str]) -> Rule:
    """Return the rule over what is left and what holds both before and after: derivations that D knows how to end."""
    body = _body(rule, own, None, None, own_at=lambda _: Version.LEFT, lower_at=lambda _: Version.KEPT)
    return _headed(rule, Version.HELD, body)


def rederivation_rounds(rule: Rule, own: Set[str]) -> Iterator[Rule]:
    """Yield R once more for each own literal, reading there only what the last round took back."""
    for i, atom in _own(rule, own):
        changed = replace(atom, version=Version.RED_NEXT)
        body = _body(rule, own, i, changed, own_at=lambda _: Version.LIVE, lower_at=lambda _: Version.NEW)
        yield _headed(rule, Version.RED, body)


def insertions(rule: Rule, own: Set[str]) -> Iterator[Variant]:
    """Yield I_i: each way in which one changed literal may bring a row of the head."""
    for i, literal in _changeable(rule):
        flip = _changed(rule, i, own, (Version.INS_NEXT, Version.PLUS), fallen=False)
        body = _body(rule, own, i, flip.atom, own_at=lambda _: Version.LIVE, lower_at=lambda _: Version.NEW)
        yield Variant(_headed(rule, Version.INS, body), flip, _is_own(literal, own))


def lost(rule: Rule, own: Set[str]) -> Iterator[tuple[Rule, Flip]]:
    """Yield the derivations of the old state that changes of lower relations end, each exactly once."""
    for i, _ in _lower(rule, own):
        flip = _changed(rule, i, own, (Version.DEL_NEXT, Version.MINUS), fallen=True)
        body = _body(rule, own, i, flip.atom, own_at=lambda _: Version.OLD, lower_at=_around(i, Version.OLD))
        yield _headed(rule, Version.TOUCHED, body), flip


def gained(rule: Rule, own: Set[str]) -> Iterator[tuple[Rule, Flip]]:
    """Yield the derivations that changes of lower relations begin, over the rows left, each exactly once."""
    for i, _ in _lower(rule, own):
        flip = _changed(rule, i, own, (Version.INS_NEXT, Version.PLUS), fallen=False)
        body = _body(rule, own, i, flip.atom, own_at=lambda _: Version.LEFT, lower_at=_around(i, Version.NEW))
        yield _headed(rule, Version.TOUCHED, body), flip


def lost_in_round(rule: Rule, own: Set[str]) -> Iterator[Rule]:
    """Yield the derivations that end with the rows deleted in the last round, each exactly once."""
    for i, atom in _own(rule, own):
        at = _split(i, Version.LEFT, Version.LEFT_BEFORE)
        body = _body(rule, own, i, replace(atom, version=Version.DEL_NEXT), own_at=at, lower_at=lambda _: Version.KEPT)
        yield _headed(rule, Version.TOUCHED, body)


def gained_in_round(rule: Rule, own: Set[str]) -> Iterator[Rule]:
    """Yield the derivations that begin with the rows inserted in the last round, each exactly once."""
    for i, atom in _own(rule, own):
        at = _split(i, Version.LIVE, Version.LIVE_AFTER)
        body = _body(rule, own, i, replace(atom, version=Version.INS_NEXT), own_at=at, lower_at=lambda _: Version.NEW)
        yield _headed(rule, Version.TOUCHED, body)


def evaluation(rule: Rule, own: Set[str], own_version: Version, target: Version) -> Rule:
    """Return the rule as it stands, over the new state of lower relations."""
    body = _body(rule, own, None, None, own_at=lambda _: own_version, lower_at=lambda _: Version.NEW)
    return _headed(rule, target, body)


def stated(rule: Rule, version: Version) -> Rule:
    """Return a rule that reads lower relations alone, over one state of them; its head stays."""
    body = _body(rule, frozenset(), None, None, own_at=lambda _: version, lower_at=lambda _: version)
    return replace(rule, body=body)


def evaluation_rounds(rule: Rule, own: Set[str]) -> Iterator[Rule]:
    """Yield the rule once for each own literal, reading there only the rows of the last round."""
    for i, atom in _own(rule, own):
        changed = replace(atom, version=Version.FULL_NEXT)
        body = _body(rule, own, i, changed, own_at=lambda _: Version.FULL, lower_at=lambda _: Version.NEW)
        yield _headed(rule, Version.FULL, body)


def is_recursive(rule: Rule, own: Set[str]) -> bool:
    """True when the body reads the stratum that it defines."""
    return any(True for _ in _own(rule, own))


def _changeable(rule: Rule) -> Iterator[tuple[int, Literal]]:
    return ((i, literal) for i, literal in enumerate(rule.body) if isinstance(literal, (Atom, Negation)))


def _is_own(literal: Literal, own: Set[str]) -> bool:
    return isinstance(literal, Atom) and literal.relation in own


def _own(rule: Rule, own: Set[str]) -> Iterator[tuple[int, Atom]]:
    for i, literal in enumerate(rule.body):
        if isinstance(literal, Atom) and literal.relation in own:
            yield i, literal


def _lower(rule: Rule, own: Set[str]) -> Iterator[tuple[int, Literal]]:
    for i, literal in _changeable(rule):
        if not _is_own(literal, own):
            yield i, literal


def _around(i: int, after: Version) -> Reading:
    return lambda j: Version.KEPT if j < i else after


def _split(i: int, before: Version, after: Version) -> Reading:
    return lambda j: before if j < i else after


def _changed(rule: Rule, i: int, own: Set[str], versions: tuple[Version, Version], *, fallen: bool) -> Flip:
    """The i-th literal as the atom that reads its change."""
    match rule.body[i]:
        case Atom() as atom:
            return Flip(replace(atom, version=versions[0] if atom.relation in own else versions[1]))
        case Negation(atom=atom):
            return _flip(rule, i, atom, fallen=fallen)
        case other:
            raise AssertionError(f"no relation changes in {other}")


def _flip(rule: Rule, i: int, atom: Atom, *, fallen: bool) -> Flip:
    """The bindings for which `not atom` became false (`fallen`) or true.

    Where the arguments are distinct variables of the rule, these are the net insertions
    (deletions) themselves. Otherwise several rows stand behind one binding, so a helper
    keeps those bindings for which there was none before (is none any more).
    """
    change, rest = (Version.PLUS, Version.OLD) if fallen else (Version.MINUS, Version.NEW)
    outside = {v.name for j, other in enumerate(rule.body) if j != i for v in literal_variables(other)}
    outside |= {v.name for v in literal_variables(rule.head)}
    names = [arg.name for arg in atom.args if isinstance(arg, Var)]
    if len(set(names)) == len(atom.args) and outside.issuperset(names):
        return Flip(replace(atom, version=change))
    shared: tuple[Term, ...] = tuple(Var(name) for name in dict.fromkeys(names) if name in outside)
    columns = tuple(Column(f"c{k}", rule.types[v.name]) for k, v in enumerate(shared) if isinstance(v, Var))
    if not shared:  # one column that is always true, since a relation without columns is hard on readers
        shared, columns = (Const(True, BOOLEAN),), (Column("c0", BOOLEAN),)
    name = f"{rule.name or rule.head.relation}~{i}{'fell' if fallen else 'rose'}"
    elsewhere = tuple(Var(a.name + "~") if isinstance(a, Var) and a.name not in outside else a for a in atom.args)
    head = Atom(name, shared, version=Version.CURRENT)
    none_else = Negation(replace(atom, args=elsewhere, version=rest))
    types = {**rule.types, **{a.name + "~": rule.types[a.name] for a in atom.args if isinstance(a, Var)}}
    derived = Rule(head, (replace(atom, version=change), none_else), name=rule.name, types=types, span=rule.span)
    return Flip(head, Derivation(Ref(name, Version.CURRENT), (derived,)), Helper(name, columns))


def _body(
    rule: Rule, own: Set[str], changed_at: int | None, changed: Atom | None, *, own_at: Reading, lower_at: Reading
) -> tuple[Literal, ...]:
    def read(j: int, literal: Literal) -> Literal:
        if j == changed_at and changed is not None:
            return changed
        match literal:
            case Atom() if literal.relation in own:
                return replace(literal, version=own_at(j))
            case Atom():
                return replace(literal, version=lower_at(j))
            case Negation(atom=atom):
                at = lower_at(j)  # a negation holds before and after where no row ever was
                return replace(literal, atom=replace(atom, version=Version.EVER if at is Version.KEPT else at))
            case _:
                return literal

    return tuple(read(j, literal) for j, literal in enumerate(rule.body))


def _headed(rule: Rule, version: Version, body: tuple[Literal, ...]) -> Rule:
    return replace(rule, head=replace(rule.head, version=version), body=body)
