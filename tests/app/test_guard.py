"""What stands before the app: requests that it does not get, bodies that are counted, files that do not stay."""

import asyncio
import gc
import http.client
import io
import json
import os
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from models.refusing import problem_of, refusal
from randsmooth.app import Limits, Served, serve, uploads
from randsmooth.app.guard import API, HEADERS, NAMED, UPLOAD, Guard, names_of
from randsmooth.app.uploads import delete_old
from randsmooth.errors import WrongData
from values import Refusal

needs_gradio = pytest.mark.skipif(
    find_spec("gradio") is None, reason="Gradio is not installed"
)
LOCAL = {"host": "127.0.0.1:7860"}
SCAN = b"\xff\xda"


class Inner:
    """An app that reads what it gets and answers with its length."""

    def __init__(self) -> None:
        self.got: list[int] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        self.got.append(size)
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"X-Content-Type-Options", b"other")],
            }
        )
        await send({"type": "http.response.body", "body": b"{}"})


def answer(
    guard: Guard, method: str, path: str, headers: dict[str, str], *parts: bytes
) -> tuple[int, str]:
    """The status and the sentence of an answer; every answer has the headers of ours."""
    pieces = [
        {"type": "http.request", "body": part, "more_body": True} for part in parts
    ]
    pieces.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Any] = []

    async def receive() -> Any:
        return pieces.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    given = [(name.encode(), value.encode()) for name, value in headers.items()]
    asyncio.run(
        guard(
            {"type": "http", "method": method, "path": path, "headers": given},
            receive,
            send,
        )
    )
    start, body = sent
    said = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    assert said.items() >= HEADERS.items() and len([*start["headers"]]) == len(said)
    content = json.loads(body["body"])
    return start["status"], content["detail"][0]["message"] if content else ""


@pytest.fixture
def guard(served: Served, tmp_path: Path) -> Guard:
    return Guard(
        Inner(),
        tmp_path / "uploads",
        served,
        names_of("127.0.0.1", "lab", ["digits.example.com"]),
    )


def test_bodies_come_with_their_size_and_are_counted(guard: Guard) -> None:
    most = 2**16 + int(0.2 * 2**20)
    refused = [
        ({"transfer-encoding": "chunked"}, "Transfer-Encoding"),
        ({"transfer-encoding": "chunked", "content-length": "10"}, "Transfer-Encoding"),
        ({"content-length": f"{most + 1}"}, f"{most:,} bytes"),
        *(
            ({"content-length": size}, "state its size")
            for size in ("-1", "1e3", "٣", "")
        ),
        ({}, "state its size"),
        ({"content-length": "10"}, "more was sent than the 10 bytes"),
    ]
    for headers, why in refused:
        status, said = answer(
            guard, "POST", UPLOAD, LOCAL | headers, b"0" * 8, b"0" * 8
        )
        assert status == 422 and why in said, headers
    assert guard.inner.got == []
    assert answer(
        guard, "POST", UPLOAD, LOCAL | {"content-length": "16"}, b"0" * 8, b"0" * 8
    ) == (200, "")
    assert guard.inner.got == [16]
    for method in ("GET", "DELETE"):
        assert (
            answer(guard, method, "/", LOCAL | {"content-length": "16"}, b"0" * 16)[0]
            == 422
        )
        assert (
            answer(
                guard, method, "/", LOCAL | {"transfer-encoding": "chunked"}, b"0" * 16
            )[0]
            == 422
        )


def test_a_call_reaches_the_app_as_it_was_sent(guard: Guard) -> None:
    body = json.dumps({"data": [None, 0.25, 500]}).encode()
    headers = LOCAL | {"content-length": f"{len(body)}"}
    assert answer(guard, "POST", NAMED, headers, body[:7], body[7:]) == (200, "")
    assert guard.inner.got == [len(body)]
    assert (
        answer(
            guard, "POST", NAMED, headers, body.replace(b"500", b"999999")[: len(body)]
        )[0]
        == 422
    )


def test_only_names_of_this_app_reach_it(guard: Guard) -> None:
    for host in (
        "127.0.0.1",
        "[::1]:7860",
        "10.1.2.3:80",
        "localhost:7860",
        "LAB",
        "digits.example.com.",
        "lab:1",
    ):
        assert answer(guard, "GET", "/", {"host": host})[0] == 200, host
    for host in (
        "attacker.example",
        "localhost.attacker.example:7860",
        "127.0.0.1.nip.io",
        "[",
        "a@127.0.0.2.x",
    ):
        status, said = answer(guard, "GET", "/", {"host": host})
        assert status == 422 and "public_names" in said, host
    for nameless in ({}, {"host": ""}):
        status, said = answer(guard, "GET", "/", nameless)
        assert status == 422 and "no Host header" in said
    headers = LOCAL | {"content-length": "0", "sec-fetch-site": "cross-site"}
    assert "another site" in answer(guard, "POST", UPLOAD, headers)[1]


def test_nothing_is_fetched_or_written_for_whoever_only_asks(guard: Guard) -> None:
    mine = guard.uploads / "1f" / "mine.png"
    for path in (
        "/",
        "/config",
        "/assets/index.js",
        f"{API}/info",
        f"{API}/queue/data",
        f"{API}/file={mine}",
    ):
        assert answer(guard, "GET", path, LOCAL)[0] == 200, path
    refused = (
        "proxy=https://a.hf.space/x",
        "deep_link",
        "run-history/buckets",
        "stream/1/2/3/playlist.m3u8",
        "file/x",
    )
    files = (
        "https://example.com/x.png",
        "http:/example.com",
        "/etc/passwd",
        f"{guard.uploads}/../x",
        "\0",
    )
    for path in (*refused, *(f"file={file}" for file in files)):
        assert "not of this app" in answer(guard, "GET", f"{API}/{path}", LOCAL)[1], (
            path
        )
    assert answer(guard, "GET", "/file=https://example.com/x.png", LOCAL)[0] == 422


