"""Mutants that change no outcome, each with the reason. A test holds that none of them is ever caught."""

from __future__ import annotations

import re

from tests.property.mutants import Mutant

REASONS = (
    (
        "it only guards against states that are wrong already",
        r".* / assert counts: dropped",
    ),
    (
        "net differentials of the stratum itself are written last: until then its old and new states are one",
        r".* / own old (before|after): reads (new|kept)",
    ),
    (
        "rows of the last round are merged before they are read, and rows known already are dropped: only slower",
        (
            r".* / loop / derive .* / own (del_next before: reads del|red_next before: reads red"
            r"|ins_next before: reads ins|full_next before: reads full|live (before|after): reads live_after)"
        ),
    ),
    (
        "each way in which two literals change is found from either: one side may leave it to the other",
        (
            r"(dred / delete / (loop / )?derive del_next / del_next"
            r"|(dred|insert) / insert / derive ins_next / ins_next) / lower (old|new) (before|after): reads kept"
        ),
    ),
    (
        "the same, and where nothing is deleted the old state and what is left of it are one",
        r"insert / insert / derive ins_next / ins_next / (lower|negated) new (before|after): reads (old|kept)",
    ),
    (
        "where `insert` is admitted nothing comes to what stands under `not`",
        (
            r"insert / insert / (derive helpers / helper|loop / derive ins_next / ins_next)"
            r" / negated new (before|after): reads kept"
        ),
    ),
    (
        "in `insert` nothing is deleted, and before the first round nothing has come",
        r"insert / insert / derive ins_next / ins_next / own live (before|after): reads (left|old)",
    ),
    (
        "what new rows below derive again is found by the insertion phase too, and E2 subtracts that as well",
        r"dred / delete / (loop / )?derive red_next / red_next / lower new (before|after): reads kept",
    ),
    (
        "in the deletion phase nothing has been taken back or inserted yet",
        (
            r"(dred / delete / derive red_next / red_next|dredc / delete / loop / tally - / recursive"
            r"|dredc / insert / tally \+ / recursive) / own left (before|after): reads live"
        ),
    ),
    (
        "there are no rows of the last round yet, or none inserted",
        (
            r"(dred|insert) / insert / derive ins_next / ins_next / own live (before|after): reads live_after"
            r"|dred / delete / loop / derive red_next / red_next / own live (before|after): reads live_after"
        ),
    ),
    (
        "E1 subtracts the old state, to which these rows belong",
        r"dred / insert / derive ins_next / ins_next: without forgotten",
    ),
    (
        "before the first round nothing is deleted that could be left out",
        r"dredc / delete / pick del_next from touched: without forgotten",
    ),
    (
        "a row that lost a derivation had one before",
        r"counting / insert / pick minus from del / vanished: as unfounded",
    ),
    (
        "without recursion there is nothing to tally in a round",
        r".* / tally nothing: dropped",
    ),
)


def equivalent(mutant: Mutant) -> str:
    """Why `mutant` gives the same differentials and counters as the right procedure; empty where it should not."""
    return next((reason for reason, pattern in REASONS if re.fullmatch(pattern, str(mutant))), "")
