"""What stands before the app: which requests it gets, how large they may be, and what every answer says."""

import ipaddress
import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from randsmooth.app.live_certificates import LEAST, Served
from randsmooth.errors import BadValue, Problem, Setting
from randsmooth.escape import printable, say, shortened
from randsmooth.noise import Gaussian

KINDS = (
    ".png",
    ".jpg",
    ".jpeg",
    ".webp",
    ".bmp",
    ".gif",
    ".tif",
    ".tiff",
    ".ppm",
    ".pgm",
)  # of files, by their names
API = "/gradio_api"
NAMED = f"{API}/call/certify"
CALLS = (NAMED, f"{API}/queue/join", f"{API}/run/predict")
UPLOAD = f"{API}/upload"
POSTS = (*CALLS, UPLOAD, f"{API}/cancel", f"{API}/reset")
READS = ("GET", "HEAD")
FILE = "file="
# What of Gradio's interface may be asked for, by what it begins with: others fetch addresses, or write.
READABLE = (
    *(
        "info",
        "config",
        "startup-events",
        "heartbeat/",
        "queue/data",
        "call/certify/",
        "upload_progress",
    ),
    *("theme.css", "app_id", "login_check", "token", "user", "custom_component/"),
)
MOST_BYTES = 2**16  # of a call, and of what stands around an uploaded file

# Pages may load and call nothing but this server: what Gradio's own page names elsewhere is refused (fonts, a script).
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class Guard:
    """Lets through no requests but those of the app's own page, counts what they send, and gives all answers HEADERS.

    Gradio would fetch any address that a call names in place of a file, read a body of any length where none is said,
    and print a traceback for every wrong argument.

    Args:
        inner: the app that is guarded, as servers call it (ASGI).
        uploads: the folder of files that visitors sent.
        served: whose limits hold.
        names: those under which visitors may reach the app, beside addresses in numbers.

    Example:
        >>> from randsmooth import models
        >>> model = models.Classifier(arch="small-cnn", classes=["a", "b"], shape=[1, 8, 8]).eval()
        >>> guard = Guard(None, Path("uploads"), Served.of(model, "x", sigma=0.5), names=["localhost"])
        >>> guard.check_host("attacker.example:7860")
        Traceback (most recent call last):
        randsmooth.errors.Problem: no app is called attacker.example:7860 here; ...
    """

    def __init__(
        self, inner: Any, uploads: Path, served: Served, names: Collection[str]
    ) -> None:
        self.inner = inner
        self.uploads = uploads
        self.served = served
        self.names = {name.lower() for name in names}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request as ASGI describes it: by `inner`, or by a sentence that says why not."""
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False

        async def send_guarded(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": with_own(message["headers"])}
            await send(message)

        try:
            most = self.check_request(scope)
            receive = counted(receive, most)
            if scope["method"] == "POST" and scope["path"] in CALLS:
                body = await whole(receive)
                self.check(scope["path"], body)
                receive = again(body, receive)
            await self.inner(scope, receive, send_guarded)
        except (
            Exception
        ) as error:  # Gradio raises what it likes for a name that it does not know
            if not isinstance(error, Problem):
                where = shortened(printable(f"{scope['method']} {scope['path']}"), 80)
                why = f"{type(error).__name__}: {shortened(printable(str(error)), 120)}"
                say(f"{where} failed: {why}", file=sys.stderr)
            if not started:
                await refuse(error, scope, receive, send_guarded)

    def check_request(self, scope: Any) -> int:
        """Return how many bytes a request may send. Problem for one that the app does not get."""
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        self.check_host(headers.get("host", ""))
        if "transfer-encoding" in headers:
            raise Problem(
                "what is sent must come with its Content-Length, without a Transfer-Encoding"
            )
        method, path, said = (
            scope["method"],
            scope["path"],
            headers.get("content-length"),
        )
        if method in READS and said in (None, "0"):
            self.check_read(path)
            return 0
        if method != "POST" or path not in POSTS:
            raise Problem(
                f"{method} {shortened(printable(path), 80)} is not of this app"
            )
        if headers.get("sec-fetch-site") == "cross-site":
            raise Problem("the page of another site may not use this app")
        most = MOST_BYTES
        if path == UPLOAD:
            most += int(self.served.limits.upload_mb * 2**20)
        if not (
            said
            and said.isascii()
            and said.isdecimal()
            and len(said) < 20
            and int(said) <= most
        ):
            raise Problem(
                f"what is sent must say its size, which may not be larger than {most:,} bytes"
            )
        return int(said)

    def check_read(self, path: str) -> None:
        """Raise Problem for what may not be asked for: Gradio would fetch an address that stands for a file."""
        before, file, name = path.partition(FILE)
        of_gradio = (
            before.removeprefix(f"{API}/") if before.startswith(f"{API}/") else None
        )
        known = of_gradio is None or of_gradio.startswith(READABLE)
        if not (self._inside(name) if file else known):
            raise Problem(f"{shortened(printable(path), 80)} is not of this app")

    def check_host(self, host: str) -> None:
        """Raise Problem unless a request names this app as its host.

        A stranger's name that leads to this machine would let his page read what the app answers.
        """
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            name = ""
        if name in self.names or is_address(name):
            return
        if not host:
            raise Problem(
                "the request has no Host header: name the app's address in it"
            )
        raise Problem(
            f"no app is called {shortened(printable(host), 80)} here",
            fix=(
                "use its address, or start it with its name in ",
                Setting("public_names"),
            ),
        )

    def check(self, path: str, body: bytes) -> None:
        """Raise Problem unless `body` calls the app's one function, which comes first, with what it takes."""
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            raise Problem("the call is no JSON") from None
        if not isinstance(said, dict) or not isinstance(data := said.get("data"), list):
            raise Problem('a call is {"data": [...]}')
        called = 0 if path == NAMED else said.get("fn_index")
        if type(called) is not int or called != 0 or len(data) != 3:
            raise Problem("there is no such function, or it takes other arguments")
        file, *numbers = data
        limits = sigmas(self.served), (LEAST, self.served.limits.samples)
        for name, value, (low, high) in zip(
            ("sigma", "n"), numbers, limits, strict=True
        ):
            if type(value) not in (int, float) or not low <= value <= high:
                raise BadValue(f"{name} must be a number from {low:,} to {high:,}")
        if file is not None and not self._uploaded(file):
            raise Problem(
                "the image must be a file that was uploaded; addresses and other files are not read, nor are names "
                f"that do not end in {', '.join(KINDS)}"
            )

    def _uploaded(self, file: Any) -> bool:
        """Whether what stands for a file names one in the folder of uploads, and no other beside it."""
        if not isinstance(file, dict) or file.get("meta") != {
            "_type": "gradio.FileData"
        }:
            return False
        path = file.get("path")
        if not isinstance(path, str) or any(
            isinstance(file[name], dict | list) for name in {*file} - {"meta"}
        ):
            return False
        return self._inside(path) and Path(path).suffix.lower() in KINDS

    def _inside(self, path: str) -> bool:
        """Whether `path` lies in the folder of uploads."""
        try:
            return Path(path).resolve().is_relative_to(self.uploads.resolve())
        except (OSError, ValueError):  # a name that no file can have
            return False


