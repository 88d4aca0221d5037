"""What sequential rules save on the clock on a real MNIST model, and how well `randsmooth plan` foretells a run.

    python benchmarks/wallclock.py savings [--models runs/bench] [--out results/bench/wallclock-cpu.json]
    python benchmarks/wallclock.py plan [--models runs/bench] [--out results/bench/plan.json]

Models that are not in the folder are trained in a few minutes.

savings: the share of a rule's saving in samples that shows on the clock is of medians over rounds in turn. The last
    figure is the question that a table asks, answered as a user would: the published loop's time is its rate, measured
    before and after, times the samples that it would draw.
plan: MNIST with LeNet under the rules fixed and grid, CIFAR-10 with ResNet-20 under dense=0.27, forecast first, then
    carried out. The limits must hold, and their middle lie within 20% of what the run took, in samples and in seconds.
    Samples are the same on any machine; seconds suppose that it is as busy during the run as during the pilot: the
    load is noted beside them.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from harness import ROUNDS, SIGMA, Figure, finish, options_of, published_loop, rate
from randsmooth import (
    CertificationSettings,
    SmoothedClassifier,
    certify,
    data,
    models,
    train,
)
from randsmooth.certification import RunSpec
from randsmooth.certification.algorithm import certify_steps
from randsmooth.certification.scheduler import Job, Scheduler
from randsmooth.launch import Span, plan
from randsmooth.noise import Gaussian
from randsmooth.rules import make_rule

N0, N, ALPHA, LOOP, WITHIN = 100, 100_000, 0.001, 20_000, 0.2
MODELS = {
    "mnist": ("mnist", {"epochs": 3}),
    "cifar10": ("cifar10-jpeg", {"epochs": 2, "arch": "resnet20", "take": 10_000}),
}


def model_in(folder: Path, name: str) -> Path:
    """The folder of a model, trained if it is not there."""
    place, (dataset, how) = folder / name, MODELS[name]
    if not (place / "config.json").exists():
        train(
            dataset,
            sigma=SIGMA,
            precision="bf16-mixed",
            out=place,
            overwrite=True,
            **how,
        )
    return place


# --- savings --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Took:
    """Seconds and samples an image."""

    seconds: float
    samples: float


def took(smoothed: SmoothedClassifier, x: torch.Tensor, text: str) -> Took:
    """Of certifying the images `x` (B, C, H, W) under the rule `text`."""
    rule = make_rule(text, noise=Gaussian(SIGMA), n=N, alpha=ALPHA)
    jobs = [
        Job(number, image, certify_steps(rule, N0)) for number, image in enumerate(x)
    ]
    start = time.perf_counter()
    seen = [job.result for job in Scheduler(smoothed.engine).run(jobs)]
    seconds = time.perf_counter() - start
    samples = [
        result.counts0.sum() + result.counts.sum()
        for result in seen
        if result is not None
    ]
    return Took(seconds / len(x), float(np.mean(samples)))


def share_on_the_clock(
    smoothed: SmoothedClassifier, x: torch.Tensor, text: str, whole: int
) -> Figure:
    """How much of a rule's saving in samples shows on the clock; `whole` images are certified at the full n."""
    took(smoothed, x[:whole], text)
    rounds = [
        (took(smoothed, x[:whole], "fixed"), took(smoothed, x, text))
        for _ in range(ROUNDS)
    ]
    fixed, ours = (
        statistics.median(each.seconds for each in side)
        for side in zip(*rounds, strict=True)
    )
    clock, samples = fixed / ours, rounds[0][0].samples / rounds[0][1].samples
    note = f"{samples:.1f}x fewer samples, {clock:.1f}x less time, {rounds[0][1].samples:,.0f} samples an image"
    seconds = [(one.seconds, other.seconds) for one, other in rounds]
    return Figure(
        f"{text}: share of the saving on the clock",
        clock / samples,
        0.8,
        seconds,
        note,
        unit="",
    ).told()


