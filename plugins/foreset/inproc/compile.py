"""One rule as a query for the rows that it derives, one for each way in which its body holds.

The same order as in `engine/compile.py`: the smallest atom first, which is the change, then along
shared variables; each join is finished before the next one, so sizes are known, not guessed.
DuckDB compares values that are its own in the same sense as ours; functions are left to
`reference`, on the joined rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from foreset.inproc.tables import Part, Sql, Table, Tables, lacking
from foreset.inproc.types import from_duck, widening
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables
from foreset.ir.steps import Ref
from foreset.ir.terms import Call, Const, Term, Value, Var
from foreset.ir.types import Type, widen
from foreset.reference.joins import settle
from foreset.reference.widen import widened
from foreset.store.types import column_names, duck_type

_OPERATORS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


@dataclass(slots=True)
class _Plan:
    """The join so far: which column holds each variable, and which one the wanted value of a head variable."""

    rule: Rule
    tables: Tables
    current: Sql | Table | None = None
    bound: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, tuple[str, Type]] = field(default_factory=dict)
    used: int = 0
    plain: bool = True  # the join so far is a scan of a small table: cheap to say twice

    def column(self) -> str:
        """A column name that nothing else has."""
        self.used += 1
        return f"x{self.used}"

    @property
    def columns(self) -> list[str]:
        """All columns of the join so far."""
        return [*self.bound.values(), *(column for column, _ in self.wanted.values())]

    def materialised(self) -> Table:
        """The join so far as a table."""
        if not isinstance(self.current, Table):
            self.current = self.tables.make(self.current or Sql("SELECT 1 AS one"))
        return self.current


def derive(rule: Rule, tables: Tables, within: Table | None = None) -> Sql | None:
    """The head's rows under `c0`, `c1` ...; None when there are none for sure.

    Of the rows in `within` only: the join starts from them, or from an atom with fewer rows.
    """
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    if any(tables.empty(Ref(atom.relation, atom.version)) for atom in atoms):
        return None
    plan = _Plan(rule, tables)
    least = min((tables.count(Ref(atom.relation, atom.version)) for atom in atoms), default=0)
    restricted = within is not None and atoms and least < within.rows
    if within is not None and not restricted:
        _start_from(plan, within)
    waiting: list[Literal] = [literal for literal in rule.body if not isinstance(literal, Atom)]
    while atoms:
        atom = min(atoms, key=lambda a: _cost(plan, a))
        atoms.remove(atom)
        _join(plan, atom, _needed(rule, [*atoms, *waiting]))
        waiting = _filter_early(plan, waiting)
        if isinstance(plan.current, Table) and not plan.current.rows:
            return None
    _settle(plan, waiting)
    head = _head(plan)
    if within is None or not restricted:
        return head
    names = column_names(len(tables.schemas[rule.head.relation]))
    same = " AND ".join(f"h.{name} IS NOT DISTINCT FROM w.{name}" for name in names)
    return Sql(f"SELECT h.* FROM ({head.text}) h SEMI JOIN {within.name} w ON {same}", head.values)


def _needed(rule: Rule, literals: Sequence[Literal]) -> frozenset[str]:
    """The variables that the head or what remains of the body still asks for."""
    names = {v.name for literal in literals for v in literal_variables(literal)}
    return frozenset(names | {v.name for v in literal_variables(rule.head)})


def _start_from(plan: _Plan, within: Table) -> None:
    head, kinds = plan.rule.head, plan.tables.schemas[plan.rule.head.relation]
    picked, conditions, values = [], [], dict[str, Value]()
    for name, kind, arg in zip(column_names(len(kinds)), kinds, head.args, strict=True):
        if isinstance(arg, Const):
            text, more = constant(plan.tables, arg, kind)
            conditions.append(f"r.{name} = {text}")
            values |= more
        elif isinstance(arg, Var) and arg.name in plan.wanted:
            first, known = plan.wanted[arg.name]
            conditions.append(
                f"{_as(f'r.{name}', kind, known)} IS NOT DISTINCT FROM {_as(f'r.c{first[1:]}', known, kind)}"
            )
        elif isinstance(arg, Var):
            plan.wanted[arg.name] = (f"w{name[1:]}", kind)
            picked.append(f"r.{name} AS w{name[1:]}")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    plan.current = Sql(f"SELECT {', '.join(picked) or '1 AS one'} FROM {within.name} r{where}", values)


def _cost(plan: _Plan, atom: Atom) -> float:
    size = float(plan.tables.count(Ref(atom.relation, atom.version)))
    known = sum(
        isinstance(arg, Const) or (isinstance(arg, Var) and (arg.name in plan.bound or arg.name in plan.wanted))
        for arg in atom.args
    )
    connected = plan.current is None or known
    return size / 10.0**known * (1 if connected else 1e6)


@dataclass(slots=True)
class _Meeting:
    """How an atom's row `r` meets the row `l` of the join so far."""

    fresh: dict[str, str] = field(default_factory=dict)  # new variable -> our expression over r
    keys: list[tuple[str, str, bool]] = field(default_factory=list)  # column of l, expression over r, null-safe
    conditions: list[str] = field(default_factory=list)  # over r alone
    values: dict[str, Value] = field(default_factory=dict)

    @property
    def where(self) -> Sql:
        """The conditions on r, to follow a table or a join."""
        return Sql(f" WHERE {' AND '.join(self.conditions)}" if self.conditions else "", self.values)


