"""The registry, hyperparameters that are refused by name, and those that docs/departures.md says one can set."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from methods import slow as slowly
from randsmooth import methods
from randsmooth.cli.verbs.methods import summary_of
from randsmooth.errors import BadValue, Problem, UnknownName
from values import refused

NAN, INF = float("nan"), float("inf")


def refusal(name: str, **hyper: Any) -> str:
    with pytest.raises(Problem) as refused:
        methods.create(name, **hyper)
    return str(refused.value)


def test_the_names_are_known_and_the_nearest_is_suggested() -> None:
    known = [
        "amplify",
        "cat-rs",
        "consistency",
        "gaussian",
        "macer",
        "smoothadv",
        "smoothmix",
        "stability",
    ]
    assert sorted(methods.METHODS) == known
    for name, near in (
        ("Gaussian", "gaussian"),
        ("amplified", "amplify"),
        ("CAT_RS", "cat-rs"),
    ):
        with refused(UnknownName, "method", value=name) as caught:
            methods.create(name)
        assert f"'{near}'" in str(caught.problem)
    before = methods.METHODS["gaussian"]
    with refused(BadValue):
        methods.METHODS.add("gaussian", methods.METHODS["amplify"])
    assert methods.METHODS["gaussian"] is before


def test_a_listing_says_of_a_method_what_its_class_says() -> None:
    assert [*methods.METHODS][: len(methods.OUR_METHODS)] == [*methods.OUR_METHODS]
    for name, listed in methods.OUR_METHODS.items():
        assert (listed.summary, listed.source) == summary_of(methods.METHODS[name])


def test_defaults_are_overridden_one_by_one_and_values_taken_as_declared() -> None:
    default: Any = methods.create("amplify")
    assert methods.create("amplify", E_t=60, p_t=0.5, T=3) == dataclasses.replace(
        default, E_t=60, p_t=0.5, T=3
    )
    method: Any = methods.create(
        "cat-rs", m=np.int64(2), lbd=np.float32(0.5), low=np.bool_(False), eps=2
    )
    assert method == methods.create("cat-rs", m=2, lbd=0.5, low=False, eps=2.0)
    assert (type(method.m), type(method.eps)) == (int, float)
    assert methods.create("cat-rs", high=False) == methods.create(
        "cat-rs", high="off"
    )  # as YAML reads the word


# method -> hyperparameter -> values that are refused; the message says name=value.
REFUSED: dict[str, dict[str, list[object]]] = {
    "gaussian": {"m": [2.5, True, 0, -1, NAN, "2", None, 10**7]},
    "stability": {"lbd": [-0.5, NAN, "x"]},
    "smoothadv": {
        "eps": [0.0, INF, NAN, "x"],
        "T": [0, 1.5],
        "attack": ["fgsm", ""],
        "warmup": [0],
    },
    "macer": {
        "k": [0],
        "lbd": [-1.0],
        "gamma": [0.0, INF],
        "beta": [-1.0],
        "beta_in": ["both "],
        "lbd_from": [-1],
    },
    "consistency": {
        "m": [1, 0],
        "lbd": [NAN],
        "eta": [-0.5],
        "form": ["js"],
        "eps": [-0.1, INF],
        "T": [0],
    },
    "smoothmix": {
        "T": [0],
        "alpha": [0.0],
        "eta": [-1.0],
        "start": [-0.5],
        "warmup": [0],
    },
    "cat-rs": {
        **{
            "lbd": [-1.0],
            "p0": [0.0, 1.1, NAN],
            "T": [0],
            "eps": [0.0, None],
            "low": ["no", 1],
            "high": ["min"],
        },
        **{
            "variant": ["Paper"],
            "teacher_noises": [0],
            "teacher": [3],
            "eps_doubled_from": [-1],
        },
    },
    "amplify": {
        **{
            "E_t": [-1],
            "p_t": [-0.1, 1.1, NAN],
            "discard_noises": [0],
            "reweight_noises": [0],
            "reweight_every": [0],
        },
        **{
            "reweight_alpha": [0.0, 1.0, NAN],
            "p_min": [0.4, 1.1, 0.6],
            "T": [0],
            "eps": [0.0],
            "norm": ["l1"],
        },
        **{
            "weight": ["ratio"],
            "discard": ["no"],
            "p_A_from": [3],
            "gradient": ["exact"],
        },
    },
}

# What cannot go together, or is unknown -> words of the message.
TOGETHER: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("cat-rs", {"low": False, "lbd": 0.0}, ("low=False", "switch")),
    ("cat-rs", {"variant": "released"}, ("its folder, teacher",)),
    ("cat-rs", {"teacher": "m"}, ("variant='released'",)),
    ("cat-rs", {"eps_doubled_from": 80}, ("variant='released'",)),
    ("cat-rs", {"po": 0.5}, ("'p0'",)),
    ("smoothadv", {"attack": "gradient-free", "m": 1}, ("m=1", "2")),
    ("smoothadv", {"attack": "ddn", "T": 1}, ("T=1", "2")),
    ("amplify", {"E_t": 0}, ("E_t=0", "p_A_from")),
    ("amplify", {"p_min": 0.5, "weight": "literal"}, ("p_min=0.5", "raise p_min")),
    ("amplify", {"reweight_noises": 2}, ("2 noises", "raise")),
    ("gaussian", {"n": 4}, ("'n'", "m")),
    ("macer", {"m": 4}, ("'m'", "k")),
]


def test_bad_hyperparameters_are_named() -> None:
    for name, fields in REFUSED.items():
        for field, values in fields.items():
            for value in values:
                said = refusal(name, **{field: value})
                assert any(f"{field}{sign}{value!r}" in said for sign in "= "), (
                    name,
                    field,
                    value,
                    said,
                )
    for name, hyper, words in TOGETHER:
        assert all(word in refusal(name, **hyper) for word in words), (
            name,
            hyper,
            refusal(name, **hyper),
        )


def test_noises_of_another_number_are_refused() -> None:
    """What else a loss needs, the contract of methods asks it."""
    for name in methods.METHODS:
        method = methods.create(name)
        model, _, problem = slowly.problem(0, 4, method.m)
        x, y, _, inputs = problem.tensors()
        with pytest.raises(Problem, match=f"m={method.m}"):
            method.loss(model, x, y, torch.zeros(method.m + 1, *x.shape), inputs)


ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "departures.md").read_text()
COMMANDS = re.findall(r"`--method ([\w-]+)((?: --set [^\s`]+)+)`", PAGE)


def settings(words: str) -> dict[str, Any]:
    return {
        key: yaml.safe_load(value)
        for key, value in re.findall(r"--set ([^=\s]+)=(\S+)", words)
    }


def test_an_option_of_the_page_is_one_of_the_method() -> None:
    assert len(COMMANDS) >= 8
    for method, words in COMMANDS:
        hyper = settings(words)
        needed = (
            {"discard": False} if hyper.get("E_t") == 0 else {}
        )  # with it, images would go before any training
        assert methods.create(method, **hyper, **needed) != methods.create(
            method, **needed
        ), words
        assert all(
            re.search(rf"\b{key}\b", methods.METHODS[method].__doc__ or "")
            for key in hyper
        ), words
