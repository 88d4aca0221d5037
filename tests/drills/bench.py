"""Where a command is run, cut short and run again, and what is counted of it."""

import random
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from cli.processes import start
from drills.facts import facts
from drills.subjects import GRID, Subject, staged

PATIENCE = 120.0  # seconds for a command to begin
TOLD = 3  # of what went wrong
THOROUGH = 20  # times from which every write and every byte is tried


@dataclass
class Tally:
    """What came of a drill.

    Attributes:
        tried: disturbances that met a run at its work. missed: that came after its end, and do not count.
        refused: runs that ended with a sentence. ended: runs that ended as if nothing had been.
        equal, unequal: results, once the command was run again, that are the undisturbed one's or not.
        raw: runs that ended with a traceback or without a word.
        wrong: what was seen of the last two, in words.
    """

    drill: str
    tried: int = 0
    missed: int = 0
    refused: int = 0
    ended: int = 0
    equal: int = 0
    unequal: int = 0
    raw: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    sentence: str = ""

    @property
    def passed(self) -> bool:
        return not (self.unequal or self.raw or self.wrong) and self.equal > 0

    def judge(self, wrong: str) -> None:
        """Count a result that is equal, unless something is `wrong` with it."""
        self.equal, self.unequal = self.equal + (not wrong), self.unequal + bool(wrong)
        self.note(wrong)

    def end(self, code: int | None, said: str) -> None:
        """Count how a run ended by itself."""
        last = said.strip().splitlines()[-1:] or [""]
        if code == 0:
            self.ended += 1
        elif (
            code in (1, 2)
            and last[0].startswith("randsmooth: ")
            and "Traceback" not in said
        ):
            self.refused += 1
            self.sentence = self.sentence or last[0]
        else:
            self.raw += 1
            self.note(f"exit code {code}: {said.strip()[-1500:]}")

    def note(self, wrong: str) -> None:
        if wrong and len(self.wrong) < TOLD:
            self.wrong.append(wrong)

    def told(self) -> dict[str, object]:
        return {
            key: value for key, value in asdict(self).items() if value not in ("", [])
        }


class Bench:
    """A subject, its undisturbed result, and a folder to disturb it in."""

    def __init__(
        self,
        subject: Subject,
        stage: Path,
        root: Path,
        seed: int,
        times: int,
        drill: str,
    ) -> None:
        self.subject, self.stage, self.root, self.times = subject, stage, root, times
        self.folder, self.kept, self.said = (
            root / "work",
            root / "kept",
            root / "said",
        )  # kept: what was there before
        self.rng = random.Random(f"{seed} {drill} {subject.name}")
        self.tally = Tally(f"{drill}: {subject.name}")
        self.whole: dict[str, str] = {}
        self.old: dict[str, str] = {}
        self.took = 0.0

    def measure(self) -> None:
        """Run the command undisturbed: its result, and how long it takes."""
        if self.subject.old:
            self.clear()
            self.finish(self.subject.old.replace("STAGE", str(self.stage)).split())
            shutil.copytree(self.out, self.kept)
            self.old = facts(self.out)
        self.clear()
        begun = time.monotonic()
        self.finish(self.command())
        self.took = time.monotonic() - begun
        self.whole = facts(self.out)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def step(self) -> int:
        """1 where every write or byte is to be tried; fewer times, every so many-th."""
        return max(1, THOROUGH // self.times)

    def command(self, **which: bool) -> list[str]:
        return self.subject.command(self.stage, **which)

    def clear(self) -> None:
        """The folder as it is before the command is run for the first time."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        if self.kept.exists():
            shutil.copytree(self.kept, self.out)

    def begin(
        self,
        words: list[str],
        before: Callable[[], None] | None = None,
        said: Path | None = None,
    ) -> BaseProcess:
        """The command, which has begun when this returns."""
        said = said or self.said
        said.unlink(missing_ok=True)
        process, deadline = (
            start(words, self.folder, said, before),
            time.monotonic() + PATIENCE,
        )
        while not said.exists() and process.is_alive() and time.monotonic() < deadline:
            time.sleep(0.002)
        return process

    def pause(self, most: float | None = None) -> None:
        """Wait for a random moment of the undisturbed run's time, or of `most` seconds."""
        time.sleep(self.rng.uniform(0.0, self.took if most is None else most))

    def words(self, said: Path | None = None) -> str:
        """What the last command said."""
        said = said or self.said
        return said.read_text(errors="replace") if said.exists() else ""

    def run(
        self, words: list[str], before: Callable[[], None] | None = None
    ) -> tuple[int | None, str]:
        """Exit code and words of the command, run to its end."""
        process = self.begin(words, before)
        process.join(self.subject.patience)
        if process.is_alive():
            process.kill()
            process.join()
            return None, f"no end after {self.subject.patience:g} seconds"
        return process.exitcode, self.words()

    def finish(self, words: list[str]) -> None:
        code, said = self.run(words)
        if code != 0:
            raise RuntimeError(
                f"randsmooth {' '.join(words)} ended with {code}: {said}"
            )

    def settle(self) -> str:
        """Run the command again, to its end: what is then wrong with the result."""
        code, said = self.run(self.command())
        return (
            f"run again, it ended with {code}: {said.strip()[-1500:]}"
            if code != 0
            else self.difference(self.whole)
        )

    def difference(self, right: dict[str, str], *, locked: bool = False) -> str:
        """In what the folder is not as it should be; if `locked`, locks may have stayed."""
        try:
            there = facts(self.out)
        except (OSError, ValueError) as error:
            return f"a file cannot be read: {error}"
        left = sorted(
            name
            for name in there.keys() - right.keys()
            if not (locked and name.endswith(".lock"))
        )
        lost = sorted(right.keys() - there.keys())
        other = sorted(
            name for name in there.keys() & right.keys() if there[name] != right[name]
        )
        parts = {"left over": left, "missing": lost, "not equal": other}
        return "; ".join(
            f"{what}: {', '.join(names)}" for what, names in parts.items() if names
        )

    def torn(self) -> str:
        """Which files are neither the old nor the new one, where an old one was to be replaced."""
        if not self.old:
            return ""
        names = [
            path.name for path in self.out.iterdir() if not path.name.startswith(".")
        ]
        there = {
            name: value for name, value in facts(self.out).items() if name in names
        }
        odd = [
            name
            for name, value in there.items()
            if value not in (self.old.get(name), self.whole.get(name))
        ]
        return (
            f"neither old nor new: {', '.join(odd)}"
            if odd or len(there) < len(self.old)
            else ""
        )


def stage(folder: Path) -> None:
    """Make what the subjects read."""
    folder.mkdir(parents=True)
    (folder / "grid.yaml").write_text(GRID)
    for words in staged(folder):
        process = start(words.split(), folder, folder.with_name("staged"))
        process.join()
        if process.exitcode != 0:
            raise RuntimeError(f"{words}: {folder.with_name('staged').read_text()}")
