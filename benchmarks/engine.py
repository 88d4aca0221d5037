"""The engine of certification: samples a second beside others and beside the machine's peak, and its memory.

    python benchmarks/engine.py loops [--only lenet]
    python benchmarks/engine.py peak | int8 [--cpu-time] [--only lenet]
    python benchmarks/engine.py drawing
    python benchmarks/engine.py memory

loops: over the loop as first published and that of adversarial-robustness-toolbox (pip install 'randsmooth[bench]'),
    in turn; without the toolbox its figures are left out.
peak: products a second, while noise is drawn too, as a share of what a matrix product does in the same arithmetic,
    measured before each run of a network; the backends take turns.
int8: int8 models over the fastest float backend and precision of the processor. ONEDNN_MAX_CPU_ISA=AVX2 in the
    environment stands for an older one. The models are calibrated on random images.
drawing: what share of LeNet's time drawing noise takes, and int8 models with --sound over those without.
memory: of counting noisy copies of a 3x224x224 image, above that of the loaded model. Memory is that of one batch, so
    it is all in use after a few.
"""

import argparse
import contextlib
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from harness import (
    NETWORKS,
    ROUNDS,
    SIGMA,
    Clock,
    Figure,
    finish,
    options_of,
    other_loops,
    products_a_second,
    published_loop,
    rate,
    ratio,
)
from randsmooth.certification import Engine, load_model, quantise
from randsmooth.certification.algorithm import ESTIMATE
from randsmooth.certification.backends import (
    lacks_bfloat16,
    make_backend,
    usual_precisions,
)
from randsmooth.certification.scheduler import count_classes
from randsmooth.errors import Problem
from randsmooth.noise import Gaussian, Stream, grid_sampler

T = TypeVar("T")
CPU = torch.device("cpu")
DTYPES = {"32": torch.float32, "bf16": torch.bfloat16, "16": torch.float16}
PUBLISHED = "published loop, float32"
LOOPS = {  # network -> samples a round, and how many times as fast as the other loops in each precision
    "lenet": (20_000, {"bf16": 10.0, "32": 3.0}),
    "resnet20": (4_000, {"bf16": 14.0, "32": 2.5}),
    "resnet110": (1_000, {"bf16": 8.0, "32": 1.4}),
}
BATCHES = 4  # that are counted where memory is measured
SIDE = 2048  # of the matrices whose product measures the peak
PEAK = {
    "lenet": (16_384, 0.35),
    "resnet20": (2_048, 0.7),
    "resnet110": (512, 0.7),
}  # samples, the share to reach
INT8 = {
    "lenet": (".xml", 4_000),
    "resnet20": (".xml", 500),
    "resnet20-onnx": (".onnx", 500),
}
BACKEND = {".xml": "openvino", ".onnx": "onnx"}


def count(engine: Engine, x: torch.Tensor, n: int) -> Any:
    """Class counts of n noisy copies of one image x (C, H, W)."""
    return count_classes(engine, x, [(ESTIMATE, n)])


def float_engines(network: nn.Module, precisions: Iterable[str]) -> dict[str, Engine]:
    """An engine for each float backend of this processor in each of the precisions."""
    found = {}
    for backend, precision in itertools.product(("torch", "openvino"), precisions):
        with contextlib.suppress(Problem):
            name = backend if precision == "32" else f"{backend} in bfloat16"
            found[name] = Engine(
                network, sigma=SIGMA, device=CPU, backend=backend, precision=precision
            )
    return found


def turns(
    contestants: Mapping[str, Callable[[], T]], rounds: int = ROUNDS
) -> dict[str, list[T]]:
    """What each gives in every round; one more round before them warms up."""
    found: dict[str, list[T]] = {name: [] for name in contestants}
    for turn in range(1 + rounds):
        for name, run in contestants.items():
            value = run()
            found[name] += [value] if turn else []
    return found


def int8_model(arch: str, folder: Path, suffix: str = ".xml") -> Path:
    """An int8 model of a network, calibrated on random images."""
    network, rng = NETWORKS[arch], np.random.default_rng(0)
    pixels = rng.integers(
        0, 256, (32, network.side, network.side, network.channels), np.uint8
    )
    images = pixels, np.arange(32) % 10
    quantise(
        network.build(), images, out=folder / f"net{suffix}", sigma=SIGMA, compare=0
    )
    return folder / f"net{suffix}"


# --- loops ----------------------------------------------------------------------------------------------------------


def loops(options: argparse.Namespace) -> Iterator[Figure]:
    for arch in chosen(LOOPS, options.only):
        n, targets = LOOPS[arch]
        for precision, target in targets.items():
            yield from beside_loops(arch, precision, n, target)