def _meeting(plan: _Plan, atom: Atom) -> _Meeting:
    kinds, types = plan.tables.schemas[atom.relation], plan.rule.types
    found, meeting = dict[str, str](), _Meeting()
    for name, kind, arg in zip(column_names(len(kinds)), kinds, atom.args, strict=True):
        own = f"r.{name}"
        match arg:
            case Const():
                text, values = constant(plan.tables, arg, kind)
                meeting.conditions.append(f"{_as(own, kind, widen(kind, arg.type) or kind)} = {text}")
                meeting.values |= values
            case Var(name=variable):
                value = widening(own, kind, types[variable])
                if variable in found:
                    meeting.conditions.append(f"{found[variable]} = {value}")
                elif variable in plan.bound:
                    meeting.keys.append((plan.bound[variable], value, False))
                else:
                    meeting.fresh[variable] = value
                    if variable in plan.wanted:
                        column, of = plan.wanted[variable]
                        meeting.keys.append((column, _as(value, types[variable], of), True))
                found.setdefault(variable, value)
            case _:
                raise AssertionError(f"{atom} is not in normal form")
    return meeting


def _join(plan: _Plan, atom: Atom, needed: AbstractSet[str]) -> None:
    """Join the atom's rows on what is bound; wanted head values restrict it null-safely."""
    ref = Ref(atom.relation, atom.version)
    names = column_names(len(plan.tables.schemas[atom.relation]))
    meeting = _meeting(plan, atom)
    kept = {variable: column for variable, column in plan.bound.items() if variable in needed}
    wanted = {variable: pair for variable, pair in plan.wanted.items() if variable not in meeting.fresh}
    fresh = {variable: plan.column() for variable in meeting.fresh if variable in needed}
    columns = [f"l.{column} AS {column}" for column in (*kept.values(), *(column for column, _ in wanted.values()))]
    columns += [f"{meeting.fresh[variable]} AS {column}" for variable, column in fresh.items()]
    parts = plan.tables.parts(ref)
    first = plan.current is None
    if not first and (not plan.plain or _far(parts)):
        plan.materialised()
    texts, values = [], dict(meeting.values)
    for part in parts:
        table = part.table
        if isinstance(plan.current, Table) and meeting.keys and _far((part,)):
            table = plan.tables.look(table, plan.current, meeting.keys, meeting.where)
            if not table.rows:
                continue
        texts.append(_joined(plan, meeting, Part(table, part.less), columns, names))
    if not texts:  # nothing was found, but the columns must be there
        nowhere = ", ".join(
            f"NULL AS {column}" for column in [*kept.values(), *(c for c, _ in wanted.values()), *fresh.values()]
        )
        plan.current = plan.tables.make(Sql(f"SELECT {nowhere or '1 AS one'} WHERE false"))
    else:
        if isinstance(plan.current, Sql):
            values |= plan.current.values
        plan.current = Sql(" UNION ALL ".join(texts), values)
    plan.plain = first and not _far(parts)
    plan.bound, plan.wanted = kept | fresh, wanted


