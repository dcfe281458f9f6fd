"""What capture says when a source cannot be read: which source, which table, why, and what to do.

Spark's own messages are long and name internal paths; only their condition and first line
are kept. A condition is stable over Spark and Delta releases, a text is not.
"""

from __future__ import annotations

import re

from foreset.errors import SourceError

_BRACKET = re.compile(r"\[([A-Z][A-Z0-9_]{3,}(?:\.[A-Z0-9_]+)*)\]")
_MAX_LINE = 300

# The change feed of the range is gone, was never recorded, or cannot be read across a change of schema.
_HISTORY_LOST = (
    "DELTA_MISSING_CHANGE_DATA",
    "DELTA_CHANGE_DATA_FEED_",
    "DELTA_CHANGE_TABLE_FEED_DISABLED",
    "DELTA_CDC_",
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_VERSION_INVALID",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_TIME_TRAVEL_BEYOND",
    "DELTA_UNSUPPORTED_TIME_TRAVEL",
    "DELTA_FILE_NOT_FOUND",
    "DELTA_STATE_RECOVER_ERROR",
    "DELTA_NO_RECREATABLE_HISTORY_FOUND",
    "VERSION_NOT_FOUND",
    "LOG_FILE_NOT_FOUND",
    "FAILED_READ_FILE",
    "INCOMPATIBLE_",
    "PATH_NOT_FOUND",  # of a differential that was cleaned up
)


def condition_of(error: BaseException) -> str:
    """Spark's name for what went wrong, or "".

    Errors that happen inside tasks come from a classic session as plain Java errors, which
    carry the name only in their text.
    """
    getter = getattr(error, "getCondition", None)
    condition = getter() if callable(getter) else None
    if isinstance(condition, str) and condition and condition != "UNKNOWN":
        return condition
    found = _BRACKET.search(str(error))
    return found[1] if found else ""


def of_spark(error: BaseException) -> bool:
    """True for what Spark or its storage said; anything else is a fault of ours and is left to be seen."""
    return type(error).__module__.startswith(("pyspark.", "py4j."))


def history_is_lost(error: BaseException) -> bool:
    """True when the old version or its feed cannot be read, while the table itself may be sound."""
    condition = condition_of(error)
    if condition.startswith(_HISTORY_LOST):
        return True
    text = str(error)
    return "FileNotFoundException" in text or "FAILED_READ_FILE" in text


def first_line(error: BaseException) -> str:
    """The first meaningful line of an error, short enough for a log."""
    text = str(error).strip().splitlines() or [type(error).__name__]
    line = (
        next((x for x in text if "Exception: " in x), text[0]) if text[0].startswith("An error occurred") else text[0]
    )
    return line.strip()[:_MAX_LINE]


def describe(error: BaseException) -> str:
    """The condition if there is one, else the first line."""
    return condition_of(error) or first_line(error)


class NoSuchTable(SourceError):
    """Nothing lies at the path, or nothing that is a Delta table."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, f"{hint}; `foreset check --against-warehouse` looks at all sources")

    def advised(self, hint: str) -> NoSuchTable:
        """The same with a better hint, if there is one."""
        return NoSuchTable(self.message, hint) if hint else self


def missing_table(source: str, path: str) -> NoSuchTable:
    """Nothing lies at the path."""
    return NoSuchTable(
        f"source `{source}`: there is no table at {path}",
        "check `table:` in the spec and the warehouse root (--warehouse or FORESET_WAREHOUSE); "
        "a relative `table:` starts at that root",
    )


def not_a_delta_table(source: str, path: str) -> NoSuchTable:
    """Something lies there, but it has no Delta log."""
    return NoSuchTable(
        f"source `{source}`: {path} is not a Delta table",
        "Foreset reads Delta tables; convert it (CONVERT TO DELTA) or correct `table:` in the spec",
    )


def no_permission(source: str, path: str, cause: str) -> SourceError:
    """The storage said no."""
    return SourceError(
        f"source `{source}`: no permission to read {path} ({cause})",
        "give the user of the Spark session, and of Foreset itself, the right to read the table and its _delta_log",
    )


def corrupt_log(source: str, path: str, cause: str) -> SourceError:
    """The log is there and cannot be made sense of."""
    return SourceError(
        f"source `{source}`: the Delta log of {path} is damaged ({cause})",
        "nothing was published; restore the missing or damaged files of _delta_log from a backup, "
        "or write the table again",
    )


def unreadable(source: str, path: str, cause: str) -> SourceError:
    """Any other cause."""
    return SourceError(
        f"source `{source}`: cannot read {path} ({cause})",
        "check that the storage can be reached with the credentials of this machine and of the Spark session",
        worth_retrying=True,
    )


def replaced_meanwhile(source: str, path: str, version: int) -> SourceError:
    """The version that this refresh recorded when it opened is not that version any more."""
    return SourceError(
        f"source `{source}`: {path} was replaced while this refresh ran: version {version} is now another one",
        "nothing was published; start a new refresh",
    )


def _who(used_by: tuple[str, ...]) -> str:
    views = ", ".join(f"`{name}`" for name in used_by)
    return f", used by view{'s' if len(used_by) > 1 else ''} {views}," if used_by else ""


def missing_column(
    source: str, column: str, used_by: tuple[str, ...], versions: str, renamed: str | None
) -> SourceError:
    """A referenced column is not there any more, or never was."""
    gone = f"is now called `{renamed}`" if renamed else "does not exist in the table"
    return SourceError(
        f"source `{source}`: column `{column}`{_who(used_by)} {gone} ({versions})",
        f"rename it in the spec to `{renamed}`"
        if renamed
        else "put the column back, or remove it from the spec; readers keep what was published",
    )


def misfit_column(
    source: str, column: str, found: str, declared: str, used_by: tuple[str, ...], versions: str
) -> SourceError:
    """The table's type cannot be kept in the declared one."""
    return SourceError(
        f"source `{source}`: column `{column}`{_who(used_by)} is {found} in the table, "
        f"which does not fit {declared}, the type in the spec ({versions})",
        f"declare it as {found} in the spec, or change the table back to a type that fits {declared}",
    )


def unknown_type(source: str, column: str, found: str, declared: str, used_by: tuple[str, ...]) -> SourceError:
    """The table's type has no counterpart here."""
    return SourceError(
        f"source `{source}`: column `{column}`{_who(used_by)} is {found} in the table, declared as {declared}",
        "Foreset reads numbers, text, booleans, binary, dates, timestamps and arrays of them; "
        "remove the column from the spec",
    )
