"""Counting under noise: the right samples, counted once, whatever the batch."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import randsmooth as rs
from randsmooth import models
from randsmooth.certificates import BATCH_MATTERS
from randsmooth.certificates.settings import BLOCK, FINE
from randsmooth.certification import Engine, SmoothedClassifier
from randsmooth.certification.algorithm import Job, SampleRange, Steps
from randsmooth.certification.engine import Segment, packed, segments, take_batch
from randsmooth.certification.scheduler import Scheduler, count_classes
from randsmooth.errors import InputError, Note
from randsmooth.noise import Stream, address_of, draw

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


def counted_slowly(network: nn.Module, x: torch.Tensor, name: str, n: int, seed: int = 0) -> list[int]:
    """One sample at a time, each drawn from its address."""
    counts = [0] * 10
    for sample in range(n):
        block, place = divmod(sample, BLOCK)
        noise = draw((BLOCK, *x.shape), SIGMA, stream=Stream(seed, name).at(address_of(x), block))[place]
        with torch.no_grad():
            counts[int(network((x + noise)[None]).argmax())] += 1
    return counts


def test_counts_are_those_of_one_sample_at_a_time(network: nn.Module, image: torch.Tensor) -> None:
    for n in (1, BLOCK - 1, BLOCK, 3 * BLOCK + 7):
        counts = count_classes(Engine(network, sigma=SIGMA, device=CPU), image, [("a", 100), ("b", n)])
        assert counts.tolist() == [counted_slowly(network, image, name, k) for name, k in (("a", 100), ("b", n))]


def test_the_batch_size_does_not_change_the_noise(image: torch.Tensor) -> None:
    found = {}
    for batch in (BLOCK, 200, 512, 4096):
        model = Digits()
        found[batch] = count_classes(Engine(model, sigma=SIGMA, device=CPU, batch=batch), image, [("a", 1000)]).tolist()
        assert model.shapes == {(batch, 1, 8, 8)}  # also where the samples fill no batch
    assert all(counts == found[BLOCK] for counts in found.values())


def numbered(engine: Engine, numbers: list[int], images: torch.Tensor) -> dict[int, Any]:
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
        assert numbered(engine, list(range(39, -1, -2)), images) == {i: everything[i] for i in range(1, 40, 2)}
        for i in (0, 3, 17):
            assert numbered(Engine(model, sigma=SIGMA, device=CPU), [i], images) == {i: everything[i]}


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


def crooked(x: torch.Tensor, network: nn.Module) -> torch.Tensor:
    """Another answer from the 60th place on."""
    return torch.cat([network(x[:60]), network(x[60:]).roll(1, dims=1)])


def normed(x: torch.Tensor, network: nn.Module) -> torch.Tensor:
    """A batch norm by hand."""
    logits: torch.Tensor = network((x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), keepdim=True))
    return logits


def test_models_that_mix_their_batch_are_refused() -> None:
    norm = nn.Sequential(OrderedDict(norm=nn.BatchNorm2d(1, track_running_stats=False), flat=nn.Flatten())).eval()
    told = [(norm, "norm is a batch norm without running"), (torch.jit.script(norm), "norm is a batch norm without")]
    another = r"gives \d+ of \d+ noisy images another class beside other images"
    mixing = [(OfTheBatch(rule).eval(), another) for rule in (voted, normed, crooked)]
    for model, message in [*told, *mixing]:
        for seed in range(10):  # of the noise on the images that are tried
            with pytest.raises(InputError, match=message):
                SmoothedClassifier(model, sigma=SIGMA, n=100, seed=seed).certify(torch.rand(1, 1, 8, 8))


def test_a_model_that_mixes_its_batch_a_little_gets_a_note_in_its_table(tmp_path: Path) -> None:
    model = OfTheBatch(lambda x, network: network(x) * (1 + 1e-3 * x.abs().max())).eval()
    with pytest.warns(Note, match="which no certificate allows for"):
        SmoothedClassifier(model, sigma=SIGMA, n=100).certify(torch.rand(1, 1, 8, 8))
    rs.certify(model, "digits", sigma=SIGMA, n=100, take=2, out=tmp_path / "a.parquet", identity="mixes")
    table = rs.read(tmp_path / "a.parquet")
    assert table.header.notes == (BATCH_MATTERS,)
    assert BATCH_MATTERS in " ".join(rs.report.remarks([table]))


def test_another_address_has_other_noise(image: torch.Tensor) -> None:
    def counts(seed: int = 0, pixel: float = 0.5, name: str = "a") -> list[Any]:
        x = image.clone()
        x[0, 0, 0] = pixel  # which `Digits` does not look at
        found: list[Any] = count_classes(Engine(Digits(), sigma=SIGMA, device=CPU, seed=seed), x, [(name, 1000)])[
            0
        ].tolist()
        return found

    others = [counts(seed=1), counts(pixel=0.51), counts(name="b")]
    assert counts() == counts() and counts() not in others


def test_samples_are_gaussian_around_the_image(image: torch.Tensor) -> None:
    class Sign(nn.Module):
        """Class 1 where a pixel lies more than a sigma above its own place."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            above = (x[:, 0, 2, 5] > image[0, 2, 5] + SIGMA).float()
            return torch.stack([1 - above, above], dim=1)

    counts = count_classes(Engine(Sign(), sigma=SIGMA, device=CPU), image, [("a", 20_000)])[0]
    assert stats.binomtest(int(counts[1]), 20_000, stats.norm.sf(1.0)).pvalue > 1e-3


