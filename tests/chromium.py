"""A headless Chromium that is told what to do through a pipe: pages are opened, files dropped, pictures taken."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-pipe"
)


class Page:
    """One tab, spoken to in the DevTools protocol.

    Attributes:
        events: what the browser has told so far, as (method, parameters).
    """

    def __init__(self, to: int, back: int) -> None:
        self.to, self.back, self.number, self.left = to, back, 0, b""
        self.session: str | None = None
        self.events: list[tuple[str, dict[str, Any]]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command."""
        self.number += 1
        message: dict[str, Any] = {
            "id": self.number,
            "method": method,
            "params": parameters,
        }
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._next()
            if heard.get("id") == self.number:
                assert "error" not in heard, heard
                answer: dict[str, Any] = heard["result"]
                return answer
            if "method" in heard:
                self.events.append((heard["method"], heard["params"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.left:
            part = os.read(self.back, 2**20)
            assert part, "Chromium has gone"
            self.left += part
        message, _, self.left = self.left.partition(b"\0")
        heard: dict[str, Any] = json.loads(message)
        return heard

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """A window of this size, in this scheme of colours."""
        size = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": width < 600,
        }
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def go(self, url: str) -> None:
        self.ask("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def run(self, expression: str) -> Any:
        """The value of JavaScript."""
        told = self.ask(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def until(self, expression: str, seconds: float = 60.0) -> Any:
        """Waits until JavaScript has a true value, and gives it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.run(expression):
                return value
            time.sleep(0.1)
        raise AssertionError(f"not within {seconds:g} s: {expression}")

    def choose(self, selector: str, file: Path) -> None:
        """Puts a file into an input element, as a visitor does who drops it."""
        root = self.ask("DOM.getDocument")["root"]["nodeId"]
        node = self.ask("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.ask("DOM.setFileInputFiles", nodeId=node, files=[str(file)])

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """A PNG of the page."""
        told = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))

    def asked(self) -> list[str]:
        """The addresses of all requests so far that left for a network."""
        urls = [
            told["request"]["url"]
            for method, told in self.events
            if method == "Network.requestWillBeSent"
        ]
        return [
            url
            for url in urls
            if not url.startswith(("data:", "blob:", "about:", "file:"))
        ]

    def errors(self) -> list[str]:
        """What reached the console as an error, and exceptions that nobody caught."""
        logged = [
            told["entry"] for method, told in self.events if method == "Log.entryAdded"
        ]
        said = [entry["text"] for entry in logged if entry["level"] == "error"]
        thrown = [
            told["exceptionDetails"]
            for method, told in self.events
            if method == "Runtime.exceptionThrown"
        ]
        return said + [
            each.get("exception", {}).get("description", each["text"])
            for each in thrown
        ]


@contextmanager
def chromium() -> Iterator[Page]:
    """A tab of a Chromium of its own; the test is skipped where none is installed."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed")
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        words = [program, *QUIET.split(), f"--user-data-dir={profile}"]
        # Chromium reads its commands from descriptor 3 and answers on 4.
        script = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
        process = subprocess.Popen(
            ["bash", "-c", script, "chromium", *words],
            pass_fds=(theirs_in, theirs_out),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Page(ours_out, ours_in)
        finally:
            process.kill()
            process.wait()
            os.close(ours_out)
            os.close(ours_in)
