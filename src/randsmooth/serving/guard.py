"""What stands between visitors and Gradio: which calls are let through, and what pages may load."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from randsmooth.errors import InputError
from randsmooth.escape import printable, say, shortened
from randsmooth.serving.served import LEAST, Served

KINDS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")  # of files, by their names
API = "/gradio_api"
NAMED = f"{API}/call/certify"
CALLS = (NAMED, f"{API}/queue/join", f"{API}/run/predict")
UPLOAD = f"{API}/upload"
POSTS = (*CALLS, UPLOAD, f"{API}/cancel", f"{API}/reset")
MOST_BYTES = 2**16  # of a call, and of what stands around an uploaded file

# Pages may load and call nothing but this server: what Gradio's own page names elsewhere is refused (fonts, a script).
# A Space stands in a frame of the hub's page.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self' https://huggingface.co https://*.hf.space"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class Guarded:
    """An ASGI application that gets no calls but those of the app's own page, and whose answers carry HEADERS.

    Gradio would fetch any address that a call names in place of a file, and print a traceback for every wrong argument.

    Args:
        app: what is guarded.
        blocks: the app, which knows its functions and the folder of uploads.
        served: whose limits hold.

    Example:
        >>> from randsmooth import models
        >>> served = Served.of(models.Classifier(arch="small-cnn", classes=["a", "b"], shape=[1, 8, 8]), "x", sigma=0.5)
        >>> Guarded(None, None, served).check(NAMED, b"[]")
        Traceback (most recent call last):
        randsmooth.errors.InputError: a call is {"data": [...]}
    """

    def __init__(self, app: Any, blocks: Any, served: Served) -> None:
        self.app, self.blocks, self.served = app, blocks, served
        self.headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def answered(message: Any) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                message, begun = message | {"headers": [*message.get("headers", []), *self.headers]}, True
            await send(message)

        try:
            await self.app(scope, await self._let_through(scope, receive), answered)
        except InputError as error:
            await _answer(answered, 422, str(error))
        except Exception as error:  # Gradio raises what it likes for a name that it does not know
            where = shortened(printable(f"{scope['method']} {scope['path']}"), 80)
            reason = shortened(printable(str(error)), 120)
            say(f"{where} failed: {type(error).__name__}: {reason}", file=sys.stderr)
            if begun:
                await send({"type": "http.response.body"})
            else:
                await _answer(answered, 500, "the call failed")

    async def _let_through(self, scope: Any, receive: Any) -> Any:
        """What gives the app the body of a request; InputError for a request that it does not get."""
        method, path = scope["method"], scope["path"]
        if method in ("GET", "HEAD"):
            return receive
        if method != "POST" or path not in POSTS:
            raise InputError(f"{method} {path} is not of this app")
        most = MOST_BYTES + (int(self.served.limits.upload_mb * 2**20) if path == UPLOAD else 0)
        length = dict(scope["headers"]).get(b"content-length", b"").decode("latin-1")
        if not (length.isascii() and length.isdecimal() and len(length) < 20 and int(length) <= most):
            raise InputError(f"what is sent must say its size, which may not be larger than {most:,} bytes")
        if path not in CALLS:
            return receive
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.check(path, body)
        told = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def again() -> Any:
            return next(told, None) or await receive()

        return again

    def check(self, path: str, body: bytes) -> None:
        """Raise InputError unless `body` calls a function of the app with what it takes."""
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            raise InputError("the call is no JSON") from None
        if not isinstance(said, dict) or not isinstance(data := said.get("data"), list):
            raise InputError('a call is {"data": [...]}')
        called = 0 if path == NAMED else said.get("fn_index")
        function = self.blocks.fns.get(called) if type(called) is int else None
        if function is None or function.fn is None or len(data) != len(function.inputs):
            raise InputError("there is no such function, or it takes other arguments")
        if data:
            self._check_certify(*data)

    def _check_certify(self, file: Any, sigma: Any, n: Any) -> None:
        low, high = sigmas(self.served)
        if not (_is_number(sigma) and low <= sigma <= high):
            raise InputError(f"sigma must be a number from {low:g} to {high:g}")
        if not (_is_number(n) and LEAST <= n <= self.served.limits.samples):
            raise InputError(f"n must be a number from {LEAST} to {self.served.limits.samples:,}")
        if file is None:
            return
        if not isinstance(file, dict) or not self._uploaded(file):
            raise InputError("the image must be a file that was uploaded; addresses and other files are not read")
        path = file["path"]
        if Path(path).suffix.lower() not in KINDS:
            raise InputError(f"the image must be a file whose name ends in {', '.join(KINDS)}")

    def _uploaded(self, file: dict[str, Any]) -> bool:
        """Whether what stands for a file names one in the folder of uploads, and no other beside it."""
        path, meta = file.get("path"), file.get("meta")
        if not isinstance(path, str) or meta != {"_type": "gradio.FileData"}:
            return False
        if any(isinstance(value, dict | list) for name, value in file.items() if name != "meta"):
            return False
        try:
            return Path(path).resolve().is_relative_to(Path(self.blocks.GRADIO_CACHE).resolve())
        except (OSError, ValueError):  # a name that no file can have
            return False


def sigmas(served: Served) -> tuple[float, float]:
    """The least and the largest sigma that a visitor may choose."""
    usual = served.settings.known_sigma
    return min(0.05, usual), max(2.0, 2 * usual)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


async def _answer(send: Any, status: int, said: str) -> None:
    detail = {"__type__": "validate", "is_valid": False, "parameter_name": "call", "message": said}  # as Gradio says it
    body = json.dumps({"detail": [detail]}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
