"""Providers by name: those of Foreset, those that the deployment registers, those of installed packages.

A package offers one by an entry point of the group `foreset.domains`. A spec can only say a name that is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

from foreset.diagnostics import did_you_mean
from foreset.domains.builtin import BUILTIN
from foreset.domains.provider import DomainFailed, Provider

GROUP = "foreset.domains"
_registered: dict[str, Provider] = {}


def register(name: str, provider: Provider) -> None:
    """Offer `provider` under `name` in this process; for deployments and tests."""
    if name in BUILTIN:
        raise ValueError(f"`{name}` is a provider of Foreset")
    _registered[name] = provider


def forget(name: str) -> None:
    """Take back what was registered."""
    _registered.pop(name, None)


def provider_of(name: str, more: Mapping[str, Provider] | None = None) -> Provider:
    """The provider called `name`; DomainFailed where nobody offers it."""
    known = {**BUILTIN, **_registered, **(more or {})}
    if name in known:
        return known[name]
    offered = {point.name: point for point in entry_points(group=GROUP)}
    if name in offered:
        loaded: Provider = offered[name].load()
        return loaded
    names = sorted([*known, *offered])
    known_here = f"known are: {', '.join(names)}; packages offer others by entry points of `{GROUP}`"
    hint = did_you_mean(name, names, known_here)
    raise DomainFailed(f"no provider is called `{name}`", hint)
