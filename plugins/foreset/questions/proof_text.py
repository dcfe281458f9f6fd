"""Proofs and misses as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from foreset.ir.hidden import in_words, plainly
from foreset.ir.program import is_hidden
from foreset.ir.terms import Row
from foreset.ir.text import print_value

if TYPE_CHECKING:
    from foreset.questions.proofs import Proof, Way
    from foreset.questions.why_not import Miss

_NOTES = {
    "above": "as above",
    "deeper": "...: --depth shows more",
    "unfinished": "...: too many rows to look at all of them",
}


def proof_lines(proof: Proof, tables: Mapping[str, str], indent: str = "") -> Iterator[str]:
    """A tree: a row, how it follows, and below each derivation what it stands on."""
    if _is_between(proof):
        yield from _below(proof.ways[0], tables, indent)
        return
    yield f"{indent}{named(proof.relation, proof.row)}{_remark(proof, tables)}"
    for number, way in enumerate(proof.ways):
        if proof.kind == "group":
            yield from _below(way, tables, f"{indent}  ")
            continue
        yield from _way_lines(way, tables, f"{indent}  ", "or by" if number else "by")
    if proof.more:
        yield f"{indent}  and {proof.more:,} more derivation{'s' * (proof.more != 1)}"
    if proof.circular:
        again = "derivations go" if proof.circular > 1 else "derivation goes"
        yield f"{indent}  {proof.circular:,} {again} in a circle through the row itself"


def _way_lines(way: Way, tables: Mapping[str, str], indent: str, word: str) -> Iterator[str]:
    yield f"{indent}{word} {_rule(way.rule, way.line, way.text)}"
    yield from _below(way, tables, f"{indent}  ")


def _below(way: Way, tables: Mapping[str, str], indent: str) -> Iterator[str]:
    for part in way.parts:
        yield from proof_lines(part, tables, indent)
    if way.more_parts:
        yield f"{indent}and {way.more_parts:,} more rows"
    yield from (f"{indent}{plainly(condition)}" for condition in way.conditions)


def _is_between(proof: Proof) -> bool:
    """A hidden row between a group and what it was gathered from says nothing that those do not."""
    return proof.kind == "view" and is_hidden(proof.relation) and len(proof.ways) == 1 and not proof.more


def miss_lines(name: str, row: Row, misses: Iterable[Miss]) -> Iterator[str]:
    """Each rule, the closest first, and what it lacks."""
    yield f"{named(name, row)} is not there"
    for miss in misses:
        yield from (f"  {line}" for line in rule_lines(miss))


def rule_lines(miss: Miss) -> Iterator[str]:
    """A rule, and what it lacks."""
    yield _rule(miss.rule, miss.line, miss.text)
    for number, one in enumerate(miss.missing):
        negated = one.literal.startswith("not ")
        only, or_ = ("fails only at", "or fails at") if negated else ("lacks only", "or lacks")
        word = "fails at" if not miss.close else or_ if number else only
        yield f"  {word} {plainly(one.literal)}: {one.why}"
        yield from (f"    and then {plainly(open_too)} must hold" for open_too in one.unknown)


def named(relation: str, row: Row) -> str:
    """`closure("a", "b")`; what stands for a set is called by what it is made of."""
    values = ", ".join(map(print_value, row))
    return plainly(f"{relation}({values})")


def _remark(proof: Proof, tables: Mapping[str, str]) -> str:
    if proof.kind == "source":
        return f"   source {tables.get(proof.relation, proof.relation)}"
    if proof.kind == "answer":
        return f"   answered by {in_words(tables.get(proof.relation, proof.relation)).strip('`')}"
    return f"   {_NOTES[proof.note]}" if proof.note else ""


def _rule(name: str, line: int, text: str) -> str:
    return f"{name}{f', line {line}' if line else ''}: {plainly(text)}"