def sigmas(served: Served) -> tuple[float, float]:
    """The least and the largest sigma that a visitor may choose; under another noise one number stands for it."""
    usual = served.usual
    if not isinstance(served.noise, Gaussian):
        return usual, usual
    return min(0.05, usual), max(2.0, 2 * usual)


def is_address(name: str) -> bool:
    """Whether `name` is an address in numbers, which no name server leads elsewhere.

    Example:
        >>> is_address("127.0.0.1"), is_address("::1"), is_address("example.com")
        (True, True, False)
    """
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def names_of(host: str, own: str, public: Collection[str]) -> set[str]:
    """Return the names under which an app that listens to `host` may be reached.

    Args:
        host: where it listens.
        own: the name of this machine.
        public: more names, such as that of a server before it.

    Example:
        >>> sorted(names_of("127.0.0.1", "lab", ["digits.example.com"]))
        ['127.0.0.1', 'digits.example.com', 'lab', 'localhost']
    """
    return {"localhost", host, own, *public}


def with_own(headers: Any) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, with HEADERS in place of what they say of the same."""
    others = [
        (name, value)
        for name, value in headers
        if name.decode("latin-1").lower() not in HEADERS
    ]
    return others + [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def counted(receive: Any, most: int) -> Any:
    """`receive`, which raises Problem once a body has more than `most` bytes."""
    left = most

    async def receive_counted() -> Any:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise Problem(f"more was sent than the {most:,} bytes that were said")
        return message

    return receive_counted


async def whole(receive: Any) -> bytes:
    """The whole body of a request."""
    parts, more = [], True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("the call ended before it was whole")
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def again(body: bytes, receive: Any) -> Any:
    """What gives a body that was read, and then goes on as `receive`."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Any:
        return messages.pop() if messages else await receive()

    return receive_again


async def refuse(error: Exception, scope: Any, receive: Any, send: Any) -> None:
    """Answer with the sentence of an error, as Gradio's page reads it."""
    from starlette.responses import JSONResponse

    ours = isinstance(error, Problem)
    detail = {"__type__": "validate", "is_valid": False, "parameter_name": "call"}
    detail["message"] = str(error) if ours else "the call failed"
    answer = JSONResponse(
        {"detail": [detail]}, 422 if ours else 500, headers={"connection": "close"}
    )
    await answer(scope, receive, send)
