"""Nasty strings in a real browser: nothing of them runs, nothing is fetched, all of them are shown."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from nasty import NASTY, STRINGS, table
from randsmooth import escape
from randsmooth.certificates import Certificates
from randsmooth.notes import Note
from randsmooth.report import (
    Axes,
    Line,
    comparison_page,
    draw,
    leaderboard_page,
    measure,
)
from report.browser import opened


@pytest.fixture
def heard() -> Iterator[tuple[str, list[str]]]:
    """The address of a server, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()


def reaching(home: str) -> list[str]:
    """Ways to ask the server for something, and every string."""
    return [
        f"<img src={home}/a>",
        f"\"'><script src={home}/b></script>",
        f"<link rel=stylesheet href={home}/c><style>@import '{home}/d'</style>",
        f"<iframe src={home}/e></iframe><a href='{home}/f'>x</a><object data={home}/g></object>",
        *STRINGS,
    ]


def tables(strings: list[str]) -> list[Certificates]:
    """The first ten strings' tables, which say all of them in every field."""
    made = []
    for seed, name in enumerate(strings[:10]):
        fields = (
            "dataset",
            "split",
            "selection",
            "backend",
            "device",
            "guarantee",
        )
        facts: dict[str, object] = dict.fromkeys(fields, name) | {
            "classes": tuple(strings),
            "notes": tuple(Note("of_the_rule", text=text) for text in strings),
        }
        facts["model"] = {f"{text}.": {text: text} for text in strings} | {
            "method": name
        }
        made.append(table(name, seed, strings, **facts))
    return [*made, table("gaussian", 10, strings)]


def shown(text: str) -> str:
    return " ".join(escape.shortened(escape.printable(text)).split())


@pytest.mark.slow
def test_nothing_runs_and_nothing_is_fetched(
    heard: tuple[str, list[str]], tmp_path: Path
) -> None:
    strings, title, x = (
        reaching(heard[0]),
        NASTY["end of style and title"],
        np.linspace(0.0, 1.0, 3),
    )
    made, figure = tables(strings), tmp_path / "figure.html"
    draw(
        [
            Axes(
                strings[0],
                strings[1],
                title,
                [Line(text, x, x, "points", labels=(text,)) for text in strings],
            )
        ],
        figure,
    )
    pages = {
        "comparison": comparison_page(made, title=title, command=strings[0]),
        "leaderboard": leaderboard_page(
            [measure(t, f"{t.name}/{t.name}") for t in made], title=title
        ),
        "figure": figure.read_text(),
    }
    for kind, text in pages.items():
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "page.html").write_text(text)
        told = opened(tmp_path / kind / "page.html", "nasty")
        assert told["pwned"] == 0 and told["fetched"] == [] and heard[1] == [], kind
        assert told["title"] == ("figure" if kind == "figure" else title)
        seen = " ".join(told["legends"].split()) if kind == "figure" else told["shown"]
        among = strings[:10] if kind == "leaderboard" else strings
        assert all(
            shown(text)[: 20 if kind == "figure" else None] in seen for text in among
        ), kind
        assert kind == "figure" or told["widest"] < 1600
        assert (told["drawn"] > 0) == (kind != "leaderboard")


@pytest.mark.slow
def test_a_page_that_does_not_escape_is_found_out(
    heard: tuple[str, list[str]], tmp_path: Path
) -> None:
    """What the test above looks for happens in a page without escaping; and the policy alone would prevent it."""
    path, evil = (
        tmp_path / "page.html",
        "".join(reaching(heard[0])[:4]) + NASTY["script"],
    )
    path.write_text(f"<!-- script-src --><body>{evil}")
    told = opened(path, "nasty", silent=False)
    assert told["pwned"] == 1 and told["fetched"] and heard[1]
    heard[1].clear()
    path.write_text(
        comparison_page(tables(STRINGS)[-1:]).replace("<main>", f"<main>{evil}")
    )
    told = opened(path, "nasty", silent=False)
    assert told["pwned"] == 0 and heard[1] == [] and told["drawn"] > 0
