"""Groups by one query over their sources: millions of members, none of which comes to Python.

Only for members that rules derive from sources alone, without negation, by comparisons and
exact arithmetic; everything else, and every failure, is for the evaluation goal by goal.
The query says what a passage through each rule says, stage by stage: it knows nothing of how
views are maintained, and shares no text with the backend on DuckDB, whose rows it judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from foreset.ir.aggregates import Accumulator, Aggregation, Kind
from foreset.ir.program import Column
from foreset.ir.rules import Atom, Comparison, Let, Literal, Rule, Test
from foreset.ir.terms import Call, Const, Term, Value, Var, names_in
from foreset.ir.types import Type, widen
from foreset.store.quoting import quoted
from foreset.store.types import column_names, duck_type
from foreset.values.terms import known_type
from foreset.values.widen import widened
from foreset.verify.binding_order import Asked, Passage, Stage, Use, passage
from foreset.verify.exact_terms import ExactTerms, Unsaid, cast

KEYS = "wanted"  # the table of keys, with columns k0, k1 ...
Columns = Mapping[str, tuple[Column, ...]]
Keys = tuple[Asked, AbstractSet[int]]  # the columns of the keys, and the places of these at which some key has a NULL
KeyOf = Callable[[str], Asked | None]  # columns that tell all rows of a source apart, if that is known


@dataclass(slots=True)
class _Query:
    """A passage through one rule as a query."""

    way: Passage
    columns: Columns
    prefix: str  # of the names of its constants
    quick: bool  # see `ExactTerms`
    bound: dict[str, str] = field(default_factory=dict)  # the text of each variable, in the variable's own type
    conditions: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)

    def select(self, head: Sequence[Type], keys: Keys, key_of: KeyOf) -> str:
        """The members that the rule derives; those of the asked keys if any column is asked for."""
        asked, nulls = keys
        atoms: list[Atom] = []
        for stage in self.way.stages:
            if isinstance(stage.literal, Atom):
                self._meet(f"a{len(atoms)}", stage, self.columns[stage.literal.relation])
                atoms.append(stage.literal)
            else:
                self._settle(stage.literal)
        heads = [self._as(arg, kind) for arg, kind in zip(self.way.rule.head.args, head, strict=True)]
        self.conditions += [
            f"{heads[position]} {'IS NOT DISTINCT FROM' if i in nulls else '='} k.k{i}"
            for i, position in enumerate(asked)
        ]
        tables = [f"{quoted('s_' + atom.relation)} a{i}" for i, atom in enumerate(atoms)] + (
            [f"{KEYS} k"] if asked else []
        )
        picked = ", ".join(f"{text} AS {name}" for text, name in zip(heads, column_names(len(heads)), strict=True))
        word = "SELECT" if self._distinct(atoms, key_of) else "SELECT DISTINCT"
        where = f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""
        return f"{word} {picked} FROM {', '.join(tables)}{where}"

    def _meet(self, alias: str, stage: Stage, columns: Sequence[Column]) -> None:
        needed = stage.keep.union(*(names_in(place.arg) for place in stage.places if place.use is not Use.GIVES))
        for place in stage.places:
            arg, column = place.arg, f"{alias}.{quoted(columns[place.position].name)}"
            if isinstance(arg, Const):
                common = _common(place.kind, arg.type)
                self.conditions.append(f"{cast(column, place.kind, common)} = {self._constant(arg, common)}")
            elif arg.name in needed:
                text = cast(column, place.kind, _common(place.kind, self.way.rule.types[arg.name]))
                if place.use is Use.GIVES:
                    self.bound[arg.name] = text
                else:
                    self.conditions.append(f"{text} = {self.bound[arg.name]}")

    def _settle(self, literal: Literal) -> None:
        match literal:
            case Comparison(op=op, left=left, right=right):
                common = _common(*(known_type(side, self.way.rule.types) for side in (left, right)))
                self.conditions.append(f"{self._as(left, common)} {op} {self._as(right, common)}")
            case Test(call=Call(function="is_null", args=(Var(name=name),)), negated=negated):
                self.conditions.append(f"{self.bound[name]} IS {'NOT ' if negated else ''}NULL")
            case Let(var=var, term=term):
                text = self._as(term, self.way.rule.types[var.name])
                if var.name in self.bound:
                    self.conditions.append(f"{text} = {self.bound[var.name]}")
                self.bound.setdefault(var.name, text)
            case _:
                raise Unsaid

    def _as(self, term: Term, kind: Type) -> str:
        """The term as a value of this type."""
        if isinstance(term, Const):
            return self._constant(term, kind)
        if any(name not in self.bound for name in names_in(term)):
            raise Unsaid
        text = ExactTerms(self.way.rule.types, self.bound, quick=self.quick).text(term)
        return cast(text, known_type(term, self.way.rule.types), _plain(kind))

    def _constant(self, const: Const, kind: Type) -> str:
        name = f"{self.prefix}{len(self.values)}"
        self.values[name] = widened(const.value, _plain(kind))
        return f"CAST(${name} AS {duck_type(kind)})"

    def _distinct(self, atoms: Sequence[Atom], key_of: KeyOf) -> bool:
        """No two ways to meet the body give one member: its columns tell, one by one, every atom's row."""
        known, left = names_in(*self.way.rule.head.args), list(atoms)
        while left:
            told = next((atom for atom in left if _told(atom, key_of(atom.relation), known)), None)
            if told is None:
                return False
            left.remove(told)
            known |= names_in(*told.args)
        return True


