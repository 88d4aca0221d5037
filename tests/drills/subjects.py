"""The commands that are drilled: each works in a folder of its own and writes below `out` there."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    again: str = "--resume"
    other: str = "--seed 1"
    old: str = ""
    patience: float = 120.0

    def command(
        self, stage: Path, *, again: bool = True, other: bool = False
    ) -> list[str]:
        """What is typed; with `again` it may follow one that was cut short, with `other` it is the rival's."""
        text = " ".join([self.words, self.again * again, self.other * other])
        return shlex.split(text.replace("STAGE", str(stage)))


TRAIN = "train digits --sigma 0.5 --out out/m"
TEACHER = "--set variant=released --set teacher=STAGE/teacher --set teacher_noises=32"
TRAINED = {
    "gaussian": "--method gaussian --take 100 --epochs 6",
    "few": "--method gaussian --take 50 --epochs 2",  # for what is tried at every write
    "amplify": "--method amplify --take 100 --epochs 6 --set E_t=2",
    "cat-rs": f"--method cat-rs --take 100 --epochs 4 {TEACHER}",
}
CERTIFY = "certify STAGE/model --n0 50 --out out/a.parquet"
CERTIFIED = {
    **{
        f"{rule}": f"--rule {rule} --take 30 --n 600"
        for rule in ("fixed", "radius=0.25", "grid", "dense=0.5")
    },
    **{
        f"{rule}": f"--rule {rule} --take 30 --n 600"
        for rule in ("anytime", "anytime=0.25")
    },
    "fixed two-sided": "--bound two-sided --take 30 --n 600",
    "fixed randomised": "--bound randomised --take 30 --n 600",
    "fixed sound": "--sound --take 30 --n 600",
    "fixed label-aware": "--label-aware --take 30 --n 600",
    "few": "--take 6 --n 300",
    "shard": "--take 12 --n 300 --shard 2/2",
    "workers": "--take 12 --n 300 --workers 2",
}
COMPARE = "--out out/page.html --figures png --tables md,json"
BOARD = "leaderboard STAGE/{} --out out/page.html"
PAGE: dict[str, Any] = {"again": "--overwrite", "other": "--title other"}
SUBJECTS = {
    subject.name: subject
    for subject in (
        *(Subject(f"train {name}", f"{TRAIN} {way}") for name, way in TRAINED.items()),
        *(
            Subject(f"certify {name}", f"{CERTIFY} {way}")
            for name, way in CERTIFIED.items()
        ),
        Subject(
            "reproduce --run",
            "reproduce acr/figure5 --scale tiny --run --out out",
            again="",
        ),
        Subject(
            "compare",
            f"compare STAGE/tables/a.parquet STAGE/tables/b.parquet {COMPARE}",
            **PAGE,
            old=f"compare STAGE/others/a.parquet {COMPARE}",
        ),
        Subject(
            "leaderboard", BOARD.format("tables"), **PAGE, old=BOARD.format("others")
        ),
        Subject(
            "sweep",
            "sweep STAGE/grid.yaml --workers 2 --out out",
            again="",
            patience=1200.0,
        ),
    )
}


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
