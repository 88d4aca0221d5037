"""Progress of long work on stderr: a bar on a terminal, lines in a log.

Nothing is shown where a library call is no command.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from randsmooth.errors import Spell
from randsmooth.escape import printable, say, shortened

if TYPE_CHECKING:
    from rich import progress as rich_progress

# The seconds between two plain lines.
LINE_EVERY = 10.0

# The fewest columns that an answer is laid out for, and the most that a sentence takes.
FEWEST_COLUMNS = 40
MOST_COLUMNS = 100


def terminal_columns() -> int:
    """Return the columns of the terminal, or 80 where there is none.

    Example:
        >>> terminal_columns() >= 40
        True
    """
    return max(shutil.get_terminal_size().columns, FEWEST_COLUMNS)


def terminal_width() -> int:
    """Return the columns that an answer may take: those of the terminal, or some less.

    Example:
        >>> 40 <= terminal_width() <= 100
        True
    """
    return min(terminal_columns(), MOST_COLUMNS)


class Reporter:
    """What long work reports about itself. This one shows nothing of it."""

    def advance(self, steps: int, info: str = "") -> None:
        """Count `steps` more as done; `info` is the newest figure to show."""

    def skip(self, steps: int) -> None:
        """Count `steps` as done by an earlier run, and not towards the speed."""

    def say(self, line: str) -> None:
        """Show a line that is worth keeping."""


Silent = Reporter

# (title, total, unit) -> a context that gives the reporter
Progress = Callable[[str, int, str], AbstractContextManager[Reporter]]


def silent(title: str, total: int, unit: str) -> AbstractContextManager[Reporter]:
    """Show no progress."""
    return nullcontext(Silent())


class _Shown(Reporter):
    """Counts what is done, to tell the speed of it, and shows it as `show` does."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        self.title = title
        self.total = total
        self.unit = unit
        self.info = ""
        self.done = 0
        self.skipped = 0
        self.start = time.monotonic()

    def advance(self, steps: int, info: str = "") -> None:
        self.done += steps
        self.info = info or self.info
        per_second = self.done / max(1e-9, time.monotonic() - self.start)
        figure = f"{per_second:,.1f}"
        if per_second >= 10:
            figure = f"{per_second:,.0f}"
        self.show(steps, per_second, f"{figure} {self.unit}/s")

    def skip(self, steps: int) -> None:
        self.skipped += steps

    def show(self, steps: int, per_second: float, rate: str) -> None:
        """Show that `steps` more are done."""
        raise NotImplementedError


class _Bar(_Shown):
    def __init__(
        self, bar: rich_progress.Progress, title: str, total: int, unit: str
    ) -> None:
        super().__init__(title, total, unit)
        self.bar = bar
        self.task = bar.add_task(title, total=total, info="", rate="")

    def show(self, steps: int, per_second: float, rate: str) -> None:
        self.bar.update(self.task, advance=steps, rate=rate, info=printable(self.info))

    def skip(self, steps: int) -> None:
        # A plain update would count as speed.
        self.bar.reset(self.task, completed=steps)

    def end(self) -> None:
        """Show work that stopped on purpose before its total as done."""
        done = self.skipped + self.done
        if 0 < done < self.total:
            self.bar.update(self.task, total=done, completed=done)

    def say(self, line: str) -> None:
        self.bar.console.print(printable(line), highlight=False, markup=False)


class _Lines(_Shown):
    last = 0.0

    def show(self, steps: int, per_second: float, rate: str) -> None:
        done = self.skipped + self.done
        since_last = time.monotonic() - max(self.last, self.start)
        if since_last < LINE_EVERY and done < self.total:
            return
        self.last = time.monotonic()
        parts = [self.title, f"{done:,}/{self.total:,} {self.unit}"]
        if self.done > 0:
            seconds_left = (self.total - done) / per_second
            parts += [rate, f"{clock(seconds_left)} left"]
        parts.append(self.info)
        self.say("  ".join(part for part in parts if part))

    def say(self, line: str) -> None:
        say(line, file=sys.stderr)


def clock(seconds: float) -> str:
    """Return seconds as h:mm:ss; from 100 hours on as days.

    Example:
        >>> clock(3725), clock(1e6)
        ('1:02:05', '12 days')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 100:
        return f"{hours / 24:,.0f} days"
    return f"{hours}:{minutes:02d}:{rest:02d}"


_quiet = False  # of the whole process


@contextmanager
def quietly() -> Iterator[None]:
    """Show neither progress nor notes meanwhile, whoever asks for them."""
    global _quiet
    before, _quiet = _quiet, True
    try:
        yield
    finally:
        _quiet = before


def is_quiet() -> bool:
    """Whether all but answers and errors is left out (see `quietly`).

    Example:
        >>> with quietly():
        ...     is_quiet()
        True
    """
    return _quiet


_spell: Spell = str  # of the whole process


@contextmanager
def spelt_by(spell: Spell) -> Iterator[None]:
    """Let `spell` write the settings that notes name meanwhile, whoever shows them."""
    global _spell
    before, _spell = _spell, spell
    try:
        yield
    finally:
        _spell = before


class HasWords(Protocol):
    """A value that can be said in a sentence, such as a `Note` or a `Problem`."""

    def words(self, spell: Spell = str) -> str:
        """Return the sentence, in which `spell` writes the settings."""
        ...


def worded(value: HasWords) -> str:
    """Return a value in a sentence, as whoever runs this process types settings.

    Example:
        >>> from randsmooth.notes import Note
        >>> with spelt_by(lambda setting: f"--{setting.name} {setting.value}"):
        ...     worded(Note("usual_sigma", sigma=0.25))
        '--sigma 0.25, as none was named'
    """
    return value.words(_spell)


@contextmanager
def console(title: str, total: int, unit: str) -> Iterator[Reporter]:
    """A reporter for `total` units of work named `title`: a bar where stderr is a terminal, else lines on stderr."""
    if is_quiet() or sys.stderr is None:
        yield Silent()
    elif sys.stderr.isatty():
        with _bar() as bar:
            shown = _Bar(bar, shortened(printable(title)), total, unit)
            yield shown
            # An error leaves the bar where it was.
            shown.end()
    else:
        yield _Lines(shortened(printable(title)), total, unit)


def _bar() -> rich_progress.Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    columns = (
        TextColumn(
            "{task.description}", markup=False
        ),  # the title itself would be taken for a format
        BarColumn(bar_width=12),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(compact=True),
        TextColumn(
            "{task.fields[info]}",
            markup=False,
            table_column=Column(ratio=1, no_wrap=True),
        ),
    )
    # Expanded, so that the last column, which alone has a ratio, is what a narrow terminal cuts.
    return Progress(*columns, console=Console(stderr=True), expand=True)


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
        return console if sys.stderr is not None and sys.stderr.isatty() else silent
    if isinstance(progress, bool):
        return console if progress else silent
    return progress
