"""What `explain` finds, and what its page says of it."""

import html
import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import randsmooth as rs
from app.brightness import Brightness
from chromium import chromium
from models.refusing import problem_of
from nasty import NASTY
from randsmooth.app import Explanation, explanation_page, why_abstained
from randsmooth.app.wording import examples
from randsmooth.certificates import ABSTAIN
from randsmooth.errors import BadValue, MissingValue
from randsmooth.noise import (
    Deviations,
    Gaussian,
    GaussianPerCoordinate,
    linf_radius,
    printed_radius,
)
from untrained import untrained
from values import Refusal

# What a reader would see: whether anything is wider than the window, and all pictures are there.
PROBE = """
[document.documentElement.scrollWidth - innerWidth,
 [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().width
   && one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".box, .ruler")).length,
 [...document.images].filter((one) => !one.naturalWidth).length, document.images.length]
"""


def explained(
    level: float = 0.7, shape: tuple[int, int, int] = (1, 8, 8), **options: object
) -> Explanation:
    how: dict[str, object] = {"sigma": 0.5, "n": 1000, "seed": 0} | options
    return rs.explain(Brightness().eval(), torch.full(shape, level), **how)  # type: ignore[arg-type]


def test_the_certificate_is_the_one_of_the_smoothed_classifier() -> None:
    found = explained(attack=False)
    own = rs.SmoothedClassifier(Brightness().eval(), sigma=0.5, n=1000, seed=0).certify(
        torch.full((1, 8, 8), 0.7)
    )
    assert (
        np.array_equal(found.look.counts, own.counts[0])
        and found.radius == own.radius[0]
        and found.predict == 1
    )
    assert len(found.copies.pixels) == 12
    assert (
        found.copies.answers.tolist()
        == (found.copies.pixels.mean(axis=(1, 2, 3)) > 0.5).astype(int).tolist()
    )


def test_the_page_says_the_answer_and_a_radius_that_is_certified_or_that_there_is_none() -> (
    None
):
    found = explained(label=1, name="a photo")
    page = explanation_page(found)
    (said,) = set(re.findall(r"with L2 norm below ([\d.]+)\s", page))
    assert found.radius - 0.01 < float(said) <= found.radius
    assert (
        "<h1>The answer is 1</h1>" in page
        and "wrong with probability at most 0.001" in page
    )
    assert (
        "The label agrees" in page and "An attack" in page and "up the gradient" in page
    )
    assert "not name its data set" in page
    assert "The label says 0: the answer is wrong" in explanation_page(
        replace(found, label=0)
    )
    page = explanation_page(explained(level=0.5))
    assert "<h1>No answer is certified</h1>" in page and "abstains" in page
    assert 'class="ruler"' not in page  # there is no distance to draw
    assert (
        "L2 norm below" not in page
        and "nothing to attack" in page
        and "An attack</h2>" not in page
    )


def test_one_radius_is_one_number_on_its_page_and_no_point_of_the_ball_lies_beyond_it() -> (
    None
):
    for level in (0.54, 0.55, 0.56):
        found = explained(level=level)
        radius = printed_radius(found.radius)
        words = re.sub(r"<[^>]+>", " ", explanation_page(found).partition("<main>")[2])
        said = re.findall(r"norm below ([\d.]+\d)|lies between ([\d.]+\d)", words)
        stated = {number for numbers in said for number in numbers if number}
        assert stated == {radius} and len([*filter(any, said)]) == 2, (level, said)
        assert found.attempts is not None
        distance = found.attempts.inside.distance
        (inside,) = re.findall(r"Inside the ball: L2 ([\d.]+)", words)
        assert float(inside) <= distance < float(radius) <= found.radius
        assert distance > 0.9 * found.radius
        single = re.search(r"a single value by (\d+) of 255 levels", words)
        assert single is not None and int(single[1]) / 255 < float(radius)


def test_images_of_one_split_are_not_called_training_images(tmp_path: Path) -> None:
    digits = rs.data.load("digits", "test")
    x, y = digits.batch(list(range(20)))
    model, image = Brightness().eval(), torch.full((1, 8, 8), 0.7)
    labels = np.minimum(y.numpy(), 1)
    for training, words in (
        ("digits", "training images of digits"),
        ((x.numpy(), labels), "20 images of"),
    ):
        found = rs.explain(
            model, image, sigma=0.5, n=200, seed=0, attack=False, training=training
        )
        page = re.sub(r"<[^>]+>", " ", explanation_page(found))
        assert words in page and ("training images of" in page) == (
            training == "digits"
        )


