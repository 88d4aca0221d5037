"""LeNet's samples a second on a CPU: what share of the time drawing noise takes, and how many times as many as before.

    python benchmarks/drawing.py [--cpu-time] [--before COMMIT] [--out results/bench/drawing-cpu.json]

The contestants take turns, each in a process of its own. One is the fastest of the float backends and precisions, with
the noise in float32 that `certify` draws by itself, as the commit before the present generator had it: it runs from a
git worktree, which is removed again. The int8 model is calibrated on random images.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from harness import ROUNDS, Figure, finish
from randsmooth import models
from randsmooth.certification import load_model, quantise
from randsmooth.certification.backends import make_backend, weighed
from randsmooth.noise import Stream, grid_sampler, perturb

ROOT = Path(__file__).parents[1]
BEFORE = "d4e6d9371c722e495c4ea0ab21d0fc447f9aa3d7"
ARCH, SHAPE, SIGMA, SAMPLES, BLOCK = "lenet", (1, 28, 28), 0.5, 20_000, 128
TARGET = 1.5


@dataclass
class Side:
    """A contestant: its process, and its samples a second in each round."""

    name: str
    process: subprocess.Popen[str]
    clock: int
    rates: list[float] = field(default_factory=list)

    def take_turn(self) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return SAMPLES / float(self.process.stdout.readline().split()[self.clock])

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)


@contextmanager
def side(name: str, source: Path, model: str, settings: dict[str, object], clock: int) -> Iterator[Side]:
    """A contestant with the package in `source`."""
    command = [sys.executable, str(ROOT / "benchmarks/drawing_side.py"), model, str(SAMPLES), json.dumps(settings)]
    env = os.environ | {"PYTHONPATH": str(source)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=env) as process:
        try:
            yield Side(name, process, clock)
        finally:
            process.kill()


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """The repository as it was at `commit`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(path), commit], check=True)
        try:
            yield path
        finally:
            subprocess.run([*git, "remove", "--force", str(path)], check=True)


def compete(int8: Path, before: str, clock: int) -> list[Side]:
    """All contestants after their rounds."""
    floats = [(name, precision) for name in ("torch", "openvino") for precision in weighed(torch.device("cpu"))]
    with ExitStack() as stack:
        old, new = stack.enter_context(worktree(before)) / "src", ROOT / "src"
        wanted = [
            (f"before, {backend} {precision}", old, ARCH, {"backend": backend, "precision": precision})
            for backend, precision in floats
        ]
        wanted += [
            (f"{backend} {precision} --sound", new, ARCH, {"backend": backend, "precision": precision, "sound": True})
            for backend, precision in floats
        ]
        wanted += [
            (f"int8{' --sound' * sound}", new, str(int8), {"backend": "openvino", "sound": sound})
            for sound in (False, True)
        ]
        sides = [stack.enter_context(side(*each, clock)) for each in wanted]
        for turn in range(1 + ROUNDS):  # the first one warms up
            for each in sides:
                rate = each.take_turn()
                each.rates += [rate] if turn else []
        return sides


def figure(name: str, theirs: Side, ours: Side, target: float) -> Figure:
    rounds = list(zip(theirs.rates, ours.rates, strict=True))
    note = f"{theirs.name}: {theirs.rate:,.0f}, {ours.name}: {ours.rate:,.0f} samples a second"
    found = Figure(name, ours.rate / theirs.rate, target, rounds, note)
    print(found.line(), f"  ({note})", flush=True)
    return found


def shares(int8: Path) -> list[Figure]:
    """What share of a sample's CPU time is drawing, for each backend: noise in float32, and that of --sound."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = models.build(ARCH, in_channels=1, image_size=28, num_classes=10).eval()
    cpu, x, noisy = torch.device("cpu"), torch.full(SHAPE, 128 / 255), torch.empty(BLOCK, *SHAPE)
    backends = {
        f"{name} {precision}": make_backend(name, network, cpu, precision)
        for name in ("torch", "openvino")
        for precision in weighed(cpu)
    } | {"int8": make_backend("openvino", load_model(int8), cpu, "32")}
    sampler, stream = grid_sampler(SIGMA), Stream(0, "drawing")
    work: dict[str, Callable[[], object]] = {
        "float32": lambda: perturb(noisy, x, SIGMA, stream=stream),
        "--sound": lambda: sampler.perturb(noisy, x, stream=stream),
    } | {name: torch.inference_mode()(lambda of=backend: of.logits(noisy)) for name, backend in backends.items()}
    took: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(1 + 4 * ROUNDS):
        for name, run in work.items():
            start = time.process_time()
            for _ in range(5):
                run()
            took[name] += [(time.process_time() - start) / 5 / BLOCK * 1e6] if turn else []
    return [share(backend, noise, took) for backend in backends for noise in ("float32", "--sound")]


def share(backend: str, noise: str, took: dict[str, list[float]]) -> Figure:
    """The figure of one backend and one kind of noise, which is told without a target: any share meets 1."""
    drawing, answering = (statistics.median(took[name]) for name in (noise, backend))
    rounds = list(zip(took[backend], took[noise], strict=True))
    note = f"microseconds of one thread for a sample: {drawing:.2f} to draw, {answering:.1f} to answer"
    name = f"share of drawing, {backend}, noise {noise}"
    found = Figure(name, drawing / (drawing + answering), 1.0, rounds, note, unit="", most=True)
    print(f"{name}: {found.value:.1%}  ({note})", flush=True)
    return found


def quantised(folder: Path) -> Path:
    torch.manual_seed(0)
    network = models.build(ARCH, in_channels=1, image_size=28, num_classes=10).eval()
    pixels = np.random.default_rng(0).integers(0, 256, (32, 28, 28, 1), np.uint8)
    return quantise(network, (pixels, np.arange(32) % 10), out=folder / "net.xml", sigma=SIGMA, compare=0).path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu-time", action="store_true", help="of all threads, beside other work")
    parser.add_argument("--before", default=BEFORE, help="the commit to compare with")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/drawing.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        int8 = quantised(Path(folder))
        figures = shares(int8)
        if known(options.before):
            figures += over(compete(int8, options.before, int(options.cpu_time)))
        else:
            print(f"not measured over {options.before[:7]}: this is no clone with that commit", flush=True)
    finish(figures, options.out)


def known(commit: str) -> bool:
    """Whether the repository holds `commit`; a shallow clone may not."""
    asked = ["git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def over(sides: list[Side]) -> list[Figure]:
    """What became faster, of the contestants after their rounds."""
    before = max((each for each in sides if each.name.startswith("before")), key=lambda each: each.rate)
    same = next(each for each in sides if before.name == f"before, {each.name.removesuffix(' --sound')}")
    plain, sound = (next(each for each in sides if each.name == name) for name in ("int8", "int8 --sound"))
    return [
        figure("LeNet's samples a second, int8 --sound over the fastest before", before, sound, TARGET),
        figure("LeNet's samples a second, the same floats with --sound over before", before, same, 1.0),
        figure("LeNet's samples a second, int8 with --sound over without", plain, sound, 1.0),
    ]


if __name__ == "__main__":
    main()
