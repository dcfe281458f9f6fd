"""HTTP for domains: one GET of JSON, within limits that no spec can widen.

The deployment lists the hosts. A name is resolved once, each of its addresses has to be public (unless the
deployment lists the host as private), and the connection goes to the address that was looked at. Only https, no
redirects, no proxies, no compressed bodies, a limit on time and size. Faults name no headers and no queries.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from foreset.domains.connections import Connection

_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_CHUNK = 65_536
Resolver = Callable[..., list[Any]]


class HttpRefused(Exception):
    """The request is not allowed, or its answer is not acceptable."""


@dataclass(frozen=True, slots=True)
class HttpPolicy:
    """Hosts that may be asked (`host` or `host:port`); `private` ones may be inside, and without TLS."""

    hosts: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()
    seconds: float = 10.0
    max_bytes: int = 10_000_000


def policy_from_environment() -> HttpPolicy:
    """`FORESET_HTTP_HOSTS` and `FORESET_HTTP_PRIVATE_HOSTS`, separated by commas; nothing is allowed by default."""

    def hosts(name: str) -> frozenset[str]:
        return frozenset(part.strip().lower() for part in os.environ.get(name, "").split(",") if part.strip())

    return HttpPolicy(hosts("FORESET_HTTP_HOSTS"), hosts("FORESET_HTTP_PRIVATE_HOSTS"))


def get_json(
    connection: Connection,
    path: str,
    query: Mapping[str, str],
    policy: HttpPolicy,
    resolve: Resolver = socket.getaddrinfo,
) -> object:
    """What the host of `connection` answers at `path`; HttpRefused, or OSError where the network fails."""
    host, port, private = _allowed(connection, policy)
    target = _target(connection.path, path, query)
    address = _address(host, port, resolve, private=private)
    deadline = time.monotonic() + policy.seconds
    caller: http.client.HTTPConnection
    if connection.kind == "https":
        caller = _PinnedTls(host, port, address, policy.seconds)
    else:
        caller = _Pinned(host, port, address, policy.seconds)
    try:
        caller.request("GET", target, headers=_headers(connection))
        answer = caller.getresponse()
        if 300 <= answer.status < 400:
            raise HttpRefused(f"`{host}` redirects ({answer.status}); redirects are not followed")
        if answer.status != 200:
            raise HttpRefused(f"`{host}` answered {answer.status}")
        if (answer.getheader("Content-Encoding") or "identity").lower() != "identity":
            raise HttpRefused(f"`{host}` answered with a compressed body, which was not asked for")
        return json.loads(_body(answer, host, deadline, policy, caller))
    except http.client.HTTPException as error:
        raise HttpRefused(f"`{host}` does not speak HTTP ({type(error).__name__})") from None
    except (ValueError, RecursionError):
        raise HttpRefused(f"`{host}` did not answer with JSON") from None
    finally:
        caller.close()


def _allowed(connection: Connection, policy: HttpPolicy) -> tuple[str, int, bool]:
    host = connection.host.lower().rstrip(".")
    if connection.kind not in ("http", "https") or not host:
        raise HttpRefused(f"connection `{connection.name}` is not of kind http or https")
    port = connection.port or (443 if connection.kind == "https" else 80)
    names = {host, f"{host}:{port}"}
    private = bool(names & policy.private)
    if not private and not names & policy.hosts:
        raise HttpRefused(f"host `{host}` is not in FORESET_HTTP_HOSTS")
    if not private and connection.kind != "https":
        raise HttpRefused(f"host `{host}` is asked without TLS; use https")
    return host, port, private


def _target(base: str, path: str, query: Mapping[str, str]) -> str:
    whole = base.rstrip("/") + path
    if not _PATH.fullmatch(whole) or ".." in whole.split("/") or not path.startswith("/"):
        raise HttpRefused("a path has the form /a/b, of letters, digits, `.`, `_`, `~` and `-`")
    return whole + (f"?{urlencode(query, quote_via=quote)}" if query else "")


def _headers(connection: Connection) -> dict[str, str]:
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "foreset"}
    if connection.password:
        headers["Authorization"] = f"Bearer {connection.password}"
    return headers


def _address(host: str, port: int, resolve: Resolver, *, private: bool) -> tuple[Any, ...]:
    """The first address of `host`, after a look at all of them."""
    found = resolve(host, port, type=socket.SOCK_STREAM)
    if not found:
        raise HttpRefused(f"host `{host}` has no address")
    for *_, where in found:
        if not private and not is_public(where[0]):
            raise HttpRefused(f"host `{host}` has an address that is not public; if that is meant, list it as private")
    first: tuple[Any, ...] = found[0]
    return first


def is_public(address: str) -> bool:
    """True for addresses of the open network, also when one hides inside another."""
    ip = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    if not ip.is_global or ip.is_multicast or ip.is_reserved or ip.is_unspecified:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
        if ip in _NAT64:
            inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
        return all(is_public(str(v4)) for v4 in inner if v4 is not None)
    return True


def _body(
    answer: http.client.HTTPResponse, host: str, deadline: float, policy: HttpPolicy, caller: http.client.HTTPConnection
) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise HttpRefused(f"`{host}` took more than {policy.seconds:g} s")
        if caller.sock is not None:
            caller.sock.settimeout(left)
        part = answer.read1(_CHUNK)
        if not part:
            return b"".join(parts)
        size += len(part)
        if size > policy.max_bytes:
            raise HttpRefused(f"`{host}` answered more than {policy.max_bytes:,} bytes")
        parts.append(part)


class _Pinned(http.client.HTTPConnection):
    """Goes to the address that was looked at, whatever the name means by now."""

    def __init__(self, host: str, port: int, address: tuple[Any, ...], seconds: float) -> None:
        super().__init__(host, port, timeout=seconds)
        self.address = address

    def connect(self) -> None:
        family, kind, protocol, _, where = self.address
        self.sock = socket.socket(family, kind, protocol)
        self.sock.settimeout(self.timeout)
        self.sock.connect(where)


class _PinnedTls(_Pinned):
    """The same, with the certificate of the name."""

    def connect(self) -> None:
        super().connect()
        self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)