def _far(parts: Sequence[Part]) -> bool:
    return any(part.table.outside for part in parts)


def _joined(plan: _Plan, meeting: _Meeting, part: Part, columns: list[str], names: tuple[str, ...]) -> str:
    table = part.table.name
    if part.table.outside:
        plan.tables.note(part.table)
        if part.table.bag:
            table = f"(SELECT DISTINCT * FROM {table})"
    less = lacking("r", part.less, names)
    picked = ", ".join(columns) or "1 AS one"
    if plan.current is None:
        return f"SELECT {picked} FROM {table} r{less}{meeting.where.text}"
    left = plan.current.name if isinstance(plan.current, Table) else f"({plan.current.text})"
    on = " AND ".join(f"l.{key} {'IS NOT DISTINCT FROM' if safe else '='} {own}" for key, own, safe in meeting.keys)
    return f"SELECT {picked} FROM {left} l JOIN {table} r ON {on or 'true'}{less}{meeting.where.text}"


# ---------------------------------------------------------------- conditions and values
def _filter_early(plan: _Plan, literals: Sequence[Literal]) -> list[Literal]:
    """Apply the comparisons that DuckDB can make and whose variables are bound; return what must wait."""
    waiting, conditions, values = [], [], dict[str, Value]()
    for literal in literals:
        made = _condition(plan, literal) if all(v.name in plan.bound for v in literal_variables(literal)) else None
        if made is None:
            waiting.append(literal)
        else:
            conditions.append(made.text)
            values |= made.values
    _keep(plan, conditions, values)
    return waiting


def _keep(plan: _Plan, conditions: list[str], values: dict[str, Value]) -> None:
    if conditions:
        plan.current = Sql(f"SELECT l.* FROM {_source(plan, values)} l WHERE {' AND '.join(conditions)}", values)


def _source(plan: _Plan, values: dict[str, Value]) -> str:
    """The join so far as something to select from; its constants go to `values`."""
    if isinstance(plan.current, Table):
        return plan.current.name
    current = plan.current or Sql("SELECT 1 AS one")
    values |= current.values
    return f"({current.text})"


def _condition(plan: _Plan, literal: Literal) -> Sql | None:
    """A condition on l that DuckDB answers as we do; None where a function is called."""
    types = plan.rule.types
    match literal:
        case Comparison(op=op, left=(Var() | Const()) as left, right=(Var() | Const()) as right):
            kinds = [types[side.name] if isinstance(side, Var) else side.type for side in (left, right)]
            common = widen(*kinds)
            if common is None or common.element:
                return None
            sides = [_side(plan, side, common) for side in (left, right)]
            text = f"{sides[0].text} {_OPERATORS[op]} {sides[1].text}"
            return Sql(text, {**sides[0].values, **sides[1].values})
        case Test(call=Call(function="is_null", args=(Var(name=name),)), negated=negated):
            return Sql(f"l.{plan.bound[name]} IS {'NOT ' if negated else ''}NULL")
        case _:
            return None


def _side(plan: _Plan, side: Var | Const, kind: Type) -> Sql:
    if isinstance(side, Const):
        return Sql(*constant(plan.tables, side, kind))
    return Sql(widening(f"l.{plan.bound[side.name]}", plan.rule.types[side.name], kind))


def _settle(plan: _Plan, literals: Sequence[Literal]) -> None:
    """What is left, in the order of the normal form: DuckDB where it can, functions in Python."""
    called: list[Literal] = []
    for literal in literals:
        step = _in_duckdb(plan, literal) if not called else None
        if step is None and isinstance(literal, Negation):
            _call(plan, called)
            called = []
            _exclude(plan, literal.atom)
        elif step is None:
            called.append(literal)
        else:
            step()
    _call(plan, called)


def _in_duckdb(plan: _Plan, literal: Literal) -> Callable[[], None] | None:
    match literal:
        case Comparison() | Test() if (made := _condition(plan, literal)) is not None:
            return lambda: _keep(plan, [made.text], dict(made.values))
        case Let(var=var, term=(Var() | Const()) as term) if var.name not in plan.bound:
            return lambda: _let(plan, var, term)
        case _:
            return None


