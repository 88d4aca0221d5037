"""Steps and chains: their commands, what is done, in which order they run, what fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from randsmooth.errors import InputError
from randsmooth.launch.chains import Step, carry_out, chains_of, command_words, levels, run_words
from randsmooth.progress import Silent


def evaluate(name: str, folder: Path, *needs: str, argument: str = "") -> Step:
    """A step that takes a second: it prints what is said of methods into a file."""
    out = folder / f"{name.replace('/', '-')}.json"
    return Step(name, "methods", argument or "gaussian", {"format": "json"}, out, needs)


def test_options_become_the_words_that_mean_them() -> None:
    table: list[tuple[dict[str, Any], list[str]]] = [
        ({"n": 1000, "sound": True, "batch": None, "label_aware": False}, ["--n", "1000", "--sound"]),
        (
            {"set": {"lr": 0.1, "name": "1e3", "drops": [1, 2]}},
            ["--set", "lr=0.1", "--set", 'name="1e3"', "--set", "drops=[1, 2]"],
        ),
    ]
    for options, words in table:
        assert command_words("certify", "a", options) == ["certify", "a", *words]


def test_chains_wait_for_those_that_they_need(tmp_path: Path) -> None:
    steps = [evaluate("c/x", tmp_path, "b/x"), evaluate("b/x", tmp_path, "a/x"), evaluate("a/x", tmp_path)]
    chains = chains_of(steps, tmp_path)
    assert [[chain.name for chain in level] for level in levels(chains)] == [["a"], ["b"], ["c"]]
    wrong = [
        ([evaluate("a/x", tmp_path, "b/x"), evaluate("b/x", tmp_path, "a/x")], "wait for each other"),
        ([evaluate("a/x", tmp_path, "nosuch/x")], "what is no step"),
        ([evaluate("a/x", tmp_path), Step("b/x", "train", "digits", {}, steps[2].makes)], "would both write"),
    ]
    for those, said in wrong:
        with pytest.raises(InputError, match=said):
            chains_of(those, tmp_path)


def test_what_fails_stops_only_what_needs_it(tmp_path: Path) -> None:
    table = tmp_path / "t.tsv"
    table.write_text("idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t1\t1\t0.5\t1\t0:00:01\n")

    def step(name: str, source: Path, *needs: str) -> Step:
        out = tmp_path / f"{name.partition('/')[0]}.json"
        return Step(name, "evaluate", str(source), {"format": "json", "out": out, "overwrite": True}, out, needs)

    missing = tmp_path / "nosuch.tsv"
    steps = [step("a/x", missing), step("b/x", table, "a/x"), step("c/x", table, "b/x"), step("d/x", table)]
    chains = chains_of(steps, tmp_path)
    outcome = carry_out(chains, None, Silent())
    assert "nosuch.tsv" in outcome.failed["a"] and {**outcome.blocked} == {"b": "a", "c": "a"}
    assert [chain.name for chain in chains if not chain.missing()] == ["d"]
    assert "nosuch.tsv" in steps[0].failure()
    missing.write_text(table.read_text())
    assert not carry_out(chains, None, Silent()).failed and not any(chain.missing() for chain in chains)
    assert steps[0].failure() == ""


def test_what_a_command_says_goes_to_its_log(tmp_path: Path) -> None:
    assert run_words(["--version"], tmp_path / "log") == ""
    assert "unknown verb 'evalute'" in run_words(["evalute"], tmp_path / "log")
    assert (tmp_path / "log").read_text().splitlines()[::2] == ["$ randsmooth --version", "$ randsmooth evalute"]
