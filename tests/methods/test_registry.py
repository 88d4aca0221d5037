"""The registry, and hyperparameters that are refused by name."""

import dataclasses
import re

import numpy as np
import pytest
import torch

from methods import slow as slowly
from randsmooth import methods
from randsmooth.errors import InputError


def test_the_names_are_sorted() -> None:
    known = ["amplify", "cat-rs", "consistency", "gaussian", "macer", "smoothadv", "smoothmix", "stability"]
    assert sorted(methods.METHODS) == known


@pytest.mark.parametrize(
    ("name", "suggested"),
    [("gausian", "gaussian"), ("Gaussian", "gaussian"), ("amplified", "amplify"), ("CAT_RS", "cat-rs")],
)
def test_an_unknown_name_suggests_the_nearest(name: str, suggested: str) -> None:
    with pytest.raises(InputError, match=f"unknown method '{name}': did you mean '{suggested}'.*one of: amplify, "):
        methods.METHODS[name]
    with pytest.raises(InputError, match=suggested):
        methods.create(name)


def test_a_name_is_taken_once() -> None:
    before = methods.METHODS["gaussian"]
    with pytest.raises(InputError, match="method 'gaussian' is registered already: choose another name"):
        methods.METHODS.add("gaussian", methods.METHODS["amplify"])
    assert methods.METHODS["gaussian"] is before


def test_defaults_are_overridden_one_by_one() -> None:
    method = methods.create("amplify", E_t=60, p_t=0.5, T=3)
    default = methods.create("amplify")
    assert isinstance(default, methods.amplify.Amplify)
    changed = dataclasses.replace(default, E_t=60, p_t=0.5, T=3)
    assert method == changed != methods.create("amplify")


BAD = [
    ("gaussian", {"m": 2.5}, "m=2.5 must be a whole number"),
    ("smoothadv", {"T": 1.5}, "T=1.5"),
    ("smoothadv", {"eps": "x"}, "eps='x' must be a number"),
    ("consistency", {"m": "2"}, "m='2' must be a whole number"),
    ("cat-rs", {"eps": None}, "eps=None must be a number"),
    ("cat-rs", {"low": "no"}, "low='no' must be true or false"),
    ("cat-rs", {"low": 1}, "low=1 must be true or false"),
    ("amplify", {"discard": "no"}, "discard='no' must be true or false"),
    ("amplify", {"p_A_from": 3}, "p_A_from=3 must be text"),
    ("amplify", {"p_A_from": "m", "discard": False}, "p_A_from='m' is only used to discard images"),
    ("amplify", {"reweight_alpha": 2.0}, r"reweight_alpha=2.0 must lie in \(0, 1\); the paper takes 0.1"),
    ("amplify", {"p_min": 1.0, "weight": "literal"}, "p_min=1.0 with weight='literal' gives every image weight 1"),
    ("cat-rs", {"low": False, "lbd": 0.0}, "leaves nothing to train on"),
    ("gaussian", {"m": True}, "m=True must be a whole number"),
    ("smoothadv", {"attack": "gradient-free", "m": 1}, "m=1: attack='gradient-free'"),
    ("smoothadv", {"attack": "ddn", "T": 1}, "T=1: attack='ddn'"),
    ("smoothadv", {"attack": "ddn-released", "T": 1}, "T=1: attack='ddn-released'"),
    ("amplify", {"gradient": "exact"}, "gradient='exact' must be one of unit, damped"),
    ("gaussian", {"m": 0}, "m=0 must be at least 1"),
    ("gaussian", {"m": -1}, "m=-1 must be at least 1"),
    ("gaussian", {"m": float("nan")}, "m=nan"),
    ("gaussian", {"n": 4}, "unknown hyperparameter of gaussian 'n'"),
    ("gaussian", {"eps": 0.5}, "unknown hyperparameter of gaussian 'eps'.*one of: m"),
    ("amplify", {"m": 0}, "m=0"),
    ("amplify", {"epss": 0.5}, "did you mean 'eps'"),
    ("amplify", {"E_t": -1}, "E_t=-1 must be at least 0"),
    ("amplify", {"p_t": -0.1}, r"p_t=-0.1 must lie in \[0.0, 1.0\]"),
    ("amplify", {"p_t": 1.1}, "p_t=1.1"),
    ("amplify", {"p_t": float("nan")}, "p_t=nan"),
    ("amplify", {"discard_noises": 0}, "discard_noises=0 must be at least 1"),
    ("amplify", {"reweight_noises": 0}, "reweight_noises=0"),
    ("amplify", {"reweight_every": 0}, "reweight_every=0"),
    ("amplify", {"reweight_alpha": 0.0}, "reweight_alpha=0.0"),
    ("amplify", {"reweight_alpha": 1.0}, "alpha=1.0"),
    ("amplify", {"p_min": 0.4}, r"p_min=0.4 must lie in \[0.5, 1.0\]"),
    ("amplify", {"p_min": 1.1}, "p_min=1.1"),
    ("amplify", {"p_min": 0.6}, "p_min=0.6 of 16 noises certifies nothing at level 0.1.*raise p_min"),
    ("amplify", {"p_min": 0.5, "weight": "literal"}, "p_min=0.5"),
    ("amplify", {"reweight_noises": 2}, "p_min=0.75 of 2 noises|reweight_noises=2"),
    ("amplify", {"T": 0}, "T=0 must be at least 1"),
    ("amplify", {"eps": 0.0}, "eps=0.0 must be a finite number above 0"),
    ("amplify", {"eps": -1.0}, "eps=-1.0"),
    ("amplify", {"eps": float("inf")}, "eps=inf"),
    ("amplify", {"eps": float("nan")}, "eps=nan"),
    ("amplify", {"norm": "l1"}, "norm='l1' must be one of l2, linf"),
    ("amplify", {"weight": "ratio"}, "weight='ratio' must be one of bound, literal"),
    ("amplify", {"E_t": 0}, "E_t=0 discards images before any training.*p_A_from=MODEL_DIR"),
]

