"""A client of servers that take images and give answers as JSON, over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.documents import shown
from randsmooth.errors import InputError

RETRIED = (408, 425, 429)  # statuses below 500 that another try may not get
MOST_ANSWER = 2**28  # bytes


class Refused(Exception):
    """The server says that the request itself is wrong."""


class Unavailable(OSError):
    """The server could not answer now; `retry_after` are the seconds after which it wants to be asked again."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class HttpJson:
    """Posts `{"instances": images}` to a URL and returns the `predictions` of the answer.

    This is what TensorFlow Serving, KServe (v1) and MLflow's scoring server understand. Images are nested lists
    (B, C, H, W) of numbers that are read back as the same float32; each prediction is a list of K logits, or a class.

    Args:
        url: of http or https; proxies are taken from the environment.
        headers: besides the content type, such as {"Authorization": "Bearer ..."}.
        timeout: seconds that any step of a request may take.

    Raises:
        InputError: another kind of URL.

    Example:
        >>> HttpJson("http://localhost:8501/v1/models/digits:predict", headers={"Authorization": "Bearer secret"})
        HttpJson('http://localhost:8501/v1/models/digits:predict')
    """

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, timeout: float = 60.0) -> None:
        if not url.lower().startswith(("http://", "https://")):
            raise InputError(f"{shown(url)} is no URL that can be asked: expected http://... or https://...")
        self.url, self.timeout = url, timeout
        self.headers = {"Content-Type": "application/json", **(headers or {})}

    def __repr__(self) -> str:
        return f"HttpJson({self.url!r})"

    def __call__(self, images: NDArray[np.float32]) -> Any:
        """The predictions for images (B, C, H, W).

        Raises:
            Refused: the server says that the request is wrong.
            OSError, HTTPException, ValueError: it cannot be reached, gives no answer, or none that is JSON.
        """
        body = json.dumps({"instances": images.tolist()}).encode()
        request = urllib.request.Request(self.url, body, self.headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                content = answer.read(MOST_ANSWER)
        except urllib.error.HTTPError as error:
            with error:
                raise _failed(error) from None
        except HTTPException as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error
        read = json.loads(content)
        if not isinstance(read, dict) or "predictions" not in read:
            raise ValueError(
                f'the server answered {shown(content[:200].decode(errors="replace"))}, without "predictions"'
            )
        return read["predictions"]


def _failed(error: urllib.error.HTTPError) -> Exception:
    """What the server's status means."""
    said = error.read(200).decode(errors="replace").strip()
    reason = shown(f"HTTP status {error.code} {error.reason}{f', {said}' if said else ''}")
    if error.code < 500 and error.code not in RETRIED:
        return Refused(reason)
    after = error.headers.get("Retry-After", "")
    return Unavailable(reason, float(after) if after.isdecimal() else 0.0)
