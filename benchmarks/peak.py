"""What share of the machine's peak the engine reaches on each network: products a second while noise is drawn too.

    python benchmarks/peak.py [--cpu-time] [--only lenet] [--out results/bench/peak-cpu.json]

The peak is what a matrix product or a convolution of 128 channels does in the same arithmetic, whichever is faster,
one on each thread. It is measured before each run of a network, in the same process; the backends take turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from harness import ROUNDS, Figure, finish, rate
from randsmooth import models
from randsmooth.certificates import Precision
from randsmooth.certification import Engine
from randsmooth.certification.algorithm import ESTIMATE
from randsmooth.certification.backends import candidates, weighed
from randsmooth.certification.backends.torch_backend import DTYPES
from randsmooth.certification.scheduler import count_classes
from randsmooth.certification.workers import WorkerPool

CPU, SIGMA = torch.device("cpu"), 0.5
SIDE, CHANNELS, BATCH, TIMES = 1024, 128, 64, 4  # of what measures the peak
CASES = {  # channels, side, samples, and the shares of the peak to reach in float32 and in a shorter format
    "lenet": (1, 28, 16_384, 0.35, 0.35),
    "resnet20": (3, 32, 2_048, 0.7, 0.7),
    "resnet110": (3, 32, 512, 0.7, 0.7),
}


def operations(model: nn.Module, shape: tuple[int, ...]) -> int:
    """Multiplications and additions in the convolutions and linear layers, for one image of `shape` (C, H, W)."""
    found = 0

    def count(layer: nn.Module, inputs: object, output: torch.Tensor) -> None:
        nonlocal found
        weight: torch.Tensor = layer.weight  # type: ignore[assignment]
        found += 2 * output.numel() * weight[0].numel()

    hooks = [each.register_forward_hook(count) for each in model.modules() if isinstance(each, nn.Conv2d | nn.Linear)]
    with torch.inference_mode():
        model(torch.zeros(1, *shape))
    for hook in hooks:
        hook.remove()
    return found


def peak(precision: Precision, clock: Callable[[], float]) -> Callable[[], float]:
    """What measures the operations a second of all threads in this arithmetic."""
    kind, pool, last = DTYPES[precision], WorkerPool(torch.get_num_threads()), torch.channels_last
    square, images = torch.randn(SIDE, SIDE).to(kind), torch.randn(BATCH, CHANNELS, 16, 16).to(kind, memory_format=last)
    kernels = torch.randn(CHANNELS, CHANNELS, 3, 3).to(kind, memory_format=last)
    work: list[tuple[int, Callable[[], object]]] = [
        (2 * SIDE**3, lambda: square @ square),
        (18 * CHANNELS * images.numel(), lambda: F.conv2d(images, kernels, padding=1)),
    ]

    @torch.inference_mode()
    def run(once: Callable[[], object]) -> None:
        for _ in range(TIMES):
            once()

    def fastest() -> float:
        return max(
            rate(number * TIMES * pool.number, lambda once=once: list(pool.map(run, [once] * pool.number)), clock)
            for number, once in work
        )

    return fastest


def share(arch: str, precision: Precision, clock: Callable[[], float]) -> Figure:
    """The share that the best backend reaches: the median of rounds."""
    channels, side, samples, *targets = CASES[arch]
    torch.manual_seed(0)
    network = models.build(arch, in_channels=channels, image_size=side, num_classes=10).eval()
    x, most = torch.rand(channels, side, side), peak(precision, clock)
    work = samples * operations(network, tuple(x.shape))
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates(network, CPU)}
    engines = {name: Engine(network, sigma=SIGMA, device=CPU, precision=precision, backend=name) for name in rounds}
    for turn in range(1 + ROUNDS):  # the first one warms up
        for name, engine in engines.items():
            both = most(), rate(work, lambda engine=engine: count_classes(engine, x, [(ESTIMATE, samples)]), clock)
            rounds[name] += [both] if turn else []
    shares = {name: statistics.median(ours / top for top, ours in each) for name, each in rounds.items()}
    best = max(shares, key=shares.__getitem__)
    top, ours = (statistics.median(column) / 1e9 for column in zip(*rounds[best], strict=True))
    told = ", ".join(f"{name} {each:.0%}" for name, each in shares.items())
    note = f"{best}: {ours:,.0f} of {top:,.0f} billion operations a second; " + told
    figure = Figure(
        f"share of the peak, {arch}, {precision}", shares[best], targets[precision != "32"], rounds[best], note, ""
    )
    print(figure.line(), f"  ({note})", flush=True)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu-time", action="store_true", help="of all threads, beside other work")
    parser.add_argument("--only", help="architectures, separated by commas; default: all")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/peak.json"))
    options = parser.parse_args()
    clock = time.process_time if options.cpu_time else time.perf_counter
    wanted = [arch for arch in CASES if options.only is None or arch in options.only.split(",")]
    finish([share(arch, each, clock) for arch in wanted for each in weighed(CPU)], options.out)


if __name__ == "__main__":
    main()
