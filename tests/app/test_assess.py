"""What `assess` finds of a model, and what its page says of it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

import randsmooth as rs
from app.brightness import Brightness
from chromium import chromium
from models.refusing import problem_of
from nasty import NASTY
from randsmooth import metrics
from randsmooth.app import Assessment, Candidate, assessing, assessment_figure
from randsmooth.app.assessment_figure import UNCHANGED, figure
from randsmooth.app.assessment_page import FILES, advice, assessment_page
from randsmooth.errors import BadValue, Conflict, TooFewSamples, WrongData
from randsmooth.noise import Uniform
from values import Refusal

ONE = metrics.share([True] * 64)
MARGINS = {"clear": 0.2, "slight": 0.003}  # of an image's brightness from mid-grey
TOO_WIDE = """[...document.querySelectorAll("body, main *")].filter((one) =>
  one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".box")).length"""


def images(margin: float, number: int = 60) -> tuple[Tensor, Tensor]:
    y = torch.arange(number) % 2
    levels = 0.5 + margin * (2.0 * y - 1.0) * (1.0 + torch.arange(number) / number)
    return levels[:, None, None, None].expand(-1, 1, 8, 8).clone(), y


def assessed(margin: float = 0.2, sign: float = 1.0, **options: object) -> Assessment:
    how: dict[str, object] = {"n": 500, "take": 12, "sigmas": [0.25, 0.5]} | options
    return rs.assess(Brightness(sign).eval(), images(margin), **how)  # type: ignore[arg-type]


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Less time for the plan and for attacks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assessing, "PLAN_SECONDS", 0.05)
        patch.setattr(assessing, "SECONDS_FOR_CERTIFICATES", 1.0)
        patch.setattr(assessing, "SECONDS_FOR_ATTACKS", 1.0)
        yield


@pytest.fixture(scope="module")
def found() -> Assessment:
    """Three images are attacked, however slow the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assessing, "MOST_ATTACKED", 3)
        patch.setattr(assessing, "SECONDS_FOR_ATTACKS", 600.0)
        return assessed()


def test_the_certificates_are_those_of_certify_and_the_noise_was_chosen_on_other_images(
    found: Assessment,
) -> None:
    own = rs.certify(
        Brightness().eval(), images(0.2), found.table.header.settings, take=12
    )
    assert (own.evidence()[1] == found.table.evidence()[1]).all() and (
        own.idx == found.table.idx
    ).all()
    assert found.chosen in found.candidates and found.noise == found.table.header.noise
    assert found.clean.value == 1.0 and found.clean.images == 60
    assert (
        found.chosen.expected.images == 60 - 12
    )  # all others, of which there are no more
    assert (
        found.right == 12
        and not found.abstained
        and [*found.certified][:3] == [0.0, 0.25, 0.5]
    )


def test_attacks_change_answers_beyond_the_radius_alone(found: Assessment) -> None:
    assert found.attempts and not found.failed and found.changed
    radius = found.table.radius
    assert all(distance > radius[row] for row, distance in found.changed.items())
    row = min(found.changed, key=lambda row: found.changed[row])
    wrong = replace(
        found.attempts[row].inside, predict=1 - int(found.table.predict[row])
    )
    refuted = replace(found, attempts={row: replace(found.attempts[row], inside=wrong)})
    assert refuted.failed == [
        row
    ] and "these certificates are wrong" in assessment_page(refuted)


