"""Relations in all their versions as tables in DuckDB.

A version is a tuple of disjoint parts; a part is a table less the rows of some small others. What
is large stays where it lies, in the files of its Delta table, and only the rows that join with a
change are fetched; after some looks it is taken into memory once. Names of tables and columns are
our own (`t1`, `c0` ...), constants are bound: nothing of a spec gets into a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import duckdb

from foreset.backends.duckdb.budget import Budget, OutOfBounds
from foreset.backends.duckdb.types import from_duck
from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.machine.versions import Versions
from foreset.store import delta
from foreset.store.arrow_values import to_arrow
from foreset.store.clustered import ROW_GROUP
from foreset.store.types import column_names

if TYPE_CHECKING:
    import pyarrow as pa

PATIENT_ROWS = 1_000_000  # of a table that is looked at once more before it is loaded
FEW_FAR_VALUES = 20_000_000  # of a table that another engine has, if it is to be taken into memory at all
MANY_DEAD, MANY_DEAD_ROWS = 64, 50_000  # what nobody needs any more, before it is dropped


@dataclass(frozen=True, slots=True)
class Sql:
    """A query of our own making, and the constants bound in it."""

    text: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Near:
    """The rows of a table whose column is one of some `keys` (under `k`); `rows`: a name, or a query in brackets."""

    keys: str
    rows: str
    read: int = 0  # rows that another engine has gone through for it just now


def _far_all(_: int) -> Near | None:
    return None


class Far(Protocol):
    """The rows of a table that stays with another engine; what is asked for comes as a table here."""

    @property
    def rows(self) -> int | None:
        """How many rows have to be gone through for an answer; None where nobody has counted them."""

    @property
    def width(self) -> int:
        """How many columns would come."""

    def can_ask(self, place: int) -> bool:
        """Whether rows can be asked for by the values of the column at this place."""

    def meeting(self, tables: Tables, keys: pa.Table, places: Sequence[tuple[int, bool]]) -> Table:
        """The rows that agree with one of `keys` in the columns at `places`, in their order; True: null-safe."""

    def whole(self, tables: Tables) -> Table:
        """All rows."""


@dataclass(slots=True, eq=False)
class Table:
    """Rows under a name of ours. `outside`: a view of files, or rows that are `far`; `bag`: rows may repeat there."""

    name: str
    rows: int
    relation: str = ""
    outside: bool = False
    bag: bool = False
    looks: int = 0
    values: Callable[[], Mapping[int, int]] = dict  # by place of a column: how many it has at most, where that is known
    near: Callable[[int], Near | None] = _far_all  # rows by the column at this place, if somebody has them at hand
    far: Far | None = None  # who has the rows, if no view of this database does


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of `table` that are in none of `less`."""

    table: Table
    less: tuple[Table, ...] = ()

    @property
    def rows(self) -> int:
        """How many at most."""
        return self.table.rows


