"""The runs that make a row's model and certificates, at one of three sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from randsmooth.certificates import CertificationSettings
from randsmooth.launch.model_steps import Certify, Train
from randsmooth.launch.step import Step
from randsmooth.papers.rows import PaperRow
from randsmooth.training.settings import TrainingSettings


@dataclass(frozen=True)
class Scale:
    """How far the runs of a reproduction are reduced from those of the paper.

    Attributes:
        dataset, arch: used in place of the paper's; None keeps the paper's.
        epochs: None keeps the paper's; with fewer the schedule is compressed.
        train_images: the number of images to train on; None for all.
        images: the number of images to certify; 0 for as many as the paper.
        n0, n: samples per image, to pick the class and to bound its probability.
        teacher_noises: noisy copies of each image that a teacher sees; None keeps the
            paper's number.

    Example:
        >>> from randsmooth.papers import SCALES
        >>> SCALES["cpu"].epochs, SCALES["cpu"].n
        (8, 10000)
    """

    dataset: str | None
    arch: str | None
    epochs: int | None
    train_images: int | None
    images: int
    n0: int
    n: int
    teacher_noises: int | None = None

    def dataset_of(self, row: PaperRow) -> str:
        """Return the data set that the row's model is trained on."""
        return self.dataset or row.dataset

    def model_folder_name(self, row: PaperRow) -> str:
        """Return the name of the folder of the row's model."""
        words = [self.dataset_of(row), *row.preset.split("/"), f"{row.sigma:g}"]
        return "-".join(words)


# The sizes of a reproduction, by name.
SCALES = {
    # It shows that everything runs.
    "tiny": Scale(
        dataset="digits",
        arch="small-cnn",
        epochs=2,
        train_images=None,
        images=40,
        n0=50,
        n=500,
        teacher_noises=64,
    ),
    "cpu": Scale(
        dataset=None,
        arch=None,
        epochs=8,
        train_images=20_000,
        images=500,
        n0=100,
        n=10_000,
        teacher_noises=1000,
    ),
    "paper": Scale(
        dataset=None,
        arch=None,
        epochs=None,
        train_images=None,
        images=0,
        n0=100,
        n=100_000,
    ),
}

# Every k-th test image of these data sets is certified, as in the literature; of the
# others, every image.
SKIPPED = {"imagenet": 100, "svhn": 20}
# CAT-RS's ablations on CIFAR-10, tables 3 and 5 to 7, certify 500 of its images (section
# 4.3).
SKIPPED_IN_ABLATIONS = {("cat-rs", "cifar10"): 20}

# The released CAT-RS code trains one Gaussian teacher for every sigma.
TEACHER_SIGMA = 0.25
# The settings that name the folder of another model, which is trained before.
TEACHER = "teacher"
P_A_FROM = "p_A_from"


def steps_for(row: PaperRow, scale: Scale, folder: Path) -> list[Step]:
    """Return the steps that train and certify a row's model in `folder`.

    They are preceded by that of the other model that it needs, if any.
    """
    needed = _other_model(row)
    if needed is None:
        train = _train(row, scale, folder)
        return [train, _certify(row, scale, train)]

    other = PaperRow(
        paper=row.paper,
        dataset=row.dataset,
        sigma=TEACHER_SIGMA if needed == TEACHER else row.sigma,
        method="gaussian",
        setting="",
        preset=f"{row.paper}/gaussian",
    )
    before = _train(other, scale, folder)
    hyperparameters: dict[str, Any] = {needed: str(before.makes)}
    if needed == TEACHER and scale.teacher_noises:
        hyperparameters["teacher_noises"] = scale.teacher_noises
    train = _train(row, scale, folder, hyperparameters, needs=(before,))
    return [before, train, _certify(row, scale, train)]


def _other_model(row: PaperRow) -> str | None:
    """Return the setting that names another model, for a row that needs one."""
    from randsmooth.training.presets import PRESETS

    preset = next(preset for preset in PRESETS if preset.name == row.preset)
    if preset.method == "cat-rs":
        hyperparameters = preset.hyperparameters(row.sigma)
        if hyperparameters.get("variant") == "released":
            return TEACHER
    if preset.method == "amplify" and row.dataset == "imagenet":
        return P_A_FROM
    return None


def steps_for_rows(rows: Sequence[PaperRow], scale: Scale, folder: Path) -> list[Step]:
    """Return the steps that make rows, each once: several rows may share a teacher."""
    steps: dict[str, Step] = {}
    for row in rows:
        for step in steps_for(row, scale, folder):
            steps[step.name] = step
    return list(steps.values())


def _train(
    row: PaperRow,
    scale: Scale,
    folder: Path,
    hyperparameters: Mapping[str, Any] | None = None,
    needs: tuple[Step, ...] = (),
) -> Train:
    """Return the step that trains a row's model.

    Args:
        hyperparameters: beside those of the preset.
        needs: the steps that make the models named in them.
    """
    out = folder / scale.model_folder_name(row)
    settings = TrainingSettings(
        preset=row.preset,
        sigma=row.sigma,
        anywhere=scale.dataset is not None,
        arch=scale.arch,
        epochs=scale.epochs,
        take=scale.train_images,
        set=dict(hyperparameters or {}),
    )
    return Train(
        name=f"{out.name}/train",
        makes=out,
        needs=needs,
        dataset=scale.dataset_of(row),
        settings=settings,
    )


def _certify(row: PaperRow, scale: Scale, train: Train) -> Certify:
    """Return the step that certifies the model that `train` makes."""
    images: dict[str, Any] = {}
    if scale.images:
        images["take"] = scale.images
    elif skip_of(row):
        images["skip"] = skip_of(row)
    return Certify(
        name=f"{train.chain}/certify",
        makes=train.beside(".parquet"),
        needs=(train,),
        model=str(train.makes),
        settings=CertificationSettings(n0=scale.n0, n=scale.n),
        images=images,
    )


def skip_of(row: PaperRow) -> int | None:
    """Return k where every k-th test image is certified for the row; None for all."""
    if row.setting and (row.paper, row.dataset) in SKIPPED_IN_ABLATIONS:
        return SKIPPED_IN_ABLATIONS[row.paper, row.dataset]
    return SKIPPED.get(row.dataset)
