"""A step: what makes one model, one table or one page, with its settings as values.

What is done is said by files alone. A step that fails leaves its problem in a file, for
whoever waits for it in another process.
"""

from __future__ import annotations

import sys
import time
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TextIO

from randsmooth.atomic import claimed
from randsmooth.errors import Busy, Problem
from randsmooth.escape import say
from randsmooth.launch.outcomes import problem_of, read_problem, write_problem
from randsmooth.notes import Note

# Suffixes of files beside what a step makes: what it printed, and why it failed.
LOG = ".log"
FAILED = ".failed"

# Seconds after which a step that another process does is looked at again.
LOOK_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Step(ABC):
    """One step of a run: it makes one thing, and goes on where it was interrupted.

    It can be pickled: a worker of any kind is sent the step itself.

    Attributes:
        name: CHAIN/STEP.
        makes: the model folder or the file that is there when the step is done.
        needs: the steps that must be done before.
        verb: the command of randsmooth that does the same.
        is_quick: whether it takes seconds, as it only puts files together.

    Example:
        >>> from randsmooth.launch.model_steps import Train
        >>> from randsmooth.training import TrainingSettings
        >>> settings = TrainingSettings(sigma=0.25, epochs=2)
        >>> step: Step = Train(
        ...     name="a/train", makes=Path("a"), dataset="digits", settings=settings
        ... )
        >>> step.options()
        {'sigma': 0.25, 'epochs': 2, 'out': 'a', 'resume': True}
        >>> step.is_done()
        False
    """

    verb: ClassVar[str]
    is_quick: ClassVar[bool] = False

    name: str
    makes: Path
    needs: tuple[Step, ...] = ()

    @property
    def chain(self) -> str:
        """Return the name of the chain that the step belongs to."""
        return self.name.rpartition("/")[0]

    @property
    def title(self) -> str:
        """Return the name of the step within the chain."""
        return self.name.rpartition("/")[2]

    def before(self) -> dict[str, Step]:
        """Return all steps that must be done before, by name, each after those it needs."""
        earlier: dict[str, Step] = {}
        for need in self.needs:
            earlier |= need.before()
            earlier[need.name] = need
        return earlier

    # What the kinds of steps say.

    @abstractmethod
    def arguments(self) -> list[str]:
        """Return the positional arguments of the command."""

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """Return the settings of the command by name, without those that are defaults."""

    @abstractmethod
    def is_done(self) -> bool:
        """Return whether the output of the step is there, whole."""

    @abstractmethod
    def make(self, device: str) -> None:
        """Make it on `device`, unless the step names one.

        Raises:
            Problem: it cannot be made.
        """

    def has_begun(self) -> bool:
        """Return whether any part of the step's output is there."""
        return self.makes.exists()

    def progress(self) -> str:
        """Say how far it is, by what it has written.

        The answer is empty if it is done, has written nothing, or takes seconds.
        """
        return ""

    # How it is carried out.

    def run(self, device: str = "auto") -> Problem | None:
        """Make it in this process; return why it failed, which is also kept in a file.

        Raises:
            KeyboardInterrupt: it was interrupted, as all that runs is to be.
        """
        self.forget_failure()
        try:
            self.make(device)
            if not self.is_done():
                raise Problem(f"it ended without writing {self.makes}", file=self.makes)
        except Exception as error:
            problem = problem_of(error)
            if not isinstance(error, Problem):
                traceback.print_exc()
            say(f"failed: {problem}", file=sys.stderr)
            write_problem(problem, self.beside(FAILED))
            return problem
        say(f"made {self.makes}")
        return None

    def failure(self) -> Problem | None:
        """Return why it failed when it last ran; None if it did not."""
        path = self.beside(FAILED)
        if not path.exists() or self.is_done():
            return None
        return read_problem(path)

    def forget_failure(self) -> None:
        """Forget why it failed when it last ran."""
        self.beside(FAILED).unlink(missing_ok=True)

    def beside(self, suffix: str) -> Path:
        """Return the file beside its output with this suffix."""
        return self.makes.with_name(f"{self.makes.name}{suffix}")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others from doing it; one that does it already is waited for."""
        with ExitStack() as lock:
            while True:
                try:
                    lock.enter_context(claimed(self.makes, kind="step"))
                    break
                except Busy:
                    time.sleep(LOOK_AGAIN_SECONDS)
            yield

    def is_running(self) -> bool:
        """Return whether a process does it at the moment, as its lock says."""
        # A lock would make the folder.
        if not self.makes.parent.is_dir():
            return False
        try:
            with claimed(self.makes, kind="step"):
                return False
        except Busy:
            return True

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Write what this process prints meanwhile to the log beside the output."""
        path = self.beside(LOG)
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            path.open(
                "a", encoding="utf-8", errors="backslashreplace", buffering=1
            ) as log,
            redirect_stdout(log),
            redirect_stderr(log),
            warnings.catch_warnings(),
        ):
            warnings.showwarning = partial(_print_warning, log)
            say(f"{self.verb} {self.makes}")
            yield


def _print_warning(
    log: TextIO,
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    *_: Any,
) -> None:
    """Print a note of ours as one line of words, and any other warning as Python does."""
    if issubclass(category, Note):
        say(f"note: {message}", file=log)
    else:
        say(
            warnings.formatwarning(message, category, filename, lineno).rstrip(),
            file=log,
        )