def test_every_length_says_the_unit_where_each_coordinate_has_its_own() -> None:
    noise = Deviations(0.25).noise_for(np.full((1, 8, 8), 0.4))
    units = (
        (noise, "in standard deviations of each feature"),
        (GaussianPerCoordinate(noise.std), "in standard deviations of the noise"),
    )
    for each, unit in units:
        page = explanation_page(explained(sigma=None, noise=each))
        assert page.count(unit) >= 4, (
            unit
        )  # the answer, the vote, distances, and what the attack found
        assert all(
            unit in part for part in re.findall(r"L2 norm (?:below )?[\d.]+.{60}", page)
        ), unit


@pytest.mark.parametrize("text", ["uniform=0.6", "laplace=0.3", "splitting=0.5"])
def test_the_page_tells_what_another_noise_than_gaussian_does(text: str) -> None:
    found = explained(sigma=None, noise=text)
    page = explanation_page(found)
    named = f"{found.noise.text}: {found.noise.summary}"
    assert html.escape(named, quote=False) in page
    assert printed_radius(found.radius) in page
    assert "σ" not in page


def test_the_page_tells_how_many_pixels_ablation_keeps() -> None:
    class FirstKept(torch.nn.Module):
        """Class 1 where most of the pixels that are not hidden are bright."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            values, shown = x.flatten(2).unbind(1)
            mean = (values * shown).sum(1) / shown.sum(1) - 0.5
            return torch.stack([-mean, mean], dim=1)

    image = torch.full((1, 8, 8), 0.7)
    found = rs.explain(FirstKept().eval(), image, noise="ablation=5", n=1000, seed=0)
    page = explanation_page(found)
    assert html.escape(f"ablation=5: {found.noise.summary}", quote=False) in page


def with_counts(found: Explanation, own: int, *rivals: int) -> Explanation:
    """The same image with other counts: those of the picked class, and of its rivals."""
    counts = np.zeros((1, 1 + len(rivals)), np.int64)
    counts0 = np.zeros_like(counts)
    counts0[0, 0] = 1
    counts[0] = [own, *rivals]
    certified = replace(
        found.certified, counts0=counts0, counts=counts, predict=np.array([ABSTAIN])
    )
    classes = tuple(map(str, range(counts.shape[1])))
    return replace(found, certified=certified, classes=classes)


def test_an_abstention_says_what_may_certify_the_class() -> None:
    found = explained(level=0.5, attack=False)
    for own, reason, enough in (
        (520, "too few samples", 10_000),
        (501, "near one half", None),
        (440, "another class", None),
        (500, "no majority", None),
    ):
        abstention = why_abstained(with_counts(found, own, 1000 - own))
        assert abstention is not None
        assert (abstention.reason, abstention.enough) == (reason, enough)
        # Of two classes, one is ahead where it has a majority.
        assert (abstention.best is None) == (enough is None)
    assert why_abstained(explained(attack=False)) is None


def test_an_abstention_says_what_other_bounds_certify_from_its_counts() -> None:
    found = with_counts(explained(level=0.5, attack=False), 220, 103, 97, 80)
    abstention = why_abstained(found)
    assert abstention is not None and abstention.reason == "no majority"
    # From the same counts in the words of a table.
    for each in abstention.certifying:
        table = rs.certificates.from_counts(
            found.certified.counts, picked=[0], sigma=0.5, bound=each.bound
        )
        assert each.radius == table.radius[0] > 0.0 and table.predict[0] == 0
        assert list(each.growth) == sorted(each.growth) and each.enough == 1000
        assert each.growth[-1] < each.limit
        assert f"{each.bound} certifies" in explanation_page(found)
    pairwise, two_sided = abstention.certifying
    assert (pairwise.bound, two_sided.bound) == ("pairwise", "two-sided")
    assert pairwise.radius == pytest.approx(0.0801, abs=1e-4)
    # A tie is certified by no bound.
    tied = why_abstained(with_counts(found, 200, 200, 100))
    assert tied is not None and tied.best is None


def test_no_advice_is_given_that_the_model_already_follows() -> None:
    tied = with_counts(explained(level=0.5, attack=False), 400, 400, 200)
    pages = {
        noise: explanation_page(replace(tied, trained_noise=noise))
        for noise in (None, Gaussian(0.5), Gaussian(0.25))
    }
    assert len(set(pages.values())) == 3
    assert tied.trained_with_its_noise is None
    known = [
        replace(tied, trained_noise=Gaussian(sigma)).trained_with_its_noise
        for sigma in (0.5, 0.25)
    ]
    assert known == [True, False]
    image = torch.from_numpy(tied.image)
    demo = rs.explain("demo", image, n=200, attack=False, training=False)
    assert demo.trained_with_its_noise is True


def test_names_that_would_act_on_a_page_are_text() -> None:
    found = explained(attack=False)
    usual = explanation_page(found, command="randsmooth explain")
    for name in (
        NASTY[each]
        for each in ("script", "end of style and title", "double quote", "template")
    ):
        page = explanation_page(
            replace(found, name=name, classes=(name, name)), command=name or "x"
        )
        assert [page.count(mark) for mark in '<>"'] == [
            usual.count(mark) for mark in '<>"'
        ], name
    assert "<script" not in usual


def test_denoised_copies_are_shown_and_ensembles_are_named() -> None:
    denoised = rs.Denoised(lambda noisy: noisy.clamp(0, 1), Brightness().eval())
    found = rs.explain(
        denoised, torch.full((1, 8, 8), 0.7), sigma=0.5, n=200, seed=0, attack=False
    )
    assert found.copies.denoised is not None and found.copies.denoised.min() >= 0.0
    assert "What the denoiser makes of them" in explanation_page(found)
    pair = rs.Ensemble([Brightness().eval(), Brightness().eval()])
    page = explanation_page(
        rs.explain(
            pair, torch.full((1, 8, 8), 0.7), sigma=0.5, n=200, seed=0, attack=False
        )
    )
    assert "an ensemble of 2" in page


def test_training_images_that_are_named_are_brought_to_the_size_that_the_model_takes(
    tmp_path: Path,
) -> None:
    x, y = (
        np.random.default_rng(0).integers(0, 256, (12, 16, 16), dtype=np.uint8),
        np.arange(12) % 2,
    )
    np.savez(tmp_path / "mine.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    model = untrained(tmp_path / "m", ["a", "b"], sigma=0.25, resize="8")
    how = {"n": 200, "attack": False, "training": str(tmp_path / "mine.npz")}
    found = rs.explain(str(model), torch.rand(1, 8, 8), **how).neighbours  # type: ignore[arg-type]
    assert found is not None and found.same is not None
    assert (found.compared, found.same.pixels.shape) == (12, (1, 8, 8))


def test_what_the_page_does_not_explain_is_refused() -> None:
    for options, said in (
        ({"rule": "grid"}, Refusal(BadValue, "rule='grid'")),
        ({"sigma": None}, Refusal(MissingValue, field="sigma")),
    ):
        said.check(problem_of(explained, **options))


def test_the_changes_that_are_named_lie_inside_the_ball() -> None:
    for radius, d in (
        (0.62, 64),
        (2.5, 3072),
        (1.0, 784),
        (1.01, 784),
        (0.3, 150528),
        (7.9, 64),
    ):
        words = examples(Gaussian(0.5), radius, d)
        every, single = (
            re.search(f"{what} value by ([\\d.]+)", words)
            for what in ("every", "a single")
        )
        wholly = re.search(r"(\d+|a single) values? from black to white", words)
        assert (single is None) != (wholly is None), words
        if every is not None:
            most = float(linf_radius(radius, d))
            assert most - 0.11 / 255 < float(every[1]) / 255 < most, words
        count = (
            0 if wholly is None else 1 if wholly[1] == "a single" else int(wholly[1])
        )
        assert single is None or int(single[1]) / 255 < radius, words
        assert count <= d and np.sqrt(count) < radius, words
    assert examples(Gaussian(0.5), 8.1, 64) == "every value from black to white"


@pytest.mark.slow
def test_nothing_of_the_page_is_cut_off_or_fetched(tmp_path: Path) -> None:
    long = ["a class with a rather long name that goes on", "bright"]
    with chromium() as page:
        for shape, width, dark in itertools.product(
            [(1, 8, 8), (3, 48, 40)], (390, 1280), (False, True)
        ):
            x, y = (
                np.random.default_rng(0).random((40, *shape), np.float32),
                np.arange(40) % 2,
            )
            found = explained(shape=shape, classes=long, training=(x, y), label=1)
            (tmp_path / "page.html").write_text(
                explanation_page(found, command="randsmooth explain " + "x" * 200)
            )
            page.look(width, 2000, dark=dark)
            page.go((tmp_path / "page.html").as_uri())
            scroll, wide, broken, pictures = page.run(PROBE)
            assert scroll <= 0 and wide == broken == 0 < 15 < pictures, (shape, width)
        assert page.asked() == [] and page.errors() == []
