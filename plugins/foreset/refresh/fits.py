"""Whether what was published of a view is a state of the view as the spec has it now.

A view is its columns by name and type. Their order is a matter of the spec alone: rows are read by names. Where a
column has come, gone, or is of another name or type, it is another view to its readers: they see it in full, and
nothing of the old rows is compared with the new ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from foreset.ir.program import Column
from foreset.refresh.context import Context
from foreset.store.rows import ViewPin


def declared(columns: Sequence[Column]) -> dict[str, str]:
    """Names and types, as tables and the manifest have them."""
    return {column.name: str(column.type) for column in columns}


def fits(pin: ViewPin, columns: Sequence[Column]) -> bool:
    """Whether the rows under a pin are rows of a view with these columns."""
    return dict(pin.columns) == declared(columns)


def pin_of(context: Context, view: str) -> ViewPin | None:
    """The pin of a view whose rows fit the view as it is now defined."""
    pin = context.previous.views.get(view) if context.previous else None
    return pin if pin is not None and fits(pin, context.view(view).columns) else None
