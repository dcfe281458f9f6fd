"""The Python interface: open a warehouse, refresh its groups, read its views.

`docs/python.md` shows it. Only `refresh` needs Spark; everything else reads the
manifest and the tables directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from foreset.diagnostics import did_you_mean
from foreset.errors import SpecError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from foreset.diagnostics import Diagnostic
    from foreset.refresh.forecast import Forecast
    from foreset.refresh.whole import RefreshResult
    from foreset.spec.load import Loaded
    from foreset.store.layout import Layout

Listener = Callable[[dict[str, Any]], None]


class More(TypedDict, total=False):
    """What else a refresh may be told."""

    refresh_id: str
    note: str
    dry_run: bool
    force: bool


class Warehouse:
    """A root folder with tables and views, and the specs that say what the views are."""

    def __init__(self, warehouse: str, specs: str, spark: SparkSession | str | None) -> None:
        self.root, self.specs, self._spark = warehouse, specs, spark

    def refresh(
        self,
        group: str,
        mode: str = "auto",
        verify: int | str = 200,
        *,
        listen: Listener | None = None,
        **more: Unpack[More],
    ) -> RefreshResult:
        """Bring all views of `group` from what was committed last to what is true now, and publish them at once.

        The same `refresh_id` twice is one refresh: it goes on where it stopped, or says what it committed.
        """
        from foreset.plan.frozen import Request
        from foreset.refresh.whole import refresh

        spec = self.spec(group)
        with self._session() as spark:
            request = Request(mode=mode, verify=str(verify), **more)
            return refresh(spark, self.layout(group), spec, request, listen or _silent)

    def read(self, view: str, at: int | None = None) -> pa.Table:
        """The rows of `group.view` in the newest refresh, or in seq `at`."""
        from foreset.store.snapshots import open_snapshot

        group, name = split(view)
        with open_snapshot(self.root, group, at, lease=False) as snapshot:
            return snapshot.arrow(name)

    def changes(self, view: str, seq: int | None = None) -> tuple[pa.Table, pa.Table]:
        """The exact differential of `group.view` in one refresh (default: the newest): what came, what went."""
        from foreset.store import differentials

        group, name = split(view)
        return differentials.read(self.layout(group), name, seq)

    def manifest(self, group: str) -> list[dict[str, Any]]:
        """Every committed refresh of `group`, newest last."""
        from foreset.store import manifest

        return [row.as_dict() for row in manifest.history(self.layout(group).root, group)]

    def check(self) -> list[Diagnostic]:
        """All faults and warnings of all specs."""
        from foreset.analyse.across import check_groups
        from foreset.reference.inverses import proven
        from foreset.rewrite.pipeline import prepare

        found: list[Diagnostic] = []
        sound = []
        loaded = self._loaded()
        for one in loaded:
            found += one.report
            if one.program is not None:
                prepared = proven(prepare(one.program))
                found += prepared.report
                sound += [prepared.program] if prepared.program else []
        names = {one.program.group if one.program else Path(one.file).stem for one in loaded}
        return [*found, *check_groups(sound, names)]

    def forecast(self, group: str) -> Forecast:
        """What the next refresh of `group` would rebuild, add or remove for its definitions, and at what cost."""
        from foreset.refresh.context import read_spec
        from foreset.refresh.forecast import forecast

        program, layering = read_spec(*self.spec(group))
        return forecast(self.layout(group), program, layering)

    def groups(self) -> list[str]:
        """The groups that have a spec."""
        return [loaded.program.group for loaded in self._loaded() if loaded.program]

    def layout(self, group: str) -> Layout:
        """The paths of one group."""
        from foreset.session.locations import absolute_warehouse
        from foreset.store.layout import Layout

        return Layout(absolute_warehouse(self.root), group)

    def _loaded(self) -> tuple[Loaded, ...]:
        from foreset.spec.load import load_folder

        if not Path(self.specs).is_dir():
            raise UsageError(f"there is no folder {self.specs}", "`foreset init` makes one; name yours with specs=")
        return load_folder(self.specs)

    def spec(self, group: str) -> tuple[str, str]:
        """The text of the group's spec and its file; a refused spec is refused here, with all its faults."""
        names = []
        for loaded in self._loaded():
            name = loaded.program.group if loaded.program else Path(loaded.file).stem
            if name == group:
                if loaded.program is None:
                    raise SpecError(loaded.report.errors)
                return loaded.source, loaded.file
            names.append(name)
        hint = did_you_mean(group, names, f"groups here: {', '.join(sorted(names)) or 'none'}")
        raise UsageError(f"there is no group `{group}` in {self.specs}", hint)

    @contextmanager
    def _session(self) -> Iterator[SparkSession]:
        from foreset.session.lazy import lazy_session

        with lazy_session(self._spark, self.root) as spark:
            yield spark


def open_warehouse(
    warehouse: str = "warehouse", specs: str = "view_specs", spark: SparkSession | str | None = None
) -> Warehouse:
    """Open a warehouse; `spark` is a session, a URL or name as in FORESET_SPARK, or None to read that."""
    return Warehouse(str(warehouse), str(specs), spark)


def split(view: str) -> tuple[str, str]:
    """`group.view` in its two parts."""
    group, dot, name = view.partition(".")
    if not dot or not group or not name:
        raise UsageError(f"`{view}` does not name a view", "write group.view, such as reach.closure")
    return group, name


def _silent(_: dict[str, Any]) -> None:
    return
