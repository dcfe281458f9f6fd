"""Terms and conditions as Spark columns: built by functions, never from text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.backends.spark.functions import compile_call
from foreset.ir.rules import Comparison, Test
from foreset.ir.terms import Call, Const, Term, Var
from foreset.ir.types import Type, widen
from foreset.store.spark_values import literal
from foreset.store.types import spark_type
from foreset.values.terms import known_type

if TYPE_CHECKING:
    from pyspark.sql import Column

Bound = Mapping[str, str]
Types = Mapping[str, Type]

_COMPARISONS: dict[str, Callable[[Column, Column], Column]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def term_column(term: Term, bound: Bound, types: Types) -> Column:
    """The value of `term`, where `bound` names the columns of its variables."""
    match term:
        case Var(name=name):
            return F.col(bound[name])
        case Const():
            return literal_column(term)
        case Call(function=function, args=args):
            columns = [term_column(arg, bound, types) for arg in args]
            return compile_call(function, columns, tuple(known_type(a, types) for a in args), known_type(term, types))


def literal_column(constant: Const) -> Column:
    """A constant in its own type."""
    return literal(constant.value, constant.type)


def comparison(test: Comparison, bound: Bound, types: Types) -> Column:
    """`left op right` in the common type of both."""
    common = widen(known_type(test.left, types), known_type(test.right, types))
    assert common is not None, f"{test} compares what does not mix"
    left, right = (term_column(term, bound, types).cast(spark_type(common)) for term in (test.left, test.right))
    return _COMPARISONS[test.op](left, right)


def truth(test: Test, bound: Bound, types: Types) -> Column:
    """A boolean function as a condition."""
    column = term_column(test.call, bound, types)
    return ~column if test.negated else column
