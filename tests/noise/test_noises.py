"""Further noises: radii against worst sets, quadrature and enumeration; draws; what users and headers call them."""

import itertools
import json
import math
import os
import tomllib
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats

import randsmooth
from models.refusing import check_refusals, problem_of
from randsmooth.errors import BadValue, MissingValue, UnknownName
from randsmooth.noise import (
    Ablation,
    Gaussian,
    GaussianPerCoordinate,
    Laplace,
    Noise,
    Splitting,
    Stream,
    Uniform,
)
from randsmooth.noise.registry import NOISES, make_noise, noise_from
from randsmooth.testing import check_noise
from values import Refusal

STREAM = Stream(3, "tests")
Q = [0.0, 1e-300, 1e-12, 1e-3, 0.1, 0.25, 0.3, 0.4, 0.49, 0.4999999]
MPMATH: list[tuple[Noise, Callable[[Any, Any], Any]]] = [
    (Uniform(0.6), lambda q, p: mpmath.mpf(0.6) * (1 - q - p)),
    (Splitting(0.5), lambda q, p: mpmath.mpf(0.5) * (1 - q - p)),
    (
        Laplace(0.3),
        lambda q, p: (
            mpmath.mpf(0.3) * max(-mpmath.log(q + p), mpmath.log((1 - q) / p) / 2)
        ),
    ),
    (
        GaussianPerCoordinate(np.array([2.0])),
        lambda q, p: -(quantile(q) + quantile(p)) / 2,
    ),
]


def quantile(p: Any) -> Any:
    return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1) if p > 1e-3 else mpmath.findroot(
        lambda z: mpmath.log(mpmath.ncdf(z)) - mpmath.log(p), -mpmath.sqrt(-2 * mpmath.log(p)))  # fmt: skip


def test_radii_are_those_of_many_digits_and_never_above_them() -> None:
    with mpmath.workdps(50):
        for noise, exact in MPMATH:
            for q, share in itertools.product(Q[1:], (1.0, 0.5, 0.01)):
                expected = exact(mpmath.mpf(q), mpmath.mpf(q * share))
                got = float(noise.radius(q, q * share))
                assert abs(got - expected) <= 1e-12 * max(1, expected), (
                    noise,
                    q,
                    share,
                )
                conservative = not isinstance(noise, GaussianPerCoordinate)
                assert not conservative or got <= expected, (
                    noise,
                    q,
                    share,
                    "rounded up",
                )
    ends = [float(noise.radius(0.0)) for noise, _ in MPMATH]
    assert ends == [0.6, 0.5, math.inf, math.inf]


def masses(
    noise: Noise, edges: NDArray[np.float64], shift: float
) -> NDArray[np.float64]:
    """The mass of each cell between `edges` of one coordinate of the noise, moved by `shift`."""
    law = (
        stats.uniform(-noise.scale, 2 * noise.scale)
        if isinstance(noise, Uniform)
        else stats.laplace(0, noise.scale)
    )
    return np.diff(law.cdf(edges - shift))


