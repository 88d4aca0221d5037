"""Every rule from end to end: into a file, interrupted, label-aware, sound; a table is what the API gives."""

import itertools
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from certification.runs import interrupt, same
from models.refusing import check_refusals
from randsmooth import certify, data, metrics, read, train
from randsmooth.certificates import Certificates, check_file, write_parquet
from randsmooth.certification import SmoothedClassifier
from randsmooth.data import Images
from randsmooth.errors import BadValue, OutputExists
from randsmooth.models import Classifier
from randsmooth.progress import Silent
from values import Refusal

RULES = [
    "fixed",
    "radius=0.25",
    "grid",
    "upto=0.25",
    "dense=1",
    "anytime",
    "anytime=0.1",
]
QUICK = ["fixed", "grid"]  # one look, many
SIGMA, N, TAKE = 0.25, 1500, 12
Whole = Callable[[str], Certificates]


@pytest.fixture(scope="module")
def images() -> Images:
    return data.load("digits", "test")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    """A network that is sure of some digits, in doubt about some and wrong about others."""
    return train(
        "digits", sigma=SIGMA, epochs=3, out=tmp_path_factory.mktemp("rules") / "model"
    )


def run(
    model: Classifier, out: Path | None, rule: str, *, n0: int = 50, **options: Any
) -> Certificates:
    return certify(
        model,
        "digits",
        take=TAKE,
        n0=n0,
        n=N,
        alpha=0.01,
        rule=rule,
        out=out,
        **options,
    )


@pytest.fixture(scope="module")
def whole(model: Classifier) -> Whole:
    """The table of an uninterrupted run under a rule; made once."""
    return cache(lambda rule: run(model, None, rule))


class Told(Silent):
    """Keeps the last figure of a run."""

    def advance(self, steps: int, info: str = "") -> None:
        self.info = info


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, marks=[] if rule in QUICK else pytest.mark.slow)
        for rule in RULES
    ],
)
def test_a_run_cut_short_and_resumed_is_the_whole_one(
    rule: str, model: Classifier, whole: Whole, tmp_path: Path
) -> None:
    table = whole(rule)
    assert table.header.rule == rule and (table.header.guarantee or "").startswith(
        "Each certificate is wrong"
    )
    for images in (0, 2, 5):
        interrupt(run, model, tmp_path / "cut.parquet", rule, stop=images, resume=True)
    told = Told()
    cut = run(
        model,
        tmp_path / "cut.parquet",
        rule,
        resume=True,
        progress=lambda *_: nullcontext(told),
    )
    assert same(cut, table)
    assert (
        told.info
        == f"{metrics.certified_accuracy(table, 0.0).value:.1%} certified and right"
    )
    assert same(read(tmp_path / "cut.parquet"), table)


