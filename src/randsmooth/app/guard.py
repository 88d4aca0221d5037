"""The guard before the app, which refuses requests that are not of the app's own page.

It also limits the size of requests, and gives every answer its headers.
"""

import ipaddress
import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from randsmooth.app.live_certificates import FEWEST_SAMPLES, MEGABYTE, Served
from randsmooth.errors import BadValue, Problem, Setting
from randsmooth.escape import printable, say, shortened
from randsmooth.noise import Gaussian

# The endings of the files that are read.
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
)
# The paths of Gradio's interface to which a page or a program may post: calls of the
# app's function, of which the first names it and the others number it; and the rest.
API = "/gradio_api"
NAMED = f"{API}/call/certify"
CALLS = (NAMED, f"{API}/queue/join", f"{API}/run/predict")
UPLOAD = f"{API}/upload"
POSTS = (*CALLS, UPLOAD, f"{API}/cancel", f"{API}/reset")
# The methods that read.
READS = ("GET", "HEAD")
# Stands before the name of a file in a path.
FILE = "file="
# The beginnings of the paths below API that may be read. Gradio's others fetch addresses,
# or write.
READABLE = (
    "app_id",
    "call/certify/",
    "config",
    "custom_component/",
    "heartbeat/",
    "info",
    "login_check",
    "queue/data",
    "startup-events",
    "theme.css",
    "token",
    "upload_progress",
    "user",
)
# The ends of the slider of sigma, which goes farther for a model of a sigma beyond them.
LEAST_SIGMA = 0.05
LARGEST_SIGMA = 2.0
# The most bytes of a call, and of the form around an uploaded file.
MOST_BYTES = 2**16
# The most digits of the size that a request states.
MOST_DIGITS = 19
# The most characters that are repeated of a stranger's path or host, and of an error.
SHOWN_OF_PATH = 80
SHOWN_OF_ERROR = 120
# The status of an answer to a request that is refused, and to one that fails.
REFUSED = 422
FAILED = 500
# The code with which a WebSocket is closed: it violates a policy.
AGAINST_POLICY = 1008

