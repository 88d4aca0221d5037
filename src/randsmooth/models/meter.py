"""How often an endpoint was asked, and how often it may be."""

from __future__ import annotations

import threading
import time

from randsmooth.errors import InputError


class EndpointError(InputError):
    """An endpoint gave no usable answer, or may be asked no more. A run that it stops can be resumed.

    Example:
        >>> issubclass(EndpointError, InputError)
        True
    """


class Meter:
    """Counts requests and the images that they were answered for, for all threads that share it.

    Args:
        max_requests: the most requests; None for no limit.
        per_second: the most that may begin in a second; None for no limit.
    """

    def __init__(self, max_requests: int | None = None, per_second: float | None = None) -> None:
        self.max_requests, self.per_second = max_requests, per_second
        self.requests = self.images = 0
        self._next = -float("inf")  # when the next request may begin
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Count a request, and return when it may begin.

        Raises:
            EndpointError: it would be more than `max_requests`.
        """
        with self._lock:
            if self.max_requests is not None and self.requests >= self.max_requests:
                raise EndpointError(
                    f"all max_requests={self.max_requests} were sent to the endpoint, which answered "
                    f"{self.images:,} images"
                )
            self.requests += 1
            start = max(time.monotonic(), self._next)
            self._next = start + (1.0 / self.per_second if self.per_second is not None else 0.0)
        time.sleep(max(0.0, start - time.monotonic()))

    def answered(self, images: int) -> None:
        with self._lock:
            self.images += images
