"""What is drawn from the models themselves: gradient norms, training times, soft certification."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from randsmooth.documents import read_file
from randsmooth.errors import WrongFile
from randsmooth.papers.context import Context
from randsmooth.papers.from_certificates import ACCURATE, RADIUS, table
from randsmooth.papers.output import Output, figure_output, table_output
from randsmooth.papers.published_values import PaperRow
from randsmooth.report import Axes, Line

if TYPE_CHECKING:
    from randsmooth.data import Images
    from randsmooth.models import Classifier
    from randsmooth.training.gradients import GradientNorms

MOST = 1000  # training images, evenly spread, whose gradients are taken


def gradient_table(context: Context, rows: list[PaperRow]) -> Output:
    """ACR, and the mean gradient norm of easy and of hard training images under each method's own loss."""
    note = f"gradients of up to {MOST:,} training images in eval mode; easy: p_A > 1/2 of 100 noises, hard: below"
    found = [_gradients(context, row) for row in rows]
    kinds = [
        {"easy": norms.easy, "hard": norms.hard, "ratio": norms.easy / norms.hard}
        for norms in found
    ]
    return table(
        context,
        rows,
        [{f"gradient-norm/{k}": v for k, v in each.items()} for each in kinds],
        note,
    )


def gradients_before_and_after(context: Context, rows: list[PaperRow]) -> Output:
    """Gradient norm against p_A under Gaussian noise, and under the same noise attacked on its sphere."""
    from randsmooth import methods
    from randsmooth.training.gradients import before_and_after
    from randsmooth.training.presets import named

    panels = []
    for row in rows:
        model, images, indices = _model_and_images(context, row)
        settings = named("acr/amplify")[0].hyperparameters(row.sigma)
        attack: Any = methods.create("amplify", **settings)
        both = before_and_after(model, attack, images, indices, row.sigma)
        for when, norms in zip(("before", "after"), both, strict=True):
            lines = (
                Line(row.name, norms.p_a, np.maximum(norms.norms, 1e-12), "points"),
            )
            panels.append(
                Axes(
                    f"{when} the attack, sigma = {row.sigma:g}",
                    "p_A",
                    "gradient norm",
                    lines,
                    log=True,
                )
            )
    return figure_output(panels)


def table_with_costs(context: Context, rows: list[PaperRow]) -> Output:
    """Certified accuracy and ACR beside the published figures, and the cost of training where the model is at hand."""
    costs = [
        {} if (folder := context.model(row)) is None else _cost(folder) for row in rows
    ]
    return table(
        context, rows, costs, *["times are of the machine that trained"] * any(costs)
    )


def _cost(folder: Path) -> dict[str, float]:
    """Mean seconds per epoch, epochs and hours of the training run that made a model folder."""
    seconds = _history(folder)["seconds"]
    return {
        "seconds": float(seconds.mean()),
        "epochs": float(len(seconds)),
        "hours": float(seconds.sum()) / 3600.0,
    }


def _history(folder: Path) -> pd.DataFrame:
    """What the training run behind a model folder recorded of each epoch; Problem where it cannot be read."""
    path = folder / "history.csv"
    content = read_file(path)
    try:
        numbers = pd.read_csv(io.BytesIO(content), index_col=False).select_dtypes(
            "number"
        )
    except ValueError:  # pandas raises subclasses of it
        numbers = pd.DataFrame()
    if "seconds" not in numbers or numbers.empty:
        raise WrongFile(
            f"{path} does not say how many seconds an epoch took: `train --resume` writes it again"
        )
    return numbers


def remaining(context: Context, rows: list[PaperRow]) -> Output:
    """Share of the training images that discarding leaves."""
    lines = []
    for row in rows:
        discarded = (
            _history(_folder(context, row))
            .get("discarded_share", pd.Series([math.nan]))
            .iloc[-1]
        )
        published = next(iter(row.figures.values()), math.nan)
        lines.append((row.sigma, published, 100.0 * (1.0 - float(discarded))))
    return table_output(
        pd.DataFrame(lines, columns=["sigma", "published (%)", "here (%)"])
    )


def soft_against_hard(context: Context, rows: list[PaperRow]) -> Output:
    """Certified accuracy by hard and by soft certification of the same samples, one panel per model."""
    import torch

    from randsmooth import data, models
    from randsmooth.certification import SmoothedClassifier, soft_accuracies

    panels = []
    for row in sorted(rows, key=lambda row: row.sigma):
        model, images = (
            models.load(_folder(context, row)),
            data.load(context.scale.dataset_of(row), "test"),
        )
        chosen = data.take(
            len(images), min(context.scale.images or len(images), len(images))
        )
        x, y = images.batch(torch.as_tensor(chosen))
        smoothed, radii = (
            SmoothedClassifier(model, sigma=row.sigma, seed=0),
            np.linspace(0.0, 3.5 * row.sigma, 36),
        )
        budget: dict[str, Any] = {"n0": context.scale.n0, "n": context.scale.n}
        hard, soft = soft_accuracies(
            smoothed, x, y, radii.tolist(), betas=(1.0, 4.0, 16.0), **budget
        )
        lines = [Line("hard, Clopper-Pearson", radii, 100.0 * hard, "step")]
        lines += [
            Line(f"soft, beta = {beta:g}", radii, 100.0 * y, "step")
            for beta, y in soft.items()
        ]
        panels.append(
            Axes(f"{row.name}, sigma = {row.sigma:g}", RADIUS, ACCURATE, tuple(lines))
        )
    return figure_output(panels, "soft: empirical Bernstein")


def _gradients(context: Context, row: PaperRow) -> GradientNorms:
    from randsmooth import methods
    from randsmooth.training.gradients import gradient_norms
    from randsmooth.training.predictions import stored_predictions

    model, images, indices = _model_and_images(context, row)
    named, hyper = (model.provenance.get(key) for key in ("method", "hyperparameters"))
    if not isinstance(named, str) or not isinstance(hyper, dict):
        raise WrongFile(
            f"{_folder(context, row)} does not say by which method it was trained"
        )
    method = methods.create(named, **hyper)
    targets = stored_predictions(_folder(context, row))
    return gradient_norms(model, method, images, indices, row.sigma, targets=targets)


def _model_and_images(
    context: Context, row: PaperRow
) -> tuple[Classifier, Images, list[int]]:
    from randsmooth import data, models

    model, images = (
        models.load(_folder(context, row)),
        data.load(context.scale.dataset_of(row), "train"),
    )
    if (
        type(take := model.provenance.get("take")) is int
    ):  # the images that it was trained on
        images = images.subset(data.take(len(images), take))
    most = min(MOST, len(images), 5 * context.scale.images or MOST)
    return model, images, data.take(len(images), most).tolist()


def _folder(context: Context, row: PaperRow) -> Path:
    folder = context.model(row)
    assert folder is not None, "asked for only where it is not missing"
    return folder
