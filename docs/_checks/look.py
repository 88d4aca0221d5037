"""Open every page of the built site in headless Chromium, narrow and wide, light and dark, and photograph it.

    python docs/_checks/look.py SITE OUT [PAGE ...]

It fails where a page writes an error to the console, asks another host for anything, or is wider than the window. The
pictures lie in OUT; OUT/sheet-*.png shows many at once.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import WebSocketClientConnection, websocket_connect

OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-port=0"
)
WIDTHS, GROUNDS = (390, 1280), ("light", "dark")
HERE = ("file:", "data:", "blob:", "about:")
SOUGHT = "abstain"  # by the search
TALLEST = 6000  # pixels of a page that a picture shows
SMALL, ROW = 220, 8  # width of a picture on a sheet, and how many stand beside each other
OVERFLOW = """(() => {
  const wide = document.documentElement.clientWidth;
  const inside = (e) => { for (let p = e.parentElement; p; p = p.parentElement)
    if (["auto", "scroll", "hidden"].includes(getComputedStyle(p).overflowX)) return true; return false; };
  const guilty = [...document.querySelectorAll("main *, article *")].filter(
    (e) => e.getBoundingClientRect().right > wide + 1 && e.getBoundingClientRect().width > 0 && !inside(e));
  const named = (e) => e.tagName + "." + e.className + " " + (e.textContent || "").trim().slice(0, 40);
  return {over: document.documentElement.scrollWidth - wide, height: document.documentElement.scrollHeight,
    guilty: guilty.slice(0, 3).map(named)};
})()"""


class Browser:
    """A page of a running Chromium, spoken to by its DevTools protocol."""

    def __init__(self, connection: WebSocketClientConnection) -> None:
        self.connection, self.numbers = connection, itertools.count(1)
        self.events: list[dict[str, Any]] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command; events that come before it are kept."""
        number = next(self.numbers)
        await self.connection.write_message(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = await self._next()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])
            self.events.append(message)

    async def wait(self, method: str) -> None:
        """Read events until one named `method` has come."""
        while not any(event.get("method") == method for event in self.events):
            self.events.append(await self._next())

    async def _next(self) -> dict[str, Any]:
        text = await asyncio.wait_for(self.connection.read_message(), 60)
        if text is None:
            raise RuntimeError("Chromium went away")
        return dict(json.loads(text))

    async def value(self, expression: str) -> Any:
        result = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return result["result"].get("value")


