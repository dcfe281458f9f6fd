"""Airflow's REST API, as far as Foreset uses it; standard library only, so that a loader needs nothing else."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from foreset.errors import EnvironmentFault

ANSWER_S = 30.0
STUMBLED = 500  # from here on the fault is Airflow's: its database was busy, it restarts
PAUSES_S = (1.0, 3.0)  # before Airflow is asked again where it stumbled


class Refused(EnvironmentFault):
    """Airflow answered, and the answer is no; `status` is HTTP's."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.status = status


@dataclass(slots=True)
class Airflow:
    """One Airflow, seen by one user."""

    url: str
    token: str = field(default="", repr=False)
    tries: int = 1  # of a question, when no answer comes

    def login(self, user: str, password: str) -> None:
        """Get a token for `user`."""
        try:
            given = self.call("POST", "/auth/token", {"username": user, "password": password})
        except Refused as refused:
            hint = "give FORESET_AIRFLOW_USER and FORESET_AIRFLOW_PASSWORD, or a token in FORESET_AIRFLOW_TOKEN"
            raise Refused(refused.status, f"Airflow does not let `{user}` in", hint) from refused
        self.token = given["access_token"]

    def get(self, path: str, **query: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        """GET below /api/v2."""
        return self.call("GET", f"/api/v2{path}{'?' + urlencode(query, doseq=True) if query else ''}")

    def post(self, path: str, body: Mapping[str, Any], *, again: bool = False) -> Any:  # noqa: ANN401 - whatever JSON holds
        """POST below /api/v2; `again`: the same body sent twice does what it does once."""
        return self.call("POST", f"/api/v2{path}", body, again=again)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever JSON holds
        """PATCH below /api/v2."""
        return self.call("PATCH", f"/api/v2{path}", body)

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, again: bool = False) -> Any:  # noqa: ANN401 - whatever JSON holds
        """One request; raises `Refused` for an answer that is no, `EnvironmentFault` for none.

        A question, and what is as harmless, is asked again where Airflow stumbled; nothing else is sent twice.
        """
        for pause in PAUSES_S if again or method == "GET" else ():
            try:
                return self._asked(method, path, body)
            except Refused as refused:
                if refused.status < STUMBLED:
                    raise
            time.sleep(pause)
        return self._asked(method, path, body)

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:  # noqa: ANN401 - whatever JSON holds
        if not self.url.startswith(("http://", "https://")):
            raise EnvironmentFault(f"{self.url} is not the address of an Airflow", "give it as https://host:port")
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url.rstrip("/") + path, data, headers, method=method)  # noqa: S310 - http(s), checked
        for left in reversed(range(self.tries if method == "GET" else 1)):
            try:
                with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:  # noqa: S310 - http(s), checked
                    text = answer.read()
                break
            except urllib.error.HTTPError as error:
                raise Refused(error.code, f"Airflow refused {method} {path}: {_detail(error)}") from error
            except (OSError, TimeoutError) as error:
                if left:
                    continue
                reason = getattr(error, "reason", error)
                hint = "start one with `foreset up`, or give the address of yours with --url or FORESET_AIRFLOW_URL"
                raise EnvironmentFault(f"no Airflow answers at {self.url}: {reason}", hint) from error
        return json.loads(text) if text else None


def segment(text: str) -> str:
    """A name as one segment of a path."""
    return quote(text, safe="")


def _detail(error: urllib.error.HTTPError) -> str:
    """What the answer says, in one line."""
    try:
        detail = json.loads(error.read())["detail"]
    except (ValueError, KeyError, TypeError, OSError):
        return f"{error.code} {error.reason}"
    if isinstance(detail, list):  # of pydantic: one entry per field
        return "; ".join(str(one.get("msg", one)) if isinstance(one, dict) else str(one) for one in detail)
    return str(detail.get("message", detail) if isinstance(detail, dict) else detail)
