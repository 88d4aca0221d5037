"""The runs that make a row's model and certificates, at one of three sizes."""

from collections.abc import Iterable, Mapping, Sequence
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
    """The size of the runs of a reproduction: that of the paper's runs, or smaller.

    Attributes:
        dataset, arch: the data set and the network in place of the paper's; None keeps
            the paper's.
        epochs: the number of epochs, into which the schedule is compressed; None keeps
            the paper's.
        train_images: the number of images to train on; None for all.
        images: the number of images to certify; 0 for as many as the paper.
        n0, n: samples per image, to pick the class and to bound its probability.
        teacher_noises: the number of noisy copies of each image that a teacher
            classifies; None keeps the paper's.

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

# Data set -> k, where every k-th test image is certified, as in the literature. Of the
# other data sets it is every image.
SKIPPED = {"imagenet": 100, "svhn": 20}
# (paper, data set) -> k in ablations. CAT-RS's ablations on CIFAR-10, tables 3 and 5 to
# 7, certify 500 of its 10,000 test images (section 4.3).
SKIPPED_IN_ABLATIONS = {("cat-rs", "cifar10"): 20}

# The released CAT-RS code trains one Gaussian teacher for every sigma.
TEACHER_SIGMA = 0.25
# Hyperparameters whose value is the folder of another model, which is trained before.
TEACHER = "teacher"
P_A_FROM = "p_A_from"


def steps_for(row: PaperRow, scale: Scale, folder: Path) -> list[Step]:
    """Return the steps that train and certify a row's model in `folder`.

    Where its training needs another model, the step that trains that one comes first.
    """
    setting_of_other = _setting_of_other_model(row)
    if setting_of_other is None:
        train = _train(row, scale, folder)
        return [train, _certify(row, scale, train)]

    # Both kinds of other models are those of Gaussian training.
    other_row = PaperRow(
        paper=row.paper,
        dataset=row.dataset,
        sigma=TEACHER_SIGMA if setting_of_other == TEACHER else row.sigma,
        method="gaussian",
        setting="",
        preset=f"{row.paper}/gaussian",
    )
    train_other = _train(other_row, scale, folder)
    hyperparameters: dict[str, Any] = {setting_of_other: str(train_other.makes)}
    if setting_of_other == TEACHER and scale.teacher_noises:
        hyperparameters["teacher_noises"] = scale.teacher_noises
    train = _train(row, scale, folder, hyperparameters, needs=(train_other,))
    return [train_other, train, _certify(row, scale, train)]


def _setting_of_other_model(row: PaperRow) -> str | None:
    """Return the hyperparameter that names another model; None for a row without one."""
    # Reading all presets takes time, which a list of objects need not pay.
    from randsmooth.training.presets import PRESETS

    preset = next(preset for preset in PRESETS if preset.name == row.preset)
    if preset.method == "cat-rs":
        hyperparameters = preset.hyperparameters(row.sigma)
        if hyperparameters.get("variant") == "released":
            return TEACHER
    # On ImageNet the paper takes the p_A by which images are discarded from a Gaussian
    # model; elsewhere from the model in training (see `Amplify`). That is so at any
    # scale, so that a small run goes through the same steps.
    if preset.method == "amplify" and row.dataset == "imagenet":
        return P_A_FROM
    return None


def steps_for_rows(rows: Sequence[PaperRow], scale: Scale, folder: Path) -> list[Step]:
    """Return the steps that make the models and certificates of rows, each once."""
    return each_once(step for row in rows for step in steps_for(row, scale, folder))


def each_once(steps: Iterable[Step]) -> list[Step]:
    """Return the steps, each once: several rows may share a model, such as a teacher."""
    return list({step.name: step for step in steps}.values())


def _train(
    row: PaperRow,
    scale: Scale,
    folder: Path,
    hyperparameters: Mapping[str, Any] | None = None,
    needs: tuple[Step, ...] = (),
) -> Train:
    """Return the step that trains a row's model.

    Args:
        hyperparameters: further ones than those of the preset.
        needs: the steps that make the models which these hyperparameters name.
    """
    out = folder / scale.model_folder_name(row)
    settings = TrainingSettings(
        preset=row.preset,
        sigma=row.sigma,
        # The preset may be used on a data set that it was not published for.
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
    # Which of the test images are certified; all of them where nothing is said.
    choice_of_images: dict[str, Any] = {}
    if scale.images:
        choice_of_images["take"] = scale.images
    elif skip_of(row):
        choice_of_images["skip"] = skip_of(row)
    return Certify(
        name=f"{train.chain}/certify",
        makes=train.beside(".parquet"),
        needs=(train,),
        model=str(train.makes),
        settings=CertificationSettings(n0=scale.n0, n=scale.n),
        images=choice_of_images,
    )


def skip_of(row: PaperRow) -> int | None:
    """Return k where every k-th test image is certified for the row; None for all."""
    # Only a row of an ablation has a setting.
    if row.setting and (row.paper, row.dataset) in SKIPPED_IN_ABLATIONS:
        return SKIPPED_IN_ABLATIONS[row.paper, row.dataset]
    return SKIPPED.get(row.dataset)
