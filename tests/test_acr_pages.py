"""The figures and tables of the pages about ACR: of the published logs, computed as the pages say."""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from randsmooth import certificates, metrics, papers

DOCS = Path(__file__).parent.parent / "docs"
LOGS = Path(os.environ.get("RANDSMOOTH_DATA", "nowhere")).resolve().parent / "published-logs" / "cifar10-sigma0.5"
sys.path.insert(0, str(DOCS / "_figures"))

acr_data, acr_figures, acr_tables = map(importlib.import_module, ("acr_data", "acr_figures", "acr_tables"))

AS_PRINTED = ("macer", "consistency", "smoothmix", "catrs", "ours")  # the two others' logs are of other runs


@pytest.mark.parametrize("name", AS_PRINTED)
def test_what_is_kept_of_the_logs_gives_the_published_figures(name: str) -> None:
    table2 = papers.published("acr", "table2")
    method = {"catrs": "cat-rs", "ours": "amplify"}.get(name, name)
    printed = table2[(table2.sigma == 0.5) & (table2.method == method)].set_index("metric").value
    assert abs(acr_figures.acr_of(name) - printed["acr"]) <= 0.0005
    radii = [0.25, 0.5, 1.0, 1.5]
    assert np.allclose(100 * acr_figures.shares_at(name, radii), [printed[f"accuracy@{r:g}"] for r in radii], atol=0.05)


def test_what_was_measured_is_of_the_same_logs() -> None:
    measured = acr_tables.moves()["ACR of all images"]
    assert measured == {name: pytest.approx(acr_figures.acr_of(name), abs=2e-6) for name in acr_figures.NAMES}


def test_giving_up_moves_right_answers_and_makes_none() -> None:
    p_a = np.array([0.55, 0.6, 0.9, 0.98, 0.999])
    outcome = acr_figures.give_up(p_a, below=0.57)
    assert outcome.given_up == 1
    assert np.isclose(outcome.p_a.sum(), p_a.sum())
    assert np.isclose(sorted(outcome.p_a), [0.1, 0.6 + 0.45 - 0.121, 1.0, 1.0, 1.0]).all()


def test_more_right_answers_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(ValueError, match="room"):
        acr_figures.give_up(np.array([0.6, 0.7, 0.999]), below=0.8)


def test_the_slider_gives_up_ever_more_images_for_an_ever_larger_acr() -> None:
    p_a = acr_figures.p_a_of(acr_figures.radii_of("gaussian")[-6875:])
    outcomes = [acr_figures.give_up(p_a, below) for below in (0.5, 0.55, 0.6)]
    assert outcomes[0].acr() < outcomes[1].acr() < outcomes[2].acr()
    assert outcomes[0].accuracy() > outcomes[1].accuracy() > outcomes[2].accuracy()


def test_the_page_shows_every_figure_and_its_picture() -> None:
    page = (DOCS / "why-not-acr.md").read_text()
    assert set(re.findall(r'data-figure="([\w-]+)"', page)) == set(acr_figures.FIGURES)
    assert set(re.findall(r"\(images/(acr-[\w-]+)\.png\)", page)) == set(acr_figures.FIGURES)


@pytest.mark.parametrize("page", ["why-not-acr.md", "my-acr.md"])
def test_the_tables_are_of_what_was_measured(page: str) -> None:
    text = (DOCS / page).read_text()
    assert acr_tables.TABLES.place.search(text)
    assert acr_tables.TABLES.filled(text) == text
    assert acr_tables.TABLES.filled(text.replace("%", "‰")) != text.replace("%", "‰")


@pytest.mark.slow
@pytest.mark.skipif(not LOGS.is_dir(), reason="no published logs: RANDSMOOTH_DATA must name the folder beside them")
def test_what_is_kept_is_of_the_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["acr_data.py", str(LOGS), "--out", str(tmp_path)])
    acr_data.main()
    for name in ("acr-radii.csv", "acr-pairs.csv"):
        pd.testing.assert_frame_equal(pd.read_csv(tmp_path / name), pd.read_csv(DOCS / "_data" / name))


@pytest.mark.skipif(not LOGS.is_dir(), reason="no published logs: RANDSMOOTH_DATA must name the folder beside them")
def test_lost_and_won_are_those_of_the_metric() -> None:
    ours, gaussian = (certificates.read(LOGS / f"{name}.tsv") for name in ("ours", "gaussian"))
    changed = metrics.given_up(ours, gaussian)
    kept = acr_figures.pairs()[lambda table: table.method == "ours"]
    assert (kept.lost.sum(), kept.won.sum()) == (len(changed.lost), len(changed.won))