@dataclass(slots=True)
class Tables(Versions[Part]):
    """What is known of every relation at one moment."""

    connection: duckdb.DuckDBPyConnection
    schemas: dict[str, tuple[Type, ...]]
    budget: Budget = field(default_factory=Budget)
    open: delta.OpenAt = delta.open_table
    patience: int = 2  # looks at a table's files; the next one takes it into memory
    large: int = 50_000  # rows of a table that is rather asked for some of them than hashed
    rows_read: dict[str, int] = field(default_factory=dict)  # from outside, by relation
    _made: dict[str, Table] = field(default_factory=dict)
    _names: int = 0

    # ------------------------------------------------------------ versions
    def parts(self, ref: Ref) -> tuple[Part, ...]:
        """The disjoint parts of a stored or virtual version; none when it is empty."""
        return tuple(
            Part(part.table, (*part.less, *(gone.table for gone in less))) if less else part
            for part, less in self.composed(ref)
        )

    def count(self, ref: Ref) -> int:
        """How many rows a version has at most."""
        return sum(part.table.rows for part, _ in self.composed(ref))

    def values(self, ref: Ref) -> Mapping[int, int]:
        """How many values some columns of a version have at most: of its largest part, the others are small."""
        largest = max((part.table for part, _ in self.composed(ref)), key=lambda table: table.rows, default=None)
        return largest.values() if largest is not None else {}

    def merge(self, target: Ref, source: Ref) -> None:
        """Add the rows of `source`, which `target` does not hold."""
        added, present = self.parts(source), self.stored(target)
        if not added:
            return
        if not present:
            self.put(target, *added)
            return
        table = self._own(target, present)
        self.run(Sql(f"INSERT INTO {table.name} {self.select(added, target.relation).text}"))
        table.rows += sum(part.table.rows for part in added)

    def _own(self, target: Ref, present: tuple[Part, ...]) -> Table:
        """A table that only `target` refers to, with its rows."""
        (first, *others) = present
        shared = any(
            part.table is first.table for ref, parts in self._stored.items() if ref != target for part in parts
        )
        if not others and not first.less and not first.table.outside and not shared:
            return first.table
        table = self.make(self.select(present, target.relation))
        self.put(target, Part(table))
        return table

    # ------------------------------------------------------------ queries
    def run(self, sql: Sql) -> list[tuple[Any, ...]]:
        """Run one statement."""
        return self.connection.execute(sql.text, dict(sql.values) or None).fetchall()

    def fresh(self, letter: str = "t") -> str:
        """A name that nothing else has."""
        self._names += 1
        return f"{letter}{self._names}"

    def make(self, sql: Sql, relation: str = "") -> Table:
        """The rows of a query as a table of their own; too many rows end the work in process."""
        name = self.fresh()
        limit = self.budget.rows - self.budget.made + 1
        text = f"CREATE TEMP TABLE {name} AS {sql.text} LIMIT {limit}"
        ((rows,),) = self.run(Sql(text, sql.values))
        table = self._made[name] = Table(name, rows, relation)
        self.budget.make(rows)
        return table

    def select(self, parts: Sequence[Part], relation: str) -> Sql:
        """All rows of disjoint parts."""
        names = column_names(len(self.schemas[relation]))
        columns = ", ".join(f"r.{name}" for name in names)
        texts = []
        for part in parts:
            self.note(part.table)
            word = "SELECT DISTINCT" if part.table.bag else "SELECT"
            texts.append(f"{word} {columns} FROM {part.table.name} r{lacking('r', part.less, names)}")
        return Sql(" UNION ALL ".join(texts))

    def whole(self, ref: Ref) -> Table:
        """A version as one table."""
        parts = self.parts(ref)
        if len(parts) == 1 and not parts[0].less and not parts[0].table.outside:
            return parts[0].table
        return self.make(self.select(parts, ref.relation)) if parts else self.nothing(ref.relation)

    def nothing(self, relation: str) -> Table:
        """No rows."""
        return self.bring((), self.schemas[relation], column_names(len(self.schemas[relation])))

    def bring(self, rows: Sequence[Row], kinds: Sequence[Type], names: Sequence[str]) -> Table:
        """Python rows as a table."""
        return self.take_arrow(to_arrow(rows, kinds, names))

    def take_arrow(self, arrow: pa.Table) -> Table:
        """An Arrow table, under its own (our) column names."""
        name = self.fresh("a")
        self.connection.register(name, arrow)
        try:
            return self.make(Sql(f"SELECT * FROM {name}"))
        finally:
            self.connection.unregister(name)

    def fetch(self, table: Table, kinds: Sequence[Type], most: int | None = None) -> list[Row]:
        """The rows of a table, or so many of them, as canonical Python values."""
        limit = "" if most is None else f" LIMIT {int(most)}"
        return from_duck(self.run(Sql(f"SELECT * FROM {table.name}{limit}")), kinds)

    def arrow(self, table: Table) -> pa.Table:
        """The rows of a table as Arrow."""
        return self.connection.table(table.name).to_arrow_table()

    def batches(self, table: Table, order: Sequence[int]) -> Iterator[pa.Table]:
        """The same, a row group at a time, in the order of the columns at these places: never all of them at once."""
        import pyarrow as pa

        by = ", ".join(f"c{place}" for place in order)
        ordered = f"SELECT * FROM {table.name}{' ORDER BY ' if by else ''}{by}"
        rows = self.connection.sql(ordered)
        for batch in rows.to_arrow_reader(ROW_GROUP):
            yield pa.Table.from_batches([batch])

    # ------------------------------------------------------------ what lies outside
    def look(self, table: Table, keys: Table, pairs: Sequence[tuple[str, str, bool]], where: Sql = Sql("")) -> Table:
        """The rows of a large table that meet one of `keys`; pairs: key column, our expression over r, null-safe."""
        rows = self._at_hand(table, keys, pairs) if table.outside else None
        if rows is None:
            # A look for a few keys is a fraction of a load, and the fraction is smaller the larger the table.
            patience = self.patience + min(table.rows // PATIENT_ROWS, 6) if self.patience else 0
            often = table.looks >= patience or 4 * keys.rows > table.rows
            if table.outside and often and (table.far is None or _few(table, table.far)):
                self.load(table)
            table.looks += 1
            rows = table.name if table.far is None else self._asked(table, table.far, keys, pairs).name
        full = self._without_nulls(keys, [key for key, _, safe in pairs if safe])
        conditions = " AND ".join(
            f"{own} {'IS NOT DISTINCT FROM' if safe and key not in full else '='} k.{key}" for key, own, safe in pairs
        )
        word = "SELECT DISTINCT" if table.bag else "SELECT"
        text = f"{word} r.* FROM {rows} r SEMI JOIN {keys.name} k ON {conditions}{where.text}"
        found = self.make(Sql(text, where.values))
        if table.outside and table.far is None:
            self._count(table, found.rows)
        return found

    def _asked(self, table: Table, far: Far, keys: Table, pairs: Sequence[tuple[str, str, bool]]) -> Table:
        """Rows of another engine among which all that meet `keys` are."""
        places = [(key, int(own.removeprefix("r.c")), safe) for key, own, safe in pairs if _is_column(own)]
        places = [one for one in places if far.can_ask(one[1])]
        if not places:
            raise OutOfBounds(f"{table.relation} cannot be asked for rows by what is known of them")
        picked = ", ".join(f"k.{key} AS k{i}" for i, (key, _, _) in enumerate(places))
        filled = " AND ".join(f"k.{key} IS NOT NULL" for key, _, safe in places if not safe)
        wanted = self.make(Sql(f"SELECT DISTINCT {picked} FROM {keys.name} k WHERE {filled or 'true'}"))
        self._count(table, far.rows if wanted.rows else 0)
        return far.meeting(self, self.arrow(wanted), [(place, safe) for _, place, safe in places])

    def _at_hand(self, table: Table, keys: Table, pairs: Sequence[tuple[str, str, bool]]) -> str | None:
        """Rows among which all that meet `keys` are, where somebody has looked for them already."""
        for key, own, _ in pairs:
            near = table.near(int(own.removeprefix("r.c"))) if _is_column(own) else None
            if near is not None:
                self._count(table, near.read)
                others = f"SELECT 1 FROM {keys.name} k ANTI JOIN {near.keys} n ON k.{key} = n.k LIMIT 1"
                if not self.run(Sql(others)):
                    return near.rows
        return None

    def load(self, table: Table) -> None:
        """Take a table from its files into memory."""
        if not table.outside:
            return
        if table.far is not None and not _few(table, table.far):
            raise OutOfBounds(f"it would bring all {table.rows:,} rows of {table.relation} from Spark")
        self.budget.take(table.rows)
        self._count(table, table.rows)
        name = self.fresh("m")
        word = "SELECT DISTINCT" if table.bag else "SELECT"
        rows_of = table.name if table.far is None else table.far.whole(self).name
        ((rows,),) = self.run(Sql(f"CREATE TEMP TABLE {name} AS {word} * FROM {rows_of}"))
        table.name, table.rows, table.outside, table.bag, table.far = name, rows, False, False, None

    def note(self, table: Table) -> None:
        """A table is about to be read from end to end: what is far has to come here for that."""
        if table.far is not None:
            self.load(table)
        elif table.outside:
            self._count(table, table.rows)

    def _count(self, table: Table, rows: int | None) -> None:
        if table.relation and rows is not None:
            self.rows_read[table.relation] = self.rows_read.get(table.relation, 0) + rows

    def _without_nulls(self, keys: Table, columns: Sequence[str]) -> frozenset[str]:
        """Those of `columns` that hold no NULL: there plain equality says the same, and is faster."""
        if not columns:
            return frozenset()
        counts = ", ".join(f"count({column})" for column in columns)
        (found,) = self.run(Sql(f"SELECT {counts} FROM {keys.name}"))
        return frozenset(column for column, count in zip(columns, found, strict=True) if count == keys.rows)

    # ------------------------------------------------------------ differences
    def without(self, rows: Table, refs: Iterable[Ref], *, distinct: bool = False) -> Sql:
        """The rows of `rows` in none of `refs`; NULL equals NULL."""
        text = ""
        for ref in refs:
            names = column_names(len(self.schemas[ref.relation]))
            for part in self.parts(ref):
                text += self._lacking_part(rows, part, names)
        return Sql(f"SELECT {'DISTINCT ' if distinct else ''}l.* FROM {rows.name} l{text}")

    def _lacking_part(self, rows: Table, part: Part, names: tuple[str, ...]) -> str:
        table, less = part.table, part.less
        if table.outside or (table.rows > self.large and table.rows > 4 * rows.rows):
            table = self.look(table, rows, [(name, f"r.{name}", True) for name in names])
            if not table.rows:
                return ""
        if not less:
            return lacking("l", (table,), names)
        other = f"(SELECT r.* FROM {table.name} r{lacking('r', less, names)})"
        same = " AND ".join(f"l.{name} IS NOT DISTINCT FROM o.{name}" for name in names)
        return f" ANTI JOIN {other} o ON {same}"

    def held(self, rows: Table, ref: Ref, names: Sequence[str] = ()) -> Table:
        """The rows of a version that are in `rows`; with `names`, those that equal one of `rows` in these columns."""
        pairs = [(name, f"r.{name}", True) for name in names or column_names(len(self.schemas[ref.relation]))]
        found = [Part(self.look(part.table, rows, pairs), part.less) for part in self.parts(ref)]
        return self.make(self.select(found, ref.relation)) if found else self.nothing(ref.relation)

    # ------------------------------------------------------------ memory
    def lasting(self, table: Table) -> Table:
        """A table that is not dropped, whether or not a version refers to it."""
        self._made.pop(table.name, None)
        return table

    def sweep(self, keep: Iterable[Table] = ()) -> None:
        """Drop the tables that no version refers to, when there are many or they are large."""
        live = {table.name for table in keep}
        for parts in self._stored.values():
            live.update(t.name for part in parts for t in (part.table, *part.less))
        dead = [table for name, table in self._made.items() if name not in live]
        if len(dead) < MANY_DEAD and sum(table.rows for table in dead) < MANY_DEAD_ROWS:
            return
        for table in dead:
            del self._made[table.name]
        self.run(Sql(";".join(f"DROP TABLE {table.name}" for table in dead)))


def _few(table: Table, far: Far) -> bool:
    """Whether all rows of another engine may come here."""
    return table.rows * far.width <= FEW_FAR_VALUES


def _is_column(own: str) -> bool:
    """Whether an expression over r is a column as it is."""
    return own.removeprefix("r.c").isdecimal()


def lacking(alias: str, less: Sequence[Table], names: Sequence[str]) -> str:
    """Anti-joins with whole rows of other tables."""
    text = ""
    for i, table in enumerate(less):
        other = f"{alias}{i}_{table.name}"
        same = " AND ".join(f"{alias}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in names)
        text += f" ANTI JOIN {table.name} {other} ON {same}"
    return text
