"""A command of randsmooth as a task of a batch system: what submitit carries to another process and runs there."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission


class TaskFailed(Exception):
    """The command of a task ended with an error, which it has printed."""


class VerbTask:
    """`randsmooth WORDS` in `folder`. All that is pickled are these words.

    The command must go on with what an earlier try has left (`--resume`): after a time-out or a preemption submitit
    asks `checkpoint` what is to run next, and that is the same command again.

    Example:
        >>> import contextlib, io, pickle
        >>> task = pickle.loads(pickle.dumps(VerbTask(["--version"], Path.cwd())))
        >>> with contextlib.redirect_stdout(io.StringIO()) as said:
        ...     task()
        >>> said.getvalue().startswith("randsmooth ")
        True
    """

    def __init__(self, words: list[str], folder: Path) -> None:
        self.words, self.folder = words, folder
        self.stopped = False

    def __call__(self) -> None:
        """Run the command in this process, so that no child outlives it.

        Raises:
            TaskFailed: the command ended with another exit code than 0.
        """
        os.chdir(self.folder)
        sys.argv = ["randsmooth", *self.words]
        try:
            runpy.run_module("randsmooth", run_name="__main__")
        except SystemExit as end:
            if self.stopped:  # by submitit, whose process has to end now
                raise
            if end.code:
                raise TaskFailed(f"randsmooth {self.words[0]} ended with exit code {end.code}") from None

    def checkpoint(self) -> DelayedSubmission:
        """What the task is to do when it runs again; called before the process is stopped."""
        from submitit.helpers import DelayedSubmission

        self.stopped = True
        return DelayedSubmission(VerbTask(self.words, self.folder))
