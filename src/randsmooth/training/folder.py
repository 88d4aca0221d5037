"""The folder of a training run, and when it may be written to."""

from __future__ import annotations

import shutil
from pathlib import Path

from randsmooth.errors import InputError
from randsmooth.training.checkpoint import Checkpoint, load
from randsmooth.training.recipe import Recipe

CHECKPOINT = "checkpoint.pt"
HISTORY = "history.csv"
EVENTS = "events"
MODEL = ("config.json", "model.safetensors", "README.md")
OWN = (CHECKPOINT, HISTORY, EVENTS, "run.yaml", *MODEL)


def prepare(folder: Path, recipe: Recipe, *, resume: bool, overwrite: bool) -> Checkpoint | None:
    """Make `folder` ready for a run of `recipe`; the checkpoint to go on from, or None to start.

    Overwriting removes the files of an earlier run and nothing else.

    Raises:
        InputError: the folder holds something and neither flag is given, or holds files that are no run's;
            or the checkpoint is damaged or of another recipe (the settings that differ are named).
    """
    if resume and overwrite:
        raise InputError("--resume goes on with a run and --overwrite discards it: give one of them")
    if resume and (folder / CHECKPOINT).exists():
        return _matching(folder / CHECKPOINT, recipe)
    if folder.is_file():
        raise InputError(f"{folder} is a file; --out names a folder")
    present = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    foreign = [name for name in present if name not in OWN]
    if present and not (overwrite or resume):
        raise InputError(f"{folder} exists and holds {present[0]}; use --resume, --overwrite or another --out")
    if overwrite and foreign:
        raise InputError(f"{folder} holds {foreign[0]}, which no training run wrote; use another --out")
    _clear(folder)
    return None


def _matching(path: Path, recipe: Recipe) -> Checkpoint:
    checkpoint = load(path)
    different = recipe.differences(checkpoint["recipe"])
    if different:
        raise InputError(f"{path} is of a run with other settings ({'; '.join(different)}): resume with those")
    return checkpoint


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in OWN:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
