"""A browser by the WebDriver protocol, as far as the test of the UI needs it; chromedriver speaks plain JSON."""

from __future__ import annotations

import base64
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
from tests.airflow.api_server import free_port

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key under which the protocol gives an element
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000"]
PATIENCE_S = 60
T = TypeVar("T")


def available() -> bool:
    """Whether this machine has a browser and its driver."""
    return all(shutil.which(program) for program in ("chromium", "chromedriver"))


class Browser:
    """One session of the browser."""

    def __init__(self, driver: str, session: str) -> None:
        self._base = f"{driver}/session/{session}"

    def call(self, method: str, path: str, **body: Any) -> Any:
        answer = httpx.request(method, self._base + path, json=body if method == "POST" else None, timeout=90)
        value = answer.json()["value"]
        if answer.status_code != 200:
            raise LookupError(f"{value['error']}: {value['message'][:300]}")
        return value

    def open(self, url: str) -> None:
        self.call("POST", "/url", url=url)

    def find(self, css: str) -> str:
        """The first element, as soon as it is there."""
        return patiently(lambda: self.call("POST", "/element", using="css selector", value=css)[ELEMENT])

    def link(self, text: str) -> str:
        return patiently(lambda: self.call("POST", "/element", using="partial link text", value=text)[ELEMENT])

    def click(self, element: str) -> None:
        patiently(lambda: self.call("POST", f"/element/{element}/click"))

    def type(self, css: str, text: str) -> None:
        self.call("POST", f"/element/{self.find(css)}/value", text=text)

    def frame(self, css: str | None) -> None:
        """Go into a frame, or back to the page."""
        self.call("POST", "/frame", id={ELEMENT: self.find(css)} if css else None)

    def run(self, script: str) -> Any:
        return self.call("POST", "/execute/sync", script=script, args=[])

    def text(self) -> str:
        return str(self.run("return document.body ? document.body.innerText : ''"))

    def framed(self, script: str) -> Any:
        """Run a script of the outer page on `d`, the document in its frame, in which itself nothing may run."""
        return self.run(f"const d = document.querySelector('iframe').contentDocument; {script}")

    def framed_text(self) -> str:
        return str(self.framed("return d && d.body ? d.body.innerText : ''"))

    def click_framed(self, text: str) -> None:
        """Click the link with that text in the document in the frame."""
        find = "[...d.querySelectorAll('a')].find(link => link.innerText.includes(arguments[0]))"

        def clicked() -> None:
            script = f"const d = document.querySelector('iframe').contentDocument; {find}.click()"
            self.call("POST", "/execute/sync", script=script, args=[text])

        patiently(clicked)

    def wait_for_text(self, wanted: str, read: Callable[[], str] | None = None) -> str:
        def seen() -> str:
            text = (read or self.text)()
            if wanted not in text:
                raise LookupError(f"{wanted!r} is not on the page: {text[:500]!r}")
            return text

        return patiently(seen)

    def screenshot(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A fresh browser; it ends with its driver."""
    port = free_port()
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    chrome = {"args": [*OPTIONS, f"--user-data-dir={profile}"]}
    session = ""
    try:
        patiently(lambda: httpx.get(f"{base}/status", timeout=10))
        wanted = {"alwaysMatch": {"goog:chromeOptions": chrome, "unhandledPromptBehavior": "ignore"}}
        answer = httpx.post(f"{base}/session", json={"capabilities": wanted}, timeout=120).json()["value"]
        assert "sessionId" in answer, f"the browser does not start: {answer}"
        session = answer["sessionId"]
        yield Browser(base, session)
    finally:
        if session:
            httpx.delete(f"{base}/session/{session}", timeout=30)
        driver.terminate()
        driver.wait(20)


def patiently(attempt: Callable[[], T]) -> T:
    """Try until it works; the last failure tells why it never did."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return attempt()
        except (LookupError, httpx.HTTPError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)
