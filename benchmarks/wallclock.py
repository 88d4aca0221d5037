"""What sequential rules save on the clock, on a real MNIST model, against every image at the full n.

    python benchmarks/wallclock.py [--model runs/bench/mnist] [--out results/bench/wallclock-cpu.json]

Without a model in the folder, Gaussian training at sigma 0.5 makes one in a minute. The share of the saving in samples
that shows on the clock is of medians over rounds in turn. The last figure is the question that a table asks, answered
as a user would: the published loop's time is its rate, measured before and after, times the samples that it would draw.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import published_loop
from harness import ROUNDS, Figure, finish, rate
from randsmooth import SmoothedClassifier, data, models, train
from randsmooth.certification.algorithm import certify_steps
from randsmooth.certification.jobs import Job
from randsmooth.certification.scheduler import Scheduler
from randsmooth.rules import make_rule

SIGMA, N0, N, ALPHA, LOOP = 0.5, 100, 100_000, 0.001, 20_000


@dataclass(frozen=True)
class Took:
    """Seconds and samples an image."""

    seconds: float
    samples: float


def certify(smoothed: SmoothedClassifier, x: torch.Tensor, text: str) -> Took:
    """Certify the images `x` (B, C, H, W) under the rule `text`."""
    rule = make_rule(text, sigma=SIGMA, n=N, alpha=ALPHA)
    jobs = [Job(number, image, certify_steps(rule, N0)) for number, image in enumerate(x)]
    start = time.perf_counter()
    seen = [job.result for job in Scheduler(smoothed.engine).run(jobs)]
    seconds = time.perf_counter() - start
    samples = [result.counts0.sum() + result.counts.sum() for result in seen if result is not None]
    return Took(seconds / len(x), float(np.mean(samples)))


def share_on_the_clock(smoothed: SmoothedClassifier, x: torch.Tensor, text: str, whole: int) -> Figure:
    """How much of a rule's saving in samples shows on the clock; `whole` images are certified at the full n."""
    certify(smoothed, x[:whole], text)
    rounds = [(certify(smoothed, x[:whole], "fixed"), certify(smoothed, x, text)) for _ in range(ROUNDS)]
    fixed, ours = (statistics.median(took.seconds for took in side) for side in zip(*rounds, strict=True))
    clock, samples = fixed / ours, rounds[0][0].samples / rounds[0][1].samples
    note = f"{samples:.1f}x fewer samples, {clock:.1f}x less time, {rounds[0][1].samples:,.0f} samples an image"
    seconds = [(one.seconds, other.seconds) for one, other in rounds]
    return told(Figure(f"{text}: share of the saving on the clock", clock / samples, 0.8, seconds, note, unit=""))


def whole_question(smoothed: SmoothedClassifier, network: torch.nn.Module, x: torch.Tensor) -> Figure:
    """The grid question for all of `x`: the published loop's time over ours."""

    def loop() -> float:
        return rate(LOOP, lambda: published_loop.count(network, x[0], SIGMA, LOOP, 10))

    loop()
    before, took, after = loop(), certify(smoothed, x, "grid"), loop()
    seconds = len(x) * (N0 + N) / statistics.mean((before, after))
    ours = len(x) * took.seconds
    note = f"{seconds:,.0f} s -> {ours:,.0f} s for {len(x)} images, {took.samples:,.0f} samples an image"
    return told(Figure("grid question over the published loop", seconds / ours, 0.0, [(seconds, ours)], note))


def told(figure: Figure) -> Figure:
    print(figure.line(), f"  ({figure.note})", flush=True)
    return figure


def model_in(folder: Path) -> models.Classifier:
    if not (folder / "config.json").exists():
        train("mnist", sigma=SIGMA, epochs=3, precision="bf16-mixed", out=folder, overwrite=True)
    return models.load(folder)


def figures(options: argparse.Namespace) -> Sequence[Figure]:
    network, images = model_in(options.model), data.load("mnist", "test")
    x, _ = images.batch(data.take(len(images), options.images))
    smoothed = SmoothedClassifier(network, sigma=SIGMA, seed=0, precision=options.precision, backend=options.backend)
    few = x[:: max(1, len(x) // 60)]
    return [
        share_on_the_clock(smoothed, x, "radius=0.5", 4),
        share_on_the_clock(smoothed, few, "grid", 4),
        whole_question(smoothed, network, x),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("runs/bench/mnist"))
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/wallclock.json"))
    options = parser.parse_args()
    finish(list(figures(options)), options.out)


if __name__ == "__main__":
    main()