def worst_set(here: NDArray[np.float64], there: NDArray[np.float64], q: float) -> float:
    """The most that a set of mass q here can have there: cells in the order of there / here (Neyman & Pearson)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(
            -np.where(here > 0.0, there / here, np.where(there > 0.0, np.inf, 0.0))
        )
    taken, gained = np.cumsum(here[order]), np.cumsum(there[order])
    return float(
        np.interp(
            q,
            np.r_[0.0, taken],
            np.r_[gained[taken <= 0.0][-1:] if taken[0] <= 0.0 else 0.0, gained],
        )
    )


def test_no_set_breaks_an_l1_radius_and_one_breaks_any_larger() -> None:
    rng = np.random.default_rng(0)
    for noise, (d, cells) in itertools.product(
        (Uniform(0.6), Laplace(0.3)), ((1, 4000), (2, 240), (3, 60))
    ):
        for q in (0.02, 0.2, 0.4):
            radius, axis = float(noise.radius(q)), np.eye(d)[0]
            others = rng.dirichlet(np.ones(d), 3)
            for direction, factor in [
                (axis, 1.0),
                (axis, 1.03),
                *((part, 1.0) for part in others),
            ]:
                parts = []
                for step in factor * radius * direction:
                    reach = noise.scale * (2 if isinstance(noise, Uniform) else 12)
                    ends = [
                        -noise.scale,
                        noise.scale,
                        step - noise.scale,
                        step + noise.scale,
                        0.0,
                        step,
                    ]
                    edges = np.unique(
                        np.r_[-1e3, np.linspace(-reach, reach, cells), ends, 1e3]
                    )
                    parts.append(
                        (masses(noise, edges, 0.0), masses(noise, edges, step))
                    )
                here, there = (
                    reduce(np.multiply.outer, of_all).ravel()
                    for of_all in zip(*parts, strict=True)
                )
                most, row = worst_set(here, there, q), (noise, d, q, direction, factor)
                if factor > 1.0:
                    assert most > 0.5, row
                else:
                    assert most < 0.5 + 1e-9, row
                if factor == 1.0 and direction is axis:
                    assert most == pytest.approx(0.5, abs=2e-3), row


def test_radii_in_other_norms_are_the_largest_balls_inside() -> None:
    rng, q, d = np.random.default_rng(1), 0.1, 6
    std = rng.uniform(0.5, 3.0, d)
    z = stats.norm.isf(q)
    corners = rng.choice([-1.0, 1.0], (100, d))
    for norm, points in (("l2", np.eye(d)), ("l1", np.eye(d)), ("linf", corners)):
        each = GaussianPerCoordinate(std)
        r = float(each.convert(norm, each.radius(q), shape=(d,)))
        longest = np.linalg.norm(r * points / std.astype(np.float32), axis=1).max()
        assert longest == pytest.approx(z, rel=1e-9), norm
        r = float(Gaussian(0.5).convert(norm, Gaussian(0.5).radius(q), shape=(d,)))
        assert np.linalg.norm(r * points, axis=1).max() == pytest.approx(
            0.5 * z, rel=1e-9
        ), norm
    for q in (0.0, 0.1, 0.499):
        t = float(Uniform(0.6).convert("linf", Uniform(0.6).radius(q), shape=(1, 2, 3)))
        assert 1.0 - (1.0 - t / 1.2) ** d == pytest.approx(0.5 - q, rel=1e-12), q
        assert t > float(Uniform(0.6).radius(q)) / d, q
    others = (Laplace(0.5), Uniform(0.5), Ablation(3, 9))
    check_refusals(
        (
            partial(noise.convert, "l2", 0.1, shape=(3, 3)),
            Refusal(BadValue, "norm='l2'"),
        )
        for noise in others
    )


def test_ablation_by_enumeration() -> None:
    for d, k in ((1, 1), (4, 2), (5, 1), (6, 3), (7, 2), (7, 7), (9, 2)):
        subsets = list(itertools.combinations(range(d), k))
        seen = [
            Fraction(sum(min(kept) < rho for kept in subsets), len(subsets))
            for rho in range(d + 1)
        ]
        check_ablation(d, k, seen)
    for d, k in ((784, 45), (3072, 75), (50176, 1000)):  # by whole numbers
        check_ablation(
            d,
            k,
            [1 - Fraction(math.comb(d - rho, k), math.comb(d, k)) for rho in range(60)],
        )


def check_ablation(d: int, k: int, seen: Sequence[Fraction]) -> None:
    noise = Ablation(k, d)
    for q, share in itertools.product(
        (0.0, 0.0137, 0.113, 0.217, 0.311, 0.419, 0.457), (1.0, 0.5)
    ):
        gap = 1 - Fraction(q) - Fraction(min(q, q * share))
        expected = max(rho for rho, of_copies in enumerate(seen) if 2 * of_copies < gap)
        assert int(noise.radius(q, q * share)) == expected, (d, k, q, share)
    for rho, of_copies in enumerate(seen):
        tail = float(noise.tail(rho))
        exact = max(Fraction(0), Fraction(1, 2) - of_copies)
        assert Fraction(tail) <= exact and tail == pytest.approx(
            float(exact), abs=1e-12
        ), (d, k, rho)


def test_every_choice_of_pixels_is_as_likely_and_channels_are_hidden_together() -> None:
    for shape, d, channels in (((5,), 5, 1), ((3, 1, 5), 5, 3)):
        noise, x = (
            Ablation(2).of(shape),
            torch.rand(shape, generator=STREAM.torch()) + 0.1,
        )
        out = torch.empty(20_000, *noise.shape(shape))
        noise.draw(out, x, STREAM)
        parts = out.view(len(out), channels + 1, d)
        mask = parts[:, -1:]
        assert torch.equal(parts[:, :-1], mask * x.view(1, channels, d)), shape
        kinds, counts = mask.unique(dim=0, return_counts=True)
        assert len(kinds) == 10 and set(mask.sum(dim=2).flatten().tolist()) == {2.0}, (
            shape
        )
        assert stats.chisquare(counts.numpy()).pvalue > 0.001, shape


def test_draws_have_the_law_of_the_noise() -> None:
    x = torch.linspace(0.3, 0.7, 5)
    laws: list[tuple[Noise, Any]] = [
        (Uniform(0.6), stats.uniform(-0.6, 1.2)),
        (Laplace(0.3), stats.laplace(0.0, 0.3)),
        (
            Splitting(0.15),
            stats.uniform(-0.15, 0.3),
        ),  # what is seen lies lam around x, away from 0 and 1
        (GaussianPerCoordinate(np.full(5, 0.25)), stats.norm(0.0, 0.25)),
    ]
    for noise, law in laws:
        out = torch.empty(40_000, 5)
        noise.draw(out, x, STREAM)
        noisy = (out - x).double().numpy()
        assert stats.kstest(noisy.ravel(), law.cdf).pvalue > 0.001, noise
        correlation = np.corrcoef(noisy.T) - np.eye(5)
        assert np.abs(correlation).max() < 5 / len(noisy) ** 0.5, noise


BAD = [
    ("unifrom=0.6", Refusal(UnknownName, "'uniform'", field="noise")),
    ("uniform", Refusal(MissingValue, "uniform=LAM")),
    ("uniform=", Refusal(MissingValue, "uniform=LAM")),
    ("uniform=wide", Refusal(BadValue, "'wide'")),
    ("uniform=0", Refusal(BadValue, "lam=0.0")),
    ("laplace=nan", Refusal(BadValue, "b=nan")),
    ("splitting=-1", Refusal(BadValue, "lam=-1.0")),
    ("gaussian=0", Refusal(BadValue, "sigma=0.0")),
    ("gaussian=none.npy", Refusal(BadValue, "np.save")),
    ("ablation=2.5", Refusal(BadValue, "k=2.5")),
    ("ablation=0", Refusal(BadValue, "k=0")),
    ("ablation=inf", Refusal(BadValue, "k=inf")),
]


def test_noises_are_made_from_words_and_from_facts(tmp_path: Path) -> None:
    for text in (
        "gaussian=0.5",
        "uniform=0.30000000000000004",
        "laplace=1",
        "splitting=0.1",
        "ablation=45",
    ):
        noise = make_noise(text)
        assert noise.text == text, text
        assert (
            noise_from(json.loads(json.dumps(noise.facts()))) == noise
            and type(noise) is NOISES[noise.name]
        ), text
    std = np.random.default_rng(0).uniform(0.1, 9.0, (3, 1, 1))
    np.save(tmp_path / "std.npy", std)
    noise = make_noise(f"gaussian={tmp_path / 'std.npy'}").of((3, 4, 4))
    again = noise_from(json.loads(json.dumps(noise.facts())))
    assert again == noise and hash(again) == hash(noise) and again.text == noise.text
    assert noise != GaussianPerCoordinate(std) and isinstance(
        noise, GaussianPerCoordinate
    )
    check_refusals((partial(make_noise, text), words) for text, words in BAD)
    facts: tuple[dict[str, Any], ...] = (
        {"name": "uniform"},
        {"name": "uniform", "b": 1.0},
        {"name": "nothing"},
        {},
    )
    for each in facts:
        assert isinstance(problem_of(noise_from, each), BadValue)


def npy(header: str, numbers: bytes = b"") -> bytes:
    """A file of NumPy's that says `header` of itself."""
    return (
        b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + numbers
    )