NAN, INF = float("nan"), float("inf")

# Values that are refused, field by field; the message says name=value.
REFUSED: dict[str, dict[str, list[object]]] = {
    "stability": {"m": [0, -1], "lbd": [-0.5, NAN]},
    "smoothadv": {"m": [0], "eps": [0.0, -1.0, INF, NAN], "T": [0, -1], "attack": ["fgsm", ""], "warmup": [0, -1]},
    "macer": {
        "k": [0, -1],
        "lbd": [-1.0, NAN],
        "gamma": [0.0, -1.0, INF, NAN],
        "beta": [0.0, -1.0, INF, NAN],
        "beta_in": ["classification", ""],
        "lbd_from": [-1],
    },
    "consistency": {
        "m": [1, 0, -1],
        "lbd": [-1.0, NAN],
        "eta": [-0.5, NAN],
        "form": ["js", "default "],
        "eps": [-0.1, INF, NAN],
        "T": [0],
        "warmup": [0],
    },
    "smoothmix": {
        "m": [0],
        "T": [0],
        "alpha": [0.0, -1.0, INF, NAN],
        "eta": [-1.0, NAN],
        "start": [-0.5, NAN],
        "warmup": [0],
    },
    "cat-rs": {
        "m": [0],
        "lbd": [-1.0, NAN],
        "p0": [0.0, 1.1, -1, NAN, INF],
        "T": [0],
        "eps": [0.0, -1.0, INF, NAN],
        "high": ["min", "none"],
        "variant": ["code", "Paper"],
        "teacher_noises": [0],
    },
}
BAD += [
    (name, {field: value}, re.escape(f"{field}={value!r}"))
    for name, fields in REFUSED.items()
    for field, values in fields.items()
    for value in values
]
BAD += [
    ("consistency", {"m": 1}, "at least 2"),
    ("smoothadv", {"attack": "fgsm"}, "pgd, ddn, ddn-released, gradient-free"),
    ("consistency", {"form": "js"}, "default, xent, kl, mse"),
    ("cat-rs", {"high": "min"}, "max, mean, off"),
    ("cat-rs", {"variant": "code"}, "paper, released"),
    ("cat-rs", {"variant": "released"}, "teacher=MODEL_DIR"),
    ("cat-rs", {"confidence": "teacher"}, "variant='released'"),
    ("cat-rs", {"eps_doubled_from": 80}, "variant='released'"),
    ("cat-rs", {"low": False, "high": "off"}, "low=False.*high='off'|high='off'.*low=False|low.*high"),
    ("macer", {"m": 4}, "unknown hyperparameter of macer 'm'"),
    ("cat-rs", {"po": 0.5}, "did you mean 'p0'"),
]


