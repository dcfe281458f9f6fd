"""What a stratum starts from, as tables of DuckDB in this process: `inputs.py` has the same for Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from foreset.backends.duckdb.sharing import near
from foreset.backends.duckdb.tables import Part, Tables
from foreset.ir.reads import places_read
from foreset.ir.steps import Phase, Ref
from foreset.ir.versions import Version
from foreset.refresh.bind_source import as_declared, bind_source, without
from foreset.refresh.captured import captured_of
from foreset.refresh.context import Context
from foreset.refresh.fits import pin_of
from foreset.refresh.inputs import staged_of
from foreset.refresh.key_check import single_rows
from foreset.relations import bind_files as inputs
from foreset.relations.bind_files import Stored
from foreset.store.capture.source_pin import RecordedPin
from foreset.store.capture.stage import folder


@dataclass(frozen=True, slots=True)
class Inputs:
    """The relations of a refresh, put into tables when they are asked for."""

    context: Context
    tables: Tables
    phases: Sequence[Phase] | None  # of what reads them: of a source those columns alone that they name; None: all
    building: bool  # only new states are read
    tallying: bool  # copies of a row count, so there may be none

    def put(self, name: str) -> None:
        """A relation below: its states and its differential."""
        if name in self.context.run.sources:
            self._put_source(name)
        else:
            self.put_view(name)

    def _put_source(self, name: str) -> None:
        """The new state is the table; the old one is told from it by the differential: `new - plus + minus`."""
        captured = captured_of(self.context, name)
        new, came, went = (Ref(name, version) for version in (Version.NEW, Version.PLUS, Version.MINUS))
        hidden = self._hidden(name)
        self.tables.put_later(new, lambda: self._source(name, hidden))
        if self.building:
            return
        columns = without(hidden, as_declared(self.context.source(name).columns))
        for ref, sign, rows in ((came, 1, captured.inserted), (went, -1, captured.deleted)):
            self.tables.put(ref, *self._staged(folder(captured.staged, sign) if rows else None, columns))
        if hidden:
            self._cancel(came, went)
        plus, minus = (self.tables.parts(ref) for ref in (came, went))
        less = tuple(part.table for part in plus)

        def old() -> Iterator[Part]:
            yield from (Part(part.table, (*part.less, *less)) for part in self.tables.parts(new))
            yield from minus

        self.tables.put_later(Ref(name, Version.OLD), old)

    def _hidden(self, name: str) -> AbstractSet[int]:
        """The columns of a source that this stratum does not ask for; none where rows may differ in those alone."""
        source = self.context.source(name)
        if self.phases is None:
            return frozenset()
        if not self._single(name) or not (self.building or single_rows(self.context, source) is not None):
            return frozenset()
        read = places_read((step for phase in self.phases for step in phase.steps), name)
        every = frozenset(range(len(source.columns)))
        return frozenset() if read is None else every - read - set(source.key_places)

    def _single(self, name: str) -> bool:
        return captured_of(self.context, name).single

    def _cancel(self, one: Ref, other: Ref) -> None:
        """Rows that come and go in what is read of them do neither."""
        if self.tables.empty(one) or self.tables.empty(other):
            return
        left, right = (self.tables.whole(ref) for ref in (one, other))
        kept = [self.tables.make(self.tables.without(*pair)) for pair in ((left, [other]), (right, [one]))]
        for ref, table in zip((one, other), kept, strict=True):
            self.tables.put(ref, Part(table))

    def _source(self, name: str, hidden: AbstractSet[int]) -> tuple[Part, ...]:
        context = self.context
        pin = RecordedPin.from_manifest(context.run.sources[name])
        table = bind_source(self.tables, context.layout.root, context.source(name), pin, hidden=hidden)
        table.bag = self.tallying and not self._single(name)
        if context.shared is not None and not self.building:
            table.near = near(context.shared, name, self.tables.schemas[name], hidden)
        return (Part(table),)

    def put_view(self, name: str) -> None:
        """The state of a view that readers have now, and what this refresh staged for it."""
        staged, columns = staged_of(self.context, name), as_declared(self.context.view(name).columns)
        self.put_old(name)
        for version, file in ((Version.PLUS, staged.plus), (Version.MINUS, staged.minus)):
            self.tables.put(Ref(name, version), *self._staged(file.path, columns))

    def put_old(self, name: str) -> None:
        """The state of a view that readers have now."""
        pin = pin_of(self.context, name)
        if pin is None or not pin.rows:
            return
        path, columns = self.context.layout.resolve(pin.path), as_declared(self.context.view(name).columns)

        def old() -> tuple[Part, ...]:
            return inputs.signed_parts(self.tables, name, path, pin.version, columns)

        self.tables.put_later(Ref(name, Version.OLD), old)

    def _staged(self, path: str | None, columns: tuple[Stored, ...]) -> tuple[Part, ...]:
        return () if path is None else (Part(inputs.bind_folder(self.tables, path, columns)),)
