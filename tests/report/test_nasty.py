"""Nasty strings in a real browser: nothing of them runs, nothing is fetched, all of them are shown."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from nasty import NASTY
from randsmooth import escape
from randsmooth.certificates import Certificates, Header, from_evidence
from randsmooth.report import Axes, Line, comparison_page, draw, leaderboard_page, measure
from report.browser import opened

STRINGS = list(NASTY.values())
BUDGET = ("--virtual-time-budget=10000",)
PROBE = """
  const all = (what) => [...document.querySelectorAll(what)], text = (what) => all(what).map((one) => one.textContent);
  const shown = document.body.innerText + text("details").join(" ");
  const told = { pwned: window.pwned || 0, title: document.title };
  told.shown = shown.replace(/\u200e/g, "").replace(/\\s+/g, " ");
  told.drawn = document.querySelectorAll(".plot .trace, #figure .trace").length;
  told.legends = text("#figure text").join(" ");
  told.fetched = performance.getEntriesByType("resource").map((one) => one.name);
  told.widest = Math.max(...all("main p, main h1, main h2, main .box").map((one) => one.clientWidth));
  document.body.dataset.probe = JSON.stringify(told);
"""


class Server(ThreadingHTTPServer):
    asked: list[str]


@pytest.fixture
def server() -> Iterator[Server]:
    """Notes what it is asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    heard = Server(("127.0.0.1", 0), Handler)
    heard.asked = []
    threading.Thread(target=heard.serve_forever, daemon=True).start()
    yield heard
    heard.shutdown()


def reaching(server: Server) -> list[str]:
    """Every string, and ways to ask the server for something."""
    home = f"http://127.0.0.1:{server.server_port}"
    ways = [
        f"<img src={home}/a>",
        f"\"'><script src={home}/b></script>",
        f"<link rel=stylesheet href={home}/c><style>@import '{home}/d'</style>",
        f"<iframe src={home}/e></iframe><a href='{home}/f'>x</a><object data={home}/g></object>",
    ]
    return [*ways, *STRINGS]


def tables(strings: list[str]) -> list[Certificates]:
    """The first ten strings' tables, which say all of them in every field."""
    count = len(strings)
    label = np.arange(count)
    rng = np.random.default_rng(0)
    made = []
    for name in strings[:10]:
        counts0, counts = np.zeros((2, count, count), np.int64)
        counts0[label, label] = 10
        counts[label, label] = rng.integers(50, 101, count)
        counts[label, (label + 1) % count] = 100 - counts[label, label]
        header = Header(sigma=0.5, n0=10, n=100, alpha=0.001)
        table = from_evidence(
            header, idx=label, label=label, counts0=counts0, counts=counts, seconds=np.ones(count), name=name
        )
        fields = ("dataset", "split", "selection", "noise", "backend", "device", "guarantee")
        facts: dict[str, object] = dict.fromkeys(fields, name) | {"classes": tuple(strings), "notes": tuple(strings)}
        facts["model"] = {f"{text}.": {text: text} for text in strings} | {"method": name}
        made.append(replace(table, header=table.header.model_copy(update=facts)))
    return [*made, table.renamed("gaussian")]


def shown(text: str) -> str:
    return " ".join(escape.shortened(escape.printable(text)).split())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["comparison", "leaderboard", "figure"])
def test_nothing_runs_and_nothing_is_fetched(kind: str, server: Server, tmp_path: Path) -> None:
    strings = reaching(server)
    path = tmp_path / "page.html"
    title = NASTY["end of style and title"]
    if kind == "comparison":
        path.write_text(comparison_page(tables(strings), title=title, command=strings[0]))
    elif kind == "leaderboard":
        path.write_text(leaderboard_page([measure(t, f"{t.name}/{t.name}") for t in tables(strings)], title=title))
    else:
        x = np.linspace(0.0, 1.0, len(strings))
        lines = tuple(Line(text, x, x, "points", labels=tuple(strings)) for text in strings)
        draw([Axes(strings[0], strings[1], title, lines)], path)
    told = opened(path, PROBE, *BUDGET)
    assert told["pwned"] == 0 and told["fetched"] == [] and server.asked == []
    assert told["title"] == (title if kind != "figure" else "page")
    seen = told["shown"] if kind != "figure" else " ".join(told["legends"].split())
    among = strings if kind == "comparison" else strings[:10]
    if kind == "figure":
        assert all(shown(text)[:20] in seen for text in strings)
    else:
        assert all(shown(text) in seen for text in among) and told["widest"] < 1600
    assert (told["drawn"] > 0) == (kind != "leaderboard")


@pytest.mark.slow
def test_a_page_that_does_not_escape_is_found_out(server: Server, tmp_path: Path) -> None:
    """What the test above looks for happens in a page without escaping; and the policy alone would prevent it."""
    body = "<body>" + "".join(reaching(server)[:4]) + NASTY["script"]
    path = tmp_path / "page.html"
    path.write_text(f"<!-- script-src -->{body}")
    told = opened(path, PROBE, *BUDGET, silent=False)
    assert told["pwned"] == 1 and told["fetched"] and server.asked
    server.asked.clear()
    sealed = comparison_page(tables(STRINGS)[-1:])
    path.write_text(sealed.replace("<main>", "<main>" + "".join(reaching(server)[:4]) + NASTY["script"]))
    told = opened(path, PROBE, *BUDGET, silent=False)
    assert told["pwned"] == 0 and server.asked == [] and told["drawn"] > 0
