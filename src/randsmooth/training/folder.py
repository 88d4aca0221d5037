"""The folder of a training run, and when it may be written to."""

import shutil
from collections.abc import Collection
from pathlib import Path

from randsmooth.atomic import is_scrap
from randsmooth.errors import (
    ANOTHER_OUT,
    BEGIN_ANEW,
    GO_ON_OR_BEGIN_ANEW,
    OUT,
    OVERWRITE,
    RESUME,
    Conflict,
    MissingValue,
    OutputExists,
    Setting,
)
from randsmooth.training.checkpoint import Checkpoint, load
from randsmooth.training.recipe import Change, Recipe
from randsmooth.training.settings import Reading

CHECKPOINT = "checkpoint.pt"
HISTORY = "history.csv"
EVENTS = "events"
MODEL = ("config.json", "model.safetensors", "README.md")
SETTINGS = "run.yaml"
TEACHER = "teacher.pt"
METRICS = "metrics"
FIRST = (SETTINGS, EVENTS, METRICS, TEACHER)  # may exist before the first checkpoint
# Settings that a resumed run cannot change: the weights or the state of its schedule would no longer fit.
LASTING = ("dataset", *Reading.model_fields, "take", "arch", "method", "noise", "seed")
OWN = (CHECKPOINT, HISTORY, *FIRST, *MODEL)


def check(
    folder: Path,
    recipe: Recipe,
    *,
    resume: bool,
    overwrite: bool,
    accept_changes: bool = False,
) -> tuple[Checkpoint | None, list[Change]]:
    """The checkpoint in `folder` to go on from, or None to start anew, and the settings that `recipe` changes.

    Nothing on disk is changed.

    Raises:
        Problem: the folder holds something and neither `resume` nor `overwrite` is given, or it holds files that no
            training run wrote; or the checkpoint is damaged, or of another recipe (the settings that differ are named).
    """
    if resume and overwrite:
        raise Conflict((RESUME, " goes on, ", OVERWRITE, " discards: give one of them"))
    if accept_changes and not resume:
        raise MissingValue(
            field="accept_changes",
            value=True,
            expected="changes a run that goes on",
            fix=("it needs ", RESUME),
        )
    if folder.is_file():
        raise OutputExists(
            f"{folder} is a file", fix=(OUT, " names a folder"), file=folder
        )
    if resume and (folder / CHECKPOINT).exists():
        checkpoint = load(folder / CHECKPOINT)
        return checkpoint, _changes(
            folder / CHECKPOINT, checkpoint, recipe, accept_changes
        )
    present = (
        sorted(path.name for path in folder.iterdir() if not is_scrap(path))
        if folder.is_dir()
        else []
    )
    strangers = [name for name in present if name not in OWN]
    begun = {*present} <= {*FIRST}  # killed before its first checkpoint
    if present and not (overwrite or (resume and begun)):
        what = (
            "a run" if CHECKPOINT in present or {*MODEL} <= {*present} else present[0]
        )
        if resume:
            raise OutputExists(
                f"{folder} holds {what}, and no checkpoint to go on from",
                fix=BEGIN_ANEW,
                file=folder,
            )
        raise OutputExists(
            f"{folder} holds {what}", fix=GO_ON_OR_BEGIN_ANEW, file=folder
        )
    if strangers:
        raise OutputExists(
            f"{folder} holds {strangers[0]}, which no training run wrote",
            fix=ANOTHER_OUT,
            file=folder,
        )
    return None, []


def clear(folder: Path, *, keep: Collection[str]) -> None:
    """Remove what killed runs left unfinished in `folder`, and the files of an earlier run, except those to `keep`.

    Only the process that holds the folder may call this.
    """
    for path in [
        *filter(is_scrap, folder.iterdir()),
        *(folder / name for name in OWN if name not in keep),
    ]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _changes(
    path: Path, checkpoint: Checkpoint, recipe: Recipe, accept: bool
) -> list[Change]:
    """The settings in which `recipe` differs from the checkpoint's; Problem unless `accept` allows all of them."""
    changes = recipe.changes(checkpoint.recipe)
    fixed = [change.setting for change in changes if change.setting in LASTING]
    if not changes or (accept and not fixed):
        return changes
    change: tuple[str | Setting, ...] = (
        RESUME,
        " and ",
        Setting("accept_changes", True),
        " change them on the way",
    )
    if fixed:
        change = (f"{', '.join(fixed)} cannot change on the way",)
    raise OutputExists(
        f"{path} was begun differently ({'; '.join(map(str, changes))})",
        fix=(
            "to go on with it: ",
            RESUME,
            f" with the settings in {path.with_name(SETTINGS)}; ",
            *change,
            "; ",
            *BEGIN_ANEW,
        ),
        file=path,
    )
