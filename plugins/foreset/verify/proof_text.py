"""Proofs and misses as text for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from foreset.ir.program import is_hidden
from foreset.ir.terms import Row
from foreset.ir.text import print_value
from foreset.verify.misses import Miss
from foreset.verify.proofs import Proof, Way

_ASKED = re.compile(r"~~\d+\(")
_CALLED = re.compile(r"\b([a-z][a-z0-9_]*)~([a-z][a-z0-9_]*)\(")
_NOTES = {
    "above": "as above",
    "deeper": "...: --depth shows more",
    "unfinished": "...: too many rows to look at all of them",
}


def proof_lines(proof: Proof, tables: Mapping[str, str], indent: str = "") -> Iterator[str]:
    """A tree: a row, how it follows, and below each derivation what it stands on."""
    yield f"{indent}{named(proof.relation, proof.row)}{_remark(proof, tables)}"
    for number, way in enumerate(proof.ways):
        yield from _way_lines(way, tables, f"{indent}  ", "or by" if number else "by")
    if proof.more:
        yield f"{indent}  and {proof.more:,} more derivation{'s' * (proof.more != 1)}"
    if proof.circular:
        again = "derivations go" if proof.circular > 1 else "derivation goes"
        yield f"{indent}  {proof.circular:,} {again} in a circle through the row itself"


def _way_lines(way: Way, tables: Mapping[str, str], indent: str, word: str) -> Iterator[str]:
    yield f"{indent}{word} {_rule(way.rule, way.line, way.text)}"
    for part in way.parts:
        yield from proof_lines(part, tables, f"{indent}  ")
    if way.more_parts:
        yield f"{indent}  and {way.more_parts:,} more rows"
    yield from (f"{indent}  {_plainly(condition)}" for condition in way.conditions)


def miss_lines(name: str, row: Row, misses: Iterable[Miss]) -> Iterator[str]:
    """Each rule, the closest first, and what it lacks."""
    yield f"{named(name, row)} is not there"
    for miss in misses:
        yield f"  {_rule(miss.rule, miss.line, miss.text)}"
        for number, one in enumerate(miss.missing):
            word = "fails at" if not miss.close else "or lacks" if number else "lacks only"
            yield f"    {word} {_plainly(one.literal)}: {one.why}"
            yield from (f"      and then {_plainly(open_too)} must hold" for open_too in one.unknown)


def named(relation: str, row: Row) -> str:
    """`closure("a", "b")`; what stands for a set is called by what it is made of."""
    values = ", ".join(map(print_value, row))
    return f"of {relation.partition('~')[0]}: {values}" if is_hidden(relation) else f"{relation}({values})"


def _remark(proof: Proof, tables: Mapping[str, str]) -> str:
    if proof.kind == "source":
        return f"   source {tables.get(proof.relation, proof.relation)}"
    if proof.kind == "answer":
        return f"   answered by {tables.get(proof.relation, proof.relation).partition('~')[0]}"
    return f"   {_NOTES[proof.note]}" if proof.note else ""


def _rule(name: str, line: int, text: str) -> str:
    return f"{name}{f', line {line}' if line else ''}: {_plainly(text)}"


def _plainly(text: str) -> str:
    """Views of constraints and domains are asked under names of their own: shown are those that were written."""
    return _CALLED.sub(r"\1:\2(", _ASKED.sub("(", text))
