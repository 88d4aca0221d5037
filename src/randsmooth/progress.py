"""Progress of long work: a bar on a terminal, plain lines in a log, nothing where a library call is no command."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from randsmooth.escape import printable, say, shortened

if TYPE_CHECKING:
    from rich import progress as rich_progress
    from rich.console import Console

LINE_EVERY = 10.0  # seconds between two plain lines


class Reporter:
    """What long work reports about itself. This one shows nothing of it."""

    def advance(self, steps: int, info: str = "") -> None:
        """`steps` more are done; `info` is the newest figure to show."""

    def skip(self, steps: int) -> None:
        """`steps` were done by an earlier run: they count as done, not towards the speed."""

    def say(self, line: str) -> None:
        """A line worth keeping."""


Silent = Reporter

# (title, total, unit) -> a context that gives the reporter
Progress = Callable[[str, int, str], AbstractContextManager[Reporter]]


def silent(title: str, total: int, unit: str) -> AbstractContextManager[Reporter]:
    """Shows no progress."""
    return nullcontext(Silent())


class _Bar(Reporter):
    def __init__(self, bar: rich_progress.Progress, title: str, total: int, unit: str) -> None:
        self.bar, self.unit, self.rate = bar, unit, _Rate()
        self.task = bar.add_task(title, total=total, info="", rate="")

    def advance(self, steps: int, info: str = "") -> None:
        self.rate.done += steps
        self.bar.update(self.task, advance=steps, rate=f"{figure(self.rate.per_second())} {self.unit}/s")
        if info:
            self.bar.update(self.task, info=printable(info))

    def skip(self, steps: int) -> None:
        self.bar.reset(self.task, completed=steps)  # a plain update would count as speed

    def say(self, line: str) -> None:
        self.bar.console.print(printable(line), highlight=False, markup=False)


class _Lines(Reporter):
    def __init__(self, title: str, total: int, unit: str) -> None:
        self.title, self.total, self.unit, self.rate = title, total, unit, _Rate()
        self.last, self.skipped, self.info = time.monotonic(), 0, ""

    def skip(self, steps: int) -> None:
        self.skipped += steps

    def advance(self, steps: int, info: str = "") -> None:
        self.rate.done += steps
        self.info = info or self.info
        done = self.skipped + self.rate.done
        if time.monotonic() - self.last < LINE_EVERY and done < self.total:
            return
        self.last = time.monotonic()
        per_second = self.rate.per_second()
        words = [self.title, f"{done:,}/{self.total:,} {self.unit}"]
        if per_second:  # of which nothing is known before the first step
            words += [f"{figure(per_second)} {self.unit}/s", f"{clock((self.total - done) / per_second)} left"]
        self.say("  ".join([*words, *([self.info] if self.info else [])]))

    def say(self, line: str) -> None:
        say(line)


class _Rate:
    def __init__(self) -> None:
        self.done, self.start = 0, time.monotonic()

    def per_second(self) -> float:
        return self.done / max(1e-9, time.monotonic() - self.start)


def figure(value: float) -> str:
    """A rate for a person to read: a whole number from 10 up, one decimal below.

    Example:
        >>> figure(1234.5), figure(1.25)
        ('1,234', '1.2')
    """
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss.

    Example:
        >>> clock(3725)
        '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


@contextmanager
def console(title: str, total: int, unit: str) -> Iterator[Reporter]:
    """A reporter for `total` units of work named `title`: a bar where stdout is a terminal, else lines."""
    title = shortened(printable(title))
    if not sys.stdout.isatty():
        yield _Lines(title, total, unit)
        return
    with _rich_bar() as bar:
        yield _Bar(bar, title, total, unit)


@contextmanager
def bar_on_stderr(title: str, total: int, unit: str) -> Iterator[Reporter]:
    """A bar on stderr, so that what a script prints stays its own; it shares nothing with another bar of Rich."""
    from rich.console import Console

    with _rich_bar(Console(stderr=True)) as bar:
        yield _Bar(bar, shortened(printable(title)), total, unit)


def chosen_progress(progress: Progress | bool | None) -> Progress:
    """What shows the progress of a library call.

    Args:
        progress: None: a bar where stderr is a terminal, and nothing in a pipe or a notebook. True: `console`, which
            prints lines where there is no terminal. False: nothing. A function is taken as it is.

    Example:
        >>> chosen_progress(True) is console, chosen_progress(False) is silent
        (True, True)
    """
    if progress is None:
        return bar_on_stderr if sys.stderr is not None and sys.stderr.isatty() else silent
    if isinstance(progress, bool):
        return console if progress else silent
    return progress


def _rich_bar(console: Console | None = None) -> rich_progress.Progress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    return Progress(
        TextColumn("{task.description}", markup=False),  # the title itself would be taken for a format
        BarColumn(bar_width=12),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[info]}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
        console=console,
        expand=True,  # so that the last column, which alone has a ratio, is what a narrow terminal cuts
    )
