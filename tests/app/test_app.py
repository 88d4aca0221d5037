"""The app in a process, over HTTP and in a browser: what it answers, what it refuses, and that it asks nobody else."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from chromium import chromium

gradio_client = pytest.importorskip("gradio_client")
Client, handle_file = gradio_client.Client, gradio_client.handle_file
pytestmark = pytest.mark.slow


@contextmanager
def running(words: list[str], folder: Path, **environment: str) -> Iterator[str]:
    """A command that starts the app, and the address that it is at; what it prints is in the file "printed"."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    own = {
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_TEMP_DIR": str(folder / "uploads"),
    } | environment
    with (folder / "printed").open("w") as printed:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=os.environ | own,
            stdout=printed,
            stderr=subprocess.STDOUT,
            text=True,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, process, folder / "printed")
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()  # unless it has ended
        process.wait()


def _wait_for(
    url: str, process: subprocess.Popen[str], printed: Path, seconds: float = 120.0
) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, printed.read_text()
        with suppress(OSError):
            urllib.request.urlopen(url, timeout=5).read()
            return
        time.sleep(0.3)
    raise AssertionError(f"nothing at {url} within {seconds:g} s")


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "randsmooth", "serve", *map(str, words)]


def asked(url: str, file: Path, sigma: float = 0.25, n: int = 500) -> Any:
    """What the app tells a program about a file: the last of what it sends."""
    client = Client(url, verbose=False)
    _, told = client.predict(handle_file(str(file)), sigma, n, api_name="/certify")
    return told


def test_the_app_answers_programs_and_refuses_what_is_no_image(
    folder: Path, digit: Path, tmp_path: Path
) -> None:
    (tmp_path / "page.png").write_text("<html>not an image</html>")
    (tmp_path / "large.png").write_bytes(b"0" * 400_000)
    with running(
        command(folder, "--most-samples", 1000, "--upload-mb", 0.2), tmp_path
    ) as url:
        told = asked(url, digit)
        assert (
            told["done"]
            and told["samples"] <= 500
            and sum(told["counts"]) == told["samples"]
        )
        assert told["answer"] is None or told["answer"] in told["classes"]
        assert asked(url, digit)["seed"] != told["seed"]
        assert "web page" in asked(url, tmp_path / "page.png")["error"]
        with pytest.raises(Exception, match=r"n must be a number from 200 to 1,000"):
            asked(url, digit, n=5000)
        with pytest.raises(Exception, match=r"422|413|[Ss]ize|large"):
            asked(url, tmp_path / "large.png")
        theirs = {
            "path": "/etc/passwd",
            "meta": {"_type": "gradio.FileData"},
        }  # the server's, not the visitor's
        with pytest.raises(Exception, match=r"."):
            Client(url, verbose=False).predict(theirs, 0.25, 500, api_name="/certify")
        headers = urllib.request.urlopen(url).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        for path in (
            "/gradio_api/file=/etc/passwd",
            f"/gradio_api/file={folder}/config.json",
        ):
            with pytest.raises(urllib.error.HTTPError, match=r"403|404|422"):
                urllib.request.urlopen(url + path)


def test_a_visitor_drops_an_image_and_watches_its_certificate(
    folder: Path, digit: Path, tmp_path: Path
) -> None:
    with (
        running(command(folder, "--most-samples", 2000), tmp_path) as url,
        chromium() as page,
    ):
        for width, dark in ((390, False), (1280, True)):
            page.look(width, 1200, dark=dark)
            page.go(url)
            page.until(
                "!!document.querySelector('input[type=file]') && !!document.querySelector('.certificate h1')"
            )
            page.choose("input[type=file]", digit)
            said = page.until(f"({NOTES}).find(text => / a second\\.$/.test(text))")
            assert re.match(r"[\d,]+ of at most 2,000 samples", said)
            assert (
                page.run(
                    "document.querySelectorAll('.certificate .vote .row.picked').length"
                )
                == 1
            )
            assert page.run("document.documentElement.scrollWidth <= innerWidth")
            assert (
                page.run(
                    f"{PARTS}.filter(e => e.getBoundingClientRect().right > innerWidth + 1).length"
                )
                == 0
            )
        assert [
            address for address in page.asked() if not address.startswith(url)
        ] == []
        assert page.errors() == []


def test_screen_readers_hear_each_answer_once_and_the_focus_stays(
    folder: Path, digit: Path, tmp_path: Path
) -> None:
    with (
        running(command(folder, "--most-samples", 2000), tmp_path) as url,
        chromium() as page,
    ):
        page.go(url)
        page.until("!!document.querySelector('#announcement [role=status]')")
        page.until("!!document.querySelector('input[type=file]')")
        page.run(LISTEN)
        page.choose("input[type=file]", digit)
        page.until("heard.length === 1")
        page.run(PRESS % "b.textContent.trim() === 'Certify'")
        page.until("heard.length === 2")
        # Without an image twice: the same sentence is heard again.
        page.run(PRESS % "b.ariaLabel === 'Clear'")
        page.until("heard.length === 3")
        page.run(PRESS % "b.textContent.trim() === 'Certify'")
        page.until("heard.length === 4")
        answer, other_answer, refusal, same_refusal = page.run("heard")
        assert refusal == same_refusal != answer
        assert all("2,000" in sentence for sentence in (answer, other_answer))
        assert page.run("document.activeElement.textContent.trim()") == "Certify"
        assert (
            page.run("document.querySelectorAll('.certificate [aria-live]').length")
            == 0
        )
        assert page.errors() == []


# What a screen reader announces: each text that the region has, in turn.
LISTEN = """
const region = document.querySelector('#announcement [role=status][aria-live=polite]');
window.heard = [];
new MutationObserver(() => { if (region.textContent) heard.push(region.textContent); })
  .observe(region, { childList: true, characterData: true, subtree: true });
"""
PRESS = """
for (const button of [...document.querySelectorAll('button')].filter((b) => %s)) {
  button.focus();
  button.click();
}
"""
PARTS = "[...document.querySelectorAll('.certificate *')]"
NOTES = "[...document.querySelectorAll('.certificate .note')].map(e => e.textContent)"
