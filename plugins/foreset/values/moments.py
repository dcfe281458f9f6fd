"""Dates and timestamps: the proleptic Gregorian calendar from year 1 to 9999, in UTC."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Any

from foreset.values.errors import Failure


def day_of_week(value: dt.date) -> int:
    """1 is Sunday."""
    return value.isoweekday() % 7 + 1


def as_date(value: Any) -> dt.date:  # noqa: ANN401 - a date or a timestamp
    """The day of a timestamp."""
    return value.date() if isinstance(value, dt.datetime) else value


def midnight(value: dt.date) -> dt.datetime:
    """A date as a timestamp."""
    return value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001 - naive is UTC here


def add_days(value: dt.date, days: int) -> dt.date:
    """Days later, or earlier."""
    try:
        return value + dt.timedelta(days=days)
    except OverflowError as error:
        raise _beyond("days", days) from error


def add_months(value: dt.date, months: int) -> dt.date:
    """The same day of another month, or the last one it has."""
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        raise _beyond("months", months)
    last = calendar.monthrange(year, month + 1)[1]
    return dt.date(year, month + 1, min(value.day, last))


def _beyond(unit: str, count: int) -> Failure:
    return Failure(f"overflow: {count} {unit} lead out of the years 1 to 9999")


def trunc_week(value: dt.date) -> dt.date:
    """The Monday on or before."""
    return value - dt.timedelta(days=value.weekday())


def last_day(value: dt.date) -> dt.date:
    """The last day of the month."""
    return value.replace(day=calendar.monthrange(value.year, value.month)[1])