def test_a_table_is_what_the_api_gives_for_one_image_alone(
    model: Classifier, images: Images, whole: Whole
) -> None:
    smoothed = SmoothedClassifier(model, sigma=SIGMA, seed=0)
    for rule, row in itertools.product(RULES, (0, TAKE // 2, TAKE - 1)):
        table = whole(rule)
        x, _ = images.batch(torch.tensor(table.idx[row : row + 1]))
        alone = smoothed.certify(x, n0=50, n=N, alpha=0.01, rule=rule)
        assert np.array_equal(alone.counts[0], table.evidence()[1][row]), rule
        assert (
            np.array_equal(alone.paths[0], (table.paths or ())[row])
            and alone.predict[0] == table.predict[row]
        ), rule
        assert alone.radius[0] == pytest.approx(
            table.radius[row], abs=1e-9
        )  # solved for many at once, or for one


def test_label_aware_gives_the_same_accuracies_from_fewer_samples(
    model: Classifier, whole: Whole
) -> None:
    for rule in RULES:
        table, aware = whole(rule), run(model, None, rule, label_aware=True)
        wrong = table.counts0.argmax(axis=1) != table.label  # type: ignore[union-attr]
        assert (
            wrong.any()
            and aware.header.label_aware
            and np.all(aware.samples[wrong] == 50)
        ), rule
        assert np.array_equal(aware.samples[~wrong], table.samples[~wrong]), rule
        for r in (0.0, 0.1, 0.25):
            assert (
                metrics.certified_accuracy(aware, r).value
                == metrics.certified_accuracy(table, r).value
            ), rule


WITHOUT = [  # settings under which no samples pick a class
    {"rule": "radius=0.25"},
    {"rule": "radius=0.25", "label_aware": True},
    pytest.param({"rule": "fixed", "label_aware": True}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("how", WITHOUT)
def test_without_a_selection_a_run_certifies_the_same_images_from_fewer_samples(
    how: dict[str, Any], model: Classifier, whole: Whole, images: Images, tmp_path: Path
) -> None:
    picked, rule = whole(how["rule"]), how["rule"]
    interrupt(run, model, tmp_path / "a.parquet", **how, n0=0, stop=4)
    table = run(model, tmp_path / "a.parquet", **how, n0=0, resume=True)
    assert same(table, run(model, tmp_path / "b.parquet", **how, n0=0)) and same(
        read(tmp_path / "a.parquet"), table
    )
    assert check_file(tmp_path / "a.parquet").startswith("certificate table")
    counts0, counts = table.evidence()
    tested = table.label if how.get("label_aware") else counts.argmax(axis=1)
    assert np.array_equal(counts0.argmax(axis=1), tested) and table.header.n0 == 0
    assert np.array_equal(table.samples, counts.sum(axis=1))
    right = picked.correct
    assert np.array_equal(table.correct, right) and np.allclose(
        table.radius[right], picked.radius[right]
    )
    if rule.startswith("radius"):  # the same samples bound the same class
        assert np.array_equal(table.samples[right], picked.samples[right] - 50)
    guarantee = table.header.guarantee or ""
    assert ("test each image's label" in guarantee) == bool(how.get("label_aware"))
    assert (
        ("for any class" in guarantee)
        == (table.header.bound == "any-class")
        == (not how.get("label_aware"))
    )


def test_rules_that_need_a_selection_say_so() -> None:
    table: list[tuple[dict[str, Any], Refusal]] = [
        ({"rule": "grid"}, Refusal(BadValue, "label_aware")),
        (
            {"rule": "fixed", "bound": "two-sided"},
            Refusal(BadValue, "two-sided"),
        ),
        ({"rule": "radius=0"}, Refusal(BadValue, field="radius")),
        (
            {"rule": "radius=0.25", "bound": "two-sided", "n0": 9},
            Refusal(BadValue, "bound='two-sided'", field="bound"),
        ),
    ]
    given = {"sigma": 0.25, "n0": 0}
    check_refusals(
        (lambda how=how: certify(lambda x: x, "digits", **given | how), said)  # type: ignore[misc]
        for how, said in table
    )


def test_sound_certification_from_end_to_end(
    model: Classifier, whole: Whole, tmp_path: Path
) -> None:
    sound, usual = (
        run(model, tmp_path / "sound.parquet", "grid", sound=True),
        whole("grid"),
    )
    assert sound.header.sound and "rounded to k/255" in (sound.header.drawn_by or "")
    assert same(read(tmp_path / "sound.parquet"), sound)
    write_parquet(usual, tmp_path / "usual.parquet")
    assert not np.array_equal(sound.evidence()[1], usual.evidence()[1])  # other noise
    assert (
        np.abs(sound.radius - usual.radius).max() <= 0.25
    )  # of nearly the same classifier
    smoothed = SmoothedClassifier(model, sigma=SIGMA, sound=True, seed=0)
    check_refusals(
        [
            (
                lambda: run(
                    model, tmp_path / "usual.parquet", "grid", sound=True, resume=True
                ),
                Refusal(OutputExists, "sound"),
            ),
            (
                lambda: smoothed.certify(torch.full((1, 1, 8, 8), 0.5), n=N),
                Refusal(BadValue, "255"),
            ),
        ]
    )
    assert smoothed.certify(torch.full((1, 1, 8, 8), 128 / 255), n=N).counts.sum() == N
