"""The JSON Schema of one item of `expectations:`, for editors, from the tables that `foreset check` reads."""

from __future__ import annotations

from typing import Any

from foreset.ir.expectations import DENY, KNOWN, SHORT, Scope, Severity, Signature

Json = dict[str, Any]
_TEXT = ["string", "number", "boolean"]


def expectation_schema() -> Json:
    """One name, and what may stand beside it."""
    names: Json = {DENY: {"type": _TEXT, "minLength": 1, "description": "the body of a rule that no row may match"}}
    for name, short in SHORT.items():
        names[name] = _arguments(tuple(short.words), KNOWN[short.type], bare=bool(short.bare))
    for name, signature in KNOWN.items():
        names[name] = _arguments(tuple(signature.arguments), signature, bare=False)
    beside: Json = {
        "severity": {"enum": [str(one) for one in Severity], "description": "stop the refresh, or report"},
        "on": {"enum": [str(one) for one in Scope], "description": "changed rows, or the whole new state"},
        "note": {"type": [*_TEXT, "null"], "description": "why; shown in reports"},
    }
    return {"type": "object", "properties": {**names, **beside}, "additionalProperties": False, "minProperties": 1}


def _arguments(words: tuple[str, ...], signature: Signature, *, bare: bool) -> Json:
    text = signature.sentence.replace("{", "").replace("}", "")
    fields: Json = {"type": "object", "properties": {word: {} for word in words}, "additionalProperties": False}
    if not bare:
        return {"description": text, **fields}
    return {"description": text, "anyOf": [{"type": [*_TEXT, "null"]}, {"type": "array", "minItems": 1}, fields]}
