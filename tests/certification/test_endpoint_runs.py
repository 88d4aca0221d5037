"""Certifying through an endpoint: every sample is paid for once, whatever fails or stops."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

import randsmooth as rs
from certification.runs import same
from flaky_server import WEIGHTS, logits_of, serving
from randsmooth.errors import InputError, Note
from randsmooth.models import EndpointError

SIGMA, N0, N = 0.25, 100, 330
SETTINGS: dict[str, Any] = {"sigma": SIGMA, "n0": N0, "n": N, "take": 4}


class Local(nn.Module):
    """What the server computes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weights", torch.from_numpy(WEIGHTS))
        self.weights: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.flatten(1).double() @ self.weights.double()).float()


def same_counts(a: rs.Certificates, b: rs.Certificates) -> bool:
    assert a.counts is not None
    assert b.counts is not None
    return np.array_equal(a.counts, b.counts)


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    digits = rs.data.load("digits")
    return digits.batch(rs.data.take(len(digits), 4))[0]


class Sent:
    """Counts the images that it is called with."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        self.sizes.append(len(images))
        return logits_of(images)


@pytest.mark.parametrize("batch", [1, 7, 64, 300])
@pytest.mark.parametrize("backend", [None, "auto"])
def test_exactly_the_samples_are_sent(batch: int, backend: str | None, images: torch.Tensor) -> None:
    call, few = Sent(), images[:2]
    smoothed = rs.SmoothedClassifier(
        rs.Endpoint(call, num_classes=10, batch=batch), sigma=SIGMA, seed=3, backend=backend
    )
    paid = smoothed.certify(few, n0=N0, n=N)
    assert sum(call.sizes) == 2 * (N0 + N)
    assert len(call.sizes) == -(-2 * (N0 + N) // batch)  # all requests but the last are full
    local = rs.SmoothedClassifier(Local().eval(), sigma=SIGMA, seed=3).certify(few, n0=N0, n=N)
    assert np.array_equal(paid.counts, local.counts)
    assert np.array_equal(paid.counts0, local.counts0)
    assert smoothed.predict(few, n=50).shape == (2,)
    assert sum(call.sizes) == 2 * (N0 + N + 50)


def test_one_image_tells_how_many_classes_there_are(images: torch.Tensor) -> None:
    call = Sent()
    rs.SmoothedClassifier(rs.Endpoint(call), sigma=SIGMA).certify(images[:1], n0=N0, n=N)
    assert call.sizes[0] == 1
    assert sum(call.sizes) == N0 + N + 1


@pytest.mark.parametrize("rule", ["fixed", "grid", "anytime"])
def test_sequential_rules_send_what_they_count(rule: str, images: torch.Tensor) -> None:
    call = Sent()
    endpoint = rs.Endpoint(call, num_classes=10, batch=33)
    certified = rs.SmoothedClassifier(endpoint, sigma=SIGMA, seed=0).certify(images, n0=N0, n=1000, rule=rule)
    assert sum(call.sizes) == certified.counts0.sum() + certified.counts.sum()


def test_sound_noise_is_that_of_any_other_batch(images: torch.Tensor) -> None:
    on_grid = (images * 255).round() / 255
    counts = [
        rs.SmoothedClassifier(model, sigma=SIGMA, seed=0, sound=True).certify(on_grid, n0=N0, n=N).counts
        for model in (rs.Endpoint(logits_of, num_classes=10, batch=13), Local().eval())
    ]
    assert np.array_equal(counts[0], counts[1])


@pytest.mark.slow
def test_a_run_over_http_that_fails_now_and_then(tmp_path: Path) -> None:
    with serving("ok", "500", "ok", "drop", "ok", "shape", "ok", "slow", "ok", delay=0.002) as server:
        endpoint = rs.Endpoint(server.url, batch=20, retries=8, backoff=0.01, timeout=0.5, parallel=3, identity="flaky")
        table = rs.certify(endpoint, "digits", **SETTINGS, out=tmp_path / "paid.parquet")
        assert server.images == 4 * (N0 + N) == endpoint.images
        assert set(server.answered.values()) == {1}
        assert server.largest <= 20
        assert server.together > 1
    local = rs.certify(Local().eval(), "digits", **SETTINGS, out=tmp_path / "local.parquet")
    assert same_counts(table, local)
    assert table.header.backend == "endpoint"
    assert not list(tmp_path.glob("*.answers"))


@pytest.mark.parametrize("parallel", [1, 4])
def test_a_run_stops_when_its_requests_are_used_up_and_goes_on(parallel: int, tmp_path: Path) -> None:
    out = tmp_path / "paid.parquet"
    with serving() as server:
        stops = 0
        while not out.exists():
            endpoint = rs.Endpoint(server.url, batch=20, max_requests=37, parallel=parallel, identity="limited")
            try:
                rs.certify(endpoint, "digits", **SETTINGS, out=out, resume=stops > 0)
            except EndpointError as error:
                stops += 1
                finished = stops * 37 * 20 // (N0 + N)
                assert f"; {finished} images are finished, and " in str(error)
                assert "To go on: resume=True (--resume)" in str(error)
                assert out.with_name("paid.parquet.answers").exists()
        assert stops == 2
        assert set(server.answered.values()) == {1}
        assert server.images == 4 * (N0 + N)
    local = rs.certify(Local().eval(), "digits", **SETTINGS, out=tmp_path / "local.parquet")
    assert same_counts(rs.read(out), local)
    assert not list(tmp_path.glob("*.answers"))


def test_a_resumed_run_may_ask_in_smaller_batches(tmp_path: Path) -> None:
    call, out = Sent(), tmp_path / "paid.parquet"
    with pytest.raises(EndpointError):
        rs.certify(rs.Endpoint(call, batch=50, max_requests=11, identity="a"), "digits", **SETTINGS, out=out)
    rs.certify(rs.Endpoint(call, batch=9, identity="a"), "digits", **SETTINGS, out=out, resume=True)
    assert sum(call.sizes) == 4 * (N0 + N)
    assert max(call.sizes[11:]) == 9


def test_an_endpoint_that_never_answers_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    out = tmp_path / "paid.parquet"
    with serving("500") as server, pytest.raises(EndpointError, match="no usable answer in 2 tries"):
        endpoint = rs.Endpoint(server.url, retries=1, backoff=0.001, identity="down")
        rs.certify(endpoint, "digits", **SETTINGS, out=out)
    assert not list(tmp_path.iterdir())
    with serving() as server:
        rs.certify(rs.Endpoint(server.url, identity="down"), "digits", **SETTINGS, out=out)


def test_what_was_kept_is_of_one_run_only(tmp_path: Path) -> None:
    call, out = Sent(), tmp_path / "paid.parquet"
    with pytest.raises(EndpointError):
        rs.certify(rs.Endpoint(call, batch=20, max_requests=3, identity="a"), "digits", **SETTINGS, out=out)
    with pytest.raises(InputError, match="begun differently"):
        rs.certify(rs.Endpoint(call, batch=20, identity="b"), "digits", **SETTINGS, out=out, resume=True)
    again = {**SETTINGS, "sigma": 0.5}
    table = rs.certify(rs.Endpoint(call, batch=20, identity="a"), "digits", **again, out=out, overwrite=True)
    assert sum(call.sizes) == 60 + 4 * (N0 + N)
    fresh = rs.certify(rs.Endpoint(call, batch=20, identity="a"), "digits", **again, out=tmp_path / "fresh.parquet")
    assert same(table, fresh)


def test_a_torn_or_damaged_line_is_asked_for_again(tmp_path: Path) -> None:
    call, out = Sent(), tmp_path / "paid.parquet"
    with pytest.raises(EndpointError):
        rs.certify(rs.Endpoint(call, batch=20, max_requests=10, identity="a"), "digits", **SETTINGS, out=out)
    kept = out.with_name("paid.parquet.answers")
    content = kept.read_bytes()
    kept.write_bytes(content[:-7])  # as a power failure may leave it
    with pytest.raises(EndpointError):
        again = rs.Endpoint(call, batch=20, max_requests=3, identity="a")
        rs.certify(again, "digits", **SETTINGS, out=out, resume=True)
    lines = kept.read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b"[", b"{", 1)
    kept.write_bytes(b"\n".join(lines))
    with pytest.warns(Note, match="line 4 is damaged"):
        rs.certify(rs.Endpoint(call, batch=20, identity="a"), "digits", **SETTINGS, out=out, resume=True)
    local = rs.certify(Local().eval(), "digits", **SETTINGS, out=tmp_path / "local.parquet")
    assert same_counts(rs.read(out), local)


RUN = """
import sys
import randsmooth as rs
url, out, resume = sys.argv[1:]
endpoint = rs.Endpoint(url, batch=10, identity="killed")
rs.certify(endpoint, "digits", sigma=0.25, n0=100, n=330, take=4, out=out, resume=resume == "resume")
"""


@pytest.mark.slow
def test_a_killed_run_does_not_pay_again(tmp_path: Path) -> None:
    out = tmp_path / "paid.parquet"
    with serving(delay=0.02) as server:
        run = subprocess.Popen([sys.executable, "-c", RUN, server.url, out, "new"], env=os.environ)
        while server.images < 500:
            assert run.poll() is None
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
        run.wait()
        time.sleep(0.2)
        server.delay = 0.0
        subprocess.run([sys.executable, "-c", RUN, server.url, out, "resume"], env=os.environ, check=True)
        assert server.images - 4 * (N0 + N) in (0, 10)  # at most the request that was under way is asked again
        assert len(server.answered) == 4 * (N0 + N)


def test_precision_and_small_batches_of_networks_are_refused() -> None:
    with pytest.raises(InputError, match="an endpoint computes as it does"):
        rs.SmoothedClassifier(rs.Endpoint(logits_of, num_classes=10), sigma=SIGMA, precision="bf16")
    with pytest.raises(InputError, match="batch=7 must be at least 128"):
        rs.SmoothedClassifier(Local().eval(), sigma=SIGMA, batch=7).certify(torch.zeros(1, 1, 8, 8), n=100)
