"""What a command line reads beside models and data: grids of `sweep`, and standard deviations of a noise."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from fuzz.harness import Files, Reader
from randsmooth.cli.printed_commands import command_of
from randsmooth.launch import SweepGrid
from randsmooth.launch.sweep_checks import check_steps
from randsmooth.launch.sweep_steps import steps_of
from randsmooth.noise.registry import make_noise

GRID, STD = "grid.yaml", "std.npy"


class Grids(Reader):
    """A grid, up to the commands of all its steps."""

    name = "grid"
    signed = False

    def valid(self) -> list[Files]:
        plain = {
            "datasets": "digits",
            "methods": ["gaussian", "macer"],
            "sigmas": [0.25, 0.5],
            "seeds": [0, 1],
        }
        crossed = {
            "datasets": {"digits": {"take": 80}},
            "methods": {"gaussian": None, "stability": {"lbd": [1, 2]}},
            "sigmas": [0.25, "uniform=0.5"],
            "train": {"epochs": 2, "arch": "small-cnn"},
            "certify": [
                {"n": 1000, "alpha": [0.01, 0.001]},
                {"rule": "grid=0.25", "take": 10},
            ],
        }
        return [
            {GRID: yaml.safe_dump(each, sort_keys=False).encode()}
            for each in (plain, crossed)
        ]

    def bombs(self) -> list[Files]:
        lists = "".join(f"  s{k}: [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" for k in range(30))
        crossed = "datasets: digits\nmethods: gaussian\nsigmas: 0.5\ntrain:\n" + lists
        seeds = f"datasets: digits\nmethods: gaussian\nsigmas: 0.5\nseeds: [{'1, ' * 10**6}1]\n"
        dated = "datasets: digits\nmethods: gaussian\nsigmas: 0.5\nseeds: 2024-05-01\n"
        return [{GRID: each.encode()} for each in (crossed, seeds, dated)]

    def read(self, folder: Path) -> Any:
        steps = steps_of(SweepGrid.read(folder / GRID), folder / "out")
        check_steps(steps)
        return [command_of(step).replace(str(folder), "") for step in steps]


class Deviations(Reader):
    """A file of `--noise gaussian=FILE.npy`."""

    name = "noise-npy"
    signed = False

    def valid(self) -> list[Files]:
        random = np.random.default_rng(0).uniform(0.1, 9.0, (3, 1, 1))
        return [
            {STD: npy(each)}
            for each in (random, np.arange(1, 7, dtype=np.int16), random.astype(">f4"))
        ]

    def bombs(self) -> list[Files]:
        content = npy(np.ones((4, 1)))
        shape = b"(4, 1), }"
        lies = (
            b"(10000000000,), }",
            b"(99999, 99999), }",
            b"(0, 10000000000), }",
            b"(-1,), }",
        )
        at = content.index(shape)
        return [{STD: content[:at] + lie + content[at + len(lie) :]} for lie in lies]

    def read(self, folder: Path) -> Any:
        return make_noise(f"gaussian={folder / STD}").facts()


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()
