"""HTTP for domains: what is refused before a connection is made, and what of an answer."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.unit.test_domains import columns

from foreset.domains.asking import Calls
from foreset.domains.connections import Connection
from foreset.domains.http import HttpPolicy, HttpRefused, get_json, is_public
from foreset.domains.provider import Access, DomainFailed
from foreset.ir.domains import Domain, DomainFunction


class Handler(BaseHTTPRequestHandler):
    """What the path says; the last request is kept."""

    def do_GET(self) -> None:
        where = urlsplit(self.path)
        self.server.seen = (where.path, parse_qs(where.query), dict(self.headers))  # type: ignore[attr-defined]
        status, headers, body = 200, {"Content-Type": "application/json"}, b"[]"
        match where.path:
            case "/near":
                zips = parse_qs(where.query).get("zip", [""])
                body = json.dumps({"data": {"rows": [{"city": f"city of {zips[0]}", "more": 1}]}}).encode()
            case "/redirect":
                status, headers = 302, {"Location": "http://169.254.169.254/latest"}
            case "/large":
                body = b"[" + b"0," * 100_000 + b"0]"
            case "/deep":
                body = b"[" * 100_000
            case "/packed":
                headers["Content-Encoding"] = "gzip"
            case "/broken":
                body = b"<html>"
            case "/missing":
                status = 404
            case "/slow":
                self.send_response(200)
                self.end_headers()
                for _ in range(20):
                    time.sleep(0.05)
                    self.wfile.write(b" ")
                return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Clients that hang up are what is tested."""

    with Quiet(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()


def here(server: ThreadingHTTPServer, **more: object) -> Connection:
    return Connection("geo", "http", "127.0.0.1", server.server_address[1], **more)  # type: ignore[arg-type]


LOOPBACK = HttpPolicy(private=frozenset({"127.0.0.1"}), seconds=5, max_bytes=50_000)


def test_arguments_go_into_the_query_and_secrets_into_a_header(server: ThreadingHTTPServer) -> None:
    query = {"zip": "a&b=c d/é"}
    assert get_json(here(server, password="secret"), "/near", query, LOOPBACK) == {
        "data": {"rows": [{"city": "city of a&b=c d/é", "more": 1}]}
    }
    path, seen, headers = server.seen  # type: ignore[attr-defined]
    assert (path, seen) == ("/near", {"zip": ["a&b=c d/é"]})
    assert headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/redirect", "redirects"),
        ("/large", "more than 50,000 bytes"),
        ("/deep", "more than 50,000 bytes"),
        ("/packed", "compressed"),
        ("/broken", "did not answer with JSON"),
        ("/missing", "answered 404"),
    ],
)
def test_answers_that_are_refused(server: ThreadingHTTPServer, path: str, says: str) -> None:
    with pytest.raises(HttpRefused, match=says) as refused:
        get_json(here(server, password="canary"), path, {"key": "canary"}, LOOPBACK)
    assert "canary" not in str(refused.value)


def test_deep_json_is_refused(server: ThreadingHTTPServer) -> None:
    with pytest.raises(HttpRefused, match="did not answer with JSON"):
        get_json(here(server), "/deep", {}, HttpPolicy(private=LOOPBACK.private, max_bytes=1_000_000))


def test_a_trickle_ends_in_time(server: ThreadingHTTPServer) -> None:
    hurried = HttpPolicy(private=LOOPBACK.private, seconds=0.2)
    with pytest.raises((HttpRefused, TimeoutError)):
        get_json(here(server), "/slow", {}, hurried)


@pytest.mark.parametrize(
    "path", ["//evil/x", "/a/../b", "x", "/a?b", "/a#b", "/a b", "/%2e%2e", "/a@b", "/a\r\nHost: x", "/é"]
)
def test_paths_that_are_refused(server: ThreadingHTTPServer, path: str) -> None:
    with pytest.raises(HttpRefused, match="a path has the form"):
        get_json(here(server), path, {}, LOOPBACK)


