"""Hidden relations in words: the names that rewrite gives them are for tables and plans, never for people."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

_NAME = r"([a-z][a-z0-9_]*)"
_KINDS = (  # what follows the name; in words; in words before the values of a row
    (r"~-deleted(?:_[0-9]+)*", r"what edits take out of `\1`", r"taken out of `\1` by an edit "),
    (r"~-inserted", r"what edits put into `\1`", r"put into `\1` by an edit "),
    (r"~groups_[0-9a-f]+", r"the groups of `\1`", r"a group of `\1` "),
    (r"~members_[0-9a-f]+", r"the elements from `\1`", r"an element from `\1` "),
    (r"~support_[0-9a-f]+", r"the derivations of `\1`", r"a derivation of `\1` "),
    (r"~(?:~|:)[0-9_]+~asks", r"what `\1` is asked", r"what `\1` is asked "),
    (r"~(?:~|:)[0-9_]+(?:~held)?", r"`\1`", r"\1"),
    (rf"~{_NAME}~asks", r"what `\1:\2` is asked", r"what `\1:\2` is asked "),
    (rf"~{_NAME}(?:~held)?", r"`\1:\2`", r"\1:\2"),
)
_WORDS = [(re.compile(rf"{_NAME}{kind}(?:~rows)?"), words) for kind, words, _ in _KINDS]
_OF_ROWS = [(re.compile(rf"{_NAME}{kind}(?=\()"), words) for kind, _, words in _KINDS]


@functools.lru_cache(maxsize=4096)
def in_words(name: str) -> str:
    """A relation as people call it: `the groups of orders` for a hidden one, and its name for any other."""
    for pattern, words in _WORDS:
        if found := pattern.fullmatch(name):
            return found.expand(words)
    return name


def called(name: str) -> str:
    """A relation inside of a sentence: in backticks, or in words."""
    words = in_words(name)
    return words if words != name else f"`{name}`"


def all_in_words(names: Iterable[str]) -> tuple[str, ...]:
    """The same of several, each once."""
    return tuple(dict.fromkeys(map(in_words, names)))


def plainly(text: str) -> str:
    """A text in which hidden relations stand, with words in their places; what stands in quotes is left alone."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    for place in range(0, len(parts), 2):
        for pattern, words in (*_OF_ROWS, *_WORDS):
            parts[place] = pattern.sub(words, parts[place])
    return "".join(parts)
