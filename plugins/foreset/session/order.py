"""What a starter tells the supervisor of a new server."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class LaunchOrder:
    """What a starter wants; it travels by standard input, so that no command line shows the token."""

    launch: str
    warehouse: str
    folder: str
    fingerprint: str
    token: str
    idle_s: float
    conf: dict[str, str]

    def to_json(self) -> str:
        """Return the form that `from_json` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> LaunchOrder:
        """Read an order."""
        return cls(**json.loads(text))
