"""How large a reproduction is, and the commands that make what it lacks."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from randsmooth.papers.rows import PaperRow
from randsmooth.progress import Progress


@dataclass(frozen=True)
class Scale:
    """What stands between a paper's run and a computer's patience.

    Attributes:
        help: in a few words.
        dataset, arch: in place of the paper's; None: the paper's own.
        epochs: None: the paper's. Fewer compress the schedule.
        train_images: None: all.
        images, n0, n: certified, and samples for each; 0 images: the paper's choice.
        teacher_noises: that a teacher sees each image under; None: the paper's.
    """

    help: str
    dataset: str | None
    arch: str | None
    epochs: int | None
    train_images: int | None
    images: int
    n0: int
    n: int
    teacher_noises: int | None = None

    def dataset_of(self, row: PaperRow) -> str:
        return self.dataset or row.dataset

    def key(self, row: PaperRow) -> str:
        """Name of the row's model folder."""
        return f"{self.dataset_of(row)}-{row.preset.replace('/', '-')}-{row.sigma:g}"


SCALES = {
    "tiny": Scale("digits, 2 epochs, 40 images: shows that it runs", "digits", "small-cnn", 2, None, 40, 50, 500, 64),
    "cpu": Scale(
        "the paper's data, 8 epochs of 20,000 images, 500 certified", None, None, 8, 20_000, 500, 100, 10_000, 1000
    ),
    "paper": Scale("as published, n = 100,000", None, None, None, None, 0, 100, 100_000),
}
SKIPPED = {"imagenet": 100, "svhn": 20}  # the literature certifies every so many-th image; all of others
ABLATED = 20  # CAT-RS's ablations on CIFAR-10, tables 3 and 5 to 7, have 500 of its images (section 4.3)
TEACHER_SIGMA = 0.25  # the released CAT-RS code: one Gaussian-trained teacher for every sigma, under 10,000 noises


@dataclass(frozen=True)
class Step:
    """A command of the tool: its verb, its arguments in order and its options."""

    verb: str
    argument: str
    options: dict[str, Any]

    def command(self) -> str:
        """As one would type it."""
        words = ["randsmooth", self.verb, self.argument]
        for key, value in self.options.items():
            flag = "--" + key.replace("_", "-")
            if isinstance(value, dict):
                words += [word for name, set_to in value.items() for word in (flag, f"{name}={set_to}")]
            elif value is True:
                words.append(flag)
            elif value is not None:
                words += [flag, str(value)]
        return shlex.join([*words, "--resume"])


def steps_for(row: PaperRow, scale: Scale, folder: Path) -> list[Step]:
    """Training and certification of a row's model in `folder`; first those of its teacher, if it has one."""
    wanted = _teacher(row)
    sigma = TEACHER_SIGMA if wanted == "teacher" else row.sigma
    teacher = PaperRow(row.paper, row.dataset, sigma, "gaussian", "", f"{row.paper}/gaussian")
    before = [_train(teacher, scale, folder, {})] if wanted else []
    given: dict[str, Any] = {wanted: folder / scale.key(teacher)} if wanted else {}
    if wanted == "teacher" and scale.teacher_noises:
        given["teacher_noises"] = scale.teacher_noises
    return [*before, _train(row, scale, folder, given), _certify(row, scale, folder)]


def _teacher(row: PaperRow) -> str:
    """The setting that names another model, for a row that needs one."""
    from randsmooth.training.presets import named

    preset = named(row.preset)[0]
    if preset.method == "cat-rs" and preset.hyperparameters(row.sigma).get("variant") == "released":
        return "teacher"
    return "p_A_from" if preset.method == "amplify" and row.dataset == "imagenet" else ""


def _train(row: PaperRow, scale: Scale, folder: Path, given: dict[str, Any]) -> Step:
    options: dict[str, Any] = {
        "preset": row.preset,
        "sigma": row.sigma,
        "anywhere": scale.dataset is not None,
        "arch": scale.arch,
        "epochs": scale.epochs,
        "take": scale.train_images,
        "set": {key: str(value) if isinstance(value, Path) else value for key, value in given.items()},
        "out": folder / scale.key(row),
    }
    return Step("train", scale.dataset_of(row), {key: value for key, value in options.items() if value})


def skip_of(row: PaperRow) -> int | None:
    """Every so many-th test image is certified for the row; None: all are."""
    if row.setting and (row.paper, row.dataset) == ("cat-rs", "cifar10"):
        return ABLATED
    return SKIPPED.get(row.dataset)


def _certify(row: PaperRow, scale: Scale, folder: Path) -> Step:
    where = folder / scale.key(row)
    chosen = {"take": scale.images} if scale.images else {"skip": skip_of(row)}
    options = {**chosen, "n0": scale.n0, "n": scale.n, "out": where.with_name(where.name + ".parquet")}
    return Step("certify", str(where), {key: value for key, value in options.items() if value})


def run_step(step: Step, progress: Progress, say: Callable[[str], None]) -> None:
    """Run a step, or what is left of it."""
    from randsmooth.certification import certify
    from randsmooth.training import train

    say(step.command())
    options = dict(step.options)
    out = options.pop("out")
    if step.verb == "certify":
        certify(step.argument, out=out, resume=True, progress=progress, **options)
    elif not (out / "config.json").exists():  # which is written last
        train(step.argument, out=out, resume=True, progress=progress, **options)
