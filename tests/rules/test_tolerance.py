"""The tolerance rule: how near its radii come to those of all n samples, and what it does where they cannot."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from certificates.walks import HEADER, table_of
from randsmooth import bounds
from randsmooth.certificates import read, read_parquet, write_parquet
from randsmooth.certificates.header import VERSION
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian
from randsmooth.rules import Rule, make_rule
from randsmooth.rules.base import Floats
from randsmooth.rules.tolerance import PILOT, Tolerance, ToleranceV1

N, ALPHA = 100_000, 0.001
EARLIER = "a pilot of 1024 samples chose how many fresh ones bound p_A by Clopper-Pearson."


@dataclass(frozen=True)
class Replay:
    """Certified radii (N,) in sigma, the radii of all n samples, of which those are the first, and samples taken."""

    radius: Floats
    full: Floats
    samples: Floats

    def within(self, tolerance: float) -> float:
        return float(np.mean(self.full - self.radius <= tolerance))


def replay(rule: Rule, p: Floats, seed: int = 0) -> Replay:
    """What `rule` (at sigma 1) and CERTIFY at n = rule.n say of images with p_A = `p` (N,), from the same samples."""
    rng = np.random.default_rng(seed)
    pilot = rng.binomial(PILOT, p)
    samples = np.array([rule.next_look([s]) or PILOT for s in pilot.tolist()])
    fresh = rng.binomial(samples - PILOT, p)
    hits = pilot + fresh + rng.binomial(rule.n - samples, p)
    more = samples > PILOT
    q = np.where(more, bounds.q_upper(fresh, np.where(more, samples - PILOT, rule.n), rule.alpha), 1.0)
    full = Gaussian(1.0).radius(bounds.q_upper(hits, rule.n, rule.alpha))
    return Replay(Gaussian(1.0).radius(q), full, samples.astype(float))


def shares_of(rule: Rule, tolerance: float) -> Floats:
    """The share within `tolerance` at each p_A of P."""
    once = replay(rule, np.repeat(P, 2000))
    return np.asarray(np.mean((once.full - once.radius <= tolerance).reshape(len(P), -1), axis=1))


def rule(tolerance: float = 0.05, n: int = N, alpha: float = ALPHA) -> Rule:
    return make_rule(f"tolerance={tolerance}", sigma=1.0, n=n, alpha=alpha)


# the middle; near 1/2, where the pilot is torn; towards saturation, where one failure moves the radius
P = [0.5, 0.51, 0.53, 0.55, 0.6, 0.75, 0.85, 0.93, 0.97, 0.99, 0.998, 0.9995, 0.9998, 0.99986, 0.99995, 0.999999, 1.0]


@pytest.mark.parametrize(
    ("tolerance", "n", "alpha"),
    [(0.05, N, ALPHA), (0.01, N, ALPHA), (0.2, N, ALPHA), (0.05, 8_000, ALPHA), (0.1, 20_000, 0.05)],
)
def test_nine_tenths_lie_within_the_tolerance_at_every_p_a(tolerance: float, n: int, alpha: float) -> None:
    shares = shares_of(rule(tolerance, n, alpha), tolerance)
    assert shares.min() >= 0.9, dict(zip(P, shares, strict=True))


def test_control_the_projected_mean_leaves_half_of_them_outside() -> None:
    shares = shares_of(ToleranceV1(1.0, N, ALPHA, tolerance=0.05), 0.05)
    assert shares.min() < 0.1 and np.sum(shares < 0.9) > len(P) / 2
    assert 0.45 < shares[P.index(0.75)] < 0.55


def test_nine_tenths_lie_within_on_the_images_of_published_logs(logs: Path) -> None:
    now, before = rule(), ToleranceV1(1.0, N, ALPHA, tolerance=0.05)
    for seed, path in enumerate(sorted(logs.glob("cifar10-sigma*/*.tsv"))):
        log = read(path)
        certified = log.rows(log.predict >= 0).rows(np.arange(0, int(np.sum(log.predict >= 0)), 10))
        sigma = float(re.search(r"sigma([\d.]+)", path.parent.name)[1])  # type: ignore[index]
        p = bounds.successes_of_q(Gaussian(sigma).tail(certified.radius), N, ALPHA) / N
        assert replay(now, p, seed).within(0.05) >= 0.95
        assert replay(before, p, seed).within(0.05) < 0.75


def test_samples_are_saved_all_the_same() -> None:
    """A third of the images easy, a third hopeless, and a third between."""
    p = np.repeat([1.0, 0.3, 0.8], 300)
    taken = replay(rule(), p).samples.reshape(3, -1).mean(axis=1)
    assert np.all(taken < [0.85 * N, PILOT + 1, 0.13 * N])


def test_a_pilot_that_leaves_one_half_open_goes_to_the_cap() -> None:
    judge = rule()
    torn = [s for s in range(PILOT + 1) if judge.next_look([s]) == N]
    assert torn and torn == list(range(torn[0], torn[-1] + 1)) and torn[0] < PILOT / 2 < torn[-1]
    assert judge.next_look([torn[0] - 1]) is None
    assert judge.next_look([torn[-1] + 1]) < N  # type: ignore[operator]


def test_the_guarantee_promises_the_share() -> None:
    assert "at least 90% of them lie within 0.05 sigma of what all 100000 samples of the image" in rule().guarantee()


@pytest.mark.parametrize(("tolerance", "n"), [(0.05, 2000), (0.05, 100), (0.001, N), (0.3, 1000)])
def test_a_tolerance_out_of_reach_names_ways_out_that_work(tolerance: float, n: int) -> None:
    with pytest.raises(InputError, match=r"cannot keep tolerance=.*or take --rule fixed") as told:
        rule(tolerance, n)
    least = int(re.search(r"n >= (\d+)", str(told.value))[1])  # type: ignore[index]
    rule(tolerance, least)
    with pytest.raises(InputError):
        rule(tolerance, int(0.97 * least))
    if wider := re.search(r"ask for tolerance=([\d.]+\d)", str(told.value)):
        rule(float(wider[1]), n)


def test_a_tolerance_that_no_n_keeps_names_no_n() -> None:
    with pytest.raises(InputError, match=r"ask for tolerance=0\.004, or take --rule fixed") as told:
        rule(1e-7)
    assert "n >=" not in str(told.value)


def test_a_table_of_the_first_format_is_read_as_it_was_made(tmp_path: Path) -> None:
    guarantee = f"Each certificate is wrong with probability at most {HEADER.alpha:g}: {EARLIER}"
    header = HEADER.model_copy(update={"rule": "tolerance=0.05", "version": 1})
    table = table_of(header)
    assert isinstance(table.rule, ToleranceV1) and table.rule.guarantee() == guarantee
    write_parquet(table, tmp_path / "a.parquet")
    back = read_parquet(tmp_path / "a.parquet")
    assert np.array_equal(back.radius, table.radius) and back.radius.max() > 0.0
    fresh = [table.rule.next_look([s]) for s in (400, 512, 560, 700, 900, 1000, 1020, 1024)]
    assert fresh == [None, *(PILOT + n for n in (976, 339, 352, 410, 575, 722, 839))]  # as it was drawn at the time


def test_claims_are_clopper_pearson_of_the_fresh_samples_alone() -> None:
    judge = rule()
    look = judge.next_look([900])
    assert look is not None and judge.claim([900]).radius == 0.0
    fresh = look - PILOT
    for hits in (0, fresh // 2, fresh - 700, fresh):
        claim = judge.claim([900, 900 + hits])
        assert claim.q == bounds.q_upper(hits, fresh, ALPHA)


@pytest.mark.parametrize("version", [None, VERSION])
def test_a_table_of_todays_format_is_read_as_todays(version: int | None) -> None:
    again = make_rule("tolerance=0.05", sigma=1.0, n=N, alpha=ALPHA, version=version)
    assert type(again) is Tolerance and again == rule()
