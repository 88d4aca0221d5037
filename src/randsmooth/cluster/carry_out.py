"""Carry out a graph of steps: each begins once what it needs is done; one that fails does not stop the rest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from randsmooth.cluster.graph import Graph, Step


@dataclass(frozen=True)
class Ended:
    """A step that ended; `error` is a sentence, empty if it did what it should.

    Example:
        >>> Ended("a/train").error
        ''
    """

    name: str
    error: str = ""


class Executor(Protocol):
    """Where steps run: in processes of this machine, on a cluster. All calls come from one thread.

    Attributes:
        workers: how many steps run at a time.

    Example:
        >>> class OneByOne:
        ...     workers = 1
        ...
        ...     def start(self, step: Step) -> None:
        ...         self.step = step
        ...
        ...     def ended(self) -> list[Ended]:
        ...         self.step.makes.write_text(self.step.command())
        ...         return [Ended(self.step.name)]
        ...
        ...     def stop(self) -> None:
        ...         pass
        >>> executor: Executor = OneByOne()
    """

    workers: int

    def start(self, step: Step) -> None:
        """Begin a step, without waiting for it."""

    def ended(self) -> Sequence[Ended]:
        """The steps that ended since the last call; where there are none, after a short wait."""

    def stop(self) -> None:
        """End all that runs, in a way that lets it be resumed, and return when nothing runs any more."""


class Watcher(Protocol):
    """Is told what happens to the steps of a graph."""

    def began(self, step: Step) -> None:
        """A step begins."""

    def ended(self, step: Step, error: str) -> None:
        """A step is done, or failed with `error`."""

    def looked(self, running: Collection[str]) -> None:
        """Nothing happened for about a second; these steps run."""


@dataclass(frozen=True)
class Outcome:
    """How the steps of a graph ended.

    Attributes:
        done: the steps whose output is there.
        failed: step -> the sentence of its error.
        blocked: step that could not run -> the failed one that it waits for.

    Example:
        >>> Outcome(frozenset({"a"}), {"b": "no space"}, {"c": "b"}).failed["b"]
        'no space'
    """

    done: frozenset[str]
    failed: Mapping[str, str]
    blocked: Mapping[str, str]


def carry_out(graph: Graph, executor: Executor, watcher: Watcher) -> Outcome:
    """Run all steps of `graph` whose output is not there yet, as many at a time as `executor` has workers.

    Whatever ends this early, Ctrl-C too, first ends the steps that run: what they have finished is kept, and carrying
    out the same graph again goes on with them.
    """
    done, failed, running = graph.done(), dict[str, str](), set[str]()
    try:
        while True:
            ready = graph.ready(done=done, begun=running, failed=failed)
            for step in ready[: executor.workers - len(running)]:
                running.add(step.name)
                watcher.began(step)
                executor.start(step)
            if not running:
                return Outcome(frozenset(done), failed, graph.blocked(failed))
            ends = executor.ended()
            for end in ends:
                running.discard(end.name)
                step = graph[end.name]
                error = end.error or ("" if step.is_done() else f"it ended without writing {step.makes}")
                if error:
                    failed[end.name] = error
                else:
                    done.add(end.name)
                watcher.ended(step, error)
            if not ends:
                watcher.looked(running)
    except BaseException:
        executor.stop()
        raise
