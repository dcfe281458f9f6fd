"""When a refresh should have begun: numbers that nobody refreshes any more are old, however right they once were."""

from __future__ import annotations

import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from zoneinfo import ZoneInfo

GRACE = datetime.timedelta(hours=1)  # a scheduler may be busy


def overdue(
    schedule: str | None, timezone: str, last: datetime.datetime, now: datetime.datetime
) -> datetime.datetime | None:
    """The scheduled time that passed without a refresh; None while there is none, or none can be told."""
    if not schedule or not (times := _cron()):
        return None
    try:
        local = now.astimezone(ZoneInfo(timezone)) - GRACE
        due: datetime.datetime = times(schedule, local).get_prev(datetime.datetime)
    except (ValueError, KeyError, OSError):  # a preset without a time, such as @once
        return None
    return due.astimezone(datetime.UTC) if last < due else None


def _cron() -> Any:  # noqa: ANN401 - a library without types
    """The reader of cron that comes with Airflow; without it nothing is said to be overdue."""
    return import_module("croniter").croniter if find_spec("croniter") else None
