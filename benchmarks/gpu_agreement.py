"""Whether a device draws the CPU's noise with --sound, how its counts compare, and what drawing takes of the time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from bandwidth import settle
from certification import SIGMA
from gpu_speed import Network
from randsmooth.certification import Engine
from randsmooth.certification.algorithm import ESTIMATE
from randsmooth.certification.scheduler import count_classes
from randsmooth.noise import Copies, Stream, grid_sampler, perturb
from randsmooth.noise.grid_on_device import GridOnDevice

NETWORK, SEGMENT, ROUNDS = Network("lenet", 1, 28, 0), 128, 10


def agreement(device: torch.device, samples: int) -> dict[str, Any]:
    """The noise of a few images, bit by bit; the counts of `samples` of one, in float32; seconds to draw a batch."""
    x = torch.randint(0, 256, NETWORK.shape, generator=torch.Generator().manual_seed(0)) / 255
    found: dict[str, Any] = {"same_noise": same_noise(x, device)}
    on_cpu, there = (_counts(x, torch.device(kind), samples) for kind in ("cpu", device))
    found["samples_counted_otherwise"] = int(np.abs(on_cpu - there).sum()) // 2
    found["samples"] = samples
    found["microseconds_to_draw_a_sample"] = _drawing(x.to(device), samples)
    print(
        f"--sound: the noise is {'' if found['same_noise'] else 'NOT '}the CPU's; of {samples:,} samples "
        f"{found['samples_counted_otherwise']} are counted otherwise in float32; a sample is drawn in "
        + ", ".join(f"{seconds:.3f} us ({how})" for how, seconds in found["microseconds_to_draw_a_sample"].items()),
        flush=True,
    )
    return found


def same_noise(x: torch.Tensor, device: torch.device) -> bool:
    """Whether samples of several streams are the same on the device, to the last bit."""
    sampler, sizes = grid_sampler(SIGMA), [SEGMENT, 5, SEGMENT]
    on_device = GridOnDevice(sampler.thresholds, sampler.low, sampler.high, device)
    groups = [Copies(x, Stream(0, "agreement").at(i), size) for i, size in enumerate(sizes)]
    here, there = torch.empty(sum(sizes), *x.shape), torch.empty(sum(sizes), *x.shape, device=device)
    sampler.perturb_together(here, groups)
    on_device.perturb(there, [group._replace(x=x.to(device)) for group in groups])
    return torch.equal(here, there.cpu())


def _counts(x: torch.Tensor, device: torch.device, samples: int) -> np.ndarray:
    engine = Engine(NETWORK.build(torch.device("cpu")), sigma=SIGMA, sound=True, device=device)
    return count_classes(engine, x, [(ESTIMATE, samples)])[0]


def _drawing(x: torch.Tensor, samples: int) -> dict[str, float]:
    """Microseconds a sample, of a batch of the engine's segments: rounded noise, and noise in float32."""
    segments = max(1, samples // SEGMENT)
    noisy = torch.empty(segments * SEGMENT, *x.shape, device=x.device)
    groups = [Copies(x, Stream(1, "drawing").at(i), SEGMENT) for i in range(segments)]

    def usual() -> None:
        for group, out in zip(groups, noisy.split(SEGMENT), strict=True):
            perturb(out, x, SIGMA, stream=group.stream)

    sampler = grid_sampler(SIGMA)
    ways = {"--sound": lambda: sampler.perturb_together(noisy, groups), "float32": usual}
    return {how: 1e6 * _seconds(draw, x.device) / len(noisy) for how, draw in ways.items()}


def _seconds(run: Any, device: torch.device) -> float:
    """The best of a few rounds."""
    times = []
    for _ in range(ROUNDS):
        settle(device)
        start = time.perf_counter()
        run()
        settle(device)
        times.append(time.perf_counter() - start)
    return min(times)
