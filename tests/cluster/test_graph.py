"""Graphs of steps: what can run, what is done, what never will; no process is started."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from randsmooth.cli.settings import pairs
from randsmooth.cluster import Graph, Step
from randsmooth.errors import InputError


def step(name: str, *needs: str, any_will_do: bool = False) -> Step:
    return Step(name, "certify", name, {}, Path(f"{name}.parquet"), needs, any_will_do=any_will_do)


def names(steps: list[Step]) -> list[str]:
    return [one.name for one in steps]


DIAMOND = Graph([step("d", "b", "c"), step("a"), step("b", "a"), step("c", "a"), step("z")])


def test_a_step_waits_for_all_that_it_needs() -> None:
    ready = DIAMOND.ready
    assert names(ready(done=set(), begun=set(), failed=set())) == ["a", "z"]
    assert names(ready(done={"a"}, begun={"z"}, failed=set())) == ["b", "c"]
    assert names(ready(done={"a", "b", "z"}, begun={"c"}, failed=set())) == []
    assert names(ready(done={"a", "b", "c", "z"}, begun=set(), failed=set())) == ["d"]
    assert names(DIAMOND.in_order()) == ["a", "b", "c", "d", "z"]


def test_what_failed_stops_only_what_needs_it() -> None:
    assert DIAMOND.blocked({"b"}) == {"d": "b"}
    assert DIAMOND.blocked({"a"}) == {"b": "a", "c": "a", "d": "a"}
    assert names(DIAMOND.ready(done={"a"}, begun=set(), failed={"b"})) == ["c", "z"]


def test_a_ranking_runs_once_all_has_ended_if_there_is_anything_to_rank() -> None:
    graph = Graph([step("a"), step("b"), step("rank", "a", "b", any_will_do=True)])
    assert names(graph.ready(done={"a"}, begun=set(), failed=set())) == ["b"]
    assert names(graph.ready(done={"a"}, begun=set(), failed={"b"})) == ["rank"]
    assert graph.blocked({"a", "b"}) == {"rank": "a"}


@pytest.mark.parametrize(
    ("steps", "named"),
    [
        ([step("a"), step("a")], "two steps are called a"),
        ([step("a"), Step("b", "certify", "b", {}, Path("a.parquet"))], "would both write a.parquet"),
        ([step("a", "b")], "a needs b, which is no step"),
        ([step("a", "b"), step("b", "a"), step("c")], "a, b wait for each other"),
    ],
)
def test_graphs_that_cannot_be(steps: list[Step], named: str) -> None:
    with pytest.raises(InputError, match=named):
        Graph(steps)


VALUES: list[dict[str, Any]] = [
    {"lr": 0.1, "weight_decay": 1e-05, "m": 4, "discard": False, "teacher": None},
    {"lr_drops": [50, 100], "norm": "linf", "variant": "off", "folder": "5", "number": "1e-3", "text": "a: b"},
    {"teacher": "runs/a b/model"},
]


@pytest.mark.parametrize("values", VALUES)
def test_values_of_set_come_out_of_the_command_as_they_went_in(values: Mapping[str, Any]) -> None:
    words = Step("a", "train", "digits", {"set": values}, Path("a")).words()
    assert words[:2] == ["train", "digits"] and words[-1] == "--resume"
    assert words[2:-1:2] == ["--set"] * len(values)
    assert pairs(words[3:-1:2]) == values


def test_the_disk_says_what_is_done(tmp_path: Path) -> None:
    train = Step("t", "train", "digits", {}, tmp_path / "model")
    certify = Step("c", "certify", "m", {}, tmp_path / "a.parquet")
    judge = Step("e", "evaluate", ["a.parquet"], {}, tmp_path / "a.json", reads=(tmp_path / "a.parquet",))
    judge = dataclasses.replace(judge, needs=("c",))
    graph = Graph([train, certify, judge])
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "checkpoint.pt").touch()
    assert graph.done() == set()
    for path in ("model/config.json", "a.json", "a.parquet", "a.parquet.partial"):
        (tmp_path / path).touch()
    os.utime(tmp_path / "a.json", (1, 1))
    assert graph.done() == {"t"}  # the journal was not removed yet, and the figures are older than the table
    (tmp_path / "a.parquet.partial").unlink()
    (tmp_path / "a.json").touch()
    assert graph.done() == {"t", "c", "e"}
    more = Step("d", "certify", "m", {}, tmp_path / "b.parquet")
    both = dataclasses.replace(judge, needs=("c", "d"), reads=(certify.makes, more.makes), any_will_do=True)
    assert Graph([train, certify, more, both]).done() == {"t", "c"}  # of "e" there will be more to judge
