"""Counting under noise: the right samples, counted once, whatever the batch."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import randsmooth as rs
from models.refusing import check_refusals
from randsmooth import models
from randsmooth.certificates import BATCH_MATTERS
from randsmooth.certificates.settings import BLOCK, FINE
from randsmooth.certification import Engine, SmoothedClassifier
from randsmooth.certification.batches import SampleRange
from randsmooth.certification.scheduler import Job, Scheduler, Steps, count_classes
from randsmooth.errors import (
    BadValue,
    ModelFailed,
    TooLarge,
    UnknownName,
    WrongModel,
)
from randsmooth.noise import Stream, address_of, draw
from values import Refusal, noted, refused

CPU = torch.device("cpu")
SIGMA = 0.5


@pytest.fixture(scope="module")
def network() -> nn.Module:
    torch.manual_seed(0)
    return models.build("small-cnn", in_channels=1, image_size=8, num_classes=10).eval()


@pytest.fixture(scope="module")
def image() -> torch.Tensor:
    return torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(1))


class Digits(nn.Module):
    """Answers with a digit deep inside a pixel, so that no two noisy images are alike to it; notes the shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: set[tuple[int, ...]] = set()

    def __deepcopy__(self, memo: dict[str, Any]) -> Digits:
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.shapes.add(tuple(x.shape))
        digit = (x[:, 0, 3, 3] * 1e4).floor().long() % 10
        return nn.functional.one_hot(digit, 10).float()


def counted_slowly(
    network: nn.Module, x: torch.Tensor, name: str, n: int, seed: int = 0
) -> list[int]:
    """One sample at a time, each drawn from its address."""
    counts = [0] * 10
    for sample in range(n):
        block, place = divmod(sample, BLOCK)
        noise = draw(
            (BLOCK, *x.shape), SIGMA, stream=Stream(seed, name).at(address_of(x), block)
        )[place]
        with torch.no_grad():
            counts[int(network((x + noise)[None]).argmax())] += 1
    return counts


def test_counts_are_those_of_one_sample_at_a_time(
    network: nn.Module, image: torch.Tensor
) -> None:
    for n in (1, BLOCK - 1, BLOCK, 3 * BLOCK + 7):
        counts = count_classes(
            Engine(network, sigma=SIGMA, device=CPU), image, [("a", 100), ("b", n)]
        )
        assert counts.tolist() == [
            counted_slowly(network, image, name, k)
            for name, k in (("a", 100), ("b", n))
        ]


def test_the_batch_size_does_not_change_the_noise(image: torch.Tensor) -> None:
    found = {}
    for batch in (BLOCK, 200, 512, 4096):
        model = Digits()
        found[batch] = count_classes(
            Engine(model, sigma=SIGMA, device=CPU, batch=batch), image, [("a", 1000)]
        ).tolist()
        assert model.shapes == {
            (batch, 1, 8, 8)
        }  # also where the samples fill no batch
    assert all(counts == found[BLOCK] for counts in found.values())


def numbered(
    engine: Engine, numbers: list[int], images: torch.Tensor
) -> dict[int, Any]:
    """Every image's counts, asked for in parts as a sequential rule does: as many as its own answers decide."""

    def steps(i: int) -> Steps[list[Any]]:
        first = yield [SampleRange("a", 0, 100, 32), SampleRange("b", 0, 64, 32)]
        counts, n = first[1], 64
        while n < 64 + 96 * (i % 4) + 32 * (int(counts[0]) % 3):
            (more,) = yield [SampleRange("b", n, n + 32, 32)]
            counts, n = counts + more, n + 32
        return [first[0].tolist(), counts.tolist()]

    jobs = [Job(i, images[i], steps(i)) for i in numbers]
    finished = list(Scheduler[list[Any]](engine).run(jobs))
    assert sorted(job.number for job in finished) == sorted(numbers)
    assert all(job.seconds > 0 for job in finished)
    return {job.number: job.result for job in finished}


class Scaled(nn.Module):
    """Whose answer depends on the largest number in the batch, though too little to change a class."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.inner(x)
        return logits * (1 + 1e-3 * x.abs().max())


def test_neither_order_nor_neighbours_matter(network: nn.Module) -> None:
    images = torch.rand(40, 1, 8, 8, generator=torch.Generator().manual_seed(2))
    for model, mixes in ((network, True), (Digits(), True), (Scaled(Digits()), False)):
        engine = Engine(model, sigma=SIGMA, device=CPU)
        everything = numbered(engine, list(range(40)), images)
        assert engine.mixes == mixes
        assert numbered(engine, list(range(39, -1, -2)), images) == {
            i: everything[i] for i in range(1, 40, 2)
        }
        for i in (0, 3, 17):
            assert numbered(Engine(model, sigma=SIGMA, device=CPU), [i], images) == {
                i: everything[i]
            }


class OfTheBatch(nn.Module):
    """A network whose answer for an image depends on the others in its batch, by `rule` (x, network)."""

    def __init__(self, rule: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.rule, self.network = rule, nn.Sequential(nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.rule(x, self.network)
        return answer


def voted(x: torch.Tensor, network: nn.Module) -> torch.Tensor:
    """The answer of most."""
    winner = network(x).argmax(1).bincount(minlength=10).argmax()
    return nn.functional.one_hot(winner, 10).float().expand(len(x), 10)


def normed(x: torch.Tensor, network: nn.Module) -> torch.Tensor:
    """A batch norm by hand."""
    logits: torch.Tensor = network(
        (x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), keepdim=True)
    )
    return logits


def test_models_that_mix_their_batch_are_refused() -> None:
    norm = nn.Sequential(
        OrderedDict(
            norm=nn.BatchNorm2d(1, track_running_stats=False), flat=nn.Flatten()
        )
    ).eval()
    of_the_batch = [OfTheBatch(rule).eval() for rule in (voted, normed)]
    for model in (norm, torch.jit.script(norm), *of_the_batch):
        for seed in range(3):  # of the noise on the images that are tried
            with refused(WrongModel):
                SmoothedClassifier(model, sigma=SIGMA, n=100, seed=seed).certify(
                    torch.rand(1, 1, 8, 8)
                )


def test_a_model_that_mixes_its_batch_a_little_gets_a_note_in_its_table(
    tmp_path: Path,
) -> None:
    model = OfTheBatch(
        lambda x, network: network(x) * (1 + 1e-3 * x.abs().max())
    ).eval()
    with noted("batch_matters"):
        SmoothedClassifier(model, sigma=SIGMA, n=100).certify(torch.rand(1, 1, 8, 8))
    rs.certify(
        model,
        "digits",
        sigma=SIGMA,
        n=100,
        take=2,
        out=tmp_path / "a.parquet",
        identity="mixes",
    )
    table = rs.read(tmp_path / "a.parquet")
    assert table.header.notes == (BATCH_MATTERS,)
    assert str(BATCH_MATTERS) in " ".join(map(str, rs.report.remarks([table])))


class Sometimes(nn.Module):
    """A network with a layer that draws, whatever mode it is in."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x.flatten(1)[:, :10], 0.5, training=True)


