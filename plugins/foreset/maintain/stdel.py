"""`stdel`: Algorithm 2 of paper 003. Deletions follow supports; nothing is searched for, and nothing derived again.

A support goes with a row that it stands on, a row with its last support, round by round. Only supports are read: no
relation below, and no join of a body. A row that keeps a support stays, and so does all that stands on it.

Rows on a circle could hold each other up for ever. Where the rules do not rule circles out, those in the data are
looked for (`shield.py`): on them only derivations from outside the recursion hold a row, and what else is left goes
and comes back, as in `dred`. Where the data have no circles, as the spec then says, that part finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from foreset.ir.program import Helper
from foreset.ir.rules import Atom, Negation, Rule
from foreset.ir.steps import Derivation, Derive, Follow, Merge, Phase, Procedure, Ref, Repeat, Step, Subtract
from foreset.ir.strata import Stratum
from foreset.ir.supports import Support, footing
from foreset.ir.terms import Var
from foreset.ir.versions import Version
from foreset.maintain.differentiate import changes, insertions, is_recursive, rederivation_rounds
from foreset.maintain.flips import Flips
from foreset.maintain.shield import Shield, shield_of


def stdel(stratum: Stratum) -> Procedure:
    """Translate a stratum that keeps supports, or whose rows are their own."""
    work = _Work(stratum)
    phases = (Phase("delete", work.delete()), Phase("insert", work.insert()))
    return Procedure("stdel", stratum.names, phases, work.helpers)


@dataclass(slots=True)
class _Work:
    """A stratum, taken apart."""

    stratum: Stratum
    flips: Flips = field(default_factory=Flips)
    supports: tuple[Support, ...] = ()
    fixed: tuple[Rule, ...] = ()
    shield: Shield | None = None

    def __post_init__(self) -> None:
        found = footing(self.stratum)
        assert found is not None, f"{self.stratum.title} keeps no supports"
        self.supports, self.fixed = found.supports, found.fixed
        shield = shield_of(self.stratum)
        assert not self.stratum.cyclic or shield is not None, f"{self.stratum.title} has no key"
        self.shield = shield if shield is not None and shield.key else None

    @property
    def helpers(self) -> tuple[Helper, ...]:
        return (*(self.shield.helpers if self.shield else ()), *self.flips.helpers)

    @property
    def own(self) -> frozenset[str]:
        return frozenset(self.stratum.names)

    @property
    def shown(self) -> tuple[str, ...]:
        """The views whose rows have supports beside them."""
        return tuple(dict.fromkeys(s.shown.head.relation for s in self.supports if s.shown))

    def moving(self) -> tuple[Support, ...]:
        """The supports that stand on rows of the stratum itself."""
        return tuple(s for s in self.supports if is_recursive(s.rule, self.own))

    # ------------------------------------------------------------ deletion
    def delete(self) -> tuple[Step, ...]:
        """Algorithm 2, and where rows may lie on circles, what brings those back that need not have gone."""
        first = [step for support in self.supports for step in self._ended(support)]
        merged = _merges((s.name for s in self.supports), Version.DEL, Version.DEL_NEXT)
        start = (*(self.shield.raised() if self.shield else ()), *self.flips.taken(), *first)
        if not self.shown:
            return (*start, *merged)
        steps = (*start, self._unsettled(self.supports), *merged, *self._settled())
        gone = _merges(self.shown, Version.DEL, Version.DEL_NEXT)
        moving = self.moving()
        if not moving:
            return (*steps, *gone)
        body = (
            *gone,
            *(Follow(_at(s, Version.DEL_NEXT), _at(s, Version.LEFT), self._links(s, Version.DEL_NEXT)) for s in moving),
            self._unsettled(moving),
            *_merges((s.name for s in moving), Version.DEL, Version.DEL_NEXT),
            *self._settled(),
        )
        nexts = tuple(Ref(name, Version.DEL_NEXT) for name in self.shown)
        return (*steps, Repeat(body, nexts), *(self._restored(self.shield) if self.shield else ()))

    def _ended(self, support: Support) -> Iterator[Step]:
        """The supports that the changes below end: those that stand on a lost row, and those that a new one denies."""
        found = tuple(changes(support.rule, self.own))
        links = tuple(self._link(support, flip.atom) for literal, flip in found if isinstance(literal, Atom))
        denials = tuple(
            self.flips.noted(replace(support.rule, head=_head(support, Version.TOUCHED), body=body), flip)
            for literal, flip in found if isinstance(literal, Negation)
            for body in ((_head(support, Version.OLD), flip.atom),)
        )  # fmt: skip
        target = _at(support, Version.DEL_NEXT)
        if links:
            yield Follow(target, _at(support, Version.OLD), links)
        if denials:
            denied = _at(support, Version.TOUCHED)
            yield Derive((Derivation(denied, denials, without=(target,)),))
            yield Merge(target, denied)

    def _links(self, support: Support, version: Version) -> tuple[Rule, ...]:
        """How a support stands on rows of the stratum itself."""
        atoms = (one for one in support.rule.body if isinstance(one, Atom) and one.relation in self.own)
        return tuple(self._link(support, replace(atom, version=version)) for atom in atoms)

    @staticmethod
    def _link(support: Support, atom: Atom) -> Rule:
        return replace(support.rule, head=_head(support, Version.CURRENT), body=(atom,))

    def _unsettled(self, lost: Iterable[Support]) -> Step:
        """The rows that lose one of the supports that just went."""
        return Derive(tuple(self._showing(Version.TOUCHED, lost, Version.DEL_NEXT, Version.DEL)))

    def _settled(self) -> tuple[Step, ...]:
        """Which of those keep another support: the others go."""
        rules = {name: self._holding(name) for name in self.shown}
        held = tuple(
            Derivation(Ref(name, Version.HELD), rules[name], Ref(name, Version.TOUCHED)) for name in self.shown
        )
        going = (
            Subtract(Ref(name, Version.DEL_NEXT), Ref(name, Version.TOUCHED), (Ref(name, Version.HELD),))
            for name in self.shown
        )
        return (*self._standing(), Derive(held), *going)

    def _standing(self) -> Iterator[Step]:
        """The supports that are left of the rows that are touched."""
        for support in self.supports:
            if support.shown is not None:
                touched = replace(support.shown.head, version=Version.TOUCHED)
                yield Follow(_at(support, Version.HELD), _at(support, Version.LEFT), (self._link(support, touched),))

    def _holding(self, view: str) -> tuple[Rule, ...]:
        """From the supports that are left to the rows that they hold; on a circle, recursion holds nothing."""
        found = []
        for support in self.supports:
            if support.shown is not None and support.shown.head.relation == view:
                rule = _shows(support, Version.HELD, Version.HELD)
                guarded = self.shield and is_recursive(support.rule, self.own)
                found.append(self.shield.guarded(rule) if self.shield and guarded else rule)
        return (*found, *self._fixed(view, Version.HELD))

    def _fixed(self, view: str, version: Version) -> tuple[Rule, ...]:
        rules = (rule for rule in self.fixed if rule.head.relation == view)
        return tuple(replace(rule, head=replace(rule.head, version=version)) for rule in rules)

    def _restored(self, shield: Shield) -> Iterator[Step]:
        """Rows on circles that still have a support come back, and what stood on them."""
        touched, back, gone, red = (
            Ref(shield.view.name, version)
            for version in (Version.TOUCHED, Version.RED_NEXT, Version.DEL, Version.RED)
        )  # fmt: skip
        yield Derive((Derivation(touched, (_turning(shield),)),))
        yield from self._standing()
        shows = tuple(_shows(s, Version.RED, Version.HELD) for s in self.supports if s.shown)
        yield Derive((Derivation(back, (*shows, *self._fixed(shield.view.name, Version.RED)), touched),))
        moving = self.moving()
        again = tuple(
            Derivation(_at(s, Version.RED_NEXT), tuple(rederivation_rounds(s.rule, self.own)), _at(s, Version.DEL),
                       (_at(s, Version.RED),)) for s in moving
        )  # fmt: skip
        showing = tuple(_shows(s, Version.RED, Version.RED_NEXT) for s in moving)
        body = (
            Merge(red, back),
            Derive(again),
            *_merges((s.name for s in moving), Version.RED, Version.RED_NEXT),
            Derive((Derivation(back, showing, gone, (red,)),)),
        )
        yield Repeat(body, (back,))

    # ------------------------------------------------------------ insertion
    def insert(self) -> tuple[Step, ...]:
        """Algorithm 3 without constraints: new supports, and the rows that they bring."""
        variants = {s.name: tuple(insertions(s.rule, self.own)) for s in self.supports}
        first = tuple(
            Derivation(_at(s, Version.INS_NEXT),
                       tuple(self.flips.noted(v.rule, v.flip) for v in variants[s.name] if not v.within_stratum))
            for s in self.supports
        )  # fmt: skip
        merged = _merges((s.name for s in self.supports), Version.INS, Version.INS_NEXT)
        start = (*self.flips.taken(), Derive(first), *(self._coming(self.supports)), *merged)
        came = _merges(self.shown, Version.INS, Version.INS_NEXT)
        moving = self.moving()
        if moving:
            later = tuple(
                Derivation(_at(s, Version.INS_NEXT), tuple(v.rule for v in variants[s.name] if v.within_stratum),
                           without=(_at(s, Version.INS),)) for s in moving
            )  # fmt: skip
            body = (
                *came,
                Derive(later),
                *self._coming(moving),
                *_merges((s.name for s in moving), Version.INS, Version.INS_NEXT),
            )
            came = (Repeat(body, tuple(Ref(name, Version.INS_NEXT) for name in self.shown)),)
        return (*start, *came, *(step for name in self.stratum.names for step in _net(name)))

    def _coming(self, new: Iterable[Support]) -> tuple[Step, ...]:
        """The rows that the supports just found bring, without those that are there."""
        found = tuple(self._showing(Version.INS_NEXT, new, Version.INS_NEXT, Version.LIVE))
        return (Derive(found),) if found else ()

    def _showing(
        self, target: Version, supports: Iterable[Support], at: Version, known: Version
    ) -> Iterator[Derivation]:
        """The rows of the supports in one state, by view, without those known already; for every view, if none."""
        given = tuple(supports)
        for name in self.shown:
            rules = tuple(
                _shows(support, target, at)
                for support in given
                if support.shown is not None and support.shown.head.relation == name
            )
            yield Derivation(Ref(name, target), rules, without=(Ref(name, known),))


def _turning(shield: Shield) -> Rule:
    """The rows deleted so far whose key lies on a circle."""
    view = shield.view
    types = {f"C{i}": column.type for i, column in enumerate(view.columns)}
    row = Atom(view.name, tuple(map(Var, types)), version=Version.DEL)
    return Rule(replace(row, version=Version.TOUCHED), (row, shield.turning(row)), view.rules[0].name, types)


def _net(name: str) -> tuple[Step, ...]:
    """What came was not there, unless it went: so the old state need not be read."""
    ins, gone = Ref(name, Version.INS), Ref(name, Version.DEL)
    return (
        Subtract(Ref(name, Version.PLUS), ins, (gone,)),
        Subtract(Ref(name, Version.MINUS), gone, (ins, Ref(name, Version.RED))),
    )


def _shows(support: Support, target: Version, at: Version) -> Rule:
    assert support.shown is not None
    head = replace(support.shown.head, version=target)
    return replace(support.shown, head=head, body=(_head(support, at),))


def _head(support: Support, version: Version) -> Atom:
    return replace(support.rule.head, version=version)


def _at(support: Support, version: Version) -> Ref:
    return Ref(support.name, version)


def _merges(names: Iterable[str], target: Version, source: Version) -> tuple[Step, ...]:
    return tuple(Merge(Ref(name, target), Ref(name, source)) for name in names)
