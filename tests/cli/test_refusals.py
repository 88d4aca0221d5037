"""`--refusal`: models that decline, on the command line from the table to the page."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import randsmooth as rs
from cli.processes import Run

GUARD = """
import numpy as np


def make():
    def guard(images):
        brightness = images.mean(axis=(1, 2, 3))
        labels = (brightness * 10).astype(int).clip(0, 9)
        return np.where(brightness > 0.31, -1, labels)

    return guard
"""
OF_THE_GUARD = ("--dataset", "digits", "--sigma", 0.25, "--n", 500, "--seed", 0)
DECLINING = ("--refusal", "class", "--identity", "guard")


@pytest.fixture
def guard(tmp_path: Path) -> str:
    (tmp_path / "guard.py").write_text(GUARD)
    Image.fromarray(np.full((8, 8), 128, np.uint8)).save(tmp_path / "grey.png")
    Image.fromarray(np.full((8, 8), 64, np.uint8)).save(tmp_path / "dark.png")
    return "guard.py:make"


def test_the_whole_way_of_a_model_that_declines(cli: Run, guard: str) -> None:
    certify = ("certify", guard, *OF_THE_GUARD, "--take", 12, "--out", "t.parquet")
    assert "--refusal class" in cli.refused(*certify, "--identity", "guard")

    cli.done(*certify, *DECLINING)
    table = rs.read("t.parquet")
    assert table.header.refusal == 10 and table.declined.any()
    cli.done("verify", "t.parquet")
    cli.done(*certify, *DECLINING, "--resume")

    evaluated = cli.done("evaluate", "t.parquet", "--format", "json").out
    (metrics,) = json.loads(evaluated)["tables"]
    assert metrics["declined"]["value"] == table.declined.mean()
    cli.done("compare", "t.parquet", "--out", "page.html")
    page = Path("page.html").read_text()
    assert '<th rowspan="2" scope="col">declined (%)</th>' in page
    assert 'data-head="declined"' in page
    (row,) = json.loads(evaluated)["answer"]["rows"]
    assert row["declined"]["value"] == table.declined.mean()
    # A log could not say what is declined.
    assert "declined" in cli.refused("export", "t.parquet", "--out", "t.tsv")
    assert not Path("t.tsv").exists()


def test_a_leaderboard_tells_who_declines(cli: Run, guard: str) -> None:
    certify = ("certify", guard, *OF_THE_GUARD, "--take", 12)
    Path("tables").mkdir()
    cli.done(*certify, *DECLINING, "--out", "tables/guard.parquet")
    cli.done("leaderboard", "tables", "--out", "board.html")
    declined = rs.read("tables/guard.parquet").declined.mean()
    (record,) = json.loads(Path("board.json").read_text())
    assert record["declined"]["value"] == declined
    page = Path("board.html").read_text()
    assert "declined (%)" in page
    assert f"{100 * declined:.1f}" in page

    answers = (
        Path("guard.py")
        .read_text()
        .replace("np.where(brightness > 0.31, -1, labels)", "labels")
    )
    Path("guard.py").write_text(answers)
    sure = ("--identity", "another", "--out", "tables/guard.parquet", "--overwrite")
    cli.done(*certify, *sure)
    cli.done("leaderboard", "tables", "--out", "board.html", "--overwrite")
    assert "declined (%)" not in Path("board.html").read_text()
    (record,) = json.loads(Path("board.json").read_text())
    assert record["declined"] is None


def test_single_images_are_declined_by_options_and_like_a_table(
    cli: Run, guard: str
) -> None:
    images = ("grey.png", "dark.png")
    asked = (*OF_THE_GUARD, "--refusal", "class", "--format", "json")
    answers = json.loads(cli.done("predict", guard, *images, *asked).out)
    assert [answer["declined"] for answer in answers] == [True, False]
    assert [answer["label"] for answer in answers] == ["declined", "2"]

    certify = ("certify", guard, *OF_THE_GUARD, *DECLINING)
    cli.done(*certify, "--take", 3, "--out", "t.parquet")
    like = ("--like", "t.parquet", "--identity", "guard", "--format", "json")
    like_table = cli.done("predict", guard, *images, *like, "--n", 500, "--seed", 0)
    assert json.loads(like_table.out) == answers

    explain = ("explain", guard, "grey.png", *OF_THE_GUARD, "--num-classes", 10)
    written = ("--out", "page.html", "--certificate", "one.parquet")
    options = (*DECLINING, "--no-attack", "--format", "json", *written)
    explained = json.loads(cli.done(*explain, *options).out)
    assert explained["declined"] and explained["label"] == "declined"
    assert "The model declines" in Path("page.html").read_text()
    assert rs.read("one.parquet").declined.tolist() == [True]


def test_an_attack_goes_towards_a_class_by_its_name(cli: Run, guard: str) -> None:
    certify = ("certify", guard, *OF_THE_GUARD, *DECLINING)
    cli.done(*certify, "--take", 12, "--out", "t.parquet")
    attack = ("attack", guard, "t.parquet", "--identity", "guard", "--n", 500)
    small = ("--m", 100, "--steps", 4, "--scale", 40, "--format", "json")
    answers = json.loads(cli.done(*attack, *small, "--toward", "declined").out)
    assert answers and {answer["certified"] for answer in answers} == {"2"}
    assert "declined" in {answer["predict"] for answer in answers}
    assert "nothing" in cli.refused(*attack, "--toward", "nothing")