class Answer(nn.Module):
    """Gives the same logits for every image, whatever their shape."""

    def __init__(self, logits: Any) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tensor(self.logits).expand(
            len(x), *torch.tensor(self.logits).shape
        )


def test_answers_that_cannot_be_counted_are_refused(
    network: nn.Module, image: torch.Tensor
) -> None:
    def counting(model: nn.Module, **fields: Any) -> Callable[[], object]:
        return lambda: count_classes(
            Engine(model, sigma=SIGMA, device=CPU, **fields),
            image,
            [("a", 50)],
            number=17,
        )

    broken = Refusal(ModelFailed, "50 of 50", "image 17")
    check_refusals(
        [
            *(
                (counting(Answer(logits)), broken)
                for logits in ([0.0, math.nan], [math.inf, 0.0], [-math.inf] * 2)
            ),
            *(
                (counting(Answer(logits)), Refusal(WrongModel, "(256, K)"))
                for logits in (0.0, [[0.0, 1.0]])
            ),
            (
                counting(network, precision="fp8"),
                Refusal(UnknownName, "fp8", field="precision"),
            ),
            (counting(Sometimes().eval()), Refusal(WrongModel)),
        ]
    )


def test_a_batch_holds_a_block_and_fits_into_memory() -> None:
    model = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    for shape, least in (((3, 8, 8), BLOCK), ((3, 224, 224), FINE)):
        small = Engine(model, sigma=SIGMA, device=CPU, batch=least - 1)
        check_refusals(
            [
                (
                    lambda: small.prepare(shape),  # noqa: B023
                    Refusal(BadValue, f"batch={least - 1}", str(least), field="batch"),
                )
            ]
        )
        engine = Engine(model, sigma=SIGMA, device=CPU, batch=least)
        assert (
            count_classes(engine, torch.full(shape, 0.5), [("a", least + 1)]).sum()
            == least + 1
        )
    tight = [
        Engine(Small().eval(), sigma=SIGMA, device=CPU, backend=each, batch=512)
        for each in ("torch", "auto")
    ]
    check_refusals(
        (
            partial(each.prepare, (1, 8, 8)),
            Refusal(TooLarge, "512", "batch=256", field="batch"),
        )
        for each in tight
    )


@pytest.mark.cuda
def test_cuda_counts_do_not_depend_on_the_batch_and_sound_ones_are_those_of_the_cpu(
    network: nn.Module, image: torch.Tensor
) -> None:
    """The model reads a digit deep inside a pixel, so that every bit of every sample counts."""
    cuda, plan = torch.device("cuda"), [("a", 5_000), ("b", 77)]
    one, other = (
        count_classes(Engine(network, sigma=SIGMA, device=cuda, batch=b), image, plan)
        for b in (BLOCK, 4096)
    )
    assert np.array_equal(one, other)
    x = (
        torch.randint(0, 256, (1, 8, 8), generator=torch.Generator().manual_seed(1))
        / 255
    )
    one, other = (
        count_classes(Engine(Digits(), sigma=SIGMA, sound=True, device=d), x, plan)
        for d in (CPU, cuda)
    )
    assert np.array_equal(one, other)


class Small(nn.Module):
    """A model on a device whose memory holds 400 images at once."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if len(x) > 400:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return x.flatten(1)[:, :10]


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    "backend", ["torch", pytest.param("openvino", marks=pytest.mark.slow)]
)
def test_counts_do_not_depend_on_the_workers(backend: str, two_threads: None) -> None:
    if backend == "openvino":
        pytest.importorskip("openvino")
    torch.manual_seed(0)
    network = models.build(
        "small-cnn", in_channels=1, image_size=8, num_classes=10
    ).eval()
    x = torch.rand(1, 8, 8)
    counts = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        engine = Engine(network, sigma=0.5, device=CPU, backend=backend)
        counts.append(count_classes(engine, x, [("a", 3000), ("b", 100)]))
        assert engine.workers.number == threads + (
            backend == "openvino"
        )  # who draws while the others wait
        assert engine.backend.workers == threads
    np.testing.assert_array_equal(counts[0], counts[1])
    other_channels = partial(count_classes, engine, torch.rand(3, 8, 8), [("a", 10)])
    check_refusals(
        [(other_channels, Refusal(ModelFailed))]
    )  # a worker's error reaches the caller