async def opened(profile: Path) -> tuple[subprocess.Popen[bytes], Browser]:
    """A Chromium of its own, and its first page."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium is installed")
    command = [chromium, *OPTIONS.split(), f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    port = profile / "DevToolsActivePort"
    while not port.is_file() or not port.read_text().strip():
        await asyncio.sleep(0.1)
    number = port.read_text().split()[0]
    answer = await AsyncHTTPClient().fetch(f"http://127.0.0.1:{number}/json/list")
    (page,) = (tab for tab in json.loads(answer.body) if tab["type"] == "page")
    browser = Browser(await websocket_connect(page["webSocketDebuggerUrl"], max_message_size=2**28))
    for domain in ("Page", "Runtime", "Log", "Network"):
        await browser.call(f"{domain}.enable")
    return process, browser


async def look_at(browser: Browser, path: Path, width: int, ground: str, picture: Path) -> Iterator[str]:
    """Open a page, photograph it, and say what is wrong with it."""
    browser.events.clear()
    window = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    await browser.call("Emulation.setDeviceMetricsOverride", **window)
    await browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": ground}])
    await browser.call("Page.navigate", url=path.as_uri())
    await browser.wait("Page.loadEventFired")
    await browser.value("document.fonts.ready.then(() => new Promise((done) => setTimeout(done, 150)))")
    seen = await browser.value(OVERFLOW)
    clip = {"x": 0, "y": 0, "width": width, "height": min(seen["height"], TALLEST), "scale": 1}
    form = {"format": "png", "clip": clip, "captureBeyondViewport": True}
    shot = await browser.call("Page.captureScreenshot", **form)
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_bytes(base64.b64decode(shot["data"]))
    wide = [f"is {seen['over']} pixels wider than the window: {seen['guilty']}"] if seen["over"] > 0 else []
    return itertools.chain(wide, complaints(browser.events))


async def search(browser: Browser, site: Path) -> list[str]:
    """What is wrong with a search, opened from the folder."""
    browser.events.clear()
    await browser.call("Page.navigate", url=f"{(site / 'search.html').as_uri()}?q={SOUGHT}")
    await browser.wait("Page.loadEventFired")
    count = "document.querySelectorAll('ul.search li').length"
    hits = await browser.value(f"new Promise((done) => setTimeout(() => done({count}), 2000))")
    return [*([] if hits else [f"finds no {SOUGHT}"]), *complaints(browser.events)]


def complaints(events: list[dict[str, Any]]) -> Iterator[str]:
    """What the console says is wrong, and requests that leave this machine."""
    for event in events:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                yield f"throws {details.get('exception', {}).get('description', details['text'])}"
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
                yield f"console: {[argument.get('value') for argument in params['args']]}"
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                yield f"console: {params['entry']['text']} {params['entry'].get('url', '')}"
            case "Network.requestWillBeSent" if not params["request"]["url"].startswith(HERE):
                yield f"asks for {params['request']['url']}"


def sheets(pictures: list[Path], out: Path) -> None:
    """Many pictures at once: the top of each, with its name."""
    for number, some in enumerate(chunks(pictures, ROW * 3)):
        sheet = Image.new("RGB", (ROW * (SMALL + 10), 3 * 640), "#888")
        for i, path in enumerate(some):
            with Image.open(path) as whole:
                size = (SMALL, max(1, whole.height * SMALL // whole.width))
                small = whole.convert("RGB").resize(size).crop((0, 0, SMALL, 610))
            x, y = i % ROW * (SMALL + 10), i // ROW * 640
            sheet.paste(small, (x, y + 20))
            ImageDraw.Draw(sheet).text((x, y + 4), path.relative_to(out).as_posix()[-36:], fill="#fff")
        sheet.save(out / f"sheet-{number:02}.png")


def chunks(paths: list[Path], size: int) -> Iterator[list[Path]]:
    return (paths[i : i + size] for i in range(0, len(paths), size))


async def look(site: Path, out: Path, only: list[str]) -> list[str]:
    """Look at the pages of `site` whose names begin like one of `only`; what is wrong."""
    pages = [path for path in sorted(site.rglob("*.html")) if chosen(path.relative_to(site).as_posix(), only)]
    faults, pictures = [], []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process, browser = await opened(Path(profile))
        try:
            for path, ground, width in itertools.product(pages, GROUNDS, WIDTHS):
                name = path.relative_to(site).with_suffix("").as_posix()
                pictures.append(out / f"{name}-{width}-{ground}.png")
                found = await look_at(browser, path, width, ground, pictures[-1])
                for fault in dict.fromkeys(found):
                    faults.append(f"{name} at {width}, {ground}: {fault}")
                    print(faults[-1], flush=True)
            faults += [f"search: {fault}" for fault in await search(browser, site)]
        finally:
            process.terminate()
            process.wait()
    sheets(pictures, out)
    return faults


def chosen(name: str, only: list[str]) -> bool:
    """Whether a page is looked at: of copies of source files, which are all alike, only a few."""
    if only:
        return any(name.startswith(word) for word in only)
    return not name.startswith(("repository/", "_static/")) or name.startswith("repository/examples/c")


def main() -> None:
    site, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    faults = asyncio.run(look(site, out, sys.argv[3:]))
    print("\n".join(fault for fault in faults if fault.startswith("search: ")))
    print(f"{len(faults)} faults; pictures in {out}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
