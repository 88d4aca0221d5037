"""`randsmooth certify hf:FOLDER`: a classifier of transformers on a data set's own images, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from cli.run import Run
from models.test_hub_models import save_vit
from randsmooth import certificates

HOW = ("--sigma", 0.25, "--n", 200, "--n0", 20)
NAMES = ("cat", "dog", "owl")


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """A data set of two 32x32 images of each of three classes."""
    generator = np.random.default_rng(0)
    for name in NAMES:
        (tmp_path / "pets" / "test" / name).mkdir(parents=True)
        for i in range(2):
            pixels = generator.integers(0, 256, (32, 32, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pets" / "test" / name / f"{i}.png")
    return tmp_path / "pets"


def counts(file: Path) -> NDArray[np.int64]:
    found = certificates.read(file).counts
    assert found is not None
    return found


def test_a_folder_is_certified_and_the_certificate_says_what_lies_between(cli: Run, pets: Path, tmp_path: Path) -> None:
    save_vit(tmp_path / "vit")
    done = cli("certify", "hf:vit", "--dataset", pets, *HOW, "--out", "vit.parquet")
    assert done.code == 0, done.err
    assert "after noise: resized to 24 x 24 (bilinear)" in done.out
    table = certificates.read(tmp_path / "vit.parquet")
    model = table.header.model or {}
    assert len(table) == 6 and model["source"] == "hf:vit" and model["weights"].startswith("sha256:")
    again = cli("certify", "hf:vit", "--dataset", pets, *HOW, "--out", "again.parquet")
    assert again.code == 0, again.err
    assert np.array_equal(counts(tmp_path / "again.parquet"), counts(tmp_path / "vit.parquet"))


def test_predict_names_classes_in_another_order_as_certify_did(cli: Run, pets: Path, tmp_path: Path) -> None:
    """`--like` knows the model, and both name the class that most votes were for."""
    network = save_vit(tmp_path / "vit")
    network.config.id2label, network.config.label2id = {0: "dog", 1: "owl", 2: "cat"}, {"dog": 0, "owl": 1, "cat": 2}
    network.save_pretrained(tmp_path / "vit")
    certified = cli("certify", "hf:vit", "--dataset", pets, *HOW, "--out", "vit.parquet")
    assert certified.code == 0, certified.err
    table = certificates.read(tmp_path / "vit.parquet")
    alike = ("--like", "vit.parquet", "--n", 2000, "--format", "json")
    done = cli("predict", "hf:vit", pets, "--dataset", pets, *alike)
    assert done.code == 0, done.err
    names = table.header.classes or ()
    got = [answer["label"] for answer in json.loads(done.out)]
    known = [(k, label) for k, label in zip(table.predict.tolist(), got, strict=True) if k >= 0 and label]
    assert known and all(names[k] == label for k, label in known)


def test_other_classes_and_other_words_for_the_same(cli: Run, pets: Path, tmp_path: Path) -> None:
    save_vit(tmp_path / "vit", ("kitten", "dog", "owl"))
    done = cli("certify", "hf:vit", "--dataset", pets, *HOW, "--out", "a.parquet")
    assert done.code == 2 and "knows no class 'cat'" in done.err and "--model-arg 'classes=[...]'" in done.err
    named = ("--model-arg", "classes=[cat, dog, owl]")
    done = cli("certify", "hf:vit", *named, "--dataset", pets, *HOW, "--out", "a.parquet")
    assert done.code == 0, done.err


# Runs a command line where the package named in its first argument cannot be imported.