# Pages may load and call nothing but this server. Gradio's own page names fonts and a
# script elsewhere: browsers do not load them.
POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    ]
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class Guard:
    """Lets through only the requests of the app's own page.

    It limits how much they send, and adds HEADERS to every answer. Gradio alone would
    fetch any address that a call names in place of a file, read a body of any length
    where the request states none, and print a traceback for every wrong argument.

    Args:
        inner: the app that is guarded, as servers call it (ASGI).
        uploads: the folder of files that visitors sent.
        served: the model with the limits of the app.
        names: the host names under which visitors may reach the app. Addresses in
            numbers always pass.

    Example:
        >>> from randsmooth import models
        >>> model = models.Classifier(
        ...     arch="small-cnn", classes=["a", "b"], shape=[1, 8, 8]
        ... )
        >>> served = Served.of(model.eval(), "x", sigma=0.5)
        >>> guard = Guard(None, Path("uploads"), served, names=["localhost"])
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
        """Have `inner` answer a request, or answer it with the reason why not.

        The arguments are those of an ASGI app.
        """
        # The server starts or ends.
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        # A WebSocket, which the app does not use.
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": AGAINST_POLICY})
            return
        started = False

        async def send_guarded(message: Any) -> None:
            """Send a part of an answer, and note when the answer has begun."""
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": with_own(message["headers"])}
            await send(message)

        method = scope["method"]
        path = scope["path"]
        try:
            most = self.check_request(scope)
            receive = counted(receive, most)
            # The body of a call is read here to be checked, then given to `inner`.
            if method == "POST" and path in CALLS:
                body = await whole(receive)
                self.check_call(path, body)
                receive = again(body, receive)
            await self.inner(scope, receive, send_guarded)
        # Gradio may raise anything, such as for a name that it does not know.
        except Exception as error:
            # A Problem is a refusal. Anything else is a failure, which goes to the log.
            if not isinstance(error, Problem):
                request = shortened(printable(f"{method} {path}"), SHOWN_OF_PATH)
                reason = shortened(printable(str(error)), SHOWN_OF_ERROR)
                error_class = type(error).__name__
                say(f"{request} failed: {error_class}: {reason}", file=sys.stderr)
            # An answer that has begun cannot be replaced by a refusal.
            if not started:
                await refuse(error, scope, receive, send_guarded)

    def check_request(self, scope: Any) -> int:
        """Return how many bytes a request may send.

        Raises:
            Problem: the app shall not get this request.
        """
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        self.check_host(headers.get("host", ""))
        # Such a body has no stated length, which is checked below.
        if "transfer-encoding" in headers:
            raise Problem(
                "the request must state its Content-Length, and use no "
                "Transfer-Encoding"
            )
        method = scope["method"]
        path = scope["path"]
        length = headers.get("content-length")
        if method in READS and length in (None, "0"):
            self.check_read(path)
            return 0
        if method != "POST" or path not in POSTS:
            raise Problem(f"{method} {_shown_path(path)} is not of this app")
        # Browsers set this header, and a page cannot change it.
        if headers.get("sec-fetch-site") == "cross-site":
            raise Problem("the page of another site may not use this app")
        most = MOST_BYTES
        if path == UPLOAD:
            most += int(self.served.limits.upload_mb * MEGABYTE)
        return _checked_length(length or "", most)

    def check_read(self, path: str) -> None:
        """Raise Problem for a path that may not be read.

        A file is named by file=PATH in the path of the request, and must be an upload:
        Gradio would also fetch an address in the place of PATH.
        """
        before, names_file, name = path.partition(FILE)
        is_allowed = True
        if names_file:
            is_allowed = self._is_inside(name)
        elif before.startswith(f"{API}/"):
            is_allowed = before.removeprefix(f"{API}/").startswith(READABLE)
        if not is_allowed:
            raise Problem(f"{_shown_path(path)} is not of this app")

    def check_host(self, host: str) -> None:
        """Raise Problem unless the Host header of a request names this app.

        A stranger may have his own host name lead to this machine. His page would then
        be of the same host as the app, and could read the answers of the app.
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
            f"no app is called {_shown_path(host)} here",
            fix=(
                "use its address, or start it with its name in ",
                Setting("public_names"),
            ),
        )

    def check_call(self, path: str, body: bytes) -> None:
        """Raise Problem unless `body` calls a function of the app with its arguments.

        Among Gradio's functions the one that certifies has the number 0. Those of the
        examples follow, one each, and take no arguments.

        Args:
            path: one of CALLS. NAMED names the function that certifies; the others give
                the number of a function.
            body: the JSON of the call.
        """
        try:
            call = json.loads(body)
        except (ValueError, RecursionError):
            raise Problem("the call is not JSON") from None
        arguments = call.get("data") if isinstance(call, dict) else None
        if not isinstance(arguments, list):
            raise Problem('a call is {"data": [...]}')
        function = 0 if path == NAMED else call.get("fn_index")
        # Not isinstance: False is an int and equals 0.
        is_number = type(function) is int
        if is_number and 1 <= function <= len(self.served.examples) and not arguments:
            return
        if not is_number or function != 0 or len(arguments) != 3:
            raise Problem("there is no such function, or it takes other arguments")
        file, sigma, n = arguments
        _check_number("sigma", sigma, *sigmas(self.served))
        _check_number("n", n, FEWEST_SAMPLES, self.served.limits.samples)
        if file is not None and not self._is_uploaded(file):
            raise Problem(
                "the image must be an uploaded file; the app reads no addresses "
                "and no other files. Its name must end in one of " + ", ".join(KINDS)
            )

    def _is_uploaded(self, file: Any) -> bool:
        """Return whether the argument of a call is one uploaded image, and nothing else.

        Gradio would look at nested values, too, and fetch the addresses in them.
        """
        if not isinstance(file, dict):
            return False
        if file.get("meta") != {"_type": "gradio.FileData"}:
            return False
        others = [value for name, value in file.items() if name != "meta"]
        if any(isinstance(value, dict | list) for value in others):
            return False
        path = file.get("path")
        if not isinstance(path, str) or not self._is_inside(path):
            return False
        return Path(path).suffix.lower() in KINDS

    def _is_inside(self, path: str) -> bool:
        """Return whether `path` lies in the folder of uploads, also behind links."""
        try:
            return Path(path).resolve().is_relative_to(self.uploads.resolve())
        # No file can have this name.
        except (OSError, ValueError):
            return False