def test_the_model_is_copied_and_left_alone(network: nn.Module, image: torch.Tensor) -> None:
    model = models.build("small-cnn", in_channels=1, image_size=8, num_classes=10).eval()
    before = models.weights_hash(model)
    engine = Engine(model, sigma=SIGMA, device=CPU, precision="bf16")
    counts = count_classes(engine, image, [("a", 500)])
    assert models.weights_hash(model) == before
    assert all(parameter.requires_grad for parameter in model.parameters())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert np.array_equal(count_classes(engine, image, [("a", 500)]), counts)


def test_packing_keeps_every_sample_once(image: torch.Tensor) -> None:
    asks = [
        SampleRange("a", 0, 100),
        SampleRange("b", 0, 2 * BLOCK + 1),
        SampleRange("c", 64, 160, 32),
        SampleRange("a", 0, 100, 32),
        SampleRange("d", 0, 5),
    ]
    for mix, batch in itertools.product((True, False), (BLOCK, BLOCK + 50, 1024)):
        parts = [s for slot, ask in enumerate(asks) for s in segments(slot, image, Stream(slot, ask.name), ask)]
        groups = packed(iter(parts), batch, mix=mix)
        assert sorted(map(id, parts)) == sorted(id(segment) for group in groups for segment in group)
        assert all(0 < sum(segment.samples for segment in group) <= batch for group in groups)
        assert mix or all(len({segment.slot for segment in group}) == 1 for group in groups)
        for slot, ask in enumerate(asks):
            of_slot = [segment for segment in parts if segment.slot == slot]
            assert sum(segment.samples for segment in of_slot) == ask.stop - ask.start
            assert of_slot[0].stream.position == (ask.start // (ask.block or BLOCK),)
    queue = deque(Segment(i, image, Stream(0, "a"), n) for i, n in enumerate([100, 128, 28, 128]))
    assert [s.slot for s in take_batch(queue, 256, mix=True)] == [0, 1, 2]  # a gap is filled from further back
    assert [s.slot for s in queue] == [3]


class Sometimes(nn.Module):
    """A network with a layer that draws, whatever mode it is in."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Flatten(), nn.Linear(64, 16))
        self.doubt = AlwaysDropout()
        self.last = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.last(self.doubt(self.first(x)))
        return logits


class AlwaysDropout(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.5, training=True)


class Answer(nn.Module):
    """Gives the same logits for every image, whatever their shape."""

    def __init__(self, logits: Any) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tensor(self.logits).expand(len(x), *torch.tensor(self.logits).shape)


def test_answers_that_cannot_be_counted_are_refused(network: nn.Module, image: torch.Tensor) -> None:
    def counting(model: nn.Module, **fields: Any) -> Callable[[], object]:
        return lambda: count_classes(Engine(model, sigma=SIGMA, device=CPU, **fields), image, [("a", 50)], number=17)

    broken = "NaN or infinite logits for 50 of 50 noisy copies of image 17"
    table = [(broken, counting(Answer(logits))) for logits in ([0.0, math.nan], [math.inf, 0.0], [-math.inf, 0.0])]
    table += [("expected logits (512, K)", counting(Answer(logits))) for logits in (0.0, [[0.0, 1.0]])]
    table += [("fp8", counting(network, precision="fp8")), ("call to call", counting(Sometimes().eval()))]
    for said, refused in table:
        with pytest.raises(InputError) as error:
            refused()
        assert said in str(error.value), said


def test_a_batch_holds_a_block() -> None:
    model = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    for shape, least in (((3, 8, 8), BLOCK), ((3, 224, 224), FINE)):
        with pytest.raises(InputError) as error:
            Engine(model, sigma=SIGMA, device=CPU, batch=least - 1).prepare(shape)
        assert f"batch={least - 1} must be at least {least}" in str(error.value)
        engine = Engine(model, sigma=SIGMA, device=CPU, batch=least)
        assert count_classes(engine, torch.full(shape, 0.5), [("a", least + 1)]).sum() == least + 1


@pytest.mark.cuda
def test_cuda_counts_do_not_depend_on_the_batch(network: nn.Module, image: torch.Tensor) -> None:
    cuda = torch.device("cuda")
    counts = [
        count_classes(Engine(network, sigma=SIGMA, device=cuda, batch=b), image, [("a", 10_000)]) for b in (BLOCK, 4096)
    ]
    assert np.array_equal(counts[0], counts[1])


@pytest.mark.cuda
def test_sound_counts_are_the_same_on_cuda() -> None:
    """Of a model that reads a digit deep inside a pixel, so that every bit of every sample counts."""
    x = torch.randint(0, 256, (1, 8, 8), generator=torch.Generator().manual_seed(1)) / 255
    counts = [
        count_classes(
            Engine(Digits(), sigma=SIGMA, sound=True, device=torch.device(kind)), x, [("a", 5_000), ("b", 77)]
        )
        for kind in ("cpu", "cuda")
    ]
    assert np.array_equal(counts[0], counts[1])


class Small(nn.Module):
    """A model on a device whose memory holds so many images at once."""

    def __init__(self, holds: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.holds, self.layers = holds, nn.Sequential(nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if len(x) > self.holds:
            raise torch.OutOfMemoryError("CUDA out of memory")
        logits: torch.Tensor = self.layers(x)
        return logits


def test_a_batch_that_does_not_fit_into_memory_is_refused() -> None:
    for backend in ("torch", "auto"):
        with pytest.raises(InputError) as error:
            Engine(Small(400).eval(), sigma=SIGMA, device=CPU, backend=backend, batch=512).prepare((1, 8, 8))
        assert "batches of 512 " in str(error.value) and "batch=256" in str(error.value)
