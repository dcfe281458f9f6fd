"""What a person sees while a refresh works: one line per stratum, alive on a terminal, plain elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from foreset.cli.output import coloured

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Event = dict[str, Any]


@contextmanager
def shown(*, quiet: bool) -> Iterator[Callable[[Event], None]]:
    """A listener for the events of a refresh; they go to stderr, so that results can be piped."""
    if quiet:
        yield lambda _: None
    elif coloured(sys.stderr):
        with _bars() as listen:
            yield listen
    else:
        yield _plain


def line(event: Event) -> str:
    """An event in words; empty for those that a plain log need not have."""
    match event:
        case {"event": "stratum", "stratum": number, "views": views, "strategy": strategy}:
            return f"stratum {number} ({', '.join(views)}): {strategy}"
        case {"event": "warning", "message": message}:
            return f"warning: {message}"
        case {"event": "engine", "stratum": number, "engine": "spark", "reason": reason}:
            return f"stratum {number}: continues in Spark: {reason}"
        case {"event": "round", "stratum": number, "round": done, "rows": rows} if done % 10 == 0:
            return f"stratum {number}: round {done}, {_rows(rows)} new rows"
        case {"event": "entries", "stratum": number, "entries": entries}:
            return f"stratum {number}: {entries:,} entries so far"
        case {"event": "finished", "phase": phase, "seconds": seconds}:
            return f"{phase}: {seconds:.1f} s"
        case _:
            return ""


def _plain(event: Event) -> None:
    if text := line(event):
        print(text, file=sys.stderr, flush=True)


def _rows(rows: dict[str, int | None]) -> str:
    known = [count for count in rows.values() if count is not None]
    return f"{sum(known):,}" if known else "some"


@contextmanager
def _bars() -> Iterator[Callable[[Event], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    what = TextColumn("{task.fields[what]}")
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), what, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks: dict[int, TaskID] = {}
        yield lambda event: _advance(progress, tasks, event)


def _advance(progress: Progress, tasks: dict[int, TaskID], event: Event) -> None:
    number = event.get("stratum")
    match event:
        case {"event": "stratum", "views": views, "strategy": strategy}:
            tasks[number or 0] = progress.add_task(", ".join(views), total=None, what=strategy)
        case {"event": "round", "round": done, "rows": rows} if number in tasks:
            progress.update(tasks[number], what=f"round {done}, {_rows(rows)} new rows")
        case {"event": "entries", "entries": entries} if number in tasks:
            progress.update(tasks[number], what=f"{entries:,} entries so far")
        case {"event": "finished", "phase": str(phase)} if phase.removeprefix("stratum-").isdigit():
            task = tasks.get(int(phase.removeprefix("stratum-")))
            if task is not None:
                progress.update(task, total=1, completed=1, what=f"{event['strategy']}, {event['seconds']:.1f} s")
        case {"event": "finished", "phase": str(phase), "seconds": float(seconds)}:
            progress.console.print(f"{phase}: {seconds:.1f} s", style="dim")
        case _:
            return
