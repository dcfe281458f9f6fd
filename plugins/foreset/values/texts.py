"""Text functions: characters are code points, and nothing depends on a locale."""

from __future__ import annotations

from foreset.values.errors import Failure

TO_THE_END = 2**31 - 1
# Capitals and small letters that came with Unicode 16: Spark knows them, Python before 3.14 does not.
_NEW_CAPITALS = {0x19B: 0xA7DC, 0x264: 0xA7CB, 0x1C8A: 0x1C89, 0xA7CD: 0xA7CC, 0xA7DB: 0xA7DA} | {
    0x10D70 + i: 0x10D50 + i for i in range(22)
}
_NEW_SMALL = {capital: small for small, capital in _NEW_CAPITALS.items()}


def lower(text: str) -> str:
    """In small letters, by Unicode's rules for whole texts."""
    return text.translate(_NEW_SMALL).lower() if not text.isascii() else text.lower()


def upper(text: str) -> str:
    """In capitals, by Unicode's rules for whole texts."""
    return text.translate(_NEW_CAPITALS).upper() if not text.isascii() else text.upper()


def substr(text: str, start: int, length: int = TO_THE_END) -> str:
    """From 1; a negative start counts from the end, and may lie before the text."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = begin + length
    return text[max(begin, 0) : max(end, 0)]


def replace(text: str, what: str, by: str) -> str:
    """Every occurrence; an empty `what` occurs nowhere."""
    return text.replace(what, by) if what else text


def split_part(text: str, by: str, number: int) -> str:
    """The part of that number, from the end if negative; empty when there is none."""
    if number == 0:
        raise Failure("split_part counts from 1, or from -1 at the end")
    parts = text.split(by) if by else [text]
    index = number - 1 if number > 0 else len(parts) + number
    return parts[index] if 0 <= index < len(parts) else ""


def lpad(text: str, length: int, pad: str) -> str:
    """Exactly `length` characters, filled up at the start; an empty pad fills nothing."""
    return _filling(text, length, pad) + text[: max(length, 0)]


def rpad(text: str, length: int, pad: str) -> str:
    """Exactly `length` characters, filled up at the end."""
    return text[: max(length, 0)] + _filling(text, length, pad)


def _filling(text: str, length: int, pad: str) -> str:
    missing = max(length - len(text), 0)
    return (pad * (missing // len(pad) + 1))[:missing] if pad else ""
