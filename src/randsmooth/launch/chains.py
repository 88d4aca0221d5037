"""Chains of steps: what one worker does, one step after the other, as a unit of work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from randsmooth.errors import BadValue, Problem, SeveralProblems, each_problem
from randsmooth.launch.pool import Pool, watched
from randsmooth.launch.step import Step
from randsmooth.progress import Progress


@dataclass(frozen=True)
class Chain:
    """Steps that one worker does one after the other: a unit of work.

    Attributes:
        name: the name of the chain.
        steps: the steps, in the order in which they run.

    Example:
        >>> from pathlib import Path
        >>> from randsmooth.launch.table_steps import Evaluate
        >>> first = Evaluate(name="a/metrics", makes=Path("a.json"), tables=())
        >>> second = Evaluate(
        ...     name="b/metrics", makes=Path("b.json"), tables=(), needs=(first,)
        ... )
        >>> [(chain.name, sorted(chain.needs)) for chain in chains_of([first, second])]
        [('a', []), ('b', ['a'])]
    """

    name: str
    steps: tuple[Step, ...]

    @property
    def before(self) -> list[Step]:
        """Return the steps of other chains needed here, each after its own needs."""
        earlier: dict[str, Step] = {}
        for step in self.steps:
            earlier |= step.before()
        return [step for step in earlier.values() if step.chain != self.name]

    @property
    def needs(self) -> set[str]:
        """Return the names of the chains with steps that must be done before."""
        return {step.chain for step in self.before}

    @property
    def is_quick(self) -> bool:
        """Return whether all of its steps take seconds."""
        return all(step.is_quick for step in self.steps)

    def missing(self) -> list[Step]:
        """Return the steps that are not done, in order."""
        return [step for step in self.steps if not step.is_done()]

    def __call__(self, device: str) -> None:
        """Do what is missing, also of what is needed, and wait for what others do.

        Raises:
            Problem: a step failed. Those that do not need it are done all the same.
        """
        steps = [*self.before, *self.steps]
        for step in steps:
            with nullcontext() if step.is_done() else step.held():
                if _can_begin(step):
                    with step.logged():
                        step.run(device)
        failures = [step.failure() for step in steps]
        problems = [failure for failure in failures if failure is not None]
        if len(problems) == 1:
            raise problems[0]
        if problems:
            raise SeveralProblems(*problems)

    def blocked_by(self) -> str | None:
        """Return the first chain that it waits for, as one of its steps is not done."""
        for step in self.before:
            if not step.is_done():
                return step.chain
        return None


def _can_begin(step: Step) -> bool:
    """Return whether a step is to be done, and all that it needs is there."""
    if step.is_done() or step.failure() is not None:
        return False
    return all(need.is_done() for need in step.needs)


def chains_of(steps: Iterable[Step]) -> list[Chain]:
    """Return the steps as chains, each after those that it needs.

    Raises:
        Problem: two chains wait for each other.
    """
    steps_of_chain: dict[str, list[Step]] = {}
    for step in steps:
        steps_of_chain.setdefault(step.chain, []).append(step)
    chains = {name: Chain(name, tuple(own)) for name, own in steps_of_chain.items()}

    waits_for = {name: sorted(chain.needs) for name, chain in chains.items()}
    try:
        return [chains[name] for name in TopologicalSorter(waits_for).static_order()]
    except CycleError as error:
        names = ", ".join(sorted(set(error.args[1])))
        raise BadValue(f"{names} wait for each other") from None


@dataclass(frozen=True)
class Ended:
    """How chains ended.

    Attributes:
        failed: chain -> why it failed.
        blocked: chain that could not run -> the one that failed and that it waits for.
    """

    failed: dict[str, Problem] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)


def carry_out(
    chains: Sequence[Chain], workers: Pool | None, progress: Progress, title: str
) -> Ended:
    """Do all that is missing of the chains, each after those that it needs.

    Whatever ends this early: what is finished stays, and doing the same again goes on.

    Args:
        chains: the chains, each after those that it needs.
        workers: the workers that do them; None stands for this process, which does one
            after the other.
        progress: the display that counts steps below a `title`, and shows how far the
            running ones are.
    """
    steps = [step for chain in chains for step in chain.steps]
    units = {chain.name: chain for chain in chains if chain.missing()}
    for step in steps:
        step.forget_failure()

    def count_done() -> int:
        return sum(step.is_done() for step in steps)

    def describe_running() -> str:
        parts = [(step.name, step.progress()) for step in steps]
        return "; ".join(f"{name}: {words}" for name, words in parts if words)

    def unfinished() -> set[str]:
        return {name for name, chain in units.items() if chain.missing()}

    with (
        progress(title, len(steps), "steps") as reporter,
        watched(reporter, count_done, describe_running) as look,
    ):
        # joblib runs what one worker does in this process.
        pool = workers or Pool(1)
        failed = pool.run(units, left=unfinished, look=look)
        for name, problem in failed.items():
            sentences = "; ".join(map(str, each_problem(problem)))
            reporter.say(f"failed {name}: {sentences}")

    ended = Ended()
    for name, problem in failed.items():
        blocking = units[name].blocked_by()
        if blocking is None:
            ended.failed[name] = problem
        else:
            ended.blocked[name] = blocking
    return ended