def test_one_attacked_image_is_a_mark_and_no_curve(
    found: Assessment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = min(found.changed, key=lambda row: found.changed[row])
    tried = found.attempts[row]
    unchanged = replace(tried, outside=None)
    for attempt, at, told in (
        (tried, found.changed[row], f"changed at {found.changed[row]:.2f}"),
        (unchanged, tried.farthest, "unchanged to"),
    ):
        one = replace(found, attempts={row: attempt})
        line = figure(one).lines[-1]
        assert line.kind == "points" and len(line.x) == 1 and told in line.name
        assert line.x[0] == pytest.approx(min(at, figure(one).x_range[1]))  # type: ignore[index]
        page = assessment_page(one)
        assert (
            page.count('<span class="dot attacked') == 1
            and page.count("<polyline") == 3
        )
    rs.app.write_assessment(one, tmp_path)
    monkeypatch.setattr(assessment_figure, "FEWEST_IN_A_CURVE", 2)
    assert figure(found).lines[-1].kind == "step"
    assert 'class="dot' not in assessment_page(found)


def test_each_of_few_attacked_images_has_a_mark(found: Assessment) -> None:
    rows = sorted(found.changed, key=lambda row: found.changed[row])[:2]
    near, far = (found.attempts[row] for row in rows)
    kept = replace(far, outside=None)
    few = replace(found, attempts={rows[1]: kept, rows[0]: near})
    line = figure(few).lines[-1]
    assert line.kind == "points"
    end = figure(few).x_range[1]  # type: ignore[index]
    assert line.x[0] == pytest.approx(min(end, found.changed[rows[0]]))
    assert line.labels == ("", UNCHANGED)
    # The second stands where one of two right answers is left.
    assert line.y[1] == pytest.approx(line.y[0] / 2.0)
    page = assessment_page(few)
    assert page.count('<span class="dot attacked') == 2
    assert page.count('<span class="dot attacked open"') == 1


def test_figures_reach_json_and_page(found: Assessment) -> None:
    told = json.loads(json.dumps(found.to_dict()))
    assert told["right"] + told["wrong"] + told["abstained"] == 12 and told[
        "attacked"
    ] == len(found.attempts)
    assert [each["chosen"] for each in told["noises"]].count(True) == 1
    page = assessment_page(found, command="randsmooth assess")
    assert (
        found.attacked.startswith(f"{len(found.attempts)} of the 12 images")
        and found.attacked in page
    )
    assert ("chosen by chance (at most 20" in found.attacked) == (
        len(found.attempts) < 12
    )
    for part in (
        "provably keep the right answer within 0.25",
        "do not show that an answer is right",
        "<polyline",
    ):
        assert part in page, part
    for name in (NASTY[each] for each in ("script", "double quote", "template")):
        other = assessment_page(replace(found, name=name), command="randsmooth assess")
        assert [other.count(mark) for mark in "<>"] == [
            page.count(mark) for mark in "<>"
        ], name


def test_the_page_says_what_stands_in_the_way() -> None:
    table = {"": (0.2, 1.0), "unlearnt": (0.003, 1.0), "guesses": (0.2, -1.0)}
    said = {
        "": "answer by the vote",
        "unlearnt": "not trained with noise",
        "guesses": "gets its images as in its training",
    }
    for word, (margin, sign) in table.items():
        one = assessed(margin, sign, sigmas=[0.5], n=200)
        assert (advice(one), said[word] in assessment_page(one)) == (word, True), word
    alike = replace(
        one,
        table=replace(one.table, predict=np.full_like(one.table.predict, 3)),
        clean=metrics.share([True]),
    )
    assert advice(
        alike
    ) == "one class" and "names one class for nearly every image" in assessment_page(
        alike
    )


class GivesUp(Brightness):
    """As `Brightness`, but under much noise it names class 0 whatever it sees."""

    def forward(self, x: Tensor) -> Tensor:
        logits = super().forward(x)
        noisy = x.flatten(1).std(dim=1) > 0.3
        logits[noisy] = torch.tensor([1.0, 0.0])
        return logits


@pytest.mark.parametrize("ones", [30, 15])
def test_the_noise_that_is_stated_is_that_of_the_certificates_and_one_class_for_all_is_not_chosen(
    ones: int,
) -> None:
    x, y = images(0.2, 120)
    some = torch.cat(
        [torch.where(y == 0)[0][: 60 - ones], torch.where(y == 1)[0][:ones]]
    )
    found = rs.assess(
        GivesUp().eval(), (x[some], y[some]), n=500, take=12, sigmas=[0.05, 0.5]
    )
    assert found.guess == pytest.approx(1.0 - ones / 60)
    assert (
        max(found.candidates, key=lambda each: each.expected.value).noise.text
        == "gaussian=0.5"
    )
    assert (
        found.chosen.noise
        == found.noise
        == found.table.header.noise
        == rs.noise.Gaussian(0.05)
    )
    told = [(each["noise"], each["chosen"]) for each in found.to_dict()["noises"]]
    assert told == [("gaussian=0.05", True), ("gaussian=0.5", False)]


@pytest.mark.slow
def test_better_than_guessing_is_better_than_the_largest_class() -> None:
    """Of pilots from populations with shares of many sizes: one class for all is chosen in few, by 1 / K in most."""
    rng, K, runs = np.random.default_rng(0), 10, 1000
    useful = Candidate(
        rs.noise.Gaussian(0.1), ONE, metrics.mean([0.2] * 64, (0.0, 1.0)), 1000, 0.2
    )

    def given_up(guess: float, largest: float) -> float:
        taken = 0
        for _ in range(runs):
            right = rng.random(64) < largest
            constant = Candidate(
                rs.noise.Gaussian(0.5), metrics.mean(right, (0.0, 1.0)), ONE, 1000, 1.0
            )
            taken += assessing.choose([constant, useful], guess) is constant
        return taken / runs

    for largest in (0.12, 0.3, 0.5, 0.8):
        assert given_up(largest, largest) < 0.05, largest
        assert largest < 0.2 or given_up(1.0 / K, largest) > 0.5, (
            largest,
            "the control",
        )


def test_too_few_samples_are_no_flaw_of_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = assessed(sigmas=[0.25], n=50)
    page = assessment_page(few, predict="randsmooth predict new.png")
    assert (
        few.least == 301
        and few.reach == 0.28
        and "<td>–</td>" in page
        and "randsmooth predict new.png" in page
    )
    for part in (
        "samples cannot prove 0.5",
        "--n 301",
        "<b>More samples</b>",
        "Did you expect 100%",
    ):
        assert part in page, part
    monkeypatch.setattr(assessing, "SECONDS_FOR_CERTIFICATES", 1e-9)
    assert (
        assessed(sigmas=[0.25], n=None).table.header.n == 200
    )  # as no time allows more
    monkeypatch.setattr(assessing, "TIMES_LONGER_FOR_RADIUS", 1e12)
    assert (
        assessed(sigmas=[0.25], n=None).table.header.n == 500
    )  # the least that reaches 0.5


def test_one_noise_of_another_norm_is_not_chosen_but_taken() -> None:
    one = assessed(sigmas=None, noise=Uniform(1.0))
    assert [each.noise.text for each in one.candidates] == [
        "uniform=1"
    ] and "L1 norm" in assessment_page(one)


def test_what_cannot_be_assessed_is_refused() -> None:
    x, y = images(0.2)
    model = Brightness().eval()
    table: list[tuple[dict[str, Any], Refusal]] = [
        ({"dataset": (x[:19], y[:19])}, Refusal(WrongData, "20")),
        ({"dataset": x}, Refusal(WrongData)),
        ({"dataset": x.flatten(1)}, Refusal(WrongData, "60")),
        ({"radius": 0.0}, Refusal(BadValue, "radius=0")),
        ({"sigmas": [0.25], "noise": Uniform(1.0)}, Refusal(Conflict)),
        ({"n": 5}, Refusal(TooFewSamples, "n=5")),
    ]
    for options, part in table:
        part.check(problem_of(rs.assess, model, **{"dataset": (x, y), **options}))


def test_rows_of_features_are_assessed_in_their_own_deviations() -> None:
    """A plane through two columns: what is proved stays below the distance to it, in deviations of the columns."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"grams": rng.normal(0.0, 1000.0, 400), "metres": rng.normal(0.0, 0.01, 400)}
    )
    target = (table.grams / 1000.0 + table.metres / 0.01 > 0.0).to_numpy().astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=100.0)).fit(
        table, target
    )
    found = rs.assess(model, table.assign(target=target), n=500, take=30)
    assert [each.noise.text.partition("-")[0] for each in found.candidates] == [
        "gaussian"
    ] * 4
    assert [each.noise.scale for each in found.candidates] == [0.1, 0.25, 0.5, 1.0]
    assert (
        found.noise.norm == "deviations"
        and found.clean.value > 0.97
        and not found.failed
    )
    std = table.std(ddof=0)
    weights = model[-1].coef_[0] * std / model[0].scale_
    margin = np.abs(model.decision_function(table)) / np.linalg.norm(weights)
    assert (found.table.radius <= margin[found.table.idx] + 1e-6).all()
    assert found.right > 20 and found.certified[found.reach / 2].value > 0.5
    page = assessment_page(
        found, command="randsmooth assess", predict="randsmooth predict new.png"
    )
    told = page[page.index("<main>") :]
    for part in (
        "standard deviations of each feature",
        "one feature by 0.50 of its standard deviation",
    ):
        assert part in told, part
    if found.changed:
        assert '<th scope="row"><bdi>grams</bdi></th>' in told
    for word in ("pixel", "image", "camera", "predict new.png", "network"):
        assert word not in told, word
    assert found.to_dict()["norm"] == "deviations"
    given = rs.assess(
        model, table.assign(target=target), sigmas=["0.5std"], n=200, take=20
    )
    assert [each.noise.scale for each in given.candidates] == [0.5]


@pytest.mark.slow
def test_a_forest_gets_its_page() -> None:
    wine = load_wine(as_frame=True)
    forest = RandomForestClassifier(5, random_state=0).fit(
        wine.data[::2], wine.target[::2]
    )
    found = rs.assess(forest, wine.frame[1::2], sigmas=["0.25std"], n=100, take=20)
    page = assessment_page(found)
    assert (
        found.clean.value > 0.85
        and "RandomForestClassifier" in page
        and found.columns == tuple(wine.data.columns)
    )
    assert "<th>rows of 20</th>" in page


@pytest.mark.slow
def test_the_page_fits_a_phone_and_a_screen(found: Assessment, tmp_path: Path) -> None:
    rs.app.write_assessment(found, tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(FILES)
    with chromium() as page:
        for width in (390, 1280):
            page.look(width, 900)
            page.go((tmp_path / FILES[0]).as_uri())
            assert (page.run(TOO_WIDE), page.asked(), page.errors()) == (0, [], []), (
                width
            )
