"""What a refused resume says: all that differs, whether it is the classifier, and what would go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from randsmooth.certificates import (
    ANOTHER_ARITHMETIC,
    ANOTHER_MODEL,
    Header,
    check_same_run,
    classifier_difference,
    evidence_difference,
)
from randsmooth.certificates.same_run import in_format_of
from randsmooth.errors import InputError, Note, setting

MODEL = {"weights": "sha256:" + "a" * 64, "identity": "sha256:" + "b" * 64, "arch": "lenet"}
BEGUN = Header(
    sigma=0.5,
    n0=100,
    n=300,
    alpha=0.001,
    bound="clopper-pearson",
    seed=0,
    guarantee="as the rule says",
    noise="NumPy",
    dataset="digits",
    split="test",
    selection="take 3 of 100",
    data="these",
    classes=("0", "1"),
    model=MODEL,
    behaviour={"made-up images": "x", "own images": "y"},
    backend="torch",
    precision="float32",
    batch=256,
    device="cpu, this one",
    instructions="AVX2",
    versions={"torch": "1", "numpy": "2"},
)
TO_BEGIN = "To begin anew: overwrite=True (--overwrite), or another out (--out)"


def refusal(begun: Header = BEGUN, **now: Any) -> str:
    with pytest.raises(InputError) as refused:
        check_same_run(begun, BEGUN.model_copy(update=now), Path("a.parquet"))
    return str(refused.value)


@pytest.mark.parametrize(
    ("now", "differs", "goes_on"),
    [
        (
            {"n": 301, "guarantee": "another"},
            "n: 300 in the file, 301 asked for",
            "n=300, resume=True (--n 300 --resume)",
        ),
        (
            {"sigma": 0.25, "seed": 1, "label_aware": True},
            "sigma: 0.5 in the file, 0.25 asked for; label_aware: False in the file, True asked for; "
            "seed: 0 in the file, 1 asked for",
            "sigma=0.5, label_aware=False, seed=0, resume=True (--sigma 0.5 --seed 0 --resume, without --label-aware)",
        ),
        (
            {"selection": "all 100", "data": "those"},
            "selection: 'take 3 of 100' in the file, 'all 100' asked for",
            "take=3, resume=True (--take 3 --resume)",
        ),
        (
            {"precision": "bfloat16", "backend": "openvino"},
            "backend: 'torch' in the file, 'openvino' asked for; "
            "precision: 'float32' in the file, 'bfloat16' asked for",
            "backend='torch', precision='32', resume=True (--backend torch --precision 32 --resume)",
        ),
        (
            {"dataset": "mnist", "data": "those", "classes": ("2",), "noise": "by MNIST's blocks"},
            "dataset: 'digits' in the file, 'mnist' asked for",
            "dataset='digits', resume=True (--dataset digits --resume)",
        ),
        (
            {"device": "cuda", "versions": {"torch": "2", "numpy": "2"}},
            "device: 'cpu, this one' in the file, 'cuda' asked for; versions: torch '1' in the file, '2' asked for",
            "resume=True (--resume), with the processor that it was begun on and the versions that it was begun with",
        ),
        (
            {"model": MODEL | {"weights": "sha256:" + "c" * 64, "identity": "z"}},
            "another model: weights 'sha256:aaaaaaaaaaaa' in the file, 'sha256:cccccccccccc' asked for",
            "resume=True (--resume), with the model that it was begun with",
        ),
    ],
)
def test_all_that_differs_and_what_would_go_on(now: dict[str, Any], differs: str, goes_on: str) -> None:
    assert refusal(**now) == f"a.parquet was begun differently ({differs}). To go on with it: {goes_on}. {TO_BEGIN}"


def test_a_bound_that_another_rule_brings_is_not_named() -> None:
    refused = refusal(rule="grid", bound=None)
    assert "bound" not in refused and "To go on with it: rule='fixed', resume=True" in refused
    refused = refusal(BEGUN.model_copy(update={"bound": "two-sided"}), rule="grid", bound=None)
    assert "rule='fixed', bound='two-sided', resume=True" in refused  # or the rule alone would bring another


def test_an_older_table_of_every_so_manieth_image_goes_on() -> None:
    begun = BEGUN.model_copy(update={"selection": "every 20th of 100"})
    check_same_run(begun, BEGUN.model_copy(update={"selection": "one in 20 of 100"}), Path("a.parquet"))
    refused = refusal(begun, selection="one in 10 of 100")
    assert "'one in 20 of 100' in the file, 'one in 10 of 100' asked for" in refused and "--skip 20 --resume" in refused


def test_every_field_is_compared() -> None:
    """Of whatever a header tells: no field can be added and forgotten."""
    other: dict[str, Any] = {
        "version": 1, "sigma": 0.1, "n0": 1, "n": 2, "alpha": 0.5, "bound": "two-sided", "rule": "grid",
        "guarantee": "?", "label_aware": True, "source": "?", "lumped": True, "seed": 7, "sound": True, "noise": "?",
        "dataset": "?", "split": "train",
        "selection": "?", "data": "?", "classes": ("a", "b"), "model": {"weights": "?"}, "backend": "?",
        "behaviour": {"made-up images": "?"}, "precision": "?", "batch": 1, "device": "?", "instructions": "?",
        "versions": {}, "notes": ("?",), "resize": "64", "crop": "56x48", "shard": "3/16",
    }  # fmt: skip
    not_of_the_run = {"machines", "command"}  # who took part, and how that is written on a command line
    assert other.keys() | not_of_the_run == Header.model_fields.keys()
    for name, value in other.items():
        assert "was begun differently (" in refusal(**{name: value}), name
    check_same_run(BEGUN, BEGUN, Path("a.parquet"))


ANSWERS = {"behaviour": {"made-up images": "x", "own images": "other"}}


@pytest.mark.parametrize(
    ("begun", "now", "kind", "by"),
    [
        ({}, {"model": MODEL | {"identity": "other"}}, ANOTHER_MODEL, "its weights are the same, but its layers"),
        ({}, ANSWERS, ANOTHER_MODEL, "it has the same contents but gives different outputs"),
        (
            {},
            ANSWERS | {"instructions": "AVX"},
            ANOTHER_ARITHMETIC,
            "(instructions: 'AVX2' in the file, 'AVX' asked for)",
        ),
        (
            {},
            ANSWERS | {"versions": {"torch": "1"}},
            ANOTHER_ARITHMETIC,
            "(versions: numpy '2' in the file, nothing asked for)",
        ),
        ({}, {"model": MODEL | {"called": "mine"}}, ANOTHER_MODEL, "called nothing in the file, 'mine' asked for"),
        (
            {"model": MODEL | {"called": "mine"}},
            ANSWERS | {"model": MODEL | {"called": "mine"}, "instructions": "AVX"},
            ANOTHER_MODEL,
            "the model called 'mine' gives other outputs than the one in the file: another model has this name, or its "
            "arithmetic differs (instructions",
        ),
    ],
)
def test_models_and_arithmetics_are_told_apart(begun: dict[str, Any], now: dict[str, Any], kind: str, by: str) -> None:
    difference = classifier_difference(BEGUN.model_copy(update=begun), BEGUN.model_copy(update=now))
    assert difference is not None
    assert difference.kind == kind and by in difference.detail


@pytest.mark.parametrize(
    "now",
    [
        {},
        {"instructions": "AVX"},  # which computes these answers alike
        ANSWERS | {"data": "those"},
        ANSWERS | {"batch": 128},
        ANSWERS | {"sigma": 0.25},
        {"model": MODEL | {"arch": "called otherwise", "epochs": 3}},  # how equal models came to be
        {"model": None, "behaviour": None},
    ],
)
def test_what_tells_no_classifiers_apart(now: dict[str, Any]) -> None:
    assert classifier_difference(BEGUN, BEGUN.model_copy(update=now)) is None


def test_a_run_of_a_rule_that_stopped_otherwise_goes_on_as_it_was_begun() -> None:
    for rule in ("radius=0.5", "grid", "union"):
        begun = BEGUN.having(version=3, rule=rule)
        now = BEGUN.having(rule=rule)
        with pytest.raises(InputError, match="version: 3 in the file, 4 asked for"):
            check_same_run(begun, now, Path("a.parquet"))
        check_same_run(begun, in_format_of(begun, now), Path("a.parquet"))
    check_same_run(BEGUN.having(version=3), BEGUN, Path("a.parquet"))  # of n samples each, whatever they show
    assert in_format_of(BEGUN.having(version=1), BEGUN) == in_format_of(None, BEGUN) == BEGUN


def test_an_older_run_goes_on_by_what_it_tells() -> None:
    told = {key: value for key, value in MODEL.items() if key != "identity"}
    older = BEGUN.model_copy(update={"version": 2, "behaviour": None, "model": told})
    with pytest.warns(Note, match=r"a.parquet was begun by an older version: only the weights of its model could"):
        check_same_run(older, BEGUN, Path("a.parquet"))
    assert "another model: weights" in refusal(older, model=MODEL | {"weights": "sha256:" + "c" * 64})
    assert "model: arch 'lenet' in the file, 'mlp' asked for" in refusal(older, model=MODEL | {"arch": "mlp"})
    assert "version: 1 in the file, 4 asked for" in refusal(older.model_copy(update={"version": 1}))


def test_a_command_can_be_copied_from_a_strangers_header() -> None:
    begun = BEGUN.model_copy(update={"dataset": "$(rm -r .) 'x'", "split": "\x1b[31m"})
    told = refusal(begun)
    assert """--dataset '$(rm -r .) '"'"'x'"'"'' --resume""" in told
    assert "--split" not in told and told.isprintable()


def test_settings_as_they_are_given() -> None:
    told = setting(label_aware=True, take=3, sound=False, rule="radius=0.5")
    assert told == (
        "label_aware=True, take=3, sound=False, rule='radius=0.5' "
        "(--label-aware --take 3 --rule radius=0.5, without --sound)"
    )
    assert setting(sound=False) == "sound=False (without --sound)"


def test_what_a_machine_may_differ_in_is_no_difference_of_evidence_but_what_counts_depend_on_is() -> None:
    begun = Header(sigma=0.5, n=100, seed=0, device="cpu A", versions={"torch": "1"}, behaviour={"made-up images": "x"})
    sides = ("of node1", "of node2")
    elsewhere = begun.having(device="cpu B", instructions="AVX2", versions={"torch": "2"})
    assert evidence_difference(begun, elsewhere, sides) is None
    assert evidence_difference(begun, begun.having(seed=1), sides) == "seed: 0 of node1, 1 of node2"
    found = evidence_difference(begun, elsewhere.having(behaviour={"made-up images": "y"}), sides)
    assert found is not None
    assert "device: 'cpu A' of node1, 'cpu B' of node2" in found
    assert "torch '1' of node1, '2' of node2" in found
