"""A user's own images on the command line: certify, data, predict and attack; and what is said without labels."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import randsmooth as rs
from cli.processes import Run
from randsmooth import data
from randsmooth.app import Served
from randsmooth.certificates import NO_LABEL
from randsmooth.notes import Note
from untrained import untrained

X = np.random.default_rng(0).integers(0, 256, (6, 8, 8), dtype=np.uint8)
Y = [0, 1, 2, 0, 1, 2]
QUICK = ("--sigma", "0.5", "--n", "200", "--n0", "20")


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model folder for 8x8 grey images of three classes, with noise of its own; it answers at random."""
    return untrained(tmp_path / "model", ["ant", "bee", "cat"]).name


@pytest.fixture
def forms(tmp_path: Path) -> dict[str, str]:
    np.savez(tmp_path / "mine.npz", x=X, y=Y)
    (tmp_path / "flat").mkdir()
    rows = ["file,kind"]
    for k, (each, label) in enumerate(zip(X, Y, strict=True)):
        Image.fromarray(each).save(tmp_path / "flat" / f"{k}.png")
        rows.append(f"flat/{k}.png,{label}")
    (tmp_path / "mine.csv").write_text("\n".join(rows))
    return {"npz": "mine.npz", "csv": "mine.csv", "flat": "flat"}


@pytest.fixture
def unlabelled(cli: Run, model: str, forms: dict[str, str]) -> Path:
    """A table of images without labels."""
    done = cli.done(
        "certify", model, "--dataset", forms["flat"], *QUICK, "--out", "a.parquet"
    )
    assert str(Note("unlabelled")) in done.out + done.err
    return Path("a.parquet")


def test_certify_files(cli: Run, model: str, forms: dict[str, str]) -> None:
    by_column = ("--image-column", "file", "--label-column", "kind")
    npz = cli(
        "certify", model, "--dataset", forms["npz"], *QUICK, "--out", "npz.parquet"
    )
    csv = cli(
        "certify",
        model,
        "--dataset",
        forms["csv"],
        *by_column,
        *QUICK,
        "--out",
        "csv.parquet",
    )
    assert (npz.code, csv.code) == (0, 0), npz.err + csv.err
    one, other = rs.read("npz.parquet"), rs.read("csv.parquet")
    assert one.label.tolist() == Y and np.array_equal(one.evidence(), other.evidence())
    assert one.header.data == other.header.data
    assert (one.header.dataset, one.header.classes) == (
        "mine.npz",
        ("ant", "bee", "cat"),
    )


def test_what_train_says_at_its_end_certifies_the_model(
    cli: Run, forms: dict[str, str]
) -> None:
    how = (
        "--image-column",
        "file",
        "--label-column",
        "kind",
        "--resize",
        "20",
        "--crop",
        "16",
    )
    trained = cli.done(
        "train", forms["csv"], *how, "--sigma", "0.5", "--epochs", "1", "--out", "mine"
    )
    command = shlex.split(trained.err.rpartition("certify it with: randsmooth ")[2])
    assert command[:2] + command[-2:] == ["certify", "mine", "--dataset", forms["csv"]]
    done = cli.done(*command, "--n", "200", "--n0", "20")
    header = rs.read("mine.parquet").header
    assert (header.resize, header.crop) == (
        "20",
        "16",
    ) and "--resize" not in command  # the model knows
    assert (
        "brought to size as in the model's training: resize 20, crop 16"
        in done.out + done.err
    )
    Image.new("RGB", (40, 30), (250, 10, 80)).save("photo.png")
    few = ("--n", "200", "--n0", "20", "--seed", "1")
    for words in (
        ("predict", "mine", "photo.png"),
        ("explain", "mine", "photo.png", "--no-attack"),
    ):
        single = cli.done(*words, *few)
        assert (
            "photo.png is brought from 30x40 to 16x16 before any noise (resize 20, crop 16"
            in single.err
        ), words
    x, _ = data.load("flat", "test", resize=20, crop=16).batch(torch.tensor([2]))
    served = Served.of("mine", "mine")
    assert (
        torch.equal(served.read("flat/2.png"), x[0])
        and served.read("photo.png").shape == x[0].shape
    )
    asked = Served.of("mine", "mine", resize=16).read("flat/2.png")
    assert asked.shape == x[0].shape and not torch.equal(asked, x[0])
    other = cli(
        *command, "--resize", "16", "--n", "200", "--n0", "20", "--out", "other.parquet"
    )
    assert "the model was trained with resize 20, not 16" in other.out + other.err
    assert (
        "(resize 16, crop 16"
        in cli.done(
            "predict", "mine", "photo.png", "--like", "other.parquet", *few[:4]
        ).err
    )
    judged = cli("evaluate", "mine.parquet", "other.parquet").out
    assert "images of different sizes (resize 16, resize 20 crop 16)" in " ".join(
        judged.split()
    )