def beside_loops(arch: str, precision: str, n: int, target: float) -> Iterator[Figure]:
    """All sides count the same number of noisy copies of one image."""
    network, x = NETWORKS[arch].build(), torch.rand(NETWORKS[arch].shape)
    engine = Engine(
        network, sigma=SIGMA, device=CPU, precision=precision, backend="auto"
    )
    told = f"{engine.prepare(x.shape).name}, batches of {engine.size}"
    for name, loop in other_loops(network, x, n).items():
        yield ratio(
            f"samples a second over the {name}, {arch}, {precision}",
            ours=lambda: rate(n, lambda: count(engine, x, n)),
            theirs=lambda loop=loop: rate(n, loop),
            target=target,
            note=lambda ours: told,
        )


# --- peak -----------------------------------------------------------------------------------------------------------


def operations(model: nn.Module, shape: tuple[int, ...]) -> int:
    """Multiplications and additions in the convolutions and linear layers, for one image of `shape` (C, H, W)."""
    with torch.inference_mode(), FlopCounterMode(display=False) as counted:
        model(torch.zeros(1, *shape, device=next(model.parameters()).device))
    return int(counted.get_total_flops())


def peak(options: argparse.Namespace) -> Iterator[Figure]:
    clock = clock_of(options)
    for arch in chosen(PEAK, options.only):
        for precision in usual_precisions(CPU):
            yield share_of_peak(arch, precision, clock)


def share_of_peak(arch: str, precision: str, clock: Clock) -> Figure:
    """The share that the best backend reaches: the median of rounds."""
    (samples, target), network = PEAK[arch], NETWORKS[arch].build()
    x = torch.rand(NETWORKS[arch].shape)
    work = samples * operations(network, tuple(x.shape))

    def both(engine: Engine) -> tuple[float, float]:
        return products_a_second(CPU, SIDE, DTYPES[precision], clock), rate(
            work, lambda: count(engine, x, samples), clock
        )

    rounds = turns(
        {
            name: partial(both, engine)
            for name, engine in float_engines(network, [precision]).items()
        }
    )
    shares = {
        name: statistics.median(ours / all_ for all_, ours in each)
        for name, each in rounds.items()
    }
    best = max(shares, key=shares.__getitem__)
    all_, ours = (
        statistics.median(column) / 1e9 for column in zip(*rounds[best], strict=True)
    )
    told = ", ".join(f"{name} {each:.0%}" for name, each in shares.items())
    note = f"{best}: {ours:,.0f} of {all_:,.0f} billion operations a second; {told}"
    return Figure(
        f"share of the peak, {arch}, {precision}",
        shares[best],
        target,
        rounds[best],
        note,
        "",
    ).told()


# --- int8 and drawing -----------------------------------------------------------------------------------------------


def int8(options: argparse.Namespace) -> Iterator[Figure]:
    clock = clock_of(options)
    for name in chosen(INT8, options.only):
        with tempfile.TemporaryDirectory() as folder:
            yield int8_over_floats(name, Path(folder), clock)


def int8_over_floats(name: str, folder: Path, clock: Clock) -> Figure:
    """The int8 model against the fastest of the float backends and precisions; all take their turn, with the loop."""
    arch, (suffix, samples) = name.removesuffix("-onnx"), INT8[name]
    network, x, backend = (
        NETWORKS[arch].build(),
        torch.rand(NETWORKS[arch].shape),
        BACKEND[suffix],
    )
    model = load_model(int8_model(arch, folder, suffix))
    engines = {
        "int8": Engine(model, sigma=SIGMA, device=CPU, backend=backend)
    } | float_engines(network, usual_precisions(CPU))
    runs: dict[str, Callable[[], float]] = {
        way: lambda engine=engine: rate(
            samples, lambda: count(engine, x, samples), clock
        )
        for way, engine in engines.items()
    }
    runs[PUBLISHED] = lambda: rate(
        samples, lambda: published_loop(network, x, samples), clock
    )
    rates = turns(runs)
    medians = {way: statistics.median(column) for way, column in rates.items()}
    best = max(engines.keys() - {"int8"}, key=medians.__getitem__)
    told = ", ".join(f"{way} {median:,.0f}" for way, median in medians.items())
    return Figure(
        f"samples a second in int8 ({backend}) over the fastest in floats, {arch}",
        medians["int8"] / medians[best],
        1.2 if lacks_bfloat16(CPU) is None else 1.5,
        list(zip(rates[best], rates["int8"], strict=True)),
        f"the fastest in floats: {best}; samples a second: {told}",
    ).told()


