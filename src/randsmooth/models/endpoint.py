"""A classifier that is asked over a network: small batches, retries, and a limit on requests."""

from __future__ import annotations

import copy
import hashlib
import itertools
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models.adapters.function import FunctionModel
from randsmooth.models.foreign_model import ForeignModel
from randsmooth.models.http_json import HttpJson, Refused
from randsmooth.models.meter import EndpointError, Meter
from randsmooth.models.time_limit import within

Call = Callable[[NDArray[np.float32]], Any]
LONGEST_PAUSE = 60.0  # seconds between two tries, unless the server asks for more
MISTAKES = (TypeError, NameError, AttributeError, ImportError)  # in the function itself: another try will not help
LEAST = {"batch": 1, "retries": 0, "parallel": 1, "max_requests": 1}


class Endpoint(ForeignModel):
    """A base classifier that somebody else runs, and for which every image sent may have to be paid.

    Exactly the n0 + n samples of each image are sent, in requests of at most `batch` images. Nothing is sent to fill a
    batch, to measure speed, or to try the model out; only where neither `num_classes` nor a data set says how many
    classes there are, one grey image is sent first. So it is not checked that an image gets the same answer whenever it
    is sent, whatever else is in the request: this is what a certificate supposes of an endpoint.

    A request that fails is sent again. An image that gets no usable answer stops the run: leaving it out would make the
    counts wrong. `certify` keeps every answer on disk, and a resumed run sends only what has none yet.

    Args:
        call: a function that takes images (B, C, H, W), a float32 array, B <= `batch`, and returns logits (B, K) or
            labels (B,) as an array or lists; or the URL of a server (see `models.HttpJson`).
        num_classes: K.
        batch: the most images in a request.
        retries: how often a request that failed is sent again: after an exception, an answer of another shape or one
            that is not finite, or no answer in time. Mistakes of the function itself (such as a TypeError) are not
            retried, nor is a request that a server refuses as wrong (status 4xx, but for 408, 425 and 429).
        backoff: seconds before the first retry. They double with each further one, up to a minute, and are shortened at
            random by up to a half. A server's Retry-After is kept.
        timeout: seconds to wait for an answer.
        max_requests: the most requests to send in all, retries among them; then a run stops, and can be resumed.
        per_second: the most requests to begin in a second.
        parallel: requests that are under way at once. `call` must then be safe to call from several threads.
        identity: a name, given to no other model of yours, for what answers; it can be given to `certify` as well.

    Raises:
        InputError: an argument that cannot be used.
        EndpointError: on asking, when the retries or the requests are used up.

    Example:
        >>> endpoint = Endpoint(lambda images: (images.mean(axis=(1, 2, 3)) > 0.5).astype(int), num_classes=2, batch=20)
        >>> endpoint.ask(np.zeros((3, 1, 8, 8), np.float32)), endpoint.requests, endpoint.images
        (tensor([[1., 0.],
                [1., 0.],
                [1., 0.]]), 1, 3)
    """

    kind = "endpoint"

    def __init__(
        self,
        call: Call | str,
        *,
        num_classes: int | None = None,
        batch: int = 64,
        retries: int = 5,
        backoff: float = 0.5,
        timeout: float = 60.0,
        max_requests: int | None = None,
        per_second: float | None = None,
        parallel: int = 1,
        identity: str | None = None,
    ) -> None:
        if not isinstance(call, str) and not callable(call):
            raise InputError(f"an endpoint is a function of images or a URL; got {shown(repr(call))}")
        whole = {"batch": batch, "retries": retries, "parallel": parallel, "max_requests": max_requests}
        for name, value in whole.items():
            if not (type(value) is int and value >= LEAST[name]) and not (name == "max_requests" and value is None):
                raise InputError(f"{name}={shown(repr(value))} must be a whole number from {LEAST[name]} up")
        for name, seconds in {"backoff": backoff, "timeout": timeout, "per_second": per_second}.items():
            if seconds is not None and not (isinstance(seconds, int | float) and 0.0 < seconds < float("inf")):
                raise InputError(f"{name}={shown(repr(seconds))} must be a number above 0")
        self.function = FunctionModel(
            HttpJson(call, timeout=timeout) if isinstance(call, str) else call,
            takes="numpy",
            num_classes=num_classes,
            identity=identity,
        )
        self.batch, self.retries, self.backoff, self.timeout = batch, retries, backoff, timeout
        self.parallel, self.meter = parallel, Meter(max_requests, per_second)
        self._halted, self._jitter = threading.Event(), random.Random()

    @property
    def num_classes(self) -> int | None:  # type: ignore[override]
        """K, where it is known."""
        return self.function.num_classes

    @property
    def called(self) -> str | None:  # type: ignore[override]
        """The name given to it."""
        return self.function.called

    @property
    def labels(self) -> bool:  # type: ignore[override]
        """Whether it has answered with labels."""
        return self.function.labels

    @property
    def requests(self) -> int:
        """How many were sent so far."""
        return self.meter.requests

    @property
    def images(self) -> int:
        """How many were answered so far."""
        return self.meter.images

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: what it may send is counted for all who share it."""
        return self

    def weights_hash(self) -> str:
        """Of no weights: they are elsewhere."""
        return f"sha256:{hashlib.sha256().hexdigest()}"

    def identity(self) -> str:
        return self.function.identity()

    def with_num_classes(self, num_classes: int) -> Self:
        changed = copy.copy(self)  # with the same meter
        changed.function = self.function.with_num_classes(num_classes)
        return changed

    def for_classes(self, classes: Sequence[str]) -> Self:
        changed = copy.copy(self)
        changed.function = self.function.for_classes(classes)
        return changed

    def ask(self, images: NDArray[np.float32]) -> Tensor:
        """(B, K) logits or votes of images (B, C, H, W), in one request and its retries.

        Raises:
            EndpointError: the retries or the requests are used up, or the function itself is wrong.
        """
        for tries in itertools.count(1):
            self.meter.begin()
            try:
                logits = self._read(within(self.timeout, lambda: self.function.function(images.copy())), len(images))
            except (*MISTAKES, Refused, EndpointError) as error:
                raise EndpointError(f"the endpoint cannot be asked: {_told(error)}") from error
            except Exception as error:
                if tries > self.retries or self._halted.is_set():
                    raise EndpointError(self._failure(tries, error)) from error
                self._halted.wait(self._pause(tries, error))
            else:
                self.meter.answered(len(images))
                return logits
        raise AssertionError("the loop ends by return or raise")

    @contextmanager
    def halting(self) -> Iterator[None]:
        """Within it, no request is sent again: for those that are under way when a run stops."""
        self._halted.set()
        try:
            yield
        finally:
            self._halted.clear()

    def _read(self, answer: Any, images: int) -> Tensor:
        if self.num_classes is None and np.ndim(answer) == 1:
            raise EndpointError("its answers are labels, which do not say how many classes there are: give num_classes")
        logits = self.function.logits_of(answer, images)
        if self.num_classes not in (None, logits.shape[1]):
            raise InputError(f"it gave {logits.shape[1]} logits an image; expected {self.num_classes}")
        if not bool(logits.isfinite().all()):
            raise InputError("some of its logits are NaN or infinite")
        return logits

    def _pause(self, tries: int, error: Exception) -> float:
        """Seconds to wait after so many tries."""
        usual = min(LONGEST_PAUSE, self.backoff * 2.0 ** (tries - 1)) * self._jitter.uniform(0.5, 1.0)
        return max(usual, getattr(error, "retry_after", 0.0))

    def _failure(self, tries: int, error: Exception) -> str:
        last = f"nothing within timeout={self.timeout:g} seconds" if isinstance(error, TimeoutError) else _told(error)
        return f"the endpoint gave no usable answer in {tries} tries, the last time: {last}"


def _told(error: BaseException) -> str:
    kind = "" if isinstance(error, InputError | Refused) else f"{type(error).__name__}: "
    return shown(kind + str(error).partition("\n")[0])
