"""How a training run is begun, and whom it tells what: nothing here changes the weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lightning_fabric.loggers.logger import Logger

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.progress import Progress, chosen_progress, silent
from randsmooth.training.loggers import check_loggers
from randsmooth.training.loop import Callback


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """What `train` is told besides settings and data.

    Attributes:
        resume, overwrite, accept_changes, callback: as in `train`.
        loggers: as `open_loggers` takes them.
        progress: what shows the progress.
    """

    resume: bool
    overwrite: bool
    accept_changes: bool
    loggers: list[str | Logger] | None
    callback: Callback | None
    progress: Progress

    @classmethod
    def checked(
        cls,
        *,
        resume: bool,
        overwrite: bool,
        accept_changes: bool,
        logger: str | Logger | Sequence[str | Logger] | None,
        callback: Callback | None,
        progress: Progress | bool | None,
    ) -> Conduct:
        """What `train` was given. Raises InputError for an unusable logger or callback."""
        if callback is not None and not _takes_both(callback):
            raise InputError(
                f"callback={shown(repr(callback))} must be a function of two: an epoch's metrics, and the model so far"
            )
        return cls(
            resume=resume,
            overwrite=overwrite,
            accept_changes=accept_changes,
            loggers=check_loggers(logger),
            callback=callback,
            progress=chosen_progress(progress),
        )


def _takes_both(callback: Callable[..., object]) -> bool:
    """Whether it can be called with metrics and a model, as far as its signature tells."""
    try:
        inspect.signature(callback).bind({}, None)
    except TypeError:  # no function, or one of other arguments
        return False
    except ValueError:  # a builtin that does not tell
        return callable(callback)
    return True


# Of a rank other than the first, which writes and reports for all.
SILENT = Conduct(resume=False, overwrite=False, accept_changes=False, loggers=[], callback=None, progress=silent)
