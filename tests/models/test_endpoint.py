"""Endpoints: retried, limited in requests and time, and asked over real HTTP."""

from __future__ import annotations

import copy
import threading
import time
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from flaky_server import logits_of, serving
from randsmooth import models
from randsmooth.errors import InputError
from randsmooth.models import Endpoint, EndpointError, HttpJson

IMAGES = np.random.default_rng(1).random((6, 1, 8, 8)).astype(np.float32)
QUICK: dict[str, Any] = {"backoff": 0.001, "timeout": 0.3}


def test_a_server_that_fails_now_and_then_is_asked_again() -> None:
    with serving("500", "drop", "shape", "slow", "nan", "429", "ok") as server:
        endpoint = Endpoint(server.url, num_classes=10, retries=6, **QUICK)
        assert np.array_equal(endpoint.ask(IMAGES).numpy(), logits_of(IMAGES))  # to the last bit, through JSON
        assert (endpoint.requests, endpoint.images, server.images) == (7, 6, 6)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("500", "no usable answer in 3 tries, the last time: Unavailable: HTTP status 500 .*busy"),
        ("drop", "no usable answer in 3 tries"),
        ("shape", r"answers 6 images with .*\(5, 10\).*expected logits"),
        ("nan", "NaN or infinite"),
        ("slow", "nothing within timeout=0.3 seconds"),
    ],
)
def test_retries_end(fault: str, message: str) -> None:
    with serving(fault) as server:
        endpoint = Endpoint(server.url, num_classes=10, retries=2, **QUICK)
        with pytest.raises(EndpointError, match=message):
            endpoint.ask(IMAGES)
        assert (endpoint.requests, endpoint.images) == (3, 0)


def test_what_another_try_would_not_mend_is_not_tried_again() -> None:
    with serving("400") as server:
        endpoint = Endpoint(server.url, num_classes=10, **QUICK)
        with pytest.raises(EndpointError, match="HTTP status 400"):
            endpoint.ask(IMAGES)
        assert server.requests == 1

    def mistaken(images: NDArray[np.float32]) -> Any:
        return images.no_such_method()  # type: ignore[attr-defined]

    endpoint = Endpoint(mistaken, num_classes=10, **QUICK)
    with pytest.raises(EndpointError, match=r"AttributeError.*no_such_method"):
        endpoint.ask(IMAGES)
    assert endpoint.requests == 1
    labels = Endpoint(lambda images: [0] * len(images), **QUICK)
    with pytest.raises(EndpointError, match="give num_classes"):
        labels.ask(IMAGES)
    assert labels.requests == 1


def test_pauses_double_with_jitter_and_a_server_may_ask_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def wait(event: threading.Event, seconds: float) -> bool:
        pauses.append(seconds)
        return False

    monkeypatch.setattr("threading.Event.wait", wait)

    class Busy(OSError):
        retry_after = 0.0

    def call(images: NDArray[np.float32]) -> Any:
        raise Busy

    endpoint = Endpoint(call, num_classes=10, retries=9, backoff=1.0)
    monkeypatch.setattr("randsmooth.models.endpoint.within", lambda seconds, function: function())
    with pytest.raises(EndpointError):
        endpoint.ask(IMAGES)
    longest = [min(60.0, 2.0**k) for k in range(9)]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert len({pause / most for pause, most in zip(pauses, longest, strict=True)}) > 1
    Busy.retry_after = 90.0
    del pauses[:]
    with pytest.raises(EndpointError):
        endpoint.ask(IMAGES)
    assert pauses == [90.0] * 9


def test_requests_are_limited_for_all_who_share_the_endpoint() -> None:
    endpoint = Endpoint(logits_of, max_requests=3)
    shared = copy.deepcopy(endpoint).for_classes([str(k) for k in range(10)])
    for each in (endpoint, shared, endpoint):
        each.ask(IMAGES)
    with pytest.raises(EndpointError, match=r"all max_requests=3 were sent .*answered 18 images"):
        shared.ask(IMAGES)


def test_requests_are_spread_over_time() -> None:
    endpoint = Endpoint(logits_of, per_second=50.0)
    start = time.monotonic()
    for _ in range(6):
        endpoint.ask(IMAGES)
    assert time.monotonic() - start > 0.09  # five pauses of a fiftieth


def test_labels_and_lists_are_answers_too() -> None:
    endpoint = Endpoint(lambda images: [int(label) for label in logits_of(images).argmax(axis=1)], num_classes=10)
    assert torch.equal(endpoint.ask(IMAGES).argmax(dim=1), torch.from_numpy(logits_of(IMAGES).argmax(axis=1)))
    assert endpoint.labels


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 0}, "batch=0 must be a whole number from 1 up"),
        ({"retries": -1}, "retries=-1"),
        ({"parallel": 1.5}, "parallel=1.5"),
        ({"max_requests": 0}, "max_requests=0"),
        ({"timeout": 0.0}, "timeout=0.0 must be a number above 0"),
        ({"per_second": float("inf")}, "per_second=inf"),
        ({"num_classes": 1}, "num_classes=1"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Endpoint(logits_of, **arguments)


def test_what_is_no_endpoint() -> None:
    with pytest.raises(InputError, match="a function of images or a URL"):
        Endpoint(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected http"):
        Endpoint("file:///etc/passwd")


def test_two_endpoints_are_told_apart_by_their_names() -> None:
    named = [Endpoint(logits_of, identity=name) for name in ("a", "b", "a")]
    first, second, third = map(models.identity_of, named)
    assert first == third != second
    with pytest.raises(InputError, match="identity="):
        models.identity_of(Endpoint(logits_of))


def test_headers_and_other_answers() -> None:
    with serving("ok", "other") as server:
        client = HttpJson(server.url, headers={"Authorization": "Bearer secret"})
        assert np.array_equal(np.array(client(IMAGES), np.float32), logits_of(IMAGES))
        assert server.headers == ["Bearer secret"]
        assert "secret" not in repr(client)
        with pytest.raises(ValueError, match='without "predictions"'):
            client(IMAGES)


def test_the_number_of_classes_may_be_given_where_it_is_certified() -> None:
    endpoint = Endpoint(lambda images: [0] * len(images), identity="always 0", **QUICK)
    told = models.adapt(endpoint, num_classes=3)
    assert isinstance(told, Endpoint)
    assert told.ask(np.zeros((2, 1, 4, 4), np.float32)).shape == (2, 3)
    assert endpoint.requests == 1  # of both, which share what may be sent
    with pytest.raises(InputError, match="has 3 classes, not 4"):
        models.adapt(told, num_classes=4)
