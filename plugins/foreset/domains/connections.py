"""Named connections: specs say a name, the deployment says what it means.

They are read as Airflow keeps them in its environment, `AIRFLOW_CONN_<NAME>` as a URI or as JSON, so that
one secrets backend serves both. Secrets never show in texts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from foreset.errors import EnvironmentFault

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a source is and what opens it."""

    name: str
    kind: str
    host: str = ""
    port: int | None = None
    path: str = ""  # of a URI; the schema of a database
    login: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    extra: Mapping[str, str] = field(default_factory=dict, repr=False)


def from_environment(name: str) -> Connection:
    """The connection `name`; EnvironmentFault where there is none."""
    if not _NAME.fullmatch(name):
        raise EnvironmentFault(
            "the name of a connection has only small letters, digits and _",
            "write the name of a connection, not its address",
            worth_retrying=False,
        )
    written = os.environ.get(f"AIRFLOW_CONN_{name.upper()}")
    if not written:
        raise EnvironmentFault(
            f"connection `{name}` is not known here",
            f"set AIRFLOW_CONN_{name.upper()}, as you do for Airflow",
            worth_retrying=False,
        )
    try:
        return _from_json(name, written) if written.lstrip().startswith("{") else _from_uri(name, written)
    except (ValueError, TypeError, AttributeError) as error:
        hint = "write a URI or JSON, as you do for Airflow; its value may be secret, so it is not shown"
        told = f"connection `{name}` cannot be read ({type(error).__name__})"
        raise EnvironmentFault(told, hint, worth_retrying=False) from None


def _from_json(name: str, written: str) -> Connection:
    data = json.loads(written)
    extra = data.get("extra") or {}
    extra = json.loads(extra) if isinstance(extra, str) else extra
    port = data.get("port")
    return Connection(
        name,
        str(data.get("conn_type") or ""),
        str(data.get("host") or ""),
        int(port) if port is not None else None,
        str(data.get("schema") or ""),
        str(data.get("login") or ""),
        str(data.get("password") or ""),
        {str(key): str(value) for key, value in extra.items()},
    )


def _from_uri(name: str, written: str) -> Connection:
    uri = urlsplit(written)
    return Connection(
        name,
        uri.scheme,
        unquote(uri.hostname or ""),
        uri.port,
        unquote(uri.path),
        unquote(uri.username or ""),
        unquote(uri.password or ""),
        dict(parse_qsl(uri.query)),
    )
