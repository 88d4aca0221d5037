"""What is drawn from the models: gradient norms, training times, soft certification."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from randsmooth.documents import read_file
from randsmooth.errors import WrongFile
from randsmooth.papers.from_certificates import ACCURATE, RADIUS, table
from randsmooth.papers.output import Output, figure_output, table_output
from randsmooth.papers.row_evidence import RowEvidence
from randsmooth.papers.runs import Scale
from randsmooth.report import Axes, Line

if TYPE_CHECKING:
    from randsmooth.data import Images
    from randsmooth.models import Classifier
    from randsmooth.training.gradients import GradientNorms

# The largest number of training images, evenly spread, whose gradients are taken.
MOST_GRADIENTS = 1000
# A scale that certifies fewer images than the paper takes gradients of so many training
# images for each of them.
GRADIENTS_PER_CERTIFIED = 5
# Noisy copies of a training image by which its p_A is estimated.
NOISES_FOR_P_A = 100
# A norm of 0 is drawn as this value, since the axis is logarithmic.
SMALLEST_NORM = 1e-12
# Soft and hard certification are compared at so many radii, from 0 to so many sigmas.
FARTHEST_SIGMAS = 3.5
NUMBER_OF_RADII = 36
# The inverse temperatures of soft certification.
BETAS = (1.0, 4.0, 16.0)


def gradient_table(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Return a table of ACR and of the mean gradient norms of easy and hard images.

    The norms are of training images, and of the loss by which each model was trained.
    """
    figures = []
    for row_evidence in evidence:
        norms = _gradients(row_evidence, scale)
        figures.append(
            {
                "gradient-norm/easy": norms.easy,
                "gradient-norm/hard": norms.hard,
                "gradient-norm/ratio": norms.easy / norms.hard,
            }
        )
    note = (
        f"gradients of up to {MOST_GRADIENTS:,} training images in eval mode; "
        f"easy: p_A > 1/2 of {NOISES_FOR_P_A} noises, hard: below"
    )
    return table(evidence, scale, figures, note)


