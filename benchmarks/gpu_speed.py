"""Samples a second on a GPU: networks, backends and batch sizes, beside the loops of others and the memory's bound."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import nn

from bandwidth import bytes_an_answer
from certification import BATCH, CLASSES, SIGMA, art, published
from randsmooth import models
from randsmooth.certification import Engine
from randsmooth.certification.algorithm import ESTIMATE
from randsmooth.certification.scheduler import count_classes
from randsmooth.errors import InputError
from tensorrt_session import TensorRT

PRECISION, ROUNDS = "bf16", 3
KINDS_OF_KERNELS = {"convolutions with epilogues": True, "pointwise kernels of their own": False}


@dataclass(frozen=True)
class Network:
    """A network for 10 classes, the size of its images, and how many samples a round of the loops of others has."""

    arch: str
    channels: int
    side: int
    others: int

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.channels, self.side, self.side

    def build(self, device: torch.device) -> nn.Module:
        torch.manual_seed(0)
        built = models.build(self.arch, in_channels=self.channels, image_size=self.side, num_classes=CLASSES)
        return built.eval().to(device)


@dataclass
class Cell:
    """Samples a second of one contestant in batches of one size; where there are none, `note` says why."""

    arch: str
    backend: str
    batch: int
    rate: float = 0.0
    rounds: list[float] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=dict)
    note: str = ""

    def line(self) -> str:
        what = f"{self.arch}, {self.backend}, batches of {self.batch}"
        if not self.rate:
            return f"{what}: not measured: {self.note}"
        shares = ", ".join(f"{share:.0%} with {kind}" for kind, share in self.shares.items())
        return f"{what}: {self.rate:,.0f} a second" + (f"; of the memory's bound {shares}" if shares else "")


def first_line(error: Exception) -> str:
    """What went wrong, shortly."""
    return str(error).partition("\n")[0] or type(error).__name__


@dataclass
class Contestant:
    """A cell, what answers so many times `samples`, and how many times that makes a round."""

    cell: Cell
    run: Callable[[int], object]
    samples: int
    times: int = 1

    def warm_up(self, seconds: float) -> None:
        """Let it compile and choose kernels; then see how many times take `seconds`."""
        self.run(2)
        self.times = max(1, round(seconds * self.rate() / self.samples))

    def rate(self) -> float:
        """Samples a second of one round."""
        start = time.perf_counter()
        self.run(self.times)
        return self.times * self.samples / (time.perf_counter() - start)


class Contest:
    """The measurements of one network on `device`.

    Args:
        seconds: how long a round of a cell takes, if a batch does not take longer.
        bandwidth: the bytes a second that the memory moves.
    """

    def __init__(self, network: Network, device: torch.device, seconds: float, bandwidth: float) -> None:
        self.network, self.device, self.seconds, self.bandwidth = network, device, seconds, bandwidth
        self.model, self.x = network.build(device), torch.rand(network.shape, device=device)
        self.cells: list[Cell] = []

    def measure(self, backend: str, batches: Sequence[int]) -> None:
        """The cells of a backend, whose batch sizes take turns."""
        ready = [found for batch in batches if (found := self._contestant(backend, batch)) is not None]
        self._take_turns(ready)
        for contestant in ready:
            self._note(contestant.cell)

    def others(self) -> None:
        """The published loop and ART, in float32, in turn."""
        n = self.network.others
        loops = {"published loop": published(self.model, self.x, n), "ART": art(self.model, self.x, n)}
        ready = [made for name, loop in loops.items() if (made := self._other(name, loop)) is not None]
        self._take_turns(ready)
        for contestant in ready:
            print(contestant.cell.line(), flush=True)

    def _other(self, name: str, loop: Callable[[], object] | None) -> Contestant | None:
        """One of the loops of others, warm; None where it is not installed."""
        cell = Cell(self.network.arch, name, BATCH, note="it is not installed")
        self.cells.append(cell)
        if loop is None:
            print(cell.line(), flush=True)
            return None
        try:
            loop()
        except Exception as error:
            cell.note = first_line(error)
            print(cell.line(), flush=True)
            return None
        return Contestant(cell, lambda _: loop(), self.network.others)

    def _take_turns(self, ready: Sequence[Contestant]) -> None:
        for _ in range(ROUNDS):
            for contestant in ready:
                contestant.cell.rounds.append(contestant.rate())
        for contestant in ready:
            contestant.cell.rate = statistics.median(contestant.cell.rounds)

    def best(self, *backends: str) -> Cell | None:
        """The fastest cell of these backends."""
        of_these = [cell for cell in self.cells if cell.rate and cell.backend in backends]
        return max(of_these, key=lambda cell: cell.rate, default=None)

    def _contestant(self, backend: str, batch: int) -> Contestant | None:
        """One that is warm; None where it cannot run."""
        cell = Cell(self.network.arch, backend, batch)
        self.cells.append(cell)
        try:
            made = Contestant(cell, self._runner(backend, batch), batch)
            made.warm_up(self.seconds)
        except Exception as error:  # whatever one of them fails with, the others are still to be measured
            cell.note = first_line(error)
            print(cell.line(), flush=True)
            return None
        return made

    def _runner(self, backend: str, batch: int) -> Callable[[int], object]:
        if backend == "tensorrt":
            return TensorRT(self.model, (batch, *self.network.shape), self.device).run
        engine = Engine(self.model, sigma=SIGMA, device=self.device, precision=PRECISION, backend=backend, batch=batch)
        engine.prepare(self.network.shape)
        if engine.size != batch:
            raise InputError(f"{batch} samples do not fit into the memory of {self.device}")
        return lambda batches: count_classes(engine, self.x, [(ESTIMATE, batches * batch)])

    def _note(self, cell: Cell) -> None:
        """What share of the bandwidth are the bytes that must move at that rate."""
        for kind, epilogues in KINDS_OF_KERNELS.items():
            moved = bytes_an_answer(self.model, self.network.shape, PRECISION, epilogues=epilogues)
            cell.shares[kind] = cell.rate * moved / self.bandwidth
        print(cell.line(), flush=True)
