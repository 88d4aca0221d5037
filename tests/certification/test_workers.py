"""Batches side by side: the same counts as one after another."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from randsmooth import models
from randsmooth.certification import Engine
from randsmooth.certification.engine import WorkerPool
from randsmooth.certification.scheduler import count_classes
from randsmooth.errors import InputError

CPU = torch.device("cpu")


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_workers_have_one_thread_and_the_caller_keeps_its_own(two_threads: None) -> None:
    seen = list(WorkerPool(3).map(lambda _: (torch.get_num_threads(), threading.get_ident()), range(30)))
    assert {threads for threads, _ in seen} == {1}
    assert threading.get_ident() not in {who for _, who in seen}
    assert torch.get_num_threads() == 2
    alone = list(WorkerPool(1).map(lambda _: (torch.get_num_threads(), threading.get_ident()), [0]))
    assert alone == [(2, threading.get_ident())]  # a single one is the caller


def test_every_worker_has_a_buffer_of_its_own() -> None:
    pool, together = WorkerPool(2), threading.Barrier(2)

    def own(_: int) -> torch.Tensor:
        together.wait()  # so that both workers are at it
        first, again = (pool.buffer((4, 1, 2, 2), CPU) for _ in range(2))
        assert first is again and pool.buffer((5, 1, 2, 2), CPU) is not first
        return first

    one, other = pool.map(own, range(2))
    assert one is not other


@pytest.mark.parametrize("backend", ["torch", pytest.param("openvino", marks=pytest.mark.slow)])
def test_counts_do_not_depend_on_the_workers(backend: str, two_threads: None) -> None:
    if backend == "openvino":
        pytest.importorskip("openvino")
    torch.manual_seed(0)
    network = models.build("small-cnn", in_channels=1, image_size=8, num_classes=10).eval()
    x = torch.rand(1, 8, 8)
    counts = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        engine = Engine(network, sigma=0.5, device=CPU, backend=backend)
        counts.append(count_classes(engine, x, [("a", 3000), ("b", 100)]))
        assert engine.workers.number == threads + (backend == "openvino")  # who draws while the others wait
        assert engine.backend.workers == threads
    np.testing.assert_array_equal(counts[0], counts[1])


def test_large_images_take_one_lane_with_all_threads(two_threads: None) -> None:
    network = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 4)).eval()
    engine = Engine(network, sigma=0.5, device=CPU)
    engine.prepare((3, 224, 224))
    assert engine.workers.number == 1 and engine.size == 32


def test_an_error_in_a_lane_reaches_the_caller(two_threads: None) -> None:
    network = models.build("small-cnn", in_channels=1, image_size=8, num_classes=10).eval()
    with pytest.raises(InputError, match="refuses images of shape"):
        count_classes(Engine(network, sigma=0.5, device=CPU), torch.rand(3, 8, 8), [("a", 10)])
