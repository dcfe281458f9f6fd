"""Spark sessions: one warm server per warehouse, a remote one, or this process's own.

`open_session` is all that other layers need. Nothing here imports pyspark at
import time: DAG parsing, `foreset check` and the CLI's help must stay cheap.
"""

from foreset.session.admin import path_sql
from foreset.session.config import Settings
from foreset.session.embedded import ServerReport, inspect_server, stop_server
from foreset.session.open import SessionHandle, open_session

__all__ = [
    "ServerReport",
    "SessionHandle",
    "Settings",
    "inspect_server",
    "open_session",
    "path_sql",
    "stop_server",
]
