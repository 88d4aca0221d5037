"""What a refused resume says: all that differs, whether it is the classifier, and what would go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from randsmooth.certificates import ANOTHER_ARITHMETIC, ANOTHER_MODEL, Header
from randsmooth.certificates.same_run import check_same_run, classifier_difference, evidence_difference
from randsmooth.errors import InputError

MODEL = {"weights": "sha256:" + "a" * 64, "arch": "lenet"}
BEGUN = Header(
    sigma=0.5, n0=100, n=300, alpha=0.001, bound="clopper-pearson", seed=0, guarantee="as the rule says",
    noise="NumPy", dataset="digits", split="test", selection="take 3 of 100", data="these", classes=("0", "1"),
    model=MODEL, behaviour={"made-up images": "x", "own images": "y"}, versions={"torch": "1", "numpy": "2"},
    backend="torch", precision="float32", batch=256, device="cpu, this one", instructions="AVX2",
)  # fmt: skip


def refusal(begun: Header = BEGUN, **now: Any) -> str:
    with pytest.raises(InputError) as refused:
        check_same_run(begun, BEGUN.model_copy(update=now), Path("a.parquet"))
    return str(refused.value)


def test_all_that_differs_is_named_and_what_follows_from_it_is_not() -> None:
    hashed = "another model: weights 'sha256:aaaaaaaaaaaa' in the file, 'sha256:cccccccccccc' asked for"
    table: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        ({"n": 301, "guarantee": "another"}, ("n: 300 in the file, 301",)),
        (
            {"sigma": 0.25, "label_aware": True},
            ("sigma: 0.5 in the file, 0.25", "label_aware: False in the file, True"),
        ),
        ({"selection": "all 100", "data": "those"}, ("selection: 'take 3 of 100' in the file, 'all 100'",)),
        ({"dataset": "mnist", "data": "those", "classes": ("2",)}, ("dataset: 'digits' in the file, 'mnist'",)),
        ({"device": "cuda"}, ("device: 'cpu, this one' in the file, 'cuda'",)),
        ({"versions": {"torch": "2", "numpy": "2"}}, ("versions: torch '1' in the file, '2'",)),
        ({"shard": "1/2", "data": "those"}, ("shard: None in the file, '1/2'",)),
        ({"model": {"weights": "sha256:" + "c" * 64}}, (hashed,)),
    ]
    for now, differs in table:
        refused = refusal(**now)
        assert all(each in refused for each in differs) and refused.count(" in the file,") == len(differs), now
        assert "To go on with it: resume=True" in refused and "overwrite=True" in refused
    strange = refusal(BEGUN.model_copy(update={"dataset": "\x1b[31m", "split": "x" * 999}))
    assert strange.isprintable() and len(strange) < 700


def test_every_field_is_compared() -> None:
    """Of whatever a header tells: no field can be added and forgotten."""
    other: dict[str, Any] = {"model": {"weights": "?"}, "behaviour": {"made-up images": "?"}}
    not_of_the_run = {"machines", "command"}  # who took part, and how that is written on a command line
    for name in Header.model_fields.keys() - not_of_the_run:
        assert "was begun differently (" in refusal(**{name: other.get(name, "?")}), name
    check_same_run(BEGUN, BEGUN, Path("a.parquet"))


ANSWERS = {"behaviour": {"made-up images": "x", "own images": "other"}}
CALLED = MODEL | {"called": "mine"}


def test_models_and_arithmetics_are_told_apart() -> None:
    table: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
        ({}, {"model": MODEL | {"notes": ["resized"]}}, ANOTHER_MODEL, "notes nothing in the file, ['resized'] asked"),
        ({}, {"model": CALLED}, ANOTHER_MODEL, "called nothing in the file, 'mine' asked for"),
        ({}, ANSWERS, ANOTHER_MODEL, "its weights are the same but its outputs differ"),
        ({}, ANSWERS | {"instructions": "AVX"}, ANOTHER_ARITHMETIC, "(instructions: 'AVX2' in the file, 'AVX' asked"),
        ({}, ANSWERS | {"versions": {"torch": "1"}}, ANOTHER_ARITHMETIC, "numpy '2' in the file, nothing asked for"),
        ({"model": CALLED}, ANSWERS | {"model": CALLED, "device": "cuda"}, ANOTHER_MODEL, "or its arithmetic differs"),
    ]
    for begun, now, kind, by in table:
        difference = classifier_difference(BEGUN.model_copy(update=begun), BEGUN.model_copy(update=now))
        assert difference is not None and difference.kind == kind and by in difference.detail, (begun, now)


def test_what_tells_no_classifiers_apart() -> None:
    table: list[dict[str, Any]] = [
        {},
        {"instructions": "AVX"},  # which computes these answers alike
        ANSWERS | {"data": "those"},
        ANSWERS | {"batch": 128},
        ANSWERS | {"sigma": 0.25},
        {"model": MODEL | {"arch": "called otherwise", "epochs": 3}},  # how equal models came to be
        {"model": None, "behaviour": None},
    ]
    for now in table:
        assert classifier_difference(BEGUN, BEGUN.model_copy(update=now)) is None, now


def test_what_a_machine_may_differ_in_is_no_difference_of_evidence_but_what_counts_depend_on_is() -> None:
    begun = Header(sigma=0.5, n=100, seed=0, device="cpu A", versions={"torch": "1"}, behaviour={"made-up images": "x"})
    sides = ("of node1", "of node2")
    elsewhere = begun.replace(device="cpu B", instructions="AVX2", versions={"torch": "2"})
    assert evidence_difference(begun, elsewhere, sides) is None
    assert evidence_difference(begun, begun.replace(seed=1), sides) == "seed: 0 of node1, 1 of node2"
    found = evidence_difference(begun, elsewhere.replace(behaviour={"made-up images": "y"}), sides)
    assert found is not None
    assert "device: 'cpu A' of node1, 'cpu B' of node2" in found
    assert "torch '1' of node1, '2' of node2" in found