SHAPED = "{'descr': '<f8', 'fortran_order': False, 'shape': %s}\n"
# What a file for --noise gaussian=FILE.npy may hold, and words of the refusal. None may take the memory it announces.
STRANGE: list[tuple[bytes, Refusal]] = [
    (
        npy(SHAPED % "(10000000000,)", bytes(80)),
        Refusal(BadValue, "(10000000000,)"),
    ),
    (npy(SHAPED % "(100000, 100000)"), Refusal(BadValue, "(100000, 100000)")),
    (npy(SHAPED % "(-1,)", bytes(8)), Refusal(BadValue)),
    (npy("(" * 5000), Refusal(BadValue)),
    (npy("{'descr': '<f8'"), Refusal(BadValue)),
    (npy(SHAPED.replace("<f8", "|O") % "(1,)", bytes(8)), Refusal(BadValue)),
    (
        npy(SHAPED.replace("<f8", "<U1") % "(1,)", b"1\0\0\0"),
        Refusal(BadValue),
    ),
    (npy(SHAPED.replace("<f8", "<c16") % "(1,)", bytes(16)), Refusal(BadValue, "128")),
    (npy(SHAPED % "(2097152,)", bytes(2**24)), Refusal(BadValue, "2,097,152")),
    (npy(SHAPED % "()", bytes(8)), Refusal(BadValue)),
    (npy(SHAPED % "(0,)"), Refusal(BadValue)),
    (npy(SHAPED % "(1,)", b"\xff" * 8), Refusal(BadValue, "1e-06", "1e+06")),
    (
        npy(SHAPED % "(1,)", np.float64(1e300).tobytes()),
        Refusal(BadValue, "1e-06", "1e+06"),
    ),
    (b"\x93NUMPY\x09\0", Refusal(BadValue)),
    (b"PK\3\4", Refusal(BadValue)),
    (b"", Refusal(BadValue)),
]


