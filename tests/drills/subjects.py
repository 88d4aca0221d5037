"""The commands that are drilled: each works in a folder of its own and writes below `out` there."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

RULES = ("fixed", "radius=0.25", "grid", "anytime", "anytime=0.25")
FIXED = {
    "two-sided": "--bound two-sided",
    "randomised": "--bound randomised",
    "sound": "--sound",
    "label-aware": "--label-aware",
}


# Two models that need nothing, one that learns from the first, each certified in two ways.
GRID = """
datasets: digits
methods:
  gaussian:
  cat-rs: {variant: released, teacher: {method: gaussian}, teacher_noises: 32}
sigmas: [0.25, 0.5]
train: {take: 100, epochs: 3}
certify: {n: 600, take: 20, rule: [fixed, grid]}
"""


@dataclass(frozen=True)
class Subject:
    """A command, as typed in its folder, where STAGE stands for the folder of what all of them read.

    Attributes:
        again: what lets it go on, or begin anew, where an earlier one was cut short.
        other: settings that make another result of the same output, for its rival.
        old: the command whose result is there before, and is replaced.
        patience: seconds in which it must end.
    """

    name: str
    words: str
    again: str = ""
    other: str = ""
    old: str = ""
    patience: float = 120.0

    def command(self, stage: Path, *, again: bool = True, other: bool = False) -> list[str]:
        """What is typed; with `again` it may follow one that was cut short, with `other` it is the rival's."""
        text = " ".join([self.words, self.again * again, self.other * other])
        return shlex.split(text.replace("STAGE", str(stage)))


def subjects() -> list[Subject]:
    """All of them; those that are quick to run stand for their kind in what is tried many times."""
    return [*_trained(), *_certified(), *_drawn()]


def sweeps() -> list[Subject]:
    """Commands that run others, each in a process of its own."""
    return [Subject("sweep", "sweep STAGE/grid.yaml --workers 2 --out out", patience=1200.0)]


def named(*names: str) -> list[Subject]:
    """The subjects of these names."""
    return [subject for name in names for subject in [*subjects(), *sweeps()] if subject.name == name]


def staged(stage: Path) -> list[str]:
    """Commands that make what the others read: models, and tables of two of them."""
    train = f"train digits --sigma 0.5 --take 400 --epochs 2 --out {stage}/"
    certify = f"certify {stage}/model --n 300 --take 25 --out {stage}/"
    return [
        train + "model",
        train + "teacher --seed 1",
        certify + "tables/a.parquet",
        certify + "tables/b.parquet --seed 1",
        certify + "others/a.parquet --seed 2",
    ]


def _trained() -> list[Subject]:
    train = "train digits --sigma 0.5 --out out/m"
    teacher = "--set variant=released --set teacher=STAGE/teacher --set teacher_noises=32"
    ways = {
        "gaussian": "--method gaussian --take 100 --epochs 6",
        "few": "--method gaussian --take 50 --epochs 2",  # for what is tried at every write
        "amplify": "--method amplify --take 100 --epochs 6 --set E_t=2",
        "cat-rs": f"--method cat-rs --take 100 --epochs 4 {teacher}",
    }
    return [
        Subject(f"train {name}", f"{train} {way}", again="--resume", other="--seed 1") for name, way in ways.items()
    ]


def _certified() -> list[Subject]:
    certify = "certify STAGE/model --n0 50 --out out/a.parquet"
    few = "--take 30 --n 600"
    ways = {f"certify {rule}": f"--rule {rule} {few}" for rule in RULES}
    ways |= {f"certify fixed {name}": f"{option} {few}" for name, option in FIXED.items()}
    ways["certify few"] = "--take 6 --n 300"
    ways["certify shard"] = "--take 12 --n 300 --shard 2/2"
    ways["certify workers"] = "--take 12 --n 300 --workers 2"
    return [Subject(name, f"{certify} {way}", again="--resume", other="--seed 1") for name, way in ways.items()]


def _drawn() -> list[Subject]:
    compare = "--out out/page.html --figures png --tables md,json"
    tables = "STAGE/tables/a.parquet STAGE/tables/b.parquet"
    return [
        Subject("reproduce --run", "reproduce acr/figure5 --scale tiny --run --out out"),
        Subject(
            "compare",
            f"compare {tables} {compare}",
            again="--overwrite",
            other="--title other",
            old=f"compare STAGE/others/a.parquet {compare}",
        ),
        Subject(
            "leaderboard",
            "leaderboard STAGE/tables --out out/page.html",
            again="--overwrite",
            other="--title other",
            old="leaderboard STAGE/others --out out/page.html",
        ),
    ]
