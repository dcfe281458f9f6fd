"""Commands that say why a row is in a view, and why another is not. They need no Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse
from foreset.cli.reading import At, View

if TYPE_CHECKING:
    from foreset.ir.terms import Row
    from foreset.questions.why import Published

Tuple = Annotated[str, typer.Argument(metavar="TUPLE", help="The row: its values in order, such as 'a, 3, NULL'.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="How many derivations of a row to show.")]
Depth = Annotated[int, typer.Option("--depth", min=1, help="How many levels of rows to show.")]
Every = Annotated[bool, typer.Option("--all", help="Show all derivations of the rows below, not one of each.")]


def why(
    view: View,
    tuple_: Tuple,
    *,
    limit: Limit = 10,
    depth: Depth = 10,
    every: Every = False,
    at: At = None,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Show why a row is in a view, down to rows of sources.

    If the view keeps derivations (`strategy: stdel`), it reads them; otherwise it evaluates the rules.
    """
    from foreset.cli.output import say, say_json
    from foreset.questions.proof_text import proof_lines
    from foreset.questions.why import why as asked
    from foreset.render import visible

    found, row = _asked(warehouse, specs, view, tuple_, at)
    proof = asked(found, row, limit=limit, depth=depth, every=every)
    if json:
        say_json({"seq": found.seq, **_plain(proof)})
    else:
        say(visible("\n".join(proof_lines(proof, found.tables))))


def why_not(
    view: View,
    tuple_: Tuple,
    *,
    at: At = None,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Show why a row is not in a view: what each rule lacks.

    The closest rules come first.
    """
    from foreset.cli.output import say, say_json
    from foreset.questions.proof_text import miss_lines
    from foreset.questions.why import missing
    from foreset.render import visible

    found, row = _asked(warehouse, specs, view, tuple_, at)
    misses = missing(found, row)
    if json:
        say_json({"seq": found.seq, "relation": found.view.name, "row": row, "rules": [_plain(one) for one in misses]})
    else:
        say(visible("\n".join(miss_lines(found.view.name, row, misses))))


def _asked(warehouse: str, specs: Path, view: str, text: str, at: int | None) -> tuple[Published, Row]:
    from foreset.cli.opening import opened
    from foreset.questions.why import published
    from foreset.refresh.written_rows import row_of
    from foreset.warehouse import split

    group, name = split(view)
    wh = opened(warehouse, specs)
    found = published(wh.layout(group), wh.spec(group), name, at)
    return found, row_of(found.view, text)


def _plain(value: object) -> dict[str, object]:
    """As JSON has it, with words for hidden relations."""
    from foreset.cli.output import plain

    found = _in_words(plain(value))
    assert isinstance(found, dict)
    return found


def _in_words(value: object) -> object:
    """Names and rules in words; rows and values stay as they are."""
    from foreset.ir.hidden import plainly

    if isinstance(value, dict):
        return {key: one if key in ("row", "values") else _in_words(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_in_words(one) for one in value]
    return plainly(value) if isinstance(value, str) else value
