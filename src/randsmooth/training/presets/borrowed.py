"""Presets that are not from a paper: its values, used on data sets that the paper did not train on."""

from __future__ import annotations

from dataclasses import replace

from randsmooth.training.presets import acr, cat_rs, macer
from randsmooth.training.presets.base import Preset

GREY = ("digits", "mnist", "fashion-mnist")


def _borrowed(preset: Preset, datasets: tuple[str, ...] = ()) -> Preset:
    """The values of `preset` on other data sets; what is measured in epochs is scaled to their schedules."""
    assert preset.optimisation is not None
    borrowed = replace(
        preset,
        name=f"randsmooth/{preset.method}",
        source=f"not from a paper: {preset.name} of {preset.datasets[0]} on the data set's usual schedule",
        datasets=datasets,
        optimisation=None,
        reference_epochs=preset.optimisation.epochs,
    )
    return _deferred(borrowed) if preset.method == "macer" else borrowed


def _deferred(preset: Preset) -> Preset:
    """MACER with Gaussian training for the first third of the schedule, and 64 images per step.

    Without this beginning, or with the 16 images of a usual batch, small networks became constant classifiers.
    """
    return replace(
        preset,
        source=f"{preset.source}, deferred, 64 images per step",
        batch=macer.OWN.batch,
        by_sigma={sigma: {**values, "lbd_from": 50} for sigma, values in preset.by_sigma.items()},
    )


PRESETS = (
    _borrowed(acr.GAUSSIAN),
    *(_borrowed(preset, GREY) for preset in cat_rs.ON_MNIST if preset.method != "gaussian"),
    *(_borrowed(preset) for preset in cat_rs.ON_CIFAR if preset.method != "gaussian"),
    _borrowed(acr.AMPLIFY),
)
