"""Carrying out a graph, with an executor that only says which steps it was given."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from randsmooth.cluster import Ended, Graph, Step
from randsmooth.cluster.carry_out import carry_out


class Pretend:
    """An executor whose steps end one at a time, the oldest first; `bad` ones fail."""

    def __init__(self, workers: int, bad: Collection[str] = (), lazy: Collection[str] = ()) -> None:
        self.workers, self.bad, self.lazy = workers, bad, lazy
        self.running: list[Step] = []
        self.begun: list[str] = []
        self.most = 0

    def start(self, step: Step) -> None:
        self.running.append(step)
        self.begun.append(step.name)
        self.most = max(self.most, len(self.running))

    def ended(self) -> list[Ended]:
        step = self.running.pop(0)
        if step.name == "interrupt":
            raise KeyboardInterrupt
        if step.name not in self.bad and step.name not in self.lazy:
            step.makes.write_text("made")
        return [Ended(step.name, "it went wrong" if step.name in self.bad else "")]

    def stop(self) -> None:
        self.running.clear()


class Quiet:
    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def began(self, step: Step) -> None:
        self.said.append(("began", step.name))

    def ended(self, step: Step, error: str) -> None:
        self.said.append((error or "done", step.name))

    def looked(self, running: Collection[str]) -> None:
        pass


def graph(folder: Path, **needs: str) -> Graph:
    return Graph(Step(name, "certify", name, {}, folder / name, tuple(of.split())) for name, of in needs.items())


def test_each_step_runs_once_after_what_it_needs(tmp_path: Path) -> None:
    steps = graph(tmp_path, a="", b="a", c="a", d="b c", e="")
    executor, watcher = Pretend(2), Quiet()
    outcome = carry_out(steps, executor, watcher)
    assert outcome.done == {*"abcde"} and not outcome.failed and not outcome.blocked
    assert sorted(executor.begun) == [*"abcde"] and executor.most == 2
    for step in steps:
        for name in step.needs:
            assert watcher.said.index(("done", name)) < watcher.said.index(("began", step.name))
    again = Pretend(2)
    assert carry_out(steps, again, Quiet()).done == {*"abcde"} and again.begun == []


def test_a_failed_step_stops_only_what_needs_it(tmp_path: Path) -> None:
    steps = graph(tmp_path, a="", b="a", c="b", x="", y="x")
    outcome = carry_out(steps, Pretend(1, bad={"a"}), Quiet())
    assert outcome.done == {"x", "y"}
    assert outcome.failed == {"a": "it went wrong"} and outcome.blocked == {"b": "a", "c": "a"}
    again = Pretend(1)
    assert carry_out(steps, again, Quiet()).done == {*"abcxy"} and again.begun == ["a", "b", "c"]


def test_a_step_that_makes_nothing_has_failed(tmp_path: Path) -> None:
    outcome = carry_out(graph(tmp_path, a="", b="a"), Pretend(1, lazy={"a"}), Quiet())
    assert outcome.failed == {"a": f"it ended without writing {tmp_path / 'a'}"}


def test_an_interruption_ends_what_runs(tmp_path: Path) -> None:
    executor = Pretend(3)
    with pytest.raises(KeyboardInterrupt):
        carry_out(graph(tmp_path, interrupt="", a="", b=""), executor, Quiet())
    assert executor.begun == ["interrupt", "a", "b"] and executor.running == []
