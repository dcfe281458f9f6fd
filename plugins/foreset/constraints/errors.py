"""What constraints can refuse. Each text says what to do."""

from __future__ import annotations

from foreset.diagnostics import Span
from foreset.errors import EvaluationError, ForesetError


class BadConstraint(ForesetError):
    """A written constraint that is none: a syntax error, another sort, arithmetic that is not linear."""

    exit_code = 2

    def __init__(self, message: str, hint: str = "", span: Span | None = None, column: int = 0) -> None:
        super().__init__(message, hint)
        self.span = span
        self.column = column  # in the text that was read, 1-based; 0: not known


class Undecided(EvaluationError):
    """The solver gave up. Nothing is guessed: whoever asked has to stop."""

    def __init__(self, question: str, reason: str) -> None:
        super().__init__(
            f"the solver could not decide whether this can hold: {question} ({reason})",
            "give its variables ground values, or put less into one `not(...)`; FORESET_SOLVER_SECONDS is the limit",
        )


class Infinite(EvaluationError):
    """All rows of an entry were asked for, and there is no end to them, or more than allowed."""


class Unbound(EvaluationError):
    """A call of a domain whose arguments have no values when it must be made."""


class Unanswered(EvaluationError):
    """A call of a domain that failed and never answered before: whether the call holds is not known."""

    def __init__(self) -> None:
        super().__init__("a call of a domain has no answer yet", "refresh again when the domain answers")