# ---------------------------------------------------------------- before any connection
def resolver(*addresses: str):
    """A name server; the second time it says something else."""

    def resolve(host: str, port: int, **_: object) -> list:
        return [
            (socket.AF_INET6 if ":" in a else socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in addresses
        ]

    return resolve


PUBLIC = HttpPolicy(hosts=frozenset({"geo.example.com"}))
SITE = Connection("geo", "https", "geo.example.com")
INSIDE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1",
    "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
    "2002:0a00:0001::", "64:ff9b::a00:1", "ff02::1",
]  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
def test_inner_addresses_are_refused(address: str) -> None:
    assert not is_public(address)
    with pytest.raises(HttpRefused, match="not public"):
        get_json(SITE, "/x", {}, PUBLIC, resolver(address))


def test_one_inner_address_among_public_ones_is_refused() -> None:
    with pytest.raises(HttpRefused, match="not public"):
        get_json(SITE, "/x", {}, PUBLIC, resolver("93.184.216.34", "10.0.0.1"))


def test_public_addresses_are_public() -> None:
    assert all(map(is_public, ("93.184.216.34", "1.1.1.1", "2606:4700:4700::1111")))


@pytest.mark.parametrize(
    ("connection", "says"),
    [
        (Connection("c", "https", "other.example.com"), "not in FORESET_HTTP_HOSTS"),
        (Connection("c", "https", "geo.example.com.evil.net"), "not in FORESET_HTTP_HOSTS"),
        (Connection("c", "http", "geo.example.com"), "without TLS"),
        (Connection("c", "file", "geo.example.com"), "not of kind http"),
        (Connection("c", "https", ""), "not of kind http"),
    ],
)
def test_connections_that_are_refused(connection: Connection, says: str) -> None:
    def never(*_: object, **__: object) -> list:
        raise AssertionError("nobody asks a name server for a host that is not allowed")

    with pytest.raises(HttpRefused, match=says):
        get_json(connection, "/x", {}, PUBLIC, never)


def test_a_port_is_allowed_alone() -> None:
    policy = HttpPolicy(hosts=frozenset({"geo.example.com:8443"}))
    with pytest.raises(HttpRefused, match="not in FORESET_HTTP_HOSTS"):
        get_json(SITE, "/x", {}, policy, resolver("93.184.216.34"))
    with pytest.raises(HttpRefused, match="not public"):
        get_json(Connection("c", "https", "GEO.example.com.", 8443), "/x", {}, policy, resolver("10.0.0.1"))


def test_the_name_is_resolved_once(server: ThreadingHTTPServer) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int, **_: object) -> list:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1" if len(asked) == 1 else "127.0.0.2", port))]

    named = Connection("geo", "http", "inner.example", server.server_address[1])
    get_json(named, "/near", {}, HttpPolicy(private=frozenset({"inner.example"})), resolve)
    assert asked == ["inner.example"]
    assert server.seen[2]["Host"] == f"inner.example:{server.server_address[1]}"  # type: ignore[attr-defined]


# ---------------------------------------------------------------- as a provider
WHERE = {"path": "/near", "items": "data.rows"}


@pytest.mark.parametrize(
    ("own", "common"),
    [(WHERE, {}), ({}, WHERE), ({"items": "data.rows"}, {"path": "/near"}), (WHERE, {"path": "/x", "items": "x"})],
)
def test_the_provider_takes_the_list_where_it_is(
    server: ThreadingHTTPServer, tmp_path: Path, own: dict[str, str], common: dict[str, str]
) -> None:
    """Options may be those of the domain or of the function, which counts first."""
    asked = DomainFunction("near", columns("zip string"), columns("city string"), own)
    domain = Domain("geo", "http", (asked,), connection="geo", options=common)
    access = Access(str(tmp_path), connection=lambda _: here(server), http=LOOPBACK)
    found = Calls(str(tmp_path / "1"), None, access).answers(domain, asked, [("1",), ("2",)])
    assert found == {("1",): (("city of 1",),), ("2",): (("city of 2",),)}


def test_faults_of_http_are_faults_of_the_domain(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    asked = DomainFunction("near", columns("zip string"), columns("city string"), {"path": "/redirect"})
    domain = Domain("geo", "http", (asked,), connection="geo")
    access = Access(str(tmp_path), connection=lambda _: here(server), http=LOOPBACK)
    with pytest.raises(DomainFailed, match=r"domain `geo`: `127.0.0.1` redirects"):
        Calls(str(tmp_path / "1"), None, access).answers(domain, asked, [("1",)])
