"""What verification makes of rows, without what it looks for beside them."""

from __future__ import annotations

from collections.abc import Mapping

from foreset.ir.strata import Layering
from foreset.ir.terms import Row
from foreset.verify.binding_order import Schemas
from foreset.verify.groups import Facts
from foreset.verify.solving import derived_near


def derivable(
    rows: Mapping[str, set[Row]],
    layering: Layering,
    facts: Facts,
    schemas: Schemas,
    sizes: Mapping[str, int] | None = None,
) -> dict[str, set[Row]]:
    """Which of `rows`, by view, follow from the facts; `sizes` says how many rows views have, where that is known."""
    return derived_near(rows, {}, layering, facts, schemas, sizes)[0]
