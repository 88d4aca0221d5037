"""Counting under noise: the right samples, counted once, whatever the batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from randsmooth import models
from randsmooth.certification import Engine
from randsmooth.certification.engine import BLOCK, pack, segments, usual_batch
from randsmooth.errors import InputError
from randsmooth.noise import Stream, draw

CPU = torch.device("cpu")
SIGMA = 0.5


@pytest.fixture(scope="module")
def network() -> nn.Module:
    torch.manual_seed(0)
    return models.build("small-cnn", in_channels=1, image_size=8, num_classes=10).eval()


@pytest.fixture(scope="module")
def image() -> torch.Tensor:
    return torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(1))


class Recording(nn.Module):
    """Remembers the batches it is given; copies of it (the engine makes one) share the memory."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.seen: list[torch.Tensor] = []

    def __deepcopy__(self, memo: dict) -> Recording:
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.append(x.clone())
        return self.inner(x)


def counted_slowly(network: nn.Module, x: torch.Tensor, number: int, name: str, n: int, seed: int = 0) -> list[int]:
    """One sample at a time, each drawn from its address."""
    counts = [0] * 10
    for sample in range(n):
        block, place = divmod(sample, BLOCK)
        noise = draw((BLOCK, *x.shape), SIGMA, stream=Stream(seed, name).at(number, block))[place]
        with torch.no_grad():
            counts[int(network((x + noise)[None]).argmax())] += 1
    return counts


@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, 3 * BLOCK + 7])
def test_counts_are_those_of_one_sample_at_a_time(n: int, network: nn.Module, image: torch.Tensor) -> None:
    counts = Engine(network, SIGMA, device=CPU).count(5, image, [("a", 100), ("b", n)])
    assert counts.tolist() == [counted_slowly(network, image, 5, name, k) for name, k in (("a", 100), ("b", n))]


@pytest.mark.parametrize("batch", [BLOCK, 200, 512, 4096])
def test_the_batch_size_does_not_change_the_noise(batch: int, network: nn.Module, image: torch.Tensor) -> None:
    recordings = [Recording(network), Recording(network)]
    counts = [
        Engine(model, SIGMA, device=CPU, batch=size).count(0, image, [("a", 1000)])
        for model, size in zip(recordings, (BLOCK, batch), strict=True)
    ]
    assert torch.equal(*(torch.cat(model.seen) for model in recordings))
    assert np.array_equal(*counts)
    assert max(len(seen) for seen in recordings[1].seen) <= batch


def test_neither_order_nor_neighbours_matter(network: nn.Module) -> None:
    images = torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(2))
    engine = Engine(network, SIGMA, device=CPU)
    forward = {i: engine.count(i, images[i], [("a", 300)]) for i in (0, 1, 2, 3)}
    backward = {i: Engine(network, SIGMA, device=CPU).count(i, images[i], [("a", 300)]) for i in (3, 1)}
    assert all(np.array_equal(forward[i], backward[i]) for i in backward)


@pytest.mark.parametrize("change", [{"seed": 1}, {"number": 1}, {"name": "b"}])
def test_another_address_has_other_noise(change: dict, network: nn.Module, image: torch.Tensor) -> None:
    def samples(seed: int = 0, number: int = 0, name: str = "a") -> torch.Tensor:
        model = Recording(network)
        Engine(model, SIGMA, device=CPU, seed=seed).count(number, image, [(name, 10)])
        return model.seen[0]

    assert not torch.isclose(samples(), samples(**change)).any()


def test_selection_and_estimation_share_no_sample(network: nn.Module, image: torch.Tensor) -> None:
    model = Recording(network)
    Engine(model, SIGMA, device=CPU, batch=BLOCK).count(0, image, [("a", BLOCK), ("b", BLOCK)])
    first, second = model.seen
    assert not torch.isclose(first, second).any()


def test_samples_are_gaussian_around_the_image(network: nn.Module, image: torch.Tensor) -> None:
    model = Recording(network)
    Engine(model, SIGMA, device=CPU).count(0, image, [("a", 20_000)])
    noise = (torch.cat(model.seen) - image).double()
    assert abs(float(noise.mean())) < 4 * SIGMA / noise.numel() ** 0.5
    assert float(noise.std()) == pytest.approx(SIGMA, rel=0.003)


def test_the_model_is_copied_and_left_alone(network: nn.Module, image: torch.Tensor) -> None:
    model = models.build("small-cnn", in_channels=1, image_size=8, num_classes=10).eval()
    before = models.weights_hash(model)
    engine = Engine(model, SIGMA, device=CPU, precision="bf16")
    counts = engine.count(0, image, [("a", 500)])
    assert models.weights_hash(model) == before
    assert all(parameter.requires_grad for parameter in model.parameters())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert np.array_equal(engine.count(0, image, [("a", 500)]), counts)


@pytest.mark.parametrize("plan", [[("a", 1)], [("a", 100), ("b", 1000)], [("a", BLOCK), ("b", 2 * BLOCK + 1)]])
@pytest.mark.parametrize("batch", [BLOCK, BLOCK + 50, 1024])
def test_packing_keeps_every_segment_once_in_order(plan: list[tuple[str, int]], batch: int) -> None:
    queue = list(segments(3, 0, plan))
    groups = list(pack(queue, batch))
    assert [segment for group in groups for segment in group] == queue
    assert all(0 < sum(segment.samples for segment in group) <= batch for group in groups)
    assert sum(segment.samples for segment in queue) == sum(n for _, n in plan)


@pytest.mark.parametrize(
    ("shape", "device", "batch"),
    [((1, 8, 8), "cpu", 256), ((3, 32, 32), "cpu", BLOCK), ((3, 224, 224), "cpu", BLOCK), ((3, 32, 32), "cuda", 5376)],
)
def test_usual_batches_are_whole_blocks(shape: tuple[int, ...], device: str, batch: int) -> None:
    assert usual_batch(torch.device(device), shape) == batch


class Answer(nn.Module):
    """Gives the same logits for every image, whatever their shape."""

    def __init__(self, logits: list) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tensor(self.logits).expand(len(x), *torch.tensor(self.logits).shape)


@pytest.mark.parametrize("logits", [[0.0, float("nan")], [float("inf"), 0.0], [-float("inf"), 0.0]])
def test_logits_that_are_not_finite_name_the_image(logits: list[float], image: torch.Tensor) -> None:
    with pytest.raises(InputError, match=r"NaN or infinite logits for 50 of 50 noisy copies of image 17"):
        Engine(Answer(logits), SIGMA, device=CPU).count(17, image, [("a", 50)])


@pytest.mark.parametrize("logits", [0.0, [[0.0, 1.0]]])
def test_answers_that_are_no_logits(logits: list, image: torch.Tensor) -> None:
    with pytest.raises(InputError, match=r"expected logits \(50, K\)"):
        Engine(Answer(logits), SIGMA, device=CPU).count(0, image, [("a", 50)])


def test_bad_settings(network: nn.Module) -> None:
    with pytest.raises(InputError, match="fp8"):
        Engine(network, SIGMA, device=CPU, precision="fp8")
    with pytest.raises(InputError, match="batch=64 must be at least 128"):
        Engine(network, SIGMA, device=CPU, batch=64)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_counts_do_not_depend_on_the_batch(network: nn.Module, image: torch.Tensor) -> None:
    cuda = torch.device("cuda")
    counts = [Engine(network, SIGMA, device=cuda, batch=b).count(0, image, [("a", 10_000)]) for b in (BLOCK, 4096)]
    assert np.array_equal(*counts)
