"""The steps of a sweep: each model is trained, certified in every way, and measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from randsmooth.certificates import CertificationSettings
from randsmooth.errors import BadValue
from randsmooth.frozen_record import FrozenRecord
from randsmooth.launch.model_steps import Certify, Train
from randsmooth.launch.outcomes import problems_in
from randsmooth.launch.step import Step
from randsmooth.launch.sweep_grid import Cell, SweepGrid
from randsmooth.launch.table_steps import Evaluate
from randsmooth.training.settings import Reading, TrainingSettings


def steps_of(grid: SweepGrid, out: Path | str) -> list[Step]:
    """Return the steps of a sweep into the folder `out`, in the order of the grid.

    Every model has a folder below `out` with its name: `model/`, a table for each
    certification, `metrics.json`.

    Raises:
        Problem: settings that cannot be used, models that wait for each other, or a
            reference that may mean several.

    Example:
        >>> grid = SweepGrid.read(
        ...     {
        ...         "datasets": "digits",
        ...         "methods": "gaussian",
        ...         "sigmas": 0.25,
        ...         "certify": {"n": 1000},
        ...     }
        ... )
        >>> for step in steps_of(grid, Path("runs")):
        ...     print(step.name)
        digits-gaussian-0.25-seed0/train
        digits-gaussian-0.25-seed0/n=1000
        digits-gaussian-0.25-seed0/evaluate
    """
    steps = _StepsOfGrid(grid, Path(out))
    for cell in grid.cells:
        steps.add_all_of(cell)
    return list(steps.by_name.values())


class _StepsOfGrid:
    """The steps of a sweep by name, each once, after those that it needs.

    Attributes:
        grid, out: the grid and the folder of the sweep.
        by_name: the steps so far.
        cells: every model so far by its title, those that only others need among them.
    """

    def __init__(self, grid: SweepGrid, out: Path) -> None:
        self.grid = grid
        self.out = out
        self.by_name: dict[str, Step] = {}
        self.cells = {cell.title: cell for cell in grid.cells}

    def add_all_of(self, cell: Cell) -> None:
        """Add the steps that train, certify and measure a model."""
        train = self.add_training(cell)
        tables = [
            self.add_certification(cell, train, title, settings)
            for title, settings in self.grid.certifications.items()
        ]
        if tables:
            self.add_evaluation(cell, tables)

    def add_training(self, cell: Cell, needed_by: tuple[str, ...] = ()) -> Train:
        """Add the step that trains a model, after those of the models that it refers to.

        Args:
            needed_by: the models that wait for this one, each for the one behind it.
        """
        if cell.title in needed_by:
            circle = " needs ".join([*needed_by, cell.title])
            raise BadValue(f"models wait for each other: {circle}")
        if self.cells.setdefault(cell.title, cell).values != cell.values:
            raise BadValue(
                f"{cell.title} names two models: tell them apart in the reference"
            )
        name = f"{cell.title}/train"
        if name in self.by_name:
            step = self.by_name[name]
            assert isinstance(step, Train)
            return step

        own = dict(cell.own)
        needs = []
        for key, value in cell.own.items():
            if isinstance(value, Mapping):
                meant = self.grid.meant(cell, key, value)
                need = self.add_training(meant, (*needed_by, cell.title))
                needs.append(need)
                own[key] = str(need.makes)
        options = replace(cell, own=own).training_options()
        device = options.pop("device", "auto")
        with problems_in(name):
            settings = TrainingSettings(**options)
        step = Train(
            name=name,
            makes=self.out / cell.title / "model",
            needs=tuple(needs),
            dataset=cell.dataset,
            settings=settings,
            device=device,
        )
        self.by_name[name] = step
        return step

    def add_certification(
        self, cell: Cell, train: Train, title: str, options: Mapping[str, Any]
    ) -> Certify:
        """Add the step that certifies a model in one way.

        Args:
            title: the title of the table.
            options: the settings of `certify`.
        """
        name = f"{cell.title}/{title}"
        # The images are read as those that the model was trained on.
        images = {"dataset": cell.dataset, **chosen(cell.values, Reading)}
        settings = chosen(options, CertificationSettings)
        for key in ("split", "take", "skip", "device"):
            if key in options:
                images[key] = options[key]
        with problems_in(name):
            step = Certify(
                name=name,
                makes=self.out / cell.title / f"{title}.parquet",
                needs=(train,),
                model=str(train.makes),
                settings=CertificationSettings(**settings),
                images=images,
                denoiser=options.get("denoiser"),
            )
        self.by_name[name] = step
        return step

    def add_evaluation(self, cell: Cell, tables: list[Certify]) -> None:
        """Add the step that measures the tables of a model."""
        name = f"{cell.title}/evaluate"
        self.by_name[name] = Evaluate(
            name=name,
            makes=self.out / cell.title / "metrics.json",
            needs=tuple(tables),
            tables=tuple(table.makes for table in tables),
        )


def chosen(options: Mapping[str, Any], kind: type[FrozenRecord]) -> dict[str, Any]:
    """Return the options that are settings of a `kind`.

    Example:
        >>> chosen({"n": 100, "take": 5}, CertificationSettings)
        {'n': 100}
    """
    names = {*kind.model_fields, *kind.spellings}
    return {key: value for key, value in options.items() if key in names}
