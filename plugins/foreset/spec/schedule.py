"""Schedules: five-field cron and Airflow's presets, checked before Airflow sees them."""

from __future__ import annotations

import re

PRESETS = ("@once", "@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("weekday", 0, 7, _DAYS),
)
_PART = re.compile(r"(\*|[a-z0-9]+(?:-[a-z0-9]+)?)(?:/([0-9]+))?")


def schedule_fault(text: str) -> str:
    """Why `text` is not a schedule; empty if it is one."""
    if text.startswith("@"):
        return "" if text in PRESETS else f"the presets are {', '.join(PRESETS)}"
    words = text.split()
    if len(words) != len(_FIELDS):
        return f"it has {len(words)} field{'s' if len(words) != 1 else ''}, not 5"
    reasons = (_field_fault(word.lower(), *field) for word, field in zip(words, _FIELDS, strict=True))
    return next((reason for reason in reasons if reason), "")


def _field_fault(word: str, noun: str, low: int, high: int, names: tuple[str, ...]) -> str:
    for part in word.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return f"`{part[:20]}` is no {noun}"
        ends = [_number(end, low, names) for end in match[1].split("-")] if match[1] != "*" else [low, high]
        if any(end is None or not low <= end <= high for end in ends):
            return f"the {noun} goes from {low} to {high}, not `{part[:20]}`"
        if len(ends) == 2 and (ends[0] or 0) > (ends[1] or 0):
            return f"the {noun} range `{part[:20]}` runs backwards"
        if match[2] is not None and not 1 <= int(match[2][:6]) <= high:
            return f"the {noun} step `/{match[2][:6]}` is not from 1 to {high}"
    return ""


def _number(word: str, low: int, names: tuple[str, ...]) -> int | None:
    if word in names:
        return names.index(word) + low
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 6 else None
