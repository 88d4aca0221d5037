"""What the benchmarks share: networks, loops of others, rounds in turn, a line a figure, JSON with the machine."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from randsmooth import models
from randsmooth.certification.backends import torch_instructions
from randsmooth.extras import versions

ROUNDS, SIGMA, CLASSES, BATCH = 5, 0.5, 10, 1000
Clock = Callable[[], float]


@dataclass(frozen=True)
class Figure:
    """A measured figure beside its target: a ratio is the median of those of rounds, whose two runs follow one another.

    `most`: the target is the largest value allowed, not the smallest.
    """

    name: str
    value: float
    target: float
    rounds: list[tuple[float, float]]
    note: str = ""
    unit: str = "x"
    most: bool = False

    @property
    def met(self) -> bool:
        return self.value <= self.target if self.most else self.value >= self.target

    def line(self) -> str:
        value = (
            f"{self.value:.2f}x" if self.unit == "x" else f"{self.value:.3f}{self.unit}"
        )
        target = f"target {'at most ' if self.most else ''}{self.target:g}{self.unit}"
        return f"{self.name}: {value}, {target}{'' if self.met else '   MISSED'}"

    def told(self) -> Figure:
        """The same, printed."""
        print(self.line(), f"  ({self.note})" if self.note else "", flush=True)
        return self


def ratio(
    name: str,
    ours: Callable[[], float],
    theirs: Callable[[], float],
    target: float,
    note: Callable[[float], str] = lambda rate: "",
) -> Figure:
    """Ours over theirs, both giving a rate (work a second), measured alternately after one warm-up each.

    `note` tells more of our rate.
    """
    theirs(), ours()
    rounds = [(theirs(), ours()) for _ in range(ROUNDS)]
    baseline, value = (
        statistics.median(column) for column in zip(*rounds, strict=True)
    )
    more = "; ".join(
        filter(None, [f"{baseline:,.0f} -> {value:,.0f} a second", note(value)])
    )
    return Figure(
        name,
        statistics.median(own / other for other, own in rounds),
        target,
        rounds,
        more,
    ).told()


def rate(
    work: int, run: Callable[[], object], clock: Clock = time.perf_counter
) -> float:
    """`work` over the seconds that `run` takes, on the wall's clock or another, such as `time.process_time`."""
    start = clock()
    run()
    return work / (clock() - start)


def settled(device: torch.device, run: Callable[[], object]) -> None:
    """Run, and wait until `device` has done all that it was asked for."""
    run()
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def products_a_second(
    device: torch.device, side: int, kind: torch.dtype, clock: Clock = time.perf_counter
) -> float:
    """Multiplications and additions a second in a product of two matrices of `kind`: the best of five."""
    square = torch.randn(side, side, device=device).to(kind)
    settled(device, lambda: square @ square)
    return max(
        rate(2 * side**3, lambda: settled(device, lambda: square @ square), clock)
        for _ in range(5)
    )


# --- networks, and the loops of others ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    """An architecture with random weights, which cost as much as trained ones, and the size of its images."""

    arch: str
    channels: int
    side: int

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.channels, self.side, self.side

    def build(
        self, device: torch.device | str = "cpu", classes: int = CLASSES
    ) -> nn.Module:
        torch.manual_seed(0)
        built = models.build(
            self.arch,
            in_channels=self.channels,
            image_size=self.side,
            num_classes=classes,
        )
        return built.eval().to(device)


NETWORKS = {
    network.arch: network
    for network in (
        Network("lenet", 1, 28),
        Network("resnet8", 3, 32),
        Network("resnet20", 3, 32),
        Network("resnet110", 3, 32),
        Network("resnet50", 3, 224),
    )
}


@torch.no_grad()
def published_loop(
    model: nn.Module, x: Tensor, n: int, sigma: float = SIGMA
) -> np.ndarray:
    """Class counts of n noisy copies of one image x (C, H, W), as randomized smoothing first published the loop."""
    counts = np.zeros(CLASSES, dtype=int)
    while n > 0:
        size = min(BATCH, n)
        n -= size
        batch = x.repeat((size, 1, 1, 1))
        noise = torch.randn_like(batch) * sigma
        for prediction in model(batch + noise).argmax(1).cpu().numpy():
            counts[prediction] += 1
    return counts


def other_loops(model: nn.Module, x: Tensor, n: int) -> dict[str, Callable[[], object]]:
    """What counts n noisy copies of x in float32 without us; the toolbox only where it is installed."""
    loops: dict[str, Callable[[], object]] = {
        "published loop": lambda: published_loop(model, x, n)
    }
    with contextlib.suppress(ImportError):
        loops["ART"] = art_loop(model, x, n)
    return loops


def art_loop(model: nn.Module, x: Tensor, n: int) -> Callable[[], object]:
    """The same by adversarial-robustness-toolbox. Raises ImportError where it is not installed."""
    from art.estimators.certification.randomized_smoothing import (
        PyTorchRandomizedSmoothing,
    )

    smoothed = PyTorchRandomizedSmoothing(
        model=model,
        loss=nn.CrossEntropyLoss(),
        input_shape=tuple(x.shape),
        nb_classes=CLASSES,
        device_type="cpu" if x.device.type == "cpu" else "gpu",
        sample_size=1,
        scale=SIGMA,
    )
    image = x.cpu().numpy()[None].astype(np.float32)
    return lambda: smoothed.certify(image, n=n, batch_size=BATCH)


# --- options and results --------------------------------------------------------------------------------------------


def in_bench(name: str) -> Path:
    return Path("runs/bench") / f"{name}.json"


def options_of(doc: str | None, name: str | None = None) -> argparse.ArgumentParser:
    """A parser whose help is the module's docstring; figures go to runs/bench/NAME.json.

    Where the name depends on what is asked, `out` is None unless it is given, and `finish` is told the name.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=None if name is None else in_bench(name)
    )
    return parser


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    lines = (
        Path("/proc/cpuinfo").read_text().splitlines()
        if Path("/proc/cpuinfo").exists()
        else []
    )
    cpu = next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    told = {
        "cpu": cpu,
        "instructions": torch_instructions(torch.device("cpu")),
        "cores": os.cpu_count(),
        "gpu": gpu,
    }
    return {**told, "threads": torch.get_num_threads(), "versions": versions()}


def written(out: Path, facts: dict[str, object]) -> None:
    """Write `facts` with the command and the machine to `out`."""
    out.parent.mkdir(parents=True, exist_ok=True)
    told = {"command": " ".join(["python", *sys.argv]), "machine": machine(), **facts}
    out.write_text(json.dumps(told, indent=1) + "\n")


def finish(figures: Iterable[Figure], out: Path | None, name: str = "") -> None:
    """Write the figures to `out`, or to runs/bench/NAME.json; exit with 1 when a target is missed."""
    found = list(figures)
    written(
        in_bench(name) if out is None else out,
        {"figures": [asdict(figure) for figure in found]},
    )
    sys.exit(not all(figure.met for figure in found))