def test_describe_and_predict_of_a_folder_a_file_of_many_and_one_image(
    cli: Run, model: str, forms: dict[str, str]
) -> None:
    said = cli(
        "data", "describe", forms["npz"], "--resize", "16", "--crop", "12x10"
    ).out
    assert (
        "6 images of mine.npz" in said
        and "1 x 12 x 10" in said
        and "3: 0, 1, 2" in said
    )
    assert (
        "none: the images have no labels" in cli("data", "describe", forms["flat"]).out
    )
    how = (*QUICK, "--seed", "3", "--format", "json")
    names = [f"flat/{k}.png" for k in range(6)]
    single, flat, npz = (
        json.loads(cli("predict", model, *each, *how).out)
        for each in (names, ["flat"], ["mine.npz"])
    )
    assert [row["image"] for row in single] == [row["image"] for row in flat] == names
    assert [row["image"] for row in npz] == [f"mine.npz[{k}]" for k in range(6)]
    assert [(row["label"], row["radius"]) for row in single] == [
        (row["label"], row["radius"]) for row in flat
    ]
    assert [row["label"] for row in single] == [row["label"] for row in npz]


def test_tables_without_labels_say_dashes_also_beside_others(
    cli: Run, model: str, forms: dict[str, str], unlabelled: Path
) -> None:
    table = rs.read(unlabelled)
    assert (
        table.label.tolist() == [NO_LABEL] * 6
        and not table.labelled
        and not table.correct.any()
    )
    said = {
        form: cli("evaluate", unlabelled, "--format", form).out
        for form in ("text", "md", "latex", "json")
    }
    assert str(Note("tables_without_labels", tables="a")) in said["text"]
    assert "| a | 6 | – | – |" in said["md"] and "a & -- & --" in said["latex"]
    found = json.loads(said["json"])["tables"][0]
    assert (
        found["acr"] is None
        and found["certified_accuracy"][0]["value"] is None
        and found["p_A"] == []
    )
    assert found["abstention"] is not None
    cli.done("certify", model, "--dataset", forms["npz"], *QUICK, "--out", "b.parquet")
    text = cli("evaluate", "b.parquet", unlabelled, "--baseline", "b").out
    assert "a: the images have no labels" in text
    assert "a  a is about images without labels" in text  # in place of a verdict
    done = cli("compare", unlabelled, "b.parquet", "--out", "a.html")
    assert (
        done.code == 0 and "the images have no labels" in Path("a.html").read_text()
    ), done.err


TABULAR = """
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def pipeline():
    rows = np.load("rows.npz")
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(rows["x_train"], rows["y_train"])
"""


def test_features_are_certified_under_deviations_of_the_training_split(
    cli: Run, tmp_path: Path
) -> None:
    x = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 50.0, 1000.0]
    y = (x[:, 1] > 0).astype(int)
    np.savez(
        tmp_path / "rows.npz",
        x_train=x[:40],
        y_train=y[:40],
        x_test=x[40:],
        y_test=y[40:],
    )
    (tmp_path / "tabular.py").write_text(TABULAR)
    how = ("certify", "tabular.py:pipeline", "--dataset", "rows.npz", "--n", 200)
    for named in (("--sigma", "0.25std"), ("--noise", "gaussian=0.25std")):
        cli.done(*how, *named, "--out", "a.parquet", "--overwrite")
        noise = rs.read("a.parquet").noise
        assert isinstance(noise, rs.noise.PerFeature)
        np.testing.assert_allclose(noise.std, 0.25 * x[:40].std(axis=0), rtol=1e-5)
        cli.done(*how, *named, "--out", "a.parquet", "--resume")
    for answer in (cli.done("evaluate", "a.parquet"), cli.done("compare", "a.parquet")):
        # Lines end where the terminal does.
        words = " ".join(answer.out.split())
        assert "in standard deviations of each feature" in words
    assert "--sigma 0.25std" in cli.done(*how, "--sigma", 200, "--out", "b.parquet").err
    assert (
        "rows.npz"
        in cli("train", "rows.npz", "--method", "gaussian", "--sigma", 0.5).err
    )
    said = cli("data", "describe", "rows.npz").out
    assert "features of any scale" in said and "rows of rows.npz" in said
    Path("mixed.csv").write_text("a,site,label\n0.5,left,0\n0.7,right,1\n")
    said = cli.done("data", "describe", "mixed.csv").out
    assert "2 rows of mixed.csv" in said and "site: held fixed" in said
