"""A warehouse as commands open it: what is missing is said in words of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foreset.warehouse import Warehouse

NO_SPECS = "`foreset init` makes one; if you have one, give it with `--specs DIR` or FORESET_SPECS"


def opened(warehouse: str, specs: Path) -> Warehouse:
    """The warehouse, with the specs of a folder."""
    from foreset.warehouse import Warehouse

    return Warehouse(warehouse, str(specs), None, NO_SPECS)