def test_old_files_go_whatever_comes_meanwhile(tmp_path: Path) -> None:
    for name in ("a/old.png", "b/new.png"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    (tmp_path / "half an upload").touch()
    outside = tmp_path.with_name("outside")
    outside.mkdir()
    (outside / "other.png").touch()
    (tmp_path / "link").symlink_to(outside)
    assert delete_old(tmp_path, 60.0) == set()
    gone = delete_old(tmp_path, -1.0)
    assert gone >= {
        str(tmp_path / name) for name in ("a/old.png", "b/new.png", "half an upload")
    }
    assert [*outside.iterdir()] and not (tmp_path / "a").exists()
    assert delete_old(tmp_path / "nowhere", 0.0) == set()


def many_scans(scans: int, side: int) -> bytes:
    """A progressive JPEG whose last scan is there so many times more."""
    made = io.BytesIO()
    Image.new("L", (side, side)).save(made, "JPEG", progressive=True)
    content = made.getvalue()
    last = content[content.rindex(SCAN) : -2]
    return content[:-2] + scans * last + content[-2:]


def test_a_small_file_does_not_take_long(served: Served, tmp_path: Path) -> None:
    path = tmp_path / "slow.jpg"
    path.write_bytes(many_scans(0, 96))
    assert served.read(path).shape == (1, 8, 8)
    path.write_bytes(many_scans(1000, 96))
    said = refusal(served.read, path)
    assert "scans" in said and "more than the 50" in said and "slow" not in said
    tiff = tmp_path / "large.tif"
    Image.new("L", (101, 100)).save(tiff)
    Refusal(WrongData, "10,000").check(
        problem_of(served.read, tiff)
    )  # said before a TIFF is decoded


def test_reading_an_image_takes_of_its_time(served: Served, digit: Path) -> None:
    began = time.monotonic() - served.limits.seconds
    (moment,) = served.watched(served.read(digit), 0.25, 2000, began=began)
    assert moment.done and moment.late


@pytest.fixture
def running(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Any]:
    """The app in this process, which deletes files at once."""
    monkeypatch.setenv(uploads.PLACE, str(tmp_path))
    uploads.folder_of_uploads.cache_clear()
    monkeypatch.setattr(uploads, "SECONDS_BETWEEN_LOOKS", 0.1)
    monkeypatch.setattr(uploads, "SECONDS_KEPT", 0.5)
    app = serve(served, wait=False)
    yield app
    app.close()
    uploads.folder_of_uploads.cache_clear()


def upload(app: Any, content: bytes, **headers: str) -> tuple[int, bytes]:
    """Send a file as a browser does; the status and what is answered."""
    begins = b'--xx\r\nContent-Disposition: form-data; name="files"; filename="digit.png"\r\n\r\n'
    body = begins + content + b"\r\n--xx--\r\n"
    connection = http.client.HTTPConnection("127.0.0.1", app.server_port, timeout=30)
    kind = {
        "content-type": "multipart/form-data; boundary=xx",
        "content-length": f"{len(body)}",
    }
    try:
        connection.request("POST", UPLOAD, body, kind | headers)
        got = connection.getresponse()
        return got.status, got.read()
    except (
        BrokenPipeError,
        ConnectionResetError,
    ):  # it was refused before all was sent
        return 0, b""
    finally:
        connection.close()


def stored(folder: Path) -> list[str]:
    """The files in a folder from which others go."""
    return [name for _, _, names in os.walk(folder) for name in names]


@needs_gradio
def test_uploads_are_counted_and_deleted_by_our_own_clock(
    running: Any, digit: Path
) -> None:
    folder = uploads.folder_of_uploads()
    # Whoever reads first refuses it: the server's parser (400) or our guard (422); 0: it
    # hung up before we had sent all.
    chunked = upload(running, b"0" * 2**20, **{"transfer-encoding": "chunked"})
    assert chunked[0] in (0, 400, 422)
    assert upload(running, b"0" * 2**20)[0] in (0, 422)
    assert stored(folder) == []
    seen = set[str]()
    end = time.monotonic() + 2.0
    while time.monotonic() < end:  # uploads go on while others are deleted
        status, said = upload(running, digit.read_bytes() + os.urandom(8))
        assert status == 200
        seen.add(json.loads(said)[0])
    assert len(seen) > 5 and all(Path(path).is_relative_to(folder) for path in seen)
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        known = seen & {*map(str, running.upload_file_set)}
        if not stored(folder) and not known:
            break
        time.sleep(0.1)
    assert stored(folder) == []
    assert not known


@needs_gradio
def test_answers_leave_nothing_in_memory(running: Any, digit: Path) -> None:
    from gradio.state_holder import SessionState

    kept = 32 + Limits().queue + 1
    for number in range(kept + 20):
        body = json.dumps(
            {
                "data": [None, 0.25, 500],
                "fn_index": 0,
                "session_hash": f"visitor {number}",
            }
        )
        connection = http.client.HTTPConnection(
            "127.0.0.1", running.server_port, timeout=30
        )
        connection.request(
            "POST", f"{API}/queue/join", body, {"content-type": "application/json"}
        )
        assert "event_id" in json.loads(connection.getresponse().read())
        connection.request("GET", f"{API}/queue/data?session_hash=visitor%20{number}")
        assert b"Drop an image first" in connection.getresponse().read()
        connection.close()
    assert (
        sum(isinstance(thing, SessionState) for thing in gc.get_objects()) <= kept + 1
    )