def whole_question(
    smoothed: SmoothedClassifier, network: torch.nn.Module, x: torch.Tensor
) -> Figure:
    """The grid question for all of `x`: the published loop's time over ours."""

    def loop() -> float:
        return rate(LOOP, lambda: published_loop(network, x[0], LOOP))

    loop()
    before, ours, after = loop(), took(smoothed, x, "grid"), loop()
    theirs, seconds = (
        len(x) * (N0 + N) / statistics.mean((before, after)),
        len(x) * ours.seconds,
    )
    note = f"{theirs:,.0f} s -> {seconds:,.0f} s for {len(x)} images, {ours.samples:,.0f} samples an image"
    return Figure(
        "grid question over the published loop",
        theirs / seconds,
        0.0,
        [(theirs, seconds)],
        note,
    ).told()


def savings(options: argparse.Namespace) -> Iterator[Figure]:
    network, images = (
        models.load(model_in(options.models, "mnist")),
        data.load("mnist", "test"),
    )
    x, _ = images.batch(data.take(len(images), options.images))
    smoothed = SmoothedClassifier(
        network,
        sigma=SIGMA,
        seed=0,
        precision=options.precision,
        backend=options.backend,
    )
    yield share_on_the_clock(smoothed, x, "radius=0.5", 4)
    yield share_on_the_clock(smoothed, x[:: max(1, len(x) // 60)], "grid", 4)
    yield whole_question(smoothed, network, x)


# --- plan -----------------------------------------------------------------------------------------------------------

RUNS = (  # name, model, rule, n, images
    ("MNIST, LeNet, fixed", "mnist", "fixed", 1_000, 100),
    ("MNIST, LeNet, grid", "mnist", "grid", 2_000, 200),
    ("CIFAR-10, ResNet-20, dense=0.27", "cifar10", "dense=0.27", 3_000, 40),
)


def foretold(options: argparse.Namespace) -> Iterator[Figure]:
    for name, model, rule, n, take in RUNS:
        settings, dataset = (
            CertificationSettings(sigma=SIGMA, n=n, rule=rule, precision="bf16"),
            MODELS[model][0],
        )
        run = RunSpec.of(model_in(options.models, model), dataset, settings, take=take)
        forecast = plan(run, seconds=options.seconds, workers=[8])
        with tempfile.TemporaryDirectory() as folder:
            start, busy, out = (
                time.perf_counter(),
                os.getloadavg()[0],
                Path(folder) / "run.parquet",
            )
            table = certify(
                run.model, dataset, settings, take=take, out=out, progress=False
            )
            seconds = time.perf_counter() - start
        pilot = f"pilot of {forecast.pilot['images']} of {take} images in {forecast.pilot['seconds']:.0f} s"
        load = f"load {busy:.1f} on {os.cpu_count()} cores at the beginning, {os.getloadavg()[0]:.1f} at the end"
        yield from compared(
            f"{name}: samples", forecast.samples, float(table.samples.sum()), pilot
        )
        yield from compared(f"{name}: seconds", forecast.seconds, seconds, load)


def compared(name: str, span: Span, took: float, note: str) -> Iterator[Figure]:
    """How far the middle is off, and whether the limits hold."""
    words = f"{span.middle:,.0f} ({span.low:,.0f} to {span.high:,.0f}), took {took:,.0f}; {note}"
    off, holds = abs(span.middle / took - 1.0), float(span.low <= took <= span.high)
    yield Figure(f"{name}, middle off by", off, WITHIN, [], words, "", most=True).told()
    yield Figure(f"{name}, limits hold", holds, 1.0, [], unit="").told()


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("question", choices=("savings", "plan"))
    parser.add_argument("--models", type=Path, default=Path("runs/bench"))
    parser.add_argument("--images", type=int, default=500, help="of savings")
    parser.add_argument("--precision", default="bf16", help="of savings")
    parser.add_argument("--backend", default="auto", help="of savings")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each pilot")
    options = parser.parse_args()
    plans = options.question == "plan"
    finish(
        foretold(options) if plans else savings(options),
        options.out,
        "plan" if plans else "wallclock",
    )


if __name__ == "__main__":
    main()
