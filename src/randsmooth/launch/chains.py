"""Chains of steps: commands of randsmooth that make one thing each, one after the other, as a unit of work."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.atomic import claimed, write_atomically
from randsmooth.certificates.journal import journal_path
from randsmooth.documents import parse_yaml
from randsmooth.errors import Busy, Problem
from randsmooth.escape import printable, shortened
from randsmooth.launch.workers import Workers, watched
from randsmooth.progress import Progress
from randsmooth.urls import without_credentials

if TYPE_CHECKING:
    from randsmooth.training import Recipe

RESUMED = ("train", "certify")  # verbs that go on with what a killed run has left
INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended
OURS = "randsmooth: "  # begins the sentence of an error
LOG, FAILED = ".log", ".failed"  # suffixes of files beside what a step makes
LOOK_AGAIN = (
    1.0  # seconds after which a step that another process does is looked at again
)


@dataclass(frozen=True)
class Step:
    """One command of randsmooth, which makes one thing and goes on with it where it was interrupted.

    Attributes:
        name: CHAIN/STEP.
        verb, argument, options: the command; `argument` may be several, options are settings by their names.
        makes: the model folder or the file that is there when the step is done.
        needs: the steps that must be done before.
        reads: files that `makes` must not be older than; those of a step that takes seconds.

    Example:
        >>> step = Step("a/train", "train", "digits", {"sigma": 0.25, "set": {"lr": 0.1}, "out": Path("a")}, Path("a"))
        >>> step.command()
        'randsmooth train digits --sigma 0.25 --set lr=0.1 --out a --resume'
        >>> step.is_done()
        False
    """

    name: str
    verb: str
    argument: str | Sequence[str]
    options: Mapping[str, Any]
    makes: Path
    needs: tuple[Step, ...] = ()
    reads: tuple[Path, ...] = ()

    @property
    def chain(self) -> str:
        """The chain that it belongs to."""
        return self.name.rpartition("/")[0]

    def before(self) -> dict[str, Step]:
        """All steps that must be done before, by name, each after those that it needs itself."""
        return {
            name: step
            for need in self.needs
            for name, step in (need.before() | {need.name: need}).items()
        }

    def words(self, device: str = "auto") -> list[str]:
        """The words of the command line, after `randsmooth`; on `device`, unless the step names one."""
        own = (
            self.options
            if device == "auto" or self.verb not in RESUMED
            else {"device": device, **self.options}
        )
        return [
            *command_words(self.verb, self.argument, own),
            *["--resume"] * (self.verb in RESUMED),
        ]

    def command(self) -> str:
        """The command as a user would type it."""
        return shlex.join(["randsmooth", *self.words()])

    def recipe(self) -> Recipe:
        """What a step that trains comes to. Problem for settings or data with which it could not run."""
        from randsmooth import data
        from randsmooth.training import TrainingSettings, resolve

        given = {
            key: value
            for key, value in self.options.items()
            if key in TrainingSettings.model_fields
        }
        settings, dataset = TrainingSettings(**given), str(self.argument)
        return resolve(dataset, settings, data.describe(dataset, **settings.reading))[0]

    def is_done(self) -> bool:
        """Whether what it makes is there, whole."""
        if self.verb == "train":
            return (self.makes / "config.json").exists()  # which is written last
        if (
            self.verb == "certify"
        ):  # a kill may have come between the table and the removal of its journal
            return self.makes.exists() and not journal_path(self.makes).exists()
        there = self.makes.exists() and all(path.exists() for path in self.reads)
        return there and all(
            self.makes.stat().st_mtime_ns >= path.stat().st_mtime_ns
            for path in self.reads
        )

    def begun(self) -> bool:
        """Whether there is anything of what it makes."""
        return self.makes.exists() or journal_path(self.makes).exists()

    def progress(self) -> str:
        """How far it is, in words, by what it has written; empty if it is done or has written nothing."""
        if self.is_done() or self.verb not in RESUMED:
            return ""
        rows, of = (
            self.rows(),
            f" of {self.options['epochs']}" if self.options.get("epochs") else "",
        )
        done = f"epoch {rows}{of}" if self.verb == "train" else f"{rows:,} images"
        return f"{done} done" if rows else ""

    def rows(self) -> int:
        """How many epochs it has trained, or images it has certified, as its history or its journal says."""
        path = (
            self.makes / "history.csv"
            if self.verb == "train"
            else journal_path(self.makes)
        )
        try:
            with path.open("rb") as file:
                lines = sum(
                    block.count(b"\n") for block in iter(lambda: file.read(2**20), b"")
                )
        except OSError:
            return 0
        return max(0, lines - 1)  # the first is the head

    def beside(self, suffix: str) -> Path:
        """The file beside its output with this suffix."""
        return self.makes.with_name(f"{self.makes.name}{suffix}")

    def failure(self) -> str:
        """Why it failed when it last ran; empty if it did not."""
        path = self.beside(FAILED)
        return (
            path.read_text(errors="replace").strip()
            if path.exists() and not self.is_done()
            else ""
        )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others from doing it; one that does it already is waited for."""
        while True:
            try:
                with claimed(self.makes, kind="step"):
                    yield
                    return
            except Busy:
                time.sleep(LOOK_AGAIN)

    def runs(self) -> bool:
        """Whether a process does it at the moment, as its lock says."""
        try:
            with (
                claimed(self.makes, kind="step")
                if self.makes.parent.is_dir()
                else nullcontext()
            ):  # a lock makes it
                return False
        except Busy:
            return True

    def run(self, device: str = "auto") -> str:
        """Run it in this process, what it says going to a log beside its output; why it failed, or nothing."""
        error = run_words(self.words(device), self.beside(LOG))
        if not error and not self.is_done():
            error = f"it ended without writing {self.makes}"
        if error:
            write_atomically(
                self.beside(FAILED), f"{error}\n".encode(errors="backslashreplace")
            )
        return error


