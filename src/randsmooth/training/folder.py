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
# What may be there before the first checkpoint.
BEFORE_CHECKPOINT = (SETTINGS, EVENTS, METRICS, TEACHER)
# All that a run writes.
WRITTEN = (CHECKPOINT, HISTORY, *BEFORE_CHECKPOINT, *MODEL)
# Settings that a resumed run cannot change: the weights or the state of its schedule
# would no longer fit.
LASTING = ("dataset", *Reading.model_fields, "take", "arch", "method", "noise", "seed")


def checkpoint_in(
    folder: Path,
    recipe: Recipe,
    *,
    resume: bool,
    overwrite: bool,
    accept_changes: bool = False,
) -> tuple[Checkpoint | None, list[Change]]:
    """Return the checkpoint to go on from, and the settings that `recipe` changes.

    The checkpoint is None where the run is to start anew. Nothing on disk is changed.

    Raises:
        Problem: the folder holds something and neither `resume` nor `overwrite` is
            given, or it holds files that no training run wrote; or the checkpoint is
            damaged, or of another recipe (the settings that differ are named).
    """
    if resume and overwrite:
        raise Conflict(
            (RESUME, " goes on, ", OVERWRITE, " discards: give one of them"),
            field="resume",
            value=True,
        )
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
    path = folder / CHECKPOINT
    if resume and path.exists():
        checkpoint = load(path)
        changes = recipe.changes(checkpoint.recipe)
        _check_changes(path, changes, accept_changes)
        return checkpoint, changes
    _check_free(folder, resume=resume, overwrite=overwrite)
    return None, []


def _check_free(folder: Path, *, resume: bool, overwrite: bool) -> None:
    """Raise Problem unless a run may start anew in `folder`."""
    if not folder.is_dir():
        return
    present = sorted(path.name for path in folder.iterdir() if not is_scrap(path))
    if not present:
        return

    # A run that was killed before its first checkpoint is resumed from its beginning.
    has_begun_only = set(present) <= set(BEFORE_CHECKPOINT)
    if not overwrite and not (resume and has_begun_only):
        is_run = CHECKPOINT in present or set(MODEL) <= set(present)
        contents = "a run" if is_run else present[0]
        if resume:
            raise OutputExists(
                f"{folder} holds {contents}, and no checkpoint to go on from",
                fix=BEGIN_ANEW,
                file=folder,
            )
        raise OutputExists(
            f"{folder} holds {contents}", fix=GO_ON_OR_BEGIN_ANEW, file=folder
        )

    strangers = [name for name in present if name not in WRITTEN]
    if strangers:
        raise OutputExists(
            f"{folder} holds {strangers[0]}, which no training run wrote",
            fix=ANOTHER_OUT,
            file=folder,
        )


def _check_changes(path: Path, changes: list[Change], accept_changes: bool) -> None:
    """Raise Problem unless the run of the checkpoint at `path` may be changed so."""
    fixed = [change.setting for change in changes if change.setting in LASTING]
    if not changes or (accept_changes and not fixed):
        return
    way_out: tuple[str | Setting, ...] = (
        RESUME,
        " and ",
        Setting("accept_changes", True),
        " change them on the way",
    )
    if fixed:
        way_out = (f"{', '.join(fixed)} cannot change on the way",)
    differences = "; ".join(map(str, changes))
    raise OutputExists(
        f"{path} was begun differently ({differences})",
        fix=(
            "to go on with it: ",
            RESUME,
            f" with the settings in {path.with_name(SETTINGS)}; ",
            *way_out,
            "; ",
            *BEGIN_ANEW,
        ),
        file=path,
    )


def clear(folder: Path, *, keep: Collection[str]) -> None:
    """Remove what killed runs left, and an earlier run's files but those to `keep`.

    Only the process that holds the folder may call this.
    """
    scraps = [path for path in folder.iterdir() if is_scrap(path)]
    earlier = [folder / name for name in WRITTEN if name not in keep]
    for path in scraps + earlier:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
