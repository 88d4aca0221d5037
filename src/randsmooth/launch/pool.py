"""A pool of workers: units of work run side by side on a backend of joblib."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from randsmooth.children import without_current_folder
from randsmooth.errors import BadValue, Problem, Setting, Unreachable, WrongModel
from randsmooth.escape import shortened
from randsmooth.launch.outcomes import problem_of
from randsmooth.progress import Reporter

# Seconds between two looks at how far the units are.
LOOK_EVERY_SECONDS = 0.5
# Failures of workers in a row, without any progress between, after which a run ends.
MOST_FAILURES_IN_A_ROW = 3

# Environment variables that name the same data, and the same instructions of a
# processor, on every machine.
PASSED_ON = ("RANDSMOOTH_DATA", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA")

# It takes the device that it may use.
Unit = Callable[[str], None]
# It is entered around a unit on a worker, and gives the device.
DeviceContext = Callable[[], AbstractContextManager[str]]


@dataclass(frozen=True)
class Pool:
    """So many workers of whichever backend of joblib is chosen (`joblib.parallel_config`).

    A unit writes into files, so that workers on other machines must see the same folders.

    Args:
        number: the number of units that run at a time; None stands for as many as the
            backend has room for.

    Raises:
        BadValue: the number is none.

    Example:
        >>> Pool(0)
        Traceback (most recent call last):
        randsmooth.errors.BadValue: workers=0 must be a whole number from 1 up
    """

    number: int | None = None

    # Seconds until the backend knows what is left after a death.
    settles_seconds: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if self.number is None:
            return
        if type(self.number) is not int or self.number < 1:
            raise BadValue(
                field="workers",
                value=self.number,
                expected="must be a whole number from 1 up",
            )

    @contextmanager
    def at_hand(self, device: str) -> Iterator[int]:
        """Let joblib use these workers meanwhile; the context gives how many there are.

        Raises:
            Problem: they are not there.
        """
        import joblib

        yield self.number or joblib.effective_n_jobs(-1)

    def device_context(self, device: str) -> DeviceContext:
        """Return the context that a worker enters around a unit to get a device."""
        return partial(given_device, device)

    def run(
        self,
        units: Mapping[str, Unit],
        *,
        device: str = "auto",
        left: Callable[[], set[str]],
        look: Callable[[], int],
    ) -> dict[str, Problem]:
        """Run every unit on a worker, and return why units failed, by their names.

        A unit whose worker dies, or that another run still has, is run again, as long as
        something is done in between.

        Args:
            units: the units by name. Each is called on a worker with the device that it
                may use, and continues from the files of an earlier run that was killed.
            device: the device as users name it; "auto" and "cuda" stand for all GPUs.
            left: a function that returns the names of the units that are not done, as
                the files say.
            look: a function that returns the amount of work done, in any measure.

        Raises:
            Problem: the workers are not there, units cannot be sent to them, or they die
                again and again.
        """
        failed: dict[str, Problem] = {}
        failures_in_a_row = 0
        done_before = 0
        while True:
            unfinished = left() - failed.keys()
            names = [name for name in units if name in unfinished]
            if not names:
                return failed
            try:
                failed |= self._run_once({name: units[name] for name in names}, device)
                # A unit is left to whoever has it, such as an orphan about to end.
                if not left() & (set(names) - failed.keys()):
                    continue
                reason = "it ended without writing its output"
            except Problem:
                raise
            except pickle.PicklingError as error:
                raise WrongModel(
                    f"model or data cannot be sent to other processes ({error})",
                    fix=(
                        "name it as a folder, package.module:NAME or "
                        "file.py:NAME, or leave out ",
                        Setting("workers"),
                    ),
                ) from error
            except Exception as error:
                # The death of a worker, as each backend of joblib calls it.
                reason = shortened(str(error))

            done = look()
            failures_in_a_row = 0 if done > done_before else failures_in_a_row + 1
            done_before = done
            if failures_in_a_row == MOST_FAILURES_IN_A_ROW:
                raise Unreachable(
                    f"workers failed {MOST_FAILURES_IN_A_ROW} times in a row: {reason}"
                )
            time.sleep(max(self.settles_seconds, 2 * LOOK_EVERY_SECONDS))

    def _run_once(self, units: Mapping[str, Unit], device: str) -> dict[str, Problem]:
        """Run units, each once, and return why those failed that did."""
        import joblib

        environment = {
            name: os.environ[name] for name in PASSED_ON if name in os.environ
        }
        run_on_worker = partial(
            attempt,
            device_context=self.device_context(device),
            folder=Path.cwd(),
            environment=environment,
        )
        with without_current_folder(), self.at_hand(device) as number:
            parallel = joblib.Parallel(n_jobs=number, batch_size=1)
            problems: Sequence[Problem | None] = parallel(
                joblib.delayed(run_on_worker)(unit) for unit in units.values()
            )
        return {
            name: problem
            for name, problem in zip(units, problems, strict=True)
            if problem is not None
        }


@contextmanager
def given_device(device: str) -> Iterator[str]:
    """Give a unit the device that was asked for."""
    yield device


def attempt(
    unit: Unit,
    *,
    device_context: DeviceContext,
    folder: Path,
    environment: Mapping[str, str],
) -> Problem | None:
    """Run a unit on a worker; return the reason why it failed, None if it succeeded.

    Args:
        unit: the unit to run.
        device_context: the context that is entered around it and gives its device.
        folder: the folder that relative paths start from, where this machine has it.
        environment: variables for a machine that does not set them itself.
    """
    for name, value in environment.items():
        os.environ.setdefault(name, value)
    with suppress(OSError):
        os.chdir(folder)
    try:
        with device_context() as device:
            unit(device)
    except Exception as error:
        return problem_of(error)
    return None


@contextmanager
def watched(
    reporter: Reporter, count: Callable[[], int], describe: Callable[[], str] = str
) -> Iterator[Callable[[], int]]:
    """Tell `reporter` twice a second how much is done, as files say it.

    The context gives a function that does so at once, and returns how much is done.

    Args:
        count: returns how much is done.
        describe: says how far the rest is.
    """
    done = count()
    ended = threading.Event()
    one_at_a_time = threading.Lock()
    reporter.skip(done)

    def look() -> int:
        nonlocal done
        with one_at_a_time:
            before = done
            done = max(before, count())
            reporter.advance(done - before, describe())
        return done

    def watch() -> None:
        while not ended.wait(LOOK_EVERY_SECONDS):
            look()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield look
    finally:
        ended.set()
        watching.join()
        look()
