"""Models that decline: a class of its own in the vote, certified and attacked like any.

The usual way out leaves declined answers out of the vote. Its radius is wrong: a classifier
in the plane, whose probabilities are known, has another answer within it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from scipy import integrate, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor, nn

import randsmooth as rs
from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates, Header, from_evidence, read, write_tsv
from randsmooth.certification import attack
from randsmooth.documents import parse_json
from randsmooth.errors import OutputExists, Problem, WrongData, WrongModel, WrongTable
from randsmooth.models import Classifier, Ensemble, FunctionModel, wrap

ON_DIGITS: dict[str, Any] = {
    "dataset": "digits",
    "sigma": 0.25,
    "n0": 50,
    "n": 400,
    "take": 12,
    "identity": "a guard",
    "progress": False,
}


def labels_of_brightness(x: NDArray[np.float32]) -> NDArray[np.int64]:
    """Labels 0 to 9 by brightness, -1 for bright copies."""
    brightness = x.reshape(len(x), -1).mean(axis=1)
    labels = (brightness * 20).astype(np.int64).clip(0, 9)
    return np.where(brightness > 0.31, -1, labels)


def with_none(x: NDArray[np.float32]) -> list[int | None]:
    return [None if k == -1 else int(k) for k in labels_of_brightness(x)]


def with_nan(x: NDArray[np.float32]) -> NDArray[np.float64]:
    labels = labels_of_brightness(x)
    return np.where(labels == -1, np.nan, labels)


def as_tensor(x: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(with_nan(x)).bfloat16()


def with_ten(x: NDArray[np.float32]) -> NDArray[np.int64]:
    labels = labels_of_brightness(x)
    return np.where(labels == -1, 10, labels)


def as_logits(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.eye(11, dtype=np.float32)[with_ten(x)]


class Bright(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that declines by one value, which is none of its classes."""

    def __init__(self, refusal: Any = -1) -> None:
        self.refusal = refusal
        self.classes_ = np.arange(10)

    def fit(self, x: Any, y: Any) -> Bright:
        return self

    def predict(self, x: NDArray[np.float64]) -> NDArray[Any]:
        labels = labels_of_brightness(x.astype(np.float32))
        answers = [self.refusal if k == -1 else k for k in labels]
        is_number = isinstance(self.refusal, int | float)
        return np.array(answers, None if is_number else object)


class Network(nn.Module):
    """The same as a network of eleven logits."""

    def __init__(self, classes: int = 11) -> None:
        super().__init__()
        self.classes_of_it = classes
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        labels = torch.from_numpy(with_ten(x.cpu().numpy())).clamp(
            max=self.classes_of_it - 1
        )
        return self.scale * nn.functional.one_hot(labels, self.classes_of_it).float()


@pytest.fixture(scope="module")
def declining() -> Certificates:
    return rs.certify(labels_of_brightness, refusal="class", **ON_DIGITS)


@pytest.mark.parametrize(
    "model",
    [
        with_none,
        with_nan,
        as_tensor,
        with_ten,
        as_logits,
        Bright(),
        Bright(float("nan")),
        Bright(None),
        Bright("declined"),
        Network().eval(),
        wrap(labels_of_brightness),
        FunctionModel(labels_of_brightness, num_classes=10),
        Ensemble([labels_of_brightness, with_none], "vote"),
    ],
    ids=lambda model: getattr(model, "__name__", type(model).__name__),
)
def test_every_way_to_decline_is_counted_as_one_class(
    model: object, declining: Certificates
) -> None:
    table = rs.certify(model, refusal="class", **ON_DIGITS)
    assert table.header.classes == (*map(str, range(10)), "declined")
    assert table.header.refusal == 10
    if isinstance(model, Bright):
        # It is asked in float64, where a copy at the edge of two classes may differ.
        assert abs(table.evidence()[1] - declining.evidence()[1]).max() <= 2
    else:
        np.testing.assert_array_equal(table.evidence()[1], declining.evidence()[1])


@pytest.mark.parametrize("model", [labels_of_brightness, with_none, with_nan, Bright()])
def test_without_the_setting_declining_is_an_error_that_names_it(model: object) -> None:
    with pytest.raises(WrongModel) as error:
        rs.certify(model, **ON_DIGITS)
    assert error.value.field == "refusal"


def test_floats_are_labels_only_where_all_are_whole_and_the_model_may_decline() -> None:
    def shares(x: NDArray[np.float32]) -> Tensor:
        return torch.from_numpy(x).flatten(1).mean(dim=1).bfloat16()

    for setting in (None, "class"):
        with pytest.raises(WrongModel) as error:
            rs.certify(shares, refusal=setting, **ON_DIGITS)
        assert error.value.field is None


