"""Each method at its best sigma, from logs at two sigma and from what the paper prints."""

from pathlib import Path

import pandas as pd
import pytest

from papers.logs import log
from randsmooth.papers.reproduction import reproduce


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    tmp_path = tmp_path_factory.mktemp("section7")
    log(tmp_path / "logs" / "cifar10-sigma0.25" / "macer.tsv", {0: 0.7, 1: 0.7, 2: 0.3, 3: -0.1, 4: 0.9})
    log(tmp_path / "logs" / "cifar10-sigma1" / "macer.tsv", {0: 2.6, 1: 1.1, 2: -0.5, 3: -0.5})
    log(tmp_path / "logs" / "cifar10-sigma0.5" / "gaussian.tsv", {0: 1.2, 1: -0.2})
    log(tmp_path / "logs" / "cifar10-sigma1" / "gaussian.tsv", {2: 1.2, 3: -0.2})
    result = reproduce("acr/section7", source=tmp_path / "logs", out=tmp_path / "out")
    assert result.made is not None
    notes = result.made.notes
    assert "no one classifier's certified accuracy" in notes[0]
    assert "macer: over the 4 images that its tables share" in notes
    assert "macer: here without sigma 0.5" in notes
    assert "gaussian at sigma 1: the released log is not the run of the paper's table 2" not in notes  # 2 images
    assert any(note.startswith("gaussian is left out:") and "share no image" in note for note in notes)
    assert all(path.stat().st_size > 0 for path in result.files)
    drawn = pd.read_csv(tmp_path / "out" / "acr-section7-figure.csv")
    assert {"staircase", "points, behind"} == set(drawn["drawn"])
    assert "38.9 (0.5)" in (tmp_path / "out" / "acr-section7.txt").read_text()
    for suffix in ("txt", "md", "tex"):
        sheet = (tmp_path / "out" / f"acr-section7.{suffix}").read_text().replace("\\", "")  # escapes
        assert "no one classifier's certified accuracy" in sheet and "macer: here without sigma 0.5" in sheet
        assert "10,000" in sheet and "4*" in sheet  # images: the paper's, and ours
    return pd.read_csv(tmp_path / "out" / "acr-section7.csv").set_index(["method", "radius"])


@pytest.mark.slow
def test_here_it_is_the_best_of_the_tables(told: pd.DataFrame) -> None:
    macer = told.loc["macer"]
    assert macer["here"].tolist() == [75.0, 75.0, 50.0, 50.0, 50.0, 25.0, 25.0, 25.0, 25.0, 25.0, 25.0]
    assert macer["here sigma"].tolist() == [0.25, 0.25, 0.25, 1, 1, 1, 1, 1, 1, 1, 1]
    assert set(macer["images"]) == {4}
    assert told.loc["gaussian", "here"].isna().all()


def test_of_the_paper_it_is_the_best_of_table_2(told: pd.DataFrame) -> None:
    """Cells of table 2 read off again."""
    for key, accuracy, sigma in (
        (("gaussian", 0.0), 81.3, 0.25),
        (("gaussian", 0.75), 34.0, 0.5),
        (("amplify", 1.0), 38.9, 0.5),
        (("amplify", 1.75), 23.1, 1.0),
        (("cat-rs", 2.5), 14.2, 1.0),
    ):
        assert told.loc[key, ["published", "published sigma"]].tolist() == [accuracy, sigma]


def test_beyond_what_the_sigmas_at_hand_certify_nothing_is_said(tmp_path: Path) -> None:
    """n 100,000 at alpha .001 and sigma 0.5 certify up to 1.906: at 2 nothing was measured."""
    log(tmp_path / "logs" / "cifar10-sigma0.5" / "macer.tsv", {0: 1.91, 1: 1.91, 2: 0.3, 3: -0.1})
    log(tmp_path / "logs" / "cifar10-sigma0.5" / "gaussian.tsv", {0: 1.2, 1: 0.3, 2: -1.91, 3: -0.1})
    result = reproduce("acr/section7", source=tmp_path / "logs", out=tmp_path / "out")
    assert result.made is not None
    assert "gaussian: here without sigma 0.25, 1" in result.made.notes
    data = pd.read_csv(tmp_path / "out" / "acr-section7.csv").set_index(["method", "radius"])["here"]
    assert data["macer"].loc[1.75] == 50.0 and data["macer"].loc[2.0:].isna().all()
    assert data["gaussian"].loc[1.75] == 0.0 and data["gaussian"].loc[2.0:].isna().all()
    table = result.made.tables[""]
    ours = table[table[""] == "here"].set_index("method" if "method" in table else table.columns[0])
    assert (ours[["2", "2.25", "2.5"]] == "-").all(axis=None) and ours.loc["gaussian", "1.75"] == "0.0"
    lines = {line.name: line for line in result.made.panels[""][0].lines if not line.dashed}
    assert lines["macer"].y[-1] == 50.0 and lines["gaussian"].y[-1] == 0.0  # one goes on, the other is measured 0
