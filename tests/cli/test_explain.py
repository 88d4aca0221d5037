"""`randsmooth explain` from the command line: the page, the certificate, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from PIL import Image

from cli.run import Run
from randsmooth import data, read


@pytest.mark.slow
def test_an_image_of_a_data_set_is_explained_and_its_certificate_attacked(
    cli: Run, model: Path, tmp_path: Path
) -> None:
    how = ("--n", 300, "--seed", 4)
    done = cli("explain", model, "digits:17", *how, "--certificate", "one.parquet", "--out", "page.html")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-2:] == ["page.html", "one.parquet"]
    table = read(tmp_path / "one.parquet")
    assert (table.idx.tolist(), table.header.dataset, table.header.split, len(table)) == ([17], "digits", "test", 1)
    page = (tmp_path / "page.html").read_text()
    label = str(data.load("digits", "test").labels[17].item())
    predict, radius = int(table.predict[0]), table.radius[0]
    said = "abstains" if predict < 0 else f"{predict}  radius {int(radius * 10_000) / 10_000:.4f}"
    assert done.out.splitlines()[-3] == f"digits:17  {said}"
    assert "nearest other class" in page and "1,433 training images" in page and "--certificate one.parquet" in page
    assert predict < 0 or (label == str(predict)) == ("The label agrees" in page)
    if predict >= 0:
        assert cli("attack", model, "one.parquet", "--steps", 1, "--m", 8, "--n", 100).code == 0


def test_a_file_is_certified_as_predict_does(cli: Run, model: Path, tmp_path: Path) -> None:
    (x,), _ = data.load("digits", "test").batch(torch.tensor([3]))
    Image.fromarray((x[0] * 255).byte().numpy()).save(tmp_path / "digit.png")
    how = ("digit.png", "--n", 300, "--seed", 4)
    told = cli("predict", model, *how)
    done = cli("explain", model, *how, "--no-attack", "--no-training")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [told.out.strip(), "explanation.html"]
    page = (tmp_path / "explanation.html").read_text()
    assert "as was asked for" in page and "data:image/png;base64," in page
    again = cli("explain", model, *how)
    assert again.code == 2 and "explanation.html exists" in again.err


def test_the_command_on_the_page_repeats_it(cli: Run, model: Path, tmp_path: Path) -> None:
    done = cli("explain", model, "digits:3", "--n", 100, "--no-attack", "--no-training")
    assert done.code == 0, done.err
    seed = done.out.split()[-4]  # seed S: --seed S repeats this answer
    assert seed.isdigit() and f"--no-training --seed {seed}<" in (tmp_path / "explanation.html").read_text()


def test_what_cannot_be_explained_is_refused(cli: Run, model: Path) -> None:
    cases: list[tuple[list[str], str]] = [
        (["none.png"], "no image at none.png"),
        (["digts:3"], "did you mean 'digits'"),
        (["digits:364"], r"has 364 images, 0 to 363"),
        (["digits:3", "--certificate", "a.csv"], "must end in .parquet"),
        (["digits:3", "--n", "3"], "needs n >="),
    ]
    for words, said in cases:
        done = cli("explain", model, *words)
        assert done.code == 2 and re.search(said, done.err), done.err
        assert not Path("explanation.html").exists()