def test_an_estimator_whose_label_is_none_of_its_classes_is_refused() -> None:
    with pytest.raises(WrongModel):
        rs.certify(Bright(77), refusal="class", **ON_DIGITS)


def test_a_network_needs_a_logit_for_it_that_no_label_has() -> None:
    with pytest.raises(WrongModel):
        rs.certify(Network(10).eval(), refusal="class", **ON_DIGITS)

    x = np.zeros((10, 1, 8, 8), np.float32)
    options = {**ON_DIGITS, "dataset": (x, np.arange(10)), "take": 2}
    with pytest.raises(WrongData) as error:
        rs.certify(Network(10).eval(), refusal="class", **options | {"take": 10})
    assert error.value.field == "refusal"

    table = rs.certify(Network().eval(), refusal="class", **options)
    assert (table.header.classes or ())[10] == "declined"


def test_a_class_of_the_model_that_is_named_means_declined() -> None:
    names = [*map(str, range(9)), "none", "9"]
    model = Classifier(arch="small-cnn", classes=names, shape=(1, 8, 8)).eval()
    options = {**ON_DIGITS, "n": 50, "take": 2}
    table = rs.certify(model, refusal="none", **options)
    assert table.header.classes == tuple(names) and table.header.refusal == 9
    with pytest.raises(WrongModel) as error:
        rs.certify(model, refusal="class", **options)
    assert error.value.field == "refusal"


def test_declined_is_apart_from_abstained_right_and_wrong(
    declining: Certificates,
) -> None:
    parts = [
        declining.correct,
        declining.wrong,
        declining.declined,
        declining.predict == -1,
    ]
    np.testing.assert_array_equal(np.sum(parts, axis=0), 1)
    assert declining.declined.any()
    assert not declining.correct[declining.declined].any()

    declined = metrics.declined(declining)
    assert declined.value == declining.declined.mean()
    summary = metrics.summarise(declining, [0.0])
    assert summary.declined == declined
    accuracy = summary.accuracy[0.0]
    assert accuracy is not None and accuracy.value == declining.correct.mean()

    # p_A is the share of the label among all samples, declined ones too.
    _, counts = declining.evidence()
    of_label = counts[np.arange(len(declining)), declining.label]
    np.testing.assert_allclose(metrics.p_a(declining).values, of_label / 400)


def test_the_share_declined_is_in_every_format(declining: Certificates) -> None:
    share = declining.declined.mean()
    text = rs.report.render([declining], format="json")
    (facts,) = parse_json(text, "metrics")["tables"]
    assert facts["declined"]["value"] == share
    assert facts["header"]["refusal"] == 10
    for format in ("text", "md"):
        assert "declined" in rs.report.render([declining], format=format)
    plain = rs.certify("demo", **{**ON_DIGITS, "take": 3})
    assert "declined" not in rs.report.render([plain])
    rows = rs.report.render([declining, plain], format="csv").splitlines()
    column = rows[0].split(",").index("declined")
    assert float(rows[1].split(",")[column]) == pytest.approx(share)
    assert rows[2].split(",")[column] == ""


