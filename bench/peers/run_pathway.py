"""Pathway keeps a recursive view while its one table of pairs changes; each step is one commit of its input.

A pair of negative numbers comes with every step and is connected with nothing else: when what follows from it is
there, the step is done, also where it changes nothing.
"""

import threading
import time

import job
import pathway as pw


class Pairs(pw.Schema):
    """The input, whatever its columns are called."""

    a: int = pw.column_definition(primary_key=True)
    b: int = pw.column_definition(primary_key=True)


def distinct(pairs: pw.Table) -> pw.Table:
    """A set of pairs."""
    return pairs.groupby(pairs.a, pairs.b).reduce(pairs.a, pairs.b)


def closure(edges: pw.Table) -> pw.Table:
    """Reachability by at least one edge."""

    def grown(reach: pw.Table, edges: pw.Table) -> dict[str, pw.Table]:
        further = edges.join(reach, edges.b == reach.a).select(a=edges.a, b=reach.b)
        return {"reach": distinct(edges.concat_reindex(further))}

    return pw.iterate(grown, reach=pw.iterate_universe(distinct(edges)), edges=distinct(edges)).reach


def symmetric(links: pw.Table) -> pw.Table:
    """Symmetric and transitive closure."""
    return closure(distinct(links.concat_reindex(links.select(a=links.b, b=links.a))))


def generation(parents: pw.Table) -> pw.Table:
    """Who is of the same generation: a has parent b."""
    siblings = distinct(parents.join(parents.copy(), pw.left.b == pw.right.b).select(a=pw.left.a, b=pw.right.a))

    def grown(same: pw.Table, siblings: pw.Table, parents: pw.Table) -> dict[str, pw.Table]:
        half = parents.join(same, parents.b == same.a).select(a=parents.a, b=same.b)
        cousins = half.join(parents, half.b == parents.b).select(a=half.a, b=parents.a)
        return {"same": distinct(siblings.concat_reindex(cousins))}

    return pw.iterate(grown, same=pw.iterate_universe(siblings), siblings=siblings, parents=distinct(parents)).same


class Watch:
    """The view as it is, and whether a step is done."""

    def __init__(self) -> None:
        self.rows: set[tuple[int, int]] = set()
        self.done = threading.Event()
        self._marked = False

    def change(self, key: object, row: dict[str, int], time: int, is_addition: bool) -> None:  # noqa: ARG002 - its form
        """One row of the view comes or goes."""
        pair = row["a"], row["b"]
        if pair[0] < 0:
            self._marked |= is_addition
        elif is_addition:
            self.rows.add(pair)
        else:
            self.rows.discard(pair)

    def ended(self, time: int) -> None:  # noqa: ARG002 - its form
        """All rows of one commit are through."""
        if self._marked:
            self._marked = False
            self.done.set()


class Feed(pw.io.python.ConnectorSubject):
    """Gives a step, waits until the view is there, keeps it, and goes on."""

    def __init__(self, given: job.Job, watch: Watch) -> None:
        super().__init__()
        self._given, self._watch = given, watch

    def run(self) -> None:
        """All steps."""
        [table], [view] = self._given.tables, self._given.views
        for step in range(self._given.steps):
            gone = list(self._given.rows(step, "minus", table)) if step else []
            came = list(self._given.rows(step, "plus" if step else "full", table))
            started = time.monotonic()
            for a, b in gone:
                self.delete(a=a, b=b)
            for a, b in (*came, (-2 * step - 2, -2 * step - 1)):
                self.next(a=a, b=b)
            self.commit()
            self._watch.done.wait()
            self._watch.done.clear()
            seconds = time.monotonic() - started
            self._given.keep(step, view, self._watch.rows)
            job.tell(step, seconds)


given, watch = job.read(), Watch()
pairs = pw.io.python.read(Feed(given, watch), schema=Pairs, autocommit_duration_ms=None)
program = {"closure": closure, "symmetric": symmetric, "generation": generation}[given.program]
pw.io.subscribe(program(pairs), watch.change, on_time_end=watch.ended)
pw.run(monitoring_level=pw.MonitoringLevel.NONE)
