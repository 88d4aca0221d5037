"""Chains of steps, such as one model from training to its metrics: each is a unit of work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from randsmooth.atomic import InUse, claimed
from randsmooth.errors import InputError
from randsmooth.launch.steps import Step, progress_of
from randsmooth.launch.workers import Workers, looking
from randsmooth.progress import Reporter


@dataclass(frozen=True)
class Chain:
    """Steps that one worker does one after the other: a unit of work.

    Attributes:
        name: what it is called.
        steps: in the order in which they run.
        folder: where its lock lies, which says to others that it runs.

    Example:
        >>> train = Step("a/train", "train", "digits", {}, Path("a"))
        >>> certify = Step("b/certify", "certify", "a", {}, Path("b.parquet"), ("a/train",))
        >>> [(chain.name, sorted(chain.needs)) for chain in chains_of([train, certify], Path("runs"))]
        [('a', []), ('b', ['a'])]
    """

    name: str
    steps: tuple[Step, ...]
    folder: Path

    @property
    def needs(self) -> set[str]:
        """The other chains that must be done before."""
        return {need.partition("/")[0] for step in self.steps for need in step.needs} - {self.name}

    def missing(self) -> list[Step]:
        """The steps that are not done, in order."""
        return [step for step in self.steps if not step.is_done()]

    def __call__(self, device: str) -> None:
        """Do what is missing. InputError where a step fails; the others that do not need it are done all the same."""
        failed: dict[str, str] = {}
        with claimed(self.folder / self.name, kind="runs"):
            for step in self.missing():
                if not failed.keys() & {*step.needs} and (error := step.run(device)):
                    failed[step.name] = error
        if failed:
            raise InputError("; ".join(failed.values()))

    def runs(self) -> bool:
        """Whether a process does it at the moment, as its lock says."""
        try:
            with claimed(self.folder / self.name, kind="runs"):
                return False
        except InUse:
            return True


def chains_of(steps: Iterable[Step], folder: Path) -> list[Chain]:
    """The steps as chains, in the order of their first steps.

    Raises:
        InputError: two steps of one name or for one output, one that needs what is not there, or chains that wait for
            each other.
    """
    found, makers = dict[str, list[Step]](), dict[Path, str]()
    for step in steps:
        if (other := makers.setdefault(step.makes, step.name)) != step.name:
            raise InputError(f"{other} and {step.name} would both write {step.makes}")
        found.setdefault(step.chain, []).append(step)
    chains = [Chain(name, tuple(those), folder) for name, those in found.items()]
    levels(chains)
    return chains


def levels(chains: Sequence[Chain]) -> list[list[Chain]]:
    """The chains in groups, each of which needs only those before it. InputError where some wait for each other."""
    left, done, found = [*chains], set[str](), list[list[Chain]]()
    while left:
        ready = [chain for chain in left if chain.needs <= done]
        if not ready:
            raise InputError(f"{', '.join(chain.name for chain in left)} wait for each other, or for what is no step")
        found.append(ready)
        done |= {chain.name for chain in ready}
        left = [chain for chain in left if chain.name not in done]
    return found


@dataclass(frozen=True)
class Outcome:
    """How chains ended.

    Attributes:
        failed: chain -> why.
        blocked: chain that could not run -> the failed one that it waits for.

    Example:
        >>> Outcome({"b": "no space"}, {"c": "b"}).failed["b"]
        'no space'
    """

    failed: Mapping[str, str] = field(default_factory=dict)
    blocked: Mapping[str, str] = field(default_factory=dict)


def carry_out(chains: Sequence[Chain], workers: Workers | None, reporter: Reporter) -> Outcome:
    """Do all that is missing of the chains, each after those that it needs; `reporter` counts steps.

    Whatever ends this early: what is finished stays, and doing the same again goes on.
    """
    failed, blocked, watch = dict[str, str](), dict[str, str](), _Watch(chains, reporter)
    for level in levels(chains):
        lost = {chain.name: sorted(chain.needs & (failed.keys() | blocked.keys())) for chain in level}
        blocked |= {name: blocked.get(needs[0], needs[0]) for name, needs in lost.items() if needs}
        ready = {chain.name: chain for chain in level if not lost[chain.name] and chain.missing()}
        failed |= _alone(ready, watch) if workers is None else _shared(ready, workers, watch)
    return Outcome(failed, blocked)


def _alone(ready: Mapping[str, Chain], watch: _Watch) -> dict[str, str]:
    failed = {}
    for name, chain in ready.items():
        watch.reporter.say(f"begin  {name}")
        try:
            with looking(watch.look):
                chain("auto")
        except InputError as error:
            failed[name] = str(error)
        watch.reporter.say(f"failed {name}: {failed[name]}" if name in failed else f"done   {name}")
    return failed


def _shared(ready: Mapping[str, Chain], workers: Workers, watch: _Watch) -> dict[str, str]:
    failed = workers.run(
        ready, left=lambda: {name for name, chain in ready.items() if chain.missing()}, look=watch.look
    )
    for name, error in failed.items():
        watch.reporter.say(f"failed {name}: {error}")
    return failed


class _Watch:
    """Shows how many steps are done, and how far those are that run, by what they have written."""

    def __init__(self, chains: Sequence[Chain], reporter: Reporter) -> None:
        self.steps = [step for chain in chains for step in chain.steps]
        self.reporter, self.done = reporter, 0
        self.done = self._count()
        reporter.skip(self.done)

    def _count(self) -> int:
        return sum(step.is_done() for step in self.steps)

    def look(self) -> int:
        now = self._count()
        far = [f"{step.name}: {words}" for step in self.steps if not step.is_done() and (words := progress_of(step))]
        self.reporter.advance(max(0, now - self.done), "; ".join(far))
        self.done = max(self.done, now)
        return now