def _shown_path(path: str) -> str:
    """Return a stranger's path or host as a sentence may repeat it."""
    return shortened(printable(path), SHOWN_OF_PATH)


def _checked_length(length: str, most: int) -> int:
    """Return the bytes that a request states it sends.

    Raises:
        Problem: it states none, or more than `most`.
    """
    # `isdecimal` alone takes the digits of other alphabets, too. Python refuses to read
    # a number of very many digits.
    is_number = bool(length) and length.isascii() and length.isdecimal()
    if is_number and len(length) <= MOST_DIGITS and int(length) <= most:
        return int(length)
    raise Problem(f"the request must state its size, at most {most:,} bytes")


def _check_number(name: str, value: Any, low: float, high: float) -> None:
    """Raise Problem unless the value is a number from `low` to `high`."""
    # Not isinstance: True and False are ints.
    if type(value) not in (int, float) or not low <= value <= high:
        raise BadValue(
            f"{name} must be a number from {low:,} to {high:,}", field=name, value=value
        )


def sigmas(served: Served) -> tuple[float, float]:
    """Return the least and the largest sigma that a visitor may choose.

    Noise other than Gaussian cannot be chosen: both are its scale, which calls give.
    """
    usual = served.usual
    if not isinstance(served.noise, Gaussian):
        return usual, usual
    return min(LEAST_SIGMA, usual), max(LARGEST_SIGMA, 2 * usual)


def is_address(name: str) -> bool:
    """Return whether `name` is an address in numbers.

    No stranger can have such a name lead to this machine.

    Example:
        >>> is_address("127.0.0.1"), is_address("::1"), is_address("example.com")
        (True, True, False)
    """
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def names_of(host: str, machine: str, public: Collection[str]) -> set[str]:
    """Return the names under which an app that listens to `host` may be reached.

    Args:
        host: the address at which the app listens.
        machine: the name of this machine.
        public: more names, such as that of a server in front of the app.

    Example:
        >>> sorted(names_of("127.0.0.1", "lab", ["digits.example.com"]))
        ['127.0.0.1', 'digits.example.com', 'lab', 'localhost']
    """
    return {"localhost", host, machine, *public}


def with_own(headers: Any) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer, in which HEADERS replace those of their names."""
    others = [
        (name, value)
        for name, value in headers
        if name.decode("latin-1").lower() not in HEADERS
    ]
    ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
    return others + ours


def counted(receive: Any, most: int) -> Any:
    """Return `receive`, which raises Problem once a body has more than `most` bytes."""
    left = most

    async def receive_counted() -> Any:
        """Receive the next part of a body."""
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise Problem(f"more was sent than the {most:,} bytes that were said")
        return message

    return receive_counted


async def whole(receive: Any) -> bytes:
    """Return the whole body of a request. Problem where the visitor goes away."""
    parts = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("the call ended before it was whole")
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def again(body: bytes, receive: Any) -> Any:
    """Return a `receive` that first gives a body once more, then goes on as `receive`.

    `inner` needs the body, which was read to be checked.
    """
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Any:
        """Return the body as one message, and after it the messages that follow."""
        return messages.pop() if messages else await receive()

    return receive_again


async def refuse(error: Exception, scope: Any, receive: Any, send: Any) -> None:
    """Answer with the sentence of an error, in the form that Gradio's page reads.

    The reason of a failure is for the log alone, and not for strangers.
    """
    # Late, as Gradio brings it, which may not be installed.
    from starlette.responses import JSONResponse

    is_refusal = isinstance(error, Problem)
    detail = {
        "__type__": "validate",
        "is_valid": False,
        "parameter_name": "call",
        "message": str(error) if is_refusal else "the call failed",
    }
    answer = JSONResponse(
        {"detail": [detail]},
        status_code=REFUSED if is_refusal else FAILED,
        headers={"connection": "close"},
    )
    await answer(scope, receive, send)
