"""Tables of the pages on training methods, made of the code: settings, presets, costs, and what was measured."""

from __future__ import annotations

import dataclasses
import json
from itertools import groupby
from typing import Any

import torch
from field_docs import entries
from kept import RESULTS, kept
from markdown_rows import cell, table
from torch import Tensor, nn

from randsmooth import metrics
from randsmooth.cli.verbs.presets import values_by_sigma
from randsmooth.methods import METHODS, LossInputs, create
from randsmooth.training import presets
from randsmooth.training.presets import Preset

SIGMA = 0.5
USUAL = "the data set's usual one"


def settings(method: str) -> str:
    """What each setting of `method` does, by the docstring of its class, and its default."""
    kind = METHODS[method]
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    rows = []
    for names, meaning in entries(kind):
        values = ", ".join(_literal(defaults[name]) for name in names)
        rows.append((", ".join(f"`{name}`" for name in names), values, meaning))
    return table(("setting", "default", "what it does"), rows)


def _literal(value: object) -> str:
    return "none" if value is dataclasses.MISSING or value is None else f"`{str(value).lower()}`"


def of_method(method: str) -> list[Preset]:
    return [preset for preset in presets.PRESETS if preset.method == method]


def main_presets(method: str) -> str:
    """The presets of main tables, with their values, schedules and sources."""
    rows = [
        (f"`{preset.name}`", _served(preset), values_by_sigma(preset) or "–", _schedule(preset), preset.source)
        for preset in of_method(method)
        if preset.main
    ]
    return table(("preset", "data sets", "values", "schedule", "source"), rows)


def _served(preset: Preset) -> str:
    return ", ".join(preset.datasets) if preset.datasets else "any"


def _schedule(preset: Preset) -> str:
    if preset.optimisation is None:
        return USUAL + ("" if preset.batch is None else f", batch {preset.batch}")
    return preset.schedule("", "").summary()


def ablations(method: str) -> str:
    """The rows of ablation tables, those of one table together; empty where the method has none."""
    varied = [preset for preset in of_method(method) if not preset.main]
    rows = []
    for (base, source), group in groupby(varied, key=lambda preset: (preset.base, preset.source)):
        members = list(group)
        sigmas = sorted({sigma for preset in members for sigma in preset.by_sigma})
        names = ", ".join(f"`/{preset.variation}`" for preset in members)
        rows.append((f"`{base}`", names, ", ".join(f"{sigma:g}" for sigma in sigmas), source))
    return table(("preset", "followed by", "sigma", "source"), rows) if rows else ""


class Counting(nn.Module):
    """A classifier that is right about class 0 whatever it sees, so that no attack ends early, and counts images."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.seen = nn.Linear(4, 10), 0
        with torch.no_grad():
            self.linear.bias[0] = 20.0

    def forward(self, x: Tensor) -> Tensor:
        self.seen += len(x)
        return self.linear(x.flatten(1))


def forward_passes(method: str, **hyperparameters: Any) -> int:
    """How often the network sees an image in one step of training: its noisy copies, and those of an attack's steps."""
    objective, model, images = create(method, **hyperparameters), Counting(), 2
    generator = torch.Generator().manual_seed(0)
    x, y = torch.rand(images, 1, 2, 2, generator=generator), torch.zeros(images, dtype=torch.int64)
    noise = SIGMA * torch.randn(objective.m, *x.shape, generator=generator)
    objective.loss(model, x, y, noise, LossInputs(u=torch.full((images,), 0.5), sigma=SIGMA))
    return model.seen // images


def compared(_: str = "") -> str:
    """A line a method: what a step costs, what the small run took, and what was measured after eight epochs."""
    made = json.loads((RESULTS / "methods-training" / "made.json").read_text())["runs"]
    rows = []
    for name in ORDER:
        values = presets.find(name, "mnist", f"randsmooth/{name}").hyperparameters(SIGMA)
        found = kept(f"mnist-methods/sigma0.5/{name}.parquet")
        p_a, acr = metrics.p_a(found), metrics.acr(found)
        shares = [f"{100.0 * p_a.share(x).value:.1f}" for x in (0.5, 0.9)]
        link, passes, took = f"[{name}]({name}.md)", forward_passes(name, **values), made[name]["cpu_seconds"]
        rows.append((link, str(passes), f"{took:.0f}", *shares, f"{acr.value:.3f} ({acr.low:.3f} to {acr.high:.3f})"))
    heads = ("method", "passes", "CPU s", "p_A ≥ .5, %", "p_A ≥ .9, %", "ACR (95%)")
    return table(heads, rows)


ORDER = ("gaussian", "stability", "smoothadv", "macer", "consistency", "smoothmix", "cat-rs", "amplify")


def how_trained(method: str) -> str:
    """The command of the run in the figure, and what it took."""
    made = json.loads((RESULTS / "methods-training" / "made.json").read_text())
    run = made["runs"][method]
    return (
        f"```console\n{run['command']}\n```\n\n{run['cpu_seconds']:.0f} CPU seconds ({cell(made['machine']['cpu'])})."
    )
