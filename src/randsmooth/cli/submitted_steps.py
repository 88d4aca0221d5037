"""What the verbs that submit a graph of steps to Slurm share: what they ask for, and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from randsmooth.cli.slurm_options import SlurmOptions
from randsmooth.errors import InputError

if TYPE_CHECKING:
    from randsmooth.cluster.resources import Resources
    from randsmooth.cluster.slurm_steps import SubmittedSteps


def resources_of(settings: SlurmOptions, *, ray: str | None, workers: int | None) -> Resources:
    """What each step asks of Slurm. InputError where it cannot be asked, or where steps are to run elsewhere, too."""
    if ray is not None or workers is not None:
        raise InputError("--slurm, --ray and --workers say in different ways where the steps run: give one of them")
    resources = settings.resources()
    from randsmooth.cluster.slurm_queue import check_slurm

    check_slurm()
    return resources


def submitted_lines(found: SubmittedSteps, watch: str) -> Iterator[str]:
    """How many steps are where; the command that watches them and the one that stops them, where some are to come."""
    from randsmooth.cluster.slurm_array import arrays

    counts = {"done": found.done, "queued or running": len(found.queued), "submitted now": len(found.new)}
    yield ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing is missing"
    if jobs := arrays([*found.queued.values(), *found.new.values()]):
        yield f"to watch: {watch}"
        yield f"to stop: scancel {' '.join(jobs)}; the same command then goes on"