def _let(plan: _Plan, var: Var, term: Term) -> None:
    assert isinstance(term, (Var, Const))
    value, column = _side(plan, term, plan.rule.types[var.name]), plan.column()
    values = dict(value.values)
    plan.current = Sql(f"SELECT l.*, {value.text} AS {column} FROM {_source(plan, values)} l", values)
    plan.bound[var.name] = column


def _call(plan: _Plan, literals: list[Literal]) -> None:
    """Functions, on the joined rows, by the reference's own evaluator: its failures are ours."""
    if not literals:
        return
    tables, types = plan.tables, plan.rule.types
    table = plan.materialised()
    tables.budget.see(table.rows)
    wanted = [(f"wanted {name}", column, kind) for name, (column, kind) in plan.wanted.items()]
    named = [*((name, column, types[name]) for name, column in plan.bound.items()), *wanted]
    kinds = [kind for _, _, kind in named]
    columns = ", ".join(column for _, column, _ in named) or "1"
    rows = from_duck(tables.run(Sql(f"SELECT {columns} FROM {table.name}")), kinds)
    rows = rows if named else [() for _ in rows]
    slots, found = settle(plan.rule, {name: i for i, (name, _, _) in enumerate(named)}, rows, literals)
    fresh = {name: plan.column() for name in slots if slots[name] >= len(named)}
    kinds += [types[name] for name in fresh]
    names = [*(column for _, column, _ in named), *fresh.values()]
    plan.current = tables.bring([(*row, None) for row in found], (*kinds, _ANY), (*names, "one"))
    plan.bound |= fresh


_ANY = Type("boolean")


def _exclude(plan: _Plan, atom: Atom) -> None:
    """NOT EXISTS as an anti-join; a NULL on either side never excludes."""
    tables, ref = plan.tables, Ref(atom.relation, atom.version)
    names = column_names(len(tables.schemas[atom.relation]))
    for part in tables.parts(ref):
        meeting = _meeting(plan, atom)
        keys = [key for key in meeting.keys if not key[2]]
        table = part.table
        if keys and (table.outside or table.rows > tables.large):
            table = tables.look(table, plan.materialised(), keys, meeting.where)
        values = dict(meeting.values)
        inner = ", ".join(f"{own} AS k{i}" for i, (_, own, _) in enumerate(keys)) or "1 AS one"
        tables.note(table)
        partners = f"(SELECT {inner} FROM {table.name} r{lacking('r', part.less, names)}{meeting.where.text})"
        on = " AND ".join(f"l.{key} = o.k{i}" for i, (key, _, _) in enumerate(keys))
        plan.current = Sql(
            f"SELECT l.* FROM {_source(plan, values)} l ANTI JOIN {partners} o ON {on or 'true'}", values
        )


# ---------------------------------------------------------------- the head
def _head(plan: _Plan) -> Sql:
    head, types = plan.rule.head, plan.rule.types
    schema = plan.tables.schemas[head.relation]
    columns, conditions, values = [], [], dict[str, Value]()
    for label, kind, arg in zip(column_names(len(schema)), schema, head.args, strict=True):
        match arg:
            case Const():
                text, more = constant(plan.tables, arg, kind)
                values |= more
            case Var(name=name):
                text = widening(f"l.{plan.bound[name]}", types[name], kind)
                if name in plan.wanted:
                    column, of = plan.wanted[name]
                    value = _as(f"l.{plan.bound[name]}", types[name], of)
                    conditions.append(f"l.{column} IS NOT DISTINCT FROM {value}")
            case _:
                raise AssertionError(f"{head} is not in normal form")
        columns.append(f"{text} AS {label}")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return Sql(f"SELECT {', '.join(columns)} FROM {_source(plan, values)} l{where}", values)


def _as(text: str, kind: Type, other: Type) -> str:
    """`text`, a value of `kind`, in the type in which it is compared with one of type `other`."""
    return widening(text, kind, widen(kind, other) or kind)


def constant(tables: Tables, const: Const, kind: Type) -> tuple[str, dict[str, Value]]:
    """A bound constant in the type in which it meets a column of type `kind`."""
    common = widen(const.type, kind) or kind
    name = tables.fresh("p")
    return f"CAST(${name} AS {duck_type(common)})", {name: widened(const.value, common)}
