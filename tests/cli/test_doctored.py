"""Doctored copies of a released log get their checks from all verbs that judge tables."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.processes import Run
from doctored import READ, REFUSED, write_copies
from randsmooth.certificates import infer, read
from randsmooth.errors import Problem
from randsmooth.report.sheet import build_sheet

PLACE = "cifar10-sigma0.5"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("doctored")


@pytest.fixture
def copies(folder: Path, logs: Path) -> Path:
    """A folder with the baseline, the log, and all copies of it."""
    place = folder / PLACE
    if not place.exists():
        write_copies(logs / PLACE / "ours.tsv", place)
        for name in ("catrs", "ours"):
            shutil.copy(logs / PLACE / f"{name}.tsv", place)
    return place


def failed(checks: list[dict[str, Any]]) -> set[str]:
    """The kinds of failed checks."""
    return {check["kind"] for check in checks if check["state"] == "failed"}


def test_each_copy_fails_its_checks_against_another_log(copies: Path) -> None:
    baseline = infer(read(copies / "catrs.tsv"), copies / "catrs.tsv")
    for doctor, fails in READ.items():
        kinds = fails.alone | fails.beside
        path = copies / f"{doctor.__name__}.tsv"
        copy = infer(read(path), path)
        sheet = build_sheet([baseline, copy], [0.5], baseline="catrs")
        assert failed(sheet.check_block.content) == kinds, doctor
        answer = sheet.answer.rows[1]
        assert (answer.difference is None) == bool(kinds), doctor
        assert not kinds or not any(sheet.shown[1]), doctor


def test_what_contradicts_itself_or_its_path_is_refused(copies: Path) -> None:
    for doctor in REFUSED:
        path = copies / f"{doctor.__name__}.tsv"
        with pytest.raises(Problem):
            infer(read(path), path)


@pytest.mark.parametrize("verb", ["evaluate", "compare"])
def test_two_logs_get_their_checks(
    verb: str, copies: Path, tmp_path: Path, cli: Run
) -> None:
    words: list[object] = [verb, copies / "catrs.tsv", copies / "inflated.tsv"]
    words += ["--format", "json", "--at", 0.5]
    if verb == "compare":
        words += ["--out", tmp_path / "page.html"]
    content = json.loads(cli.done(*words).out)
    assert failed(content["checks"]) == {"radii", "scaled_released"}
    assert content["answer"]["kind"] == "not_judged"
    anyway = json.loads(cli.done(*words, "--anyway", "--overwrite").out)
    assert anyway["answer"]["kind"] in ("ahead", "behind", "undecided")


def test_a_leaderboard_ranks_no_copy(copies: Path, tmp_path: Path, cli: Run) -> None:
    page = tmp_path / "board.html"
    words = ["leaderboard", copies.parent, "--out", page, "--format", "json"]
    content = json.loads(cli.done(*words).out)
    rank_of_name = {record["name"]: record["rank"] for record in content["answer"]}
    ranked = {name for name, rank in rank_of_name.items() if rank is not None}
    # The log and its copy in another order are both the released log: the first of them
    # is ranked.
    assert ranked == {"catrs", "in_another_order", "shifted_by_one"}

    # The setting with ranked tables comes first, at the terminal, too.
    assert content["answer"][0]["rank"] == 1
    settings = [record["setting"] for record in content["answer"]]
    of_the_first = [name for name in settings if name == settings[0]]
    assert settings[: len(of_the_first)] == of_the_first

    page.unlink()
    page.with_suffix(".json").unlink()
    anyway = json.loads(cli.done(*words, "--anyway").out)
    assert all(record["rank"] is not None for record in anyway["answer"])


def test_a_copy_fills_no_row_of_a_paper(copies: Path, tmp_path: Path, cli: Run) -> None:
    """The copy stands where the log of a paper would; it is used where it is asked for."""
    place = tmp_path / PLACE
    place.mkdir()
    shutil.copy(copies / "catrs.tsv", place / "cat-rs.tsv")
    shutil.copy(copies / "inflated_and_clipped.tsv", place / "amplify.tsv")
    words = ["reproduce", tmp_path, "--out", tmp_path / "out", "--format", "json"]
    content = json.loads(cli.done(*words).out)
    assert failed(content["checks"]) == {"from_released"}
    # The other cells of its row are those of the run that the paper prints.
    assert content["differing"] == []
    drawn = {table["object"] for table in content["tables"]}
    anyway = json.loads(cli.done(*words, "--anyway").out)
    assert drawn < {table["object"] for table in anyway["tables"]}


def test_a_copy_is_not_drawn_into_a_table(
    copies: Path, tmp_path: Path, cli: Run
) -> None:
    place = tmp_path / PLACE
    place.mkdir()
    shutil.copy(copies / "catrs.tsv", place / "cat-rs.tsv")
    shutil.copy(copies / "wrong_made_right.tsv", place / "amplify.tsv")
    words = ["reproduce", "acr/table2", "--from", tmp_path, "--format", "json"]
    words += ["--out", tmp_path / "out"]
    content = json.loads(cli.done(*words).out)
    assert failed(content["checks"]) == {"changed_released"}
    anyway = json.loads(cli.done(*words, "--anyway").out)
    assert anyway["checks"] == content["checks"]
    assert anyway["models_missing"] == content["models_missing"] - 1
    cells = {
        (cell["method"], cell["sigma"], cell["metric"]) for cell in anyway["differing"]
    }
    # 300 more images are right.
    assert ("amplify", 0.5, "accuracy@0") in cells
    assert content["differing"] == []


def test_scaled_radii_fail_beside_a_log_even_where_no_path_says_sigma(
    copies: Path,
) -> None:
    baseline = read(copies / "catrs.tsv")
    for name in ("twice_as_large", "inflated"):
        sheet = build_sheet([baseline, read(copies / f"{name}.tsv")], at=0.5)
        kinds = failed(sheet.check_block.content)
        assert kinds == {"radii", "scaled_released"}, name
    honest = build_sheet([baseline, read(copies / "ours.tsv")], at=0.5)
    assert failed(honest.check_block.content) == set()