def run_words(words: Sequence[str], log: Path) -> str:
    """Run `randsmooth WORDS` in this process; the last sentence that it said where it failed, or nothing.

    Raises:
        KeyboardInterrupt: it was interrupted, as all that runs is to be.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open(
        "a", encoding="utf-8", errors="backslashreplace", buffering=1
    ) as said:
        said.write(f"$ {without_credentials(shlex.join(['randsmooth', *words]))}\n")
        begins = said.tell()
        try:
            with redirect_stdout(said), redirect_stderr(said):
                run_verb(words)
        except SystemExit as end:
            if end.code == INTERRUPTED:
                raise KeyboardInterrupt from end
            return last_sentence(log, begins) if end.code else ""
        except Exception as error:
            return (
                f"{type(error).__name__}: {shortened(printable(str(error)))}; see {log}"
            )
    return ""


def run_verb(words: Sequence[str]) -> None:
    """`randsmooth WORDS` in this process, so that no child outlives it. SystemExit as a command raises it."""
    before, sys.argv = sys.argv, ["randsmooth", *words]
    try:
        runpy.run_module("randsmooth", run_name="__main__")
    finally:
        sys.argv = before


def last_sentence(log: Path, begins: int = 0) -> str:
    """The last sentence of ours in a log, or else its last line."""
    with log.open("rb") as said:
        said.seek(begins)
        lines = [
            line
            for line in said.read().decode(errors="replace").splitlines()
            if line.strip()
        ]
    own = [line.removeprefix(OURS) for line in lines if line.startswith(OURS)]
    return shortened(
        printable((own or lines or [f"it said nothing; see {log}"])[-1]), 2_000
    )


def command_words(
    verb: str, argument: str | Sequence[str], options: Mapping[str, Any]
) -> list[str]:
    """The words of a command line, after `randsmooth`: one argument or several, and settings by their names.

    Example:
        >>> command_words("certify", "a", {"n": 1000, "sound": True, "model_arg": {"depth": 20}})
        ['certify', 'a', '--n', '1000', '--sound', '--model-arg', 'depth=20']
    """
    words = [verb, *([argument] if isinstance(argument, str) else argument)]
    for key, value in options.items():
        flag = "--" + key.replace("_", "-")
        if isinstance(value, Mapping):
            words += [
                word
                for name, set_to in value.items()
                for word in (flag, f"{name}={_as_yaml(set_to)}")
            ]
        elif value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def _as_yaml(value: Any) -> str:
    """A value of --set, which is read as YAML: a text that may be read as something else is quoted."""
    word = (
        isinstance(value, str)
        and re.fullmatch(r"[A-Za-z][\w./+-]*", value)
        and parse_yaml(value, "it") == value
    )
    return value if word else json.dumps(value)


@dataclass(frozen=True)
class Chain:
    """Steps that one worker does one after the other: a unit of work.

    Attributes:
        name: what it is called.
        steps: in the order in which they run.

    Example:
        >>> train = Step("a/train", "train", "digits", {}, Path("a"))
        >>> certify = Step("b/certify", "certify", "a", {}, Path("b.parquet"), (train,))
        >>> [(chain.name, sorted(chain.needs)) for chain in chains_of([train, certify])]
        [('a', []), ('b', ['a'])]
    """

    name: str
    steps: tuple[Step, ...]

    @property
    def before(self) -> list[Step]:
        """The steps of other chains that these need, each after those that it needs itself."""
        every = {
            name: one for step in self.steps for name, one in step.before().items()
        }
        return [one for one in every.values() if one.chain != self.name]

    @property
    def needs(self) -> set[str]:
        """The other chains that have steps which must be done before."""
        return {step.chain for step in self.before}

    def missing(self) -> list[Step]:
        """The steps that are not done, in order."""
        return [step for step in self.steps if not step.is_done()]

    def __call__(self, device: str) -> None:
        """Do what is missing, of what is needed, too; what another process does is waited for.

        Raises:
            Problem: a step failed. Those that do not need it are done all the same.
        """
        steps = [*self.before, *self.steps]
        for step in steps:
            with nullcontext() if step.is_done() else step.held():
                if not (step.is_done() or step.failure()) and all(
                    need.is_done() for need in step.needs
                ):
                    step.run(device)
        if self.missing():
            raise Problem("; ".join(filter(None, (step.failure() for step in steps))))


def chains_of(steps: Iterable[Step]) -> list[Chain]:
    """The steps as chains, each after those that it needs.

    Raises:
        Problem: two chains wait for each other.
    """
    own = dict[str, list[Step]]()
    for step in steps:
        own.setdefault(step.chain, []).append(step)
    chains = {name: Chain(name, tuple(those)) for name, those in own.items()}
    try:
        order = TopologicalSorter(
            {name: sorted(chain.needs) for name, chain in chains.items()}
        ).static_order()
        return [chains[name] for name in order]
    except CycleError as error:
        raise Problem(
            f"{', '.join(sorted({*error.args[1]}))} wait for each other"
        ) from None


def carry_out(
    chains: Sequence[Chain], workers: Workers | None, progress: Progress, title: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Do all that is missing of the chains, each after those that it needs.

    Whatever ends this early: what is finished stays, and doing the same again goes on.

    Args:
        chains: each after those that it needs.
        workers: who does them; None: this process, one after the other.
        progress: counts steps below a `title`, and says how far those are that run.

    Returns:
        Each chain that failed, and why. Each that could not be finished, and the one that failed and that it waits for.
    """
    steps = [step for chain in chains for step in chain.steps]
    units = {chain.name: chain for chain in chains if chain.missing()}
    for step in steps:
        step.beside(FAILED).unlink(missing_ok=True)

    def far() -> str:
        return "; ".join(
            f"{step.name}: {words}" for step in steps if (words := step.progress())
        )

    shown = progress(title, len(steps), "steps")
    with (
        shown as reporter,
        watched(reporter, lambda: sum(map(Step.is_done, steps)), far) as look,
    ):
        who = workers or Workers(1)  # joblib runs what one worker does in this process
        failed = who.run(
            units,
            left=lambda: {name for name, one in units.items() if one.missing()},
            look=look,
        )
        for name, why in failed.items():
            reporter.say(f"failed {name}: {why}")
    lost = {
        name: step.chain
        for name in failed
        for step in reversed(units[name].before)
        if not step.is_done()
    }
    return {name: why for name, why in failed.items() if name not in lost}, lost
