"""The steps of a reproduction one after the other in this process, which shows how far each is."""

from __future__ import annotations

from collections.abc import Callable, Collection

from randsmooth.cluster.carry_out import Ended
from randsmooth.cluster.graph import TRAINING, Step
from randsmooth.escape import printable
from randsmooth.progress import Progress


class InThisProcess:
    """An `Executor` that trains and certifies here, with the progress of each run as `progress` shows it."""

    workers = 1

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.over: list[Ended] = []

    def start(self, step: Step) -> None:
        try:
            run_step(step, self.progress)
        except Exception as error:  # whatever it is, the other models are wanted all the same
            self.over.append(Ended(step.name, printable(str(error)) or type(error).__name__))
        else:
            self.over.append(Ended(step.name))

    def ended(self) -> list[Ended]:
        over, self.over = self.over, []
        return over

    def stop(self) -> None:
        """Nothing runs between two calls."""


def run_step(step: Step, progress: Progress) -> None:
    """Train or certify as a step says, or go on with what an interrupted run has left of it."""
    from randsmooth.certification import certify
    from randsmooth.training import train

    run = train if step.verb in TRAINING else certify
    run(step.argument, resume=True, progress=progress, **step.options)


class Spoken:
    """A `Watcher` that says each command before it runs, and what went wrong with it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say

    def began(self, step: Step) -> None:
        self.say(step.command())

    def ended(self, step: Step, error: str) -> None:
        if error:
            self.say(f"failed {step.name}: {error}")

    def looked(self, running: Collection[str]) -> None:
        pass
