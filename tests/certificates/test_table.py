"""The table: derived numbers follow from the counts, for any alpha and any smaller n."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from scipy import stats

from randsmooth import bounds
from randsmooth.certificates import (
    ABSTAIN,
    Certificates,
    Header,
    check_budget,
    decide,
    guarantee_of,
    write_parquet,
)
from randsmooth.errors import InputError
from randsmooth.rules import Evidence, Fixed, make_rule

Floats = NDArray[np.float64]
Make = Callable[..., Certificates]


def test_decisions_follow_the_paper(make: Make) -> None:
    table = make(60)
    for row in range(len(table)):
        counts0, counts = table.evidence()
        picked = int(counts0[row].argmax())
        k, n = int(counts[row, picked]), 200
        p_lower = 0.0 if k == 0 else float(stats.beta.ppf(0.01, k, n - k + 1))
        if p_lower > 0.5:
            assert table.predict[row] == picked
            assert table.radius[row] == pytest.approx(0.5 * stats.norm.ppf(p_lower), abs=1e-12)
        else:
            assert (table.predict[row], table.radius[row]) == (ABSTAIN, 0.0)
    assert {ABSTAIN, 0, 1, 2} == set(table.predict.tolist())


def test_what_counts_prove_is_worked_out_once(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    claims = Fixed.claims

    def counting(rule: Fixed, evidence: Evidence) -> tuple[Floats, Floats]:
        asked.append(len(evidence.idx))
        return claims(rule, evidence)

    monkeypatch.setattr(Fixed, "claims", counting)
    table = make(60)
    write_parquet(table, tmp_path / "table.parquet")
    few = table.rows(np.arange(7))
    write_parquet(few, tmp_path / "few.parquet")
    assert asked == [60]
    stored = pq.read_table(tmp_path / "few.parquet")["p_lower"].to_numpy()
    k = few.evidence()[1][np.arange(7), few.evidence()[0].argmax(axis=1)]
    assert np.array_equal(stored, 1.0 - bounds.q_upper(k, 200, 0.01))


@pytest.mark.parametrize("alpha", [0.2, 0.01, 1e-5])
def test_another_alpha_is_a_direct_recomputation(make: Make, alpha: float) -> None:
    table = make(60)
    again = table.at(alpha=alpha)
    predict, radius = decide(make_rule("fixed", sigma=0.5, n=200, alpha=alpha), Evidence.of(*table.evidence()))
    np.testing.assert_array_equal(again.predict, predict)
    np.testing.assert_array_equal(again.radius, radius)
    assert again.header.alpha == alpha
    assert (again.header.notes == table.header.notes) == (alpha == 0.01)


def test_a_smaller_n_is_a_hypergeometric_draw(make: Make) -> None:
    table = make(3)
    counts = table.evidence()[1]
    drawn = np.stack([table.at(n=80, seed=seed).evidence()[1] for seed in range(400)])
    assert np.all(drawn.sum(axis=2) == 80)
    assert np.all((drawn >= 0) & (drawn <= counts))
    share = counts / 200
    std = np.sqrt(80 * share * (1.0 - share) * (200 - 80) / (200 - 1))
    assert np.all(np.abs(drawn.mean(axis=0) - 80 * share) <= 4.5 * std / np.sqrt(len(drawn)))
    assert np.all(np.abs(drawn.std(axis=0) - std) <= 0.2 * std)


def test_thinning_is_seeded_and_noted(make: Make) -> None:
    table = make(10)
    a, b, c = table.at(n=50, seed=1), table.at(n=50, seed=1), table.at(n=50, seed=2)
    np.testing.assert_array_equal(a.evidence()[1], b.evidence()[1])
    assert np.any(a.evidence()[1] != c.evidence()[1])
    assert a.header.n == 50 and "thinned to 50, seed 1" in a.header.notes[-1]
    np.testing.assert_array_equal(a.evidence()[0], table.evidence()[0])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"n": 201}, "n=201 is not among the 1..200"),
        ({"n": 0}, "n=0"),
        ({"n": 5}, "alpha=0.01 needs n >= 7"),
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"alpha": 1.0}, "alpha=1.0"),
        ({"alpha": float("nan")}, "alpha=nan"),
    ],
)
def test_bad_budgets_are_refused(make: Make, change: dict[str, float], named: str) -> None:
    with pytest.raises(InputError, match=named):
        make(3).at(**change)  # type: ignore[arg-type]


def test_a_log_cannot_be_recomputed(make: Make) -> None:
    table = make(3)
    log = Certificates(Header(), table.idx, table.label, table.predict, table.radius, table.seconds)
    with pytest.raises(InputError, match="no class counts"):
        log.at(alpha=0.1)
    assert log.assuming(sigma=0.5).header.sigma == 0.5
    assert table.assuming(sigma=9.0).header.sigma == 0.5


def test_rows_keeps_every_column_together(make: Make) -> None:
    table = make(30)
    some = table.rows(table.correct)
    assert len(some) == table.correct.sum() == some.correct.sum()
    np.testing.assert_array_equal(some.evidence()[1], table.evidence()[1][table.correct])


@pytest.mark.parametrize(("n", "fits"), [(9, False), (10, True)])
def test_the_budget_check_knows_the_smallest_n(n: int, fits: bool) -> None:
    if fits:
        check_budget(1, n, 0.001)
    else:
        with pytest.raises(InputError, match="n >= 10"):
            check_budget(1, n, 0.001)


def test_a_table_judged_otherwise_states_its_own_guarantee(make: Make) -> None:
    table = make(20)
    header = table.header.model_copy(update={"guarantee": guarantee_of(table.header)})
    stated = replace(table, header=header).at(alpha=0.02, n=100).header.guarantee
    assert stated is not None and "at most 0.02" in stated and "100 samples" in stated
    assert "at most 0.02" not in str(header.guarantee)
    assert table.at(alpha=0.02).header.guarantee is None  # where none was stated, none is
