"""`certify` says so where what it found looks like a mistake."""

from __future__ import annotations

from pathlib import Path

import randsmooth as rs
from cli.run import Run
from randsmooth.cli.verbs.certify import suspicions


def table(counts: list[list[int]], label: list[int]) -> rs.Certificates:
    return rs.from_counts(counts, counts0=counts, label=label, sigma=0.5, alpha=0.001, name="mine")


def test_an_untrained_model_gives_all_images_one_class(cli: Run, model: Path) -> None:
    done = cli("certify", model, "--take", 20, "--n", 100, "--device", "cpu")
    predict = rs.read(f"{model}.parquet").predict
    (only,) = set(predict[predict >= 0])
    said = f"note: all {(predict == only).sum()} images that are certified get class {only}; was the model trained with"
    assert said in done.err


def test_that_most_images_abstain_is_said() -> None:
    (said,) = suspicions(table([[50, 50]] * 7 + [[90, 10]] * 3 + [[10, 90]] * 3, [0, 1] * 6 + [0]))
    assert said.startswith("most images abstain (7 of 13); was the model trained with noise of sigma 0.5")


def test_of_an_ordinary_table_nothing_is_said() -> None:
    right = [[90, 10]] * 6 + [[10, 90]] * 6
    assert suspicions(table(right, [0] * 6 + [1] * 6)) == []
    assert suspicions(table([[90, 10]] * 12, [0] * 12)) == []  # the images themselves are of one class
    assert suspicions(table([[90, 10]] * 9, [0, 1, 0] * 3)) == []  # too few to say


def test_that_few_samples_abstain_is_no_sign_of_a_bad_model() -> None:
    counts = [[9, 1]] * 6 + [[1, 9]] * 6  # 90% right, and n = 10 certifies 10 of 10 alone
    assert suspicions(table(counts, [0] * 6 + [1] * 6)) == []
    assert suspicions(table([[54, 46]] * 6 + [[46, 54]] * 6, [0] * 6 + [1] * 6)) != []


def test_two_signs_share_a_sentence() -> None:
    (said,) = suspicions(table([[50, 50]] * 12 + [[90, 10]] * 10, [0, 1] * 11))
    assert said.startswith("most images abstain (12 of 22) and all 10 images that are certified get class 0; was")


def test_a_sigma_for_pixels_up_to_255_is_noticed_before_anything_runs(cli: Run, model: Path) -> None:
    large = cli("certify", model, "--sigma", 64, "--take", 1, "--n", 20, "--device", "cpu")
    assert "note: sigma=64 is 64 times the range of a pixel" in large.out
    assert "give 0.251" in large.out
    usual = cli("certify", model, "--sigma", 1, "--take", 1, "--n", 20, "--device", "cpu", "--overwrite")
    assert "range of a pixel" not in usual.out + usual.err
