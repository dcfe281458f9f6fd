"""Why a row is in a view: its derivations, down to rows of sources, as they were published.

One derivation says which rows it stands on; those that are rows of views have derivations of their own. Of each row
below the one that is asked for, one proof is shown. It is looked for straight down first, then level by level, and a
row counts as proven when all that some derivation stands on is. So no proof goes in a circle, whatever the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from html import escape
from math import inf

from foreset.ir.program import Program, View
from foreset.ir.rules import Atom, Rule
from foreset.ir.supports import Support, reads_relations
from foreset.ir.terms import Row, Value, Var
from foreset.questions.bodies import Bodies
from foreset.render import visible

LEAVES = ("source", "answer", "edit")  # kinds of rows that nothing is below
Node = tuple[str, Row]
DEPTH = 200  # of a proof that is looked for straight down
EXPLORED = 1_000  # rows of views that are looked at for one question


@dataclass(frozen=True, slots=True)
class Derivation:
    """One rule with values: the rows that it stands on, and the conditions that hold."""

    rule: Rule
    binding: Mapping[str, Value]
    stands_on: tuple[Node, ...]
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """A derivation with the proofs of what it stands on."""

    rule: str
    text: str
    file: str
    line: int
    values: Mapping[str, Value]
    conditions: tuple[str, ...]
    parts: tuple[Proof, ...]
    more_parts: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Proof:
    """A row, what it is (`view`, `source`, `answer` of a domain, `group`), and how it follows."""

    relation: str
    row: Row
    kind: str
    ways: tuple[Way, ...] = ()
    more: int = 0  # derivations that are not shown
    circular: int = 0  # derivations that rest on the row itself, and prove nothing
    note: str = ""  # `above`: shown before; `deeper`: below the depth asked for; `unfinished`: too much to look at

    def __repr__(self) -> str:
        from foreset.questions.proof_text import proof_lines

        return visible("\n".join(proof_lines(self, {})))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


@dataclass(slots=True)
class Prover:
    """Derives rows over published facts, one step at a time."""

    program: Program  # without supports between views and their rules
    bodies: Bodies
    supports: Mapping[str, tuple[Support, ...]] = field(default_factory=dict)  # by view, where they were published
    found: dict[Node, list[Derivation]] = field(default_factory=dict)
    heights: dict[Node, float] = field(default_factory=dict)
    tried: set[Node] = field(default_factory=set)

    def why(self, node: Node, *, limit: int = 10, depth: int = 10, every: bool = False) -> Proof:
        """The proof of a row: up to `limit` derivations of it, and one of each row below (`every`: `limit` too)."""
        finished = self._explore(node)
        return _Tree(self, limit, every, finished).proof(node, depth, top=True)

    def kind(self, relation: str) -> str:
        """What the rows of a relation are."""
        view = self.views.get(relation)
        if view is None:
            return "source"
        if view.aggregation:
            return "group"
        return "edit" if view.given is not None else "answer" if view.called else "view"

    @property
    def views(self) -> dict[str, View]:
        """By name."""
        return {view.name: view for view in self.program.views}

    def derivations(self, node: Node) -> list[Derivation]:
        """How a row follows from others at once."""
        if node not in self.found:
            self.found[node] = self._derived(node)
        return self.found[node]

    def _derived(self, node: Node) -> list[Derivation]:
        relation, row = node
        view = self.views[relation]
        if view.aggregation:
            return self._gathered(view, row)
        kept = {support.rule.name: support for support in self.supports.get(relation, ())}
        found: dict[tuple[str, tuple[Node, ...]], Derivation] = {}
        for rule in view.rules:
            start = self.bodies.start(rule, row)
            if start is None:
                continue
            if rule.name in kept and reads_relations(rule):
                bindings = self._followed(kept[rule.name], rule, start)
            else:
                bindings = self.bodies.run(rule, rule.body, start).bindings
            for binding in self.bodies.giving(rule, row, bindings):
                one = self._step(rule, binding)
                found.setdefault((rule.name, one.stands_on), one)
        return list(found.values())

    def _followed(self, support: Support, rule: Rule, start: dict[str, Value]) -> tuple[dict[str, Value], ...]:
        """The bindings that supports hold: atoms are not met again, only values and conditions are worked out."""
        read = Rule(support.rule.head, (support.rule.head,), rule.name, rule.types)
        rows = self.bodies.run(read, read.body, dict(start)).bindings
        rest = [one for one in rule.body if not isinstance(one, Atom)]
        return tuple(binding for row in rows for binding in self.bodies.run(rule, rest, row).bindings)

    def _gathered(self, view: View, row: Row) -> list[Derivation]:
        """A group rests on its members, all at once."""
        assert view.aggregation is not None
        (rule,) = view.rules
        width = view.aggregation.groups
        start: dict[str, Value] = {
            arg.name: value for arg, value in zip(rule.head.args[:width], row, strict=False) if isinstance(arg, Var)
        }
        steps = [self._step(rule, binding) for binding in self.bodies.run(rule, rule.body, start).bindings]
        members = tuple(dict.fromkeys(node for step in steps for node in step.stands_on))
        return [Derivation(rule, start, members, ())] if members else []

    def _step(self, rule: Rule, binding: dict[str, Value]) -> Derivation:
        atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        others = [literal for literal in rule.body if not isinstance(literal, Atom)]
        nodes = dict.fromkeys(
            (atom.relation, row) for atom in atoms for row in self.bodies.rows(atom, binding, rule)[:1]
        )
        return Derivation(rule, binding, tuple(nodes), tuple(self.bodies.told(one, binding, rule) for one in others))

    # ------------------------------------------------------------ proofs
    def _explore(self, root: Node) -> bool:
        """Prove the derivations of the root: straight down first, then level by level. False: gave up."""
        self.heights, self.tried = {}, set()
        for derivation in self.derivations(root):
            for node in derivation.stands_on:
                self._dive(node, frozenset((root,)))
        seen, level = {root, *self.tried}, [root]
        while not all(self.height(one) < inf for one in self.derivations(root)):
            below: dict[Node, None] = {}
            for node in level:
                if len(self.found) > EXPLORED:
                    return False
                for child in (child for derivation in self.derivations(node) for child in derivation.stands_on):
                    if self._given(child):
                        self.heights[child] = 0
                    elif child not in seen or (child in self.tried and child not in self.heights):
                        below[child] = None
            seen |= below.keys()
            self.tried -= below.keys()
            self._measure({node for node in seen if node in self.found} - {root})
            if not below:
                return True
            level = list(below)
        return True

    def _given(self, node: Node) -> bool:
        return self.kind(node[0]) in LEAVES

    def _dive(self, node: Node, path: frozenset[Node]) -> bool:
        """Prove a row by the first derivation that can be; each row is tried once, so this may miss a proof."""
        if self._given(node):
            self.heights[node] = 0
            return True
        if node in self.heights:
            return True
        if node in path or node in self.tried or len(path) > DEPTH or len(self.found) > EXPLORED:
            return False
        self.tried.add(node)
        below = path | {node}
        for one in self.derivations(node):
            if all(self._dive(child, below) for child in one.stands_on):
                self.heights[node] = 1 + self.height(one)
                return True
        return False

    def _measure(self, nodes: Set[Node]) -> None:
        """A row is one higher than its lowest derivation, and that as high as the highest row that it stands on.

        The root is not among them: it proves nothing, so what rests on it goes in a circle.
        """
        changed = True
        while changed:
            changed = False
            for node in nodes:
                height = 1 + min(map(self.height, self.derivations(node)), default=inf)
                if height < self.heights.get(node, inf):
                    self.heights[node], changed = height, True

    def height(self, derivation: Derivation) -> float:
        """Infinite for what is not proven yet."""
        return max((self.heights.get(node, inf) for node in derivation.stands_on), default=0)


@dataclass(slots=True)
class _Tree:
    prover: Prover
    limit: int
    every: bool
    finished: bool
    shown: set[Node] = field(default_factory=set)

    def proof(self, node: Node, depth: int, *, top: bool = False) -> Proof:
        prover, (relation, row) = self.prover, node
        kind = prover.kind(relation)
        if kind in LEAVES:
            return Proof(relation, row, kind)
        if node in self.shown:
            return Proof(relation, row, kind, note="above")
        if depth == 0:
            return Proof(relation, row, kind, note="deeper")
        self.shown.add(node)
        known = prover.found.get(node, [])
        proven = sorted((one for one in known if prover.height(one) < inf), key=prover.height)
        circular = (
            len(known) - len(proven) if top and self.finished else 0
        )  # rows below are proven once, not asked about
        taken = proven[: self.limit if top or self.every else 1]  # the lowest, which stands on lower rows only
        ways = tuple(self._way(one, depth) for one in taken)
        note = "" if ways or self.finished else "unfinished"
        return Proof(relation, row, kind, ways, len(known) - circular - len(ways), circular, note)

    def _way(self, one: Derivation, depth: int) -> Way:
        span, parts = one.rule.span, one.stands_on[: max(self.limit, 10)]
        return Way(
            one.rule.name, self.prover.bodies.text(one.rule),
            span.file if span else "", span.line if span else 0, dict(one.binding),
            one.conditions, tuple(self.proof(node, depth - 1) for node in parts), len(one.stands_on) - len(parts),
        )  # fmt: skip
