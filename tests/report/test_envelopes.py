"""Methods at their best sigma: who has several, and what is drawn."""

from pathlib import Path

import numpy as np
import pytest

from models.refusing import refusal
from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.report import draw_envelopes, envelope_axes, group_by_method
from report.conftest import Make


@pytest.fixture
def tables(make: Make) -> list[Certificates]:
    of = {"cat-rs/macer": ("macer", 0.25, 1.0), "": ("gaussian", 0.5, 1.0)}
    facts = [(name, preset, sigma) for preset, (name, *sigmas) in of.items() for sigma in sigmas]
    made = [
        make(f"{name}-{sigma}", seed=seed, a=1.0 / float(sigma), sigma=sigma, model={"method": name, "preset": preset})
        for seed, (name, preset, sigma) in enumerate(facts)
    ]
    return [*made, make("alone", sigma=0.25, model={"method": "stability"}), make("nameless", sigma=0.5)]


def test_who_has_several_sigma(tables: list[Certificates]) -> None:
    groups = group_by_method(tables)
    assert {name: [t.name for t in group] for name, group in groups.items()} == {
        "cat-rs/macer": ["macer-0.25", "macer-1.0"],
        "gaussian": ["gaussian-0.5", "gaussian-1.0"],
    }


def test_what_is_drawn_is_the_envelope_and_its_sigma(tables: list[Certificates], tmp_path: Path) -> None:
    groups = group_by_method(tables)
    shares, sigmas = envelope_axes(groups)
    assert "no one classifier's" in shares.title
    for line, sigma, group in zip(shares.lines, sigmas.lines, groups.values(), strict=True):
        found = metrics.envelope(group)
        ends = [] if max(map(metrics.farthest, group)) <= 1.005 * found.radii[-1] else [0.0]
        assert np.asarray(line.y).tolist() == [*(100 * found.share), *ends]  # no fall where sigma certifies no farther
        held = found.best >= 0
        assert np.asarray(sigma.y).tolist() == [group[best].header.sigma for best in found.best[held]]
        assert len(np.unique(np.asarray(sigma.y))) == 2
    draw_envelopes(groups, tmp_path / "sigmas.png")
    assert (tmp_path / "sigmas.png").stat().st_size > 5000
    assert "nothing to draw" in refusal(lambda: draw_envelopes({}, tmp_path / "none.png"))