def test_a_file_of_deviations_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "std.npy"
    for content, words in STRANGE:
        path.write_bytes(content)
        check_refusals([(partial(make_noise, f"gaussian={path}"), words)])
    with path.open("wb") as file:
        np.savez(file, std=np.ones(3))
    refusal = Refusal(BadValue, "np.save")
    check_refusals([(partial(make_noise, f"gaussian={path}"), refusal)])
    if os.name == "posix":
        path.unlink()
        os.mkfifo(path)
        check_refusals([(partial(make_noise, f"gaussian={path}"), Refusal(BadValue))])


def test_inputs_that_do_not_fit_are_refused() -> None:
    two, uniform = GaussianPerCoordinate(np.array([1.0, 2.0])), Uniform(0.5)
    none: tuple[Any, ...] = ([], 1.0, ["a"])
    check_refusals(
        [
            (
                lambda: Ablation(45).of((1, 4, 4)),
                Refusal(BadValue, "k=45", "d=16", field="k"),
            ),
            (lambda: Ablation(3, 16).of((1, 3, 3)), Refusal(BadValue, "d=16")),
            (lambda: two.of((3,)), Refusal(BadValue, "(2,)")),
            (lambda: two.of((2, 2)), Refusal(BadValue, "(2,)")),
            (lambda: uniform.of((0, 4)), Refusal(BadValue, "(0, 4)", field="shape")),
            (lambda: Ablation(3).radius(0.1), Refusal(BadValue)),
            (
                lambda: uniform.numbered(torch.empty(1, 2), torch.zeros(2), 0, 0),
                Refusal(BadValue),
            ),
            (
                lambda: GaussianPerCoordinate(np.array([1.0, 0.0])),
                Refusal(BadValue, "[1]"),
            ),
            (
                lambda: GaussianPerCoordinate(np.array([math.nan])),
                Refusal(BadValue, "nan"),
            ),
            *(
                (partial(GaussianPerCoordinate, std), Refusal(BadValue, "std"))
                for std in none
            ),
        ]
    )


def test_no_number_is_no_proof() -> None:
    for noise in (
        Gaussian(0.5),
        Uniform(0.5),
        Laplace(0.5),
        Splitting(0.5),
        Ablation(3, 16),
    ):
        for q, q_next in ((np.nan, None), (0.1, np.nan), (np.nan, 0.1)):
            assert not noise.radius(q, q_next) > 0.0, (noise, q, q_next)


def test_a_noise_of_another_package_keeps_the_contract(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(randsmooth.__file__).parents[2] / "examples" / "exponential_noise"
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    monkeypatch.syspath_prepend(folder)
    for name, place in project["entry-points"]["randsmooth.noises"].items():
        kind = resolve_name(place)
        monkeypatch.setitem(NOISES._added, name, kind)
        check_noise(f"{name}=0.2")
    edges = np.linspace(-6.0, 6.0, 481)
    centres = (edges[1:] + edges[:-1]) / 2
    for q in (0.05, 0.2, 0.4):
        noise = kind(0.5).of((2,))
        for direction in ((1.0, 0.0), (0.5, 0.5)):
            moved = [centres - float(noise.radius(q)) * part for part in direction]
            here, there = (
                np.exp(-np.maximum(np.abs(a)[:, None], np.abs(b)) / 0.5).ravel()
                for a, b in ((centres, centres), moved)
            )
            assert worst_set(here / here.sum(), there / there.sum(), q) < 0.5 + 1e-3, (
                q,
                direction,
            )
        assert float(kind(0.5).of((1,)).radius(q)) == pytest.approx(
            float(Laplace(0.5).radius(q)), rel=1e-12
        ), q
