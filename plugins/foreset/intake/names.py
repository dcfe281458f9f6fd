"""Names of columns that specs can write, from those that files have."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from foreset.spec.shapes import RESERVED

MOST = 63  # characters of a name


def plain_name(text: str) -> str:
    """`Customer ID` as `customer_id`: small ASCII letters, digits and underscores."""
    folded = unicodedata.normalize("NFKD", text.strip().replace("ß", "ss"))
    ascii_ = "".join(char for char in folded if not unicodedata.combining(char))
    name = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", ascii_).lower()).strip("_")
    name = name if name[:1].isalpha() else f"c_{name}".rstrip("_")
    return (f"{name}_" if name in RESERVED else name)[:MOST]


def plain_names(texts: Iterable[str]) -> list[str]:
    """The same for all columns of a table: no two are alike."""
    found: list[str] = []
    for text in texts:
        name, number = plain_name(text), 2
        while name in found:
            name, number = f"{plain_name(text)[: MOST - 3]}_{number}", number + 1
        found.append(name)
    return found
