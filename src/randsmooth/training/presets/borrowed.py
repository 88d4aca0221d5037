"""Presets that are not from a paper: its values, on data sets that it did not train on."""

from __future__ import annotations

from dataclasses import replace

from randsmooth.training.presets import acr, cat_rs
from randsmooth.training.presets.base import Preset

GREY_DIGITS = ("digits", "mnist", "fashion-mnist")


def _borrowed(preset: Preset, datasets: tuple[str, ...] = ()) -> Preset:
    """The values of `preset` on other data sets; what is measured in epochs keeps its place in their schedules."""
    assert preset.optimisation is not None
    return replace(
        preset,
        name=f"randsmooth/{preset.method}",
        source=f"not from a paper: {preset.name} of {preset.datasets[0]} on the data set's usual schedule",
        datasets=datasets,
        optimisation=None,
        reference_epochs=preset.optimisation.epochs,
    )


PRESETS = (
    _borrowed(acr.GAUSSIAN),
    *(_borrowed(preset, GREY_DIGITS) for preset in cat_rs.ON_MNIST if preset.method != "gaussian"),
    *(_borrowed(preset) for preset in cat_rs.ON_CIFAR if preset.method != "gaussian"),
    _borrowed(acr.AMPLIFY),
)