@pytest.mark.parametrize(("name", "hyper", "message"), BAD)
def test_bad_hyperparameters_are_named(name: str, hyper: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        methods.create(name, **hyper)


@pytest.mark.parametrize(
    ("name", "hyper"),
    [
        ("amplify", {"E_t": 0, "p_A_from": "models/gaussian"}),
        ("amplify", {"E_t": 0, "discard": False}),
        ("amplify", {"p_t": 0.0}),
        ("amplify", {"p_t": 1.0}),
        ("amplify", {"p_min": 1.0}),
        ("amplify", {"p_min": 0.6, "reweight": False}),  # certifies nothing, but nothing asks it to
        ("stability", {"lbd": 0.0}),
        ("smoothadv", {"m": 1, "T": 1, "eps": 1e-12, "warmup": 1}),
        ("macer", {"k": 1, "lbd": 0.0}),
        ("consistency", {"lbd": 0.0, "eta": 0.0, "eps": 0.0}),
        ("smoothmix", {"m": 1, "T": 1, "eta": 0.0, "start": 0.0}),
        ("cat-rs", {"m": 1, "lbd": 0.0, "p0": 1.0}),
        ("cat-rs", {"low": False}),
        ("cat-rs", {"high": "off"}),
        ("cat-rs", {"variant": "released", "teacher": "models/gaussian", "teacher_noises": 1}),
    ],
)
def test_edges_that_are_fine(name: str, hyper: dict[str, object]) -> None:
    method = methods.create(name, **hyper)
    assert {key: getattr(method, key) for key in hyper} == hyper


NEEDS = {"macer": {"sigma"}, "smoothmix": {"u"}, "cat-rs": {"u"}}


@pytest.mark.parametrize("name", sorted(methods.METHODS))
def test_a_loss_without_what_it_needs_says_so(name: str) -> None:
    method = methods.create(name)
    given = slowly.problem(0, 4, method.m)
    x, y, noise, inputs = given[2].tensors()
    needed = set()
    for part in ("u", "target", "sigma"):
        try:
            method.loss(given[0], x, y, noise, inputs._replace(**{part: None}))
        except InputError as error:
            assert part in str(error) and name in str(error)
            needed.add(part)
    assert needed == NEEDS.get(name, set())


def test_a_released_cat_rs_loss_without_its_target_says_so() -> None:
    model, _, problem = slowly.problem(0, 4, 4)
    x, y, noise, inputs = problem.tensors()
    with pytest.raises(InputError, match="target"):
        method = methods.create("cat-rs", variant="released", teacher="models/gaussian")
        method.loss(model, x, y, noise, inputs._replace(target=None))


def test_cat_rs_asks_for_uniform_numbers_only_where_it_draws() -> None:
    model, _, problem = slowly.problem(0, 4, 4)
    x, y, noise, inputs = problem.tensors()
    high_only = methods.create("cat-rs", low=False)
    assert high_only.loss(model, x, y, noise).total == high_only.loss(model, x, y, noise, inputs).total


def test_cat_rs_without_weight_on_the_high_loss_makes_no_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _, problem = slowly.problem(0, 4, 4)
    off = methods.create("cat-rs", high="off").loss(model, *problem.tensors())
    monkeypatch.setattr(methods.cat_rs, "ball_attack", None)
    found = methods.create("cat-rs", lbd=0.0).loss(model, *problem.tensors())
    assert found.total == off.total and set(found.terms) == {"low"}


def test_numbers_of_numpy_are_taken_as_plain_ones() -> None:
    method = methods.create("cat-rs", m=np.int64(2), lbd=np.float32(0.5), low=np.bool_(False))
    assert method == methods.create("cat-rs", m=2, lbd=0.5, low=False)
    assert type(method.m) is int


@pytest.mark.parametrize("name", sorted(methods.METHODS))
def test_every_loss_says_what_it_sums(name: str) -> None:
    assert "`Method`" in (methods.METHODS[name].loss.__doc__ or "")


@pytest.mark.parametrize("name", sorted(methods.METHODS))
def test_noises_of_another_number_are_refused(name: str) -> None:
    method = methods.create(name)
    x, y = torch.rand(2, 1, 4, 4), torch.zeros(2, dtype=torch.int64)
    with pytest.raises(InputError, match=rf"noise of shape .* does not fit: m={method.m} noises"):
        method.loss(torch.nn.Flatten(), x, y, torch.zeros(method.m + 1, 2, 1, 4, 4))