def test_files_keep_it(declining: Certificates, tmp_path: Path) -> None:
    rs.certificates.write_parquet(declining, tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet")
    assert table.header.refusal == 10
    np.testing.assert_array_equal(table.declined, declining.declined)
    columns = pd.read_parquet(tmp_path / "t.parquet")
    np.testing.assert_array_equal(columns["declined"], declining.declined)

    # A log of the literature has numbers of classes alone: its readers would count the
    # declined images as wrong answers.
    with pytest.raises(WrongTable):
        write_tsv(declining, tmp_path / "t.tsv")


def test_a_class_that_is_not_counted_cannot_be_the_refusal(
    declining: Certificates,
) -> None:
    counts0, counts = declining.evidence()
    with pytest.raises(Problem):
        from_evidence(
            declining.header.replace(refusal=11),
            idx=declining.idx,
            label=declining.label,
            counts0=counts0,
            counts=counts,
            seconds=declining.seconds,
        )


def test_shards_are_merged_and_a_run_resumes_under_the_same_setting(
    declining: Certificates, tmp_path: Path
) -> None:
    out = tmp_path / "t.parquet"
    for shard in ("1/2", "2/2"):
        rs.certify(
            labels_of_brightness, refusal="class", out=out, shard=shard, **ON_DIGITS
        )
    merged = rs.certificates.merge(sorted(tmp_path.glob("*.parquet")))
    np.testing.assert_array_equal(merged.evidence()[1], declining.evidence()[1])
    assert merged.header.refusal == 10

    whole = tmp_path / "whole.parquet"
    rs.certify(labels_of_brightness, refusal="class", out=whole, **ON_DIGITS)
    resumed = rs.certify(
        labels_of_brightness, refusal="class", out=whole, resume=True, **ON_DIGITS
    )
    np.testing.assert_array_equal(resumed.predict, declining.predict)
    with pytest.raises(OutputExists):
        rs.certify(
            labels_of_brightness, refusal="no", out=whole, resume=True, **ON_DIGITS
        )


def test_a_smoothed_classifier_and_an_explanation_tell_it(
    declining: Certificates,
) -> None:
    row = int(np.flatnonzero(declining.declined)[0])
    images = rs.data.load("digits", "test")
    (x,), (y,) = images.batch([int(declining.idx[row])])
    smoothed = rs.SmoothedClassifier(
        labels_of_brightness, sigma=0.25, num_classes=10, refusal="class", seed=0
    )
    certified = smoothed.certify(x, n0=50, n=400)
    assert certified.predict.tolist() == [10] and certified.declined.all()
    np.testing.assert_array_equal(certified.counts[0], declining.evidence()[1][row])
    assert smoothed.predict(x).tolist() == [smoothed.refusal] == [10]

    explained = rs.explain(
        labels_of_brightness,
        x,
        label=int(y),
        sigma=0.25,
        n=400,
        num_classes=10,
        refusal="class",
        training=False,
        attack=False,
    )
    assert explained.declined and explained.classes[10] == "declined"


# The counterexample, for sigma = 1. The base classifier answers 0 to the left of EDGE and 1
# to the right of it, and declines in the rectangle [FROM, EDGE) x (-HALF, HALF).
FROM = 1.6
EDGE = 2.3
HALF = 3.0
# The plane is turned, so that no search finds its way along an axis.
TURN = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
# The image, in the coordinates in which the edges are upright, and others for walks.
PLACES = np.array([[0.0, 0.0], [0.0, 0.5], [0.2, -0.5], [5.0, 0.0], [5.0, 1.0]])


def strip(z: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Labels of points (B, 2), -1 where the classifier declines."""
    across, along = (z @ TURN).T
    declines = (across >= FROM) & (across < EDGE) & (abs(along) < HALF)
    return np.where(declines, -1, (across >= EDGE).astype(np.int64))


def probabilities(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probabilities of 0, 1 and declined at places (..., 2), in closed form."""
    across, along = places[..., 0], places[..., 1]
    cdf = stats.norm.cdf
    right = cdf(across - EDGE)
    in_strip = cdf(EDGE - across) - cdf(FROM - across)
    declined = in_strip * (cdf(HALF - along) - cdf(-HALF - along))
    return np.stack([1.0 - right - declined, right, declined], axis=-1)


def ball(place: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Points (M, 2) all over the ball, its border among them."""
    angles = np.linspace(0.0, 2.0 * np.pi, 180, endpoint=False)
    lengths = np.linspace(0.0, radius, 60)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    points = place + lengths[:, None, None] * circle
    return np.asarray(points.reshape(-1, 2), np.float64)


def conditional_radius(counts: NDArray[np.int64], alpha: float) -> Any:
    """The radius that leaving declined answers out of the vote claims, from counts (N, 3)."""
    answered = counts[:, :2].sum(axis=1)
    q = [
        bounds.q_upper(int(k), int(m), alpha)
        for k, m in zip(counts[:, :2].max(axis=1), answered, strict=True)
    ]
    return stats.norm.isf(np.array(q, np.float64))


def test_the_closed_form_is_the_integral_of_the_classifier() -> None:
    place = np.array([1.1, 0.7])

    def density(along: float, across: float) -> float:
        return float(stats.norm.pdf(across - place[0]) * stats.norm.pdf(along - 0.7))

    declined, _ = integrate.dblquad(density, FROM, EDGE, -HALF, HALF)
    right, _ = integrate.dblquad(density, EDGE, 12.0, -12.0, 12.0)
    expected = probabilities(place)
    np.testing.assert_allclose([right, declined], expected[1:], atol=1e-7)
    # The code answers as the regions say.
    noise = np.random.default_rng(0).standard_normal((200_000, 2))
    labels = strip((place + noise) @ TURN.T)
    shares = [(labels == k).mean() for k in (0, 1, -1)]
    np.testing.assert_allclose(shares, expected, atol=0.005)


@pytest.fixture(scope="module")
def plane() -> Certificates:
    points = (PLACES @ TURN.T).astype(np.float32)
    return rs.certify(
        strip,
        (points, np.array([0, 0, 0, 1, 1])),
        sigma=1.0,
        n=10_000,
        refusal="class",
        num_classes=2,
        identity="strip",
        progress=False,
    )


def test_the_joint_radius_holds_by_quadrature_and_under_attack(
    plane: Certificates,
) -> None:
    assert plane.predict.tolist() == [0, 0, 0, 1, 1]
    for place, predict, radius in zip(PLACES, plane.predict, plane.radius, strict=True):
        assert (probabilities(ball(place, radius)).argmax(axis=1) == predict).all()
    points = (PLACES @ TURN.T).astype(np.float32)
    attacks = attack(
        strip,
        plane,
        (points, plane.label),
        identity="strip",
        restarts=2,
        progress=False,
    )
    assert len(attacks) == 5 and not attacks.failed.any()


def test_the_conditional_radius_is_refuted_by_quadrature_and_by_attack(
    plane: Certificates,
) -> None:
    _, counts = plane.evidence()
    alpha = plane.header.alpha or 0.0
    claimed = conditional_radius(counts, alpha)[:3]
    assert (claimed > plane.radius[:3] + 0.5).all()

    # Within the claimed radius, the most frequent answer that is given becomes 1.
    for place, radius in zip(PLACES[:3], claimed, strict=True):
        inside = probabilities(ball(place, radius))
        assert (inside[:, 1] > inside[:, 0]).any()
        assert (probabilities(place)[:2].argmax()) == 0

    # A point where 1 is the most frequent of all classes refutes both ways to count: at
    # it, 1 is also the most frequent of the answers that are given.
    radii = plane.radius.copy()
    radii[:3] = claimed
    conditional = replace(plane, radius=radii)
    points = (PLACES @ TURN.T).astype(np.float32)
    attacks = attack(
        strip,
        conditional,
        (points, plane.label),
        identity="strip",
        toward="1",
        restarts=2,
        progress=False,
    )
    # Images that are certified as 1 are left out.
    assert attacks.certified.tolist() == [0, 0, 0]
    assert attacks.failed.all() and (attacks.predict == 1).all()
    at_points = probabilities(attacks.points.astype(np.float64) @ TURN)
    assert (at_points.argmax(axis=1) == 1).all()


def test_claims_are_wrong_as_rarely_as_said_and_conditional_ones_nearly_always() -> (
    None
):
    """At the image, 0 stays the answer up to the middle of FROM and EDGE in both votes."""
    n, alpha, tables = 10_000, 0.05, 4000
    p = probabilities(PLACES[0])
    counts = np.random.default_rng(1).multinomial(n, p, tables)
    counts0 = np.broadcast_to(np.array([100, 0, 0]), counts.shape).copy()
    table = from_evidence(
        Header(sigma=1.0, n0=100, n=n, alpha=alpha, refusal=2),
        idx=np.arange(tables),
        label=np.zeros(tables, np.int64),
        counts0=counts0,
        counts=counts,
        seconds=np.zeros(tables),
    )
    # The bound on p_A is what alpha is about.
    wrong = int((table.radius > stats.norm.ppf(p[0])).sum())
    assert stats.binomtest(wrong, tables, alpha, alternative="greater").pvalue > 1e-3
    true_reach = 0.5 * (FROM + EDGE)
    assert not (table.radius > true_reach).any()
    assert (conditional_radius(counts, alpha) > true_reach).mean() > 0.99


class Soft(nn.Module):
    """A network of three logits: two classes on either side, declined between."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([-8.0, 8.0, 0.0]))
        self.offset = nn.Parameter(torch.tensor([-4.0, -4.0, 0.0]))

    def forward(self, z: Tensor) -> Tensor:
        return z[:, :1] * self.slope + self.offset


def test_an_attack_goes_towards_declining_and_away_from_it() -> None:
    points = np.array([[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]], np.float32)
    data = (points, np.array([0, 0, 1]))
    model = Soft().eval()
    how: dict[str, Any] = {"scale": 3.0, "progress": False}
    table = rs.certify(model, data, sigma=0.5, n=2000, refusal="class", progress=False)
    assert table.predict.tolist() == [0, 2, 1] and table.declined[1]

    def attacked(toward: str | None, gradient_free: bool) -> Any:
        options = {**how, "toward": toward, "gradient_free": gradient_free}
        return attack(model, table, data, **options)

    for gradient_free in (False, True):
        towards = attacked("declined", gradient_free)
        assert towards.idx.tolist() == [0, 2]
        assert (towards.predict == 2).all() and not towards.failed.any()
        away = attacked(None, gradient_free)
        assert away.predict[1] in (0, 1) and not away.failed.any()
    with pytest.raises(Problem) as error:
        attacked("nothing", False)
    assert error.value.value == "nothing"