def groups_query(
    rules: Iterable[Rule],
    aggregation: Aggregation,
    members: Sequence[Type],
    columns: Columns,
    keys: Keys,
    key_of: KeyOf,
    *,
    quick: bool,
) -> tuple[str, dict[str, Value]] | None:
    """The groups that rules give, with their accumulators, and the query's constants; None where SQL cannot say it."""
    texts, values = list[str](), dict[str, Value]()
    schemas = {name: tuple(column.type for column in relation) for name, relation in columns.items()}
    try:
        for number, rule in enumerate(rules):
            way = passage(rule, (), schemas, lambda *_: None)  # in any order: DuckDB has its own
            one = _Query(way, columns, f"p{number}_", quick)
            texts.append(one.select(members, keys, key_of))
            values |= one.values
        return (_gathered(aggregation, " UNION ".join(texts)), values) if texts else None
    except Unsaid:
        return None


def _gathered(aggregation: Aggregation, members: str) -> str:
    """One row for each group of `members`, whose columns are named by their places."""
    names = column_names(aggregation.groups + len(aggregation.element))
    groups, element = names[: aggregation.groups], names[aggregation.groups :]
    held = [f"{_held(one, element)} AS a{place}" for place, one in enumerate(aggregation.accumulators)]
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    return f"SELECT {', '.join([*groups, *held])} FROM ({members}){by} HAVING count(*) > 0"  # noqa: S608 - our own words


def _held(one: Accumulator, element: Sequence[str]) -> str:
    """What an accumulator holds of all members of a group."""
    values = [element[place] for place in one.inputs]
    filled = f" FILTER ({' AND '.join(f'{value} IS NOT NULL' for value in values)})" if values else ""
    match one.kind, values:
        case ((Kind.MEMBERS | Kind.FILLED), _):
            return f"count(*){filled}"
        case Kind.TOTAL, [value]:
            return f"CAST(sum({value}) AS {duck_type(one.type)})"
        case (Kind.TRUES | Kind.FALSES) as kind, [value]:
            wanted = "true" if kind is Kind.TRUES else "false"
            counted = f"sum(CASE WHEN {value} = {wanted} THEN 1 ELSE 0 END){filled}"
            return f"CAST({counted} AS {duck_type(one.type)})"
        case (Kind.LEAST | Kind.GREATEST) as kind, [value, *_]:
            return f"{'min' if kind is Kind.LEAST else 'max'}({value}){filled}"
        case (Kind.AT_LEAST | Kind.AT_GREATEST) as kind, [value, key]:
            return f"{'arg_min' if kind is Kind.AT_LEAST else 'arg_max'}({value}, ({key}, {value})){filled}"
    raise Unsaid


def _told(atom: Atom, key: Asked | None, known: AbstractSet[str]) -> bool:
    return key is not None and all(
        isinstance(arg, Const) or (isinstance(arg, Var) and arg.name in known) for arg in (atom.args[p] for p in key)
    )


def _common(one: Type, other: Type) -> Type:
    common = widen(one, other)
    if common is None:
        raise Unsaid
    return _plain(common)


def _plain(kind: Type) -> Type:
    """A type whose equal values are one to DuckDB: no doubles with their two zeros, no arrays of them."""
    if kind.is_fractional or kind.element is not None:
        raise Unsaid
    return kind