def drawing(options: argparse.Namespace) -> Iterator[Figure]:
    """A sample's CPU time on one thread: drawing it, in both kinds of noise, and answering, by each backend."""
    with tempfile.TemporaryDirectory() as folder:
        model = load_model(int8_model("lenet", Path(folder)))
        yield from shares_of_drawing(model)
        x, n = torch.randint(0, 256, NETWORKS["lenet"].shape) / 255, 20_000
        ways = (
            Engine(model, sigma=SIGMA, device=CPU, backend="openvino", sound=sound)
            for sound in (True, False)
        )
        ours, theirs = (
            lambda engine=engine: rate(n, lambda: count(engine, x, n))
            for engine in ways
        )
        yield ratio(
            "LeNet's samples a second, int8 with --sound over without",
            ours,
            theirs,
            1.0,
        )


def shares_of_drawing(int8_net: Any) -> Iterator[Figure]:
    torch.set_num_threads(1)
    network, block, shape = NETWORKS["lenet"].build(), 128, NETWORKS["lenet"].shape
    x, noisy = torch.full(shape, 128 / 255), torch.empty(block, *shape)
    backends = {
        f"{name} {precision}": make_backend(name, network, CPU, precision)
        for name in ("torch", "openvino")
        for precision in usual_precisions(CPU)
    } | {"int8": make_backend("openvino", int8_net, CPU, "32")}
    sampler, stream = grid_sampler(SIGMA), Stream(0, "drawing")
    work: dict[str, Callable[[], object]] = {
        "float32": lambda: Gaussian(SIGMA).draw(noisy, x, stream),
        "--sound": lambda: sampler.draw(noisy, x, stream),
    } | {
        name: torch.inference_mode()(lambda of=backend: of.logits(noisy))
        for name, backend in backends.items()
    }

    def microseconds(run: Callable[[], object]) -> float:
        return 1e6 / rate(
            5 * block, lambda: [run() for _ in range(5)], time.process_time
        )

    took = turns(
        {name: lambda run=run: microseconds(run) for name, run in work.items()},
        4 * ROUNDS,
    )
    for backend in backends:
        for noise in ("float32", "--sound"):
            drawn, answered = (
                statistics.median(took[name]) for name in (noise, backend)
            )
            note = f"microseconds of one thread for a sample: {drawn:.2f} to draw, {answered:.1f} to answer"
            rounds, share = (
                list(zip(took[backend], took[noise], strict=True)),
                drawn / (drawn + answered),
            )
            name = f"share of drawing, {backend}, noise {noise}"
            yield Figure(
                name, share, 1.0, rounds, note, unit="", most=True
            ).told()  # any share meets 1


# --- memory ---------------------------------------------------------------------------------------------------------


def memory(options: argparse.Namespace) -> Iterator[Figure]:
    arch = options.only or "resnet50"
    network, shape = NETWORKS[arch].build(classes=1000), NETWORKS[arch].shape
    loaded = largest_resident()
    engine = Engine(network, sigma=SIGMA, device=CPU, backend="torch")
    engine.prepare(shape)
    count(engine, torch.rand(shape), BATCHES * engine.size)
    name = f"peak memory above the loaded model, {arch}, {shape[1]}x{shape[2]}"
    more = round(largest_resident() - loaded, 3)
    yield Figure(
        name,
        more,
        1.2,
        [],
        f"{BATCHES} batches of {engine.size}",
        unit=" GB",
        most=True,
    ).told()


def largest_resident() -> float:
    """The largest resident size of this process so far, in GB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


# --- the command ----------------------------------------------------------------------------------------------------

QUESTIONS = {
    "loops": loops,
    "peak": peak,
    "int8": int8,
    "drawing": drawing,
    "memory": memory,
}
FILES = {"loops": "certification"} | {
    name: name for name in ("peak", "int8", "drawing", "memory")
}


def clock_of(options: argparse.Namespace) -> Clock:
    return time.process_time if options.cpu_time else time.perf_counter


def chosen(cases: Iterable[str], only: str | None) -> list[str]:
    return [case for case in cases if only is None or case in only.split(",")]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("question", choices=QUESTIONS)
    parser.add_argument(
        "--cpu-time", action="store_true", help="of all threads, beside other work"
    )
    parser.add_argument(
        "--only", help="architectures, separated by commas; default: all"
    )
    options = parser.parse_args()
    finish(QUESTIONS[options.question](options), options.out, FILES[options.question])


if __name__ == "__main__":
    main()
