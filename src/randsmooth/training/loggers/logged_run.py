"""What a logger is told about the training run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class LoggedRun:
    """A training run, as a logger sees it.

    Attributes:
        folder: of the run; its name is that of the run in a tracker.
        hyperparameters: what decides the weights: numbers, words and lists by name.
        first_step: the first step of the optimiser that is still to be taken; 0 unless the run is resumed.
        tracked_as: the id under which the logger's tracker knows the run, if it was begun with this logger.

    Example:
        >>> run = LoggedRun(Path("runs/mine"), {"method": "gaussian", "sigma": 0.5})
        >>> run.folder.name, run.first_step
        ('mine', 0)
    """

    folder: Path
    hyperparameters: Mapping[str, Any]
    first_step: int = 0
    tracked_as: str | None = None