def gradients_before_and_after(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw gradient norm against p_A under Gaussian noise, before and after an attack.

    The attack is that of Amplify. It changes the directions of the noises, and keeps
    their norms.
    """
    # These need torch, which takes long to import.
    from randsmooth import methods
    from randsmooth.training.gradients import before_and_after
    from randsmooth.training.presets import named

    panels = []
    for row_evidence in evidence:
        row = row_evidence.row
        model, images, indices = _model_and_images(row_evidence, scale)
        # The first of the presets with this name is that of CIFAR-10, as in the figure.
        hyperparameters = named("acr/amplify")[0].hyperparameters(row.sigma)
        # `create` promises some method; this name makes an Amplify.
        attack: Any = methods.create("amplify", **hyperparameters)
        before, after = before_and_after(model, attack, images, indices, row.sigma)
        for when, norms in (("before", before), ("after", after)):
            y = np.maximum(norms.norms, SMALLEST_NORM)
            panels.append(
                Axes(
                    f"{when} the attack, sigma = {row.sigma:g}",
                    "p_A",
                    "gradient norm",
                    (Line(row.name, norms.p_a, y, "points"),),
                    log=True,
                )
            )
    return figure_output(panels)


def table_with_costs(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Return a table with the cost of training where the model is at hand."""
    costs = []
    for row_evidence in evidence:
        costs.append({} if row_evidence.model is None else _cost(row_evidence.model))
    if any(costs):
        return table(evidence, scale, costs, "times are of the machine that trained")
    return table(evidence, scale, costs)


def _cost(folder: Path) -> dict[str, float]:
    """Return metric -> figure for the cost of the run that made a model folder."""
    seconds = _history(folder)["seconds"]
    return {
        "seconds": float(seconds.mean()),
        "epochs": float(len(seconds)),
        "hours": float(seconds.sum()) / 3600.0,
    }


def _history(folder: Path) -> pd.DataFrame:
    """Return the columns of numbers of a model folder's history.csv, a row per epoch.

    Raises:
        Problem: the file cannot be read, or says nothing of seconds.
    """
    path = folder / "history.csv"
    content = read_file(path)
    try:
        # Without `index_col=False`, pandas takes a column that has no heading as index.
        history = pd.read_csv(io.BytesIO(content), index_col=False)
        numbers = history.select_dtypes("number")
    # pandas raises subclasses of ValueError for a file that is no table.
    except ValueError:
        numbers = pd.DataFrame()
    if "seconds" not in numbers or numbers.empty:
        raise WrongFile(
            f"{path} does not say how many seconds an epoch took: "
            "`train` with resume=True writes it again"
        )
    return numbers


def remaining(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Return a table of the share of the training images that discarding leaves.

    The share is that after the last epoch; NaN where the run did not record it.
    """
    lines = []
    for row_evidence in evidence:
        row = row_evidence.row
        history = _history(_folder(row_evidence))
        discarded = math.nan
        if "discarded_share" in history:
            discarded = float(history["discarded_share"].iloc[-1])
        # The paper prints this share alone, so that a row has a single figure.
        (published,) = row.figures.values()
        lines.append((row.sigma, published, 100.0 * (1.0 - discarded)))
    columns = ["sigma", "published (%)", "here (%)"]
    return table_output(pd.DataFrame(lines, columns=columns))


def soft_against_hard(evidence: Sequence[RowEvidence], scale: Scale) -> Output:
    """Draw certified accuracy by hard and by soft certification of the same samples.

    There is one panel per model.
    """
    # Only drawings from models need torch, which takes long to import.
    import torch

    from randsmooth import data, models
    from randsmooth.certification import SmoothedClassifier, soft_accuracies

    panels = []
    for row_evidence in sorted(
        evidence, key=lambda row_evidence: row_evidence.row.sigma
    ):
        row = row_evidence.row
        model = models.load(_folder(row_evidence))
        images = data.load(scale.dataset_of(row), "test")
        # A scale with 0 images certifies all.
        count = min(scale.images or len(images), len(images))
        chosen = data.take(len(images), count)
        x, labels = images.batch(torch.as_tensor(chosen))
        smoothed = SmoothedClassifier(model, sigma=row.sigma, seed=0)
        radii = np.linspace(0.0, FARTHEST_SIGMAS * row.sigma, NUMBER_OF_RADII)
        hard, soft = soft_accuracies(
            smoothed,
            x,
            labels,
            radii.tolist(),
            betas=BETAS,
            n0=scale.n0,
            n=scale.n,
        )
        lines = [Line("hard, Clopper-Pearson", radii, 100.0 * hard, "step")]
        for beta, shares in soft.items():
            lines.append(Line(f"soft, beta = {beta:g}", radii, 100.0 * shares, "step"))
        title = f"{row.name}, sigma = {row.sigma:g}"
        panels.append(Axes(title, RADIUS, ACCURATE, lines))
    return figure_output(panels, "soft: empirical Bernstein")


def _gradients(row_evidence: RowEvidence, scale: Scale) -> GradientNorms:
    """Return the gradient norms of a row's model, of the loss by which it was trained.

    Raises:
        WrongFile: the model's folder does not say how it was trained.
    """
    # These need torch, which takes long to import.
    from randsmooth import methods
    from randsmooth.training.gradients import gradient_norms
    from randsmooth.training.predictions import stored_predictions

    model, images, indices = _model_and_images(row_evidence, scale)
    folder = _folder(row_evidence)
    name = model.provenance.get("method")
    hyperparameters = model.provenance.get("hyperparameters")
    if not isinstance(name, str) or not isinstance(hyperparameters, dict):
        raise WrongFile(f"{folder} does not say by which method it was trained")
    method = methods.create(name, **hyperparameters)
    # A teacher's predictions for the training images; None where there was no teacher.
    targets = stored_predictions(folder)
    return gradient_norms(
        model,
        method,
        images,
        indices,
        sigma=row_evidence.row.sigma,
        noises=NOISES_FOR_P_A,
        targets=targets,
    )


def _model_and_images(
    row_evidence: RowEvidence, scale: Scale
) -> tuple[Classifier, Images, list[int]]:
    """Load a row's model and its training images.

    Returns:
        The model; its training images; and the indices among them of the images whose
        gradients are taken.
    """
    # `models` needs torch, which takes long to import.
    from randsmooth import data, models

    model = models.load(_folder(row_evidence))
    images = data.load(scale.dataset_of(row_evidence.row), "train")
    # The option `take` of training chooses so many of the images. The fact is missing
    # where all were kept. It may be of any type, as it is read from the user's file.
    trained_on = model.provenance.get("take")
    if type(trained_on) is int:
        images = images.subset(data.take(len(images), trained_on))
    # A scale with 0 images certifies as many as the paper, and takes most gradients.
    wanted = GRADIENTS_PER_CERTIFIED * scale.images or MOST_GRADIENTS
    count = min(MOST_GRADIENTS, len(images), wanted)
    return model, images, data.take(len(images), count).tolist()


def _folder(row_evidence: RowEvidence) -> Path:
    """Return the folder of a row's model."""
    assert row_evidence.model is not None, "asked for only where it is not missing"
    return row_evidence.model
