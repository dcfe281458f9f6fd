"""What Spark, Delta or the disk raise, in the words of whoever must put it right."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from foreset.errors import EnvironmentFault, EvaluationError, ForesetError

# Errors come as classes of pyspark, grpc, py4j, deltalake and the system, often one inside the text of another.
_SERVER_GONE = (
    "StatusCode.UNAVAILABLE", "failed to connect to all addresses", "Connection refused", "Connection reset by peer",
    "Socket closed", "RETRIES_EXCEEDED", "INVALID_HANDLE.SESSION", "SESSION_CLOSED", "SESSION_CHANGED",
    "INVALID_HANDLE.OPERATION", "Py4JNetworkError", "Answer from Java side is empty",
)  # fmt: skip
_DISK_FULL = ("No space left on device", "Disk quota exceeded", "os error 28", "os error 122", "File too large")
_FORBIDDEN = ("Permission denied", "Operation not permitted", "Read-only file system", "AccessControlException",
              "AccessDenied", "403 Forbidden", "os error 13", "os error 30")  # fmt: skip
_LOST = ("Could not open Parquet input source", "FAILED_READ_FILE")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
AGAIN = "nothing was published; then run the same refresh again: it continues where it stopped"


@contextmanager
def plain_words(doing: str) -> Iterator[None]:
    """Let faults of the machine leave as `EnvironmentFault`, and everything else as it is."""
    try:
        yield
    except BaseException as error:
        told = explained(error, doing)
        if told is error:
            raise
        raise told from error


def explained(error: BaseException, doing: str) -> BaseException:
    """The error to raise for `error`, which came during `doing`."""
    if not isinstance(error, Exception) or (isinstance(error, ForesetError) and not isinstance(error, EvaluationError)):
        return error
    chain = list(_chain(error))
    if line := _found(chain, _DISK_FULL, _FULL):
        return EnvironmentFault(f"the disk is full, during {doing}: {line}", f"free some space; {AGAIN}")
    if line := _found(chain, _FORBIDDEN, _DENIED):
        return EnvironmentFault(
            f"access is denied, during {doing}: {line}", f"check who may write there; {AGAIN}", worth_retrying=False
        )
    if line := _found(chain, _LOST, set()):
        return EnvironmentFault(
            f"a file of a table is gone: {line}",
            "restore it from a backup, or write the table again",
            worth_retrying=False,
        )
    if line := _found(chain, _SERVER_GONE, set()):
        return EnvironmentFault(
            f"Spark went away, during {doing}: {line}", f"`foreset doctor` looks for the cause; {AGAIN}"
        )
    return error


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _found(chain: list[BaseException], signs: tuple[str, ...], numbers: set[int]) -> str:
    """The line of a message that has one of the signs, or of an error with one of the numbers; else empty."""
    for one in chain:
        if isinstance(one, OSError) and one.errno in numbers:
            return str(one)
        for line in (*str(one).splitlines(), type(one).__name__):
            if any(sign in line for sign in signs):
                return line.strip()[:300]
    return ""
