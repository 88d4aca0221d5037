"""From a grid to the steps of a sweep: train, certify and evaluate each model, then rank them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from randsmooth.errors import InputError
from randsmooth.launch.grid import Cell, Certification, Grid, Reference, slug
from randsmooth.launch.steps import Step


def steps_of(grid: Grid, out: Path | str) -> list[Step]:
    """The steps of a sweep into the folder `out`, those of one model together, in the order of the grid.

    Every model has a folder below `out` with its name: `model/`, a table for each certification, `metrics.json`.

    Raises:
        InputError: models that wait for each other, or a reference that may mean several.

    Example:
        >>> grid = Grid.read({"datasets": "digits", "methods": "gaussian", "sigmas": 0.25, "certify": {"n": 1000}})
        >>> for step in steps_of(grid, Path("runs")):
        ...     print(step.name)
        digits-gaussian-0.25-seed0/train
        digits-gaussian-0.25-seed0/n=1000
        digits-gaussian-0.25-seed0/evaluate
    """
    steps = _Steps(grid, Path(out))
    for cell in grid.cells:
        steps.add_cell(cell)
    return [*steps.found.values()]


class _Steps:
    """Collects steps by name, each once, what another needs before it."""

    def __init__(self, grid: Grid, out: Path) -> None:
        self.grid, self.out, self.found = grid, out, dict[str, Step]()
        self.titles: dict[str, Cell] = dict(grid.by_title)

    def add_cell(self, cell: Cell) -> None:
        train = self.training(cell, ())
        certified = [self.certification(cell, train, one) for one in self.grid.certifications]
        if certified:
            self.add(_evaluation(self.out / cell.title, cell, certified))

    def add(self, step: Step) -> Step:
        return self.found.setdefault(step.name, step)

    def training(self, cell: Cell, asked_by: tuple[str, ...]) -> Step:
        """The step that trains a model, after those of the models that its hyperparameters refer to."""
        if cell.title in asked_by:
            circle = " needs ".join([*asked_by[asked_by.index(cell.title) :], cell.title])
            raise InputError(f"models wait for each other: {circle}")
        name = f"{cell.title}/train"
        if name in self.found:
            return self.found[name]
        values, needs = dict[str, Any](), list[str]()
        for key, value in cell.own.items():
            if isinstance(value, Reference):
                other = self.training(self._named_once(self.grid.meant(cell, key, value)), (*asked_by, cell.title))
                value, needs = str(other.makes), [*needs, other.name]
            values[key] = value
        options = {**replace(cell, own=values).options(), "out": self.out / cell.title / "model"}
        return self.add(Step(name, "train", cell.dataset, options, options["out"], tuple(needs)))

    def _named_once(self, cell: Cell) -> Cell:
        """The cell; InputError where a model that is only referred to has the name of another."""
        there = self.titles.setdefault(cell.title, cell)
        if there.values != cell.values:
            raise InputError(
                f"{cell.title} is two models, with {dict(there.values)} and with {dict(cell.values)}: say in the "
                "reference what tells it from the other"
            )
        return there

    def certification(self, cell: Cell, train: Step, one: Certification) -> Step:
        folder = self.out / cell.title
        options: dict[str, Any] = {"dataset": cell.dataset, **cell.reading(), **one.values}
        needs = [train.name]
        denoiser = options.get("denoiser")
        if isinstance(denoiser, Mapping):
            step = self.denoiser(cell, train, denoiser, float(options.get("sigma", cell.sigma)))
            options["denoiser"], needs = step.makes, [*needs, step.name]
        table = folder / f"{one.title}.parquet"
        return self.add(
            Step(
                f"{cell.title}/{one.title}",
                "certify",
                str(train.makes),
                {**options, "out": table},
                table,
                tuple(needs),
            )
        )

    def denoiser(self, cell: Cell, train: Step, said: Mapping[str, Any], sigma: float) -> Step:
        """The step that trains a denoiser; one that is about a classifier's answers is of the cell's own."""
        values, needs = dict(said), list[str]()
        if values.get("objective") == "stability" and "classifier" not in values:
            values["classifier"], needs = str(train.makes), [train.name]
        if isinstance(values.get("start"), Mapping):
            before = self.denoiser(cell, train, values["start"], sigma)
            values["start"], needs = str(before.makes), [*needs, before.name]
        words = [f"{key}={Path(str(value)).name}" for key, value in said.items() if not isinstance(value, Mapping)]
        of = [cell.title] if train.name in needs else [Path(cell.dataset).name]
        title = slug("-".join([*of, "denoiser", *words, f"{sigma:g}"]))
        folder = self.out / title / "model"
        return self.add(
            Step(
                f"{title}/train",
                "train-denoiser",
                cell.dataset,
                {"sigma": sigma, **values, "out": folder},
                folder,
                tuple(needs),
            )
        )


def _evaluation(folder: Path, cell: Cell, certified: list[Step]) -> Step:
    tables = tuple(step.makes for step in certified)
    out = folder / "metrics.json"
    return Step(
        f"{cell.title}/evaluate",
        "evaluate",
        [str(table) for table in tables],
        {"format": "json", "out": out, "overwrite": True},
        out,
        tuple(step.name for step in certified),
        tables,
    )
