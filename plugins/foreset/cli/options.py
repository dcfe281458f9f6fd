"""Options that every command has, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Specs = Annotated[
    Path,
    typer.Option("--specs", metavar="DIR", envvar="FORESET_SPECS", help="The folder of the specs."),
]
Warehouse = Annotated[
    str,
    typer.Option("--warehouse", metavar="URI", envvar="FORESET_WAREHOUSE", help="The root of the warehouse."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

SPECS = Path("view_specs")
WAREHOUSE = "./warehouse"
