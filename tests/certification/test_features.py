"""Inputs of any shape and scale: the same certificates from models of every kind, the units, and what is refused."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import TensorDataset

import randsmooth as rs
from models.graphs import linear
from models.refusing import check_refusals, problem_of
from randsmooth.certification import RunSpec, notes_of
from randsmooth.certification.opening import images_taken
from randsmooth.data import deviations, features, load
from randsmooth.errors import (
    BadValue,
    Conflict,
    NotFound,
    WrongData,
    WrongModel,
)
from randsmooth.models import Ensemble, EstimatorModel
from randsmooth.noise import NORMS, Deviations, GaussianPerCoordinate
from randsmooth.notes import Note
from values import Refusal, refused

N, CLASSES = 12, 3
WINE = load_wine(as_frame=True)


def inputs(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(N, *shape) of scales from 1 to 100, around 5, and weights (d, 3) that weigh all coordinates alike."""
    rng = np.random.default_rng(len(shape))
    scale = np.geomspace(1.0, 100.0, int(np.prod(shape)))
    rows = (rng.normal(size=(N, len(scale))) + 0.1) * scale
    return rows.reshape(N, *shape).astype(np.float32), (
        rng.normal(size=(len(scale), CLASSES)) / scale[:, None]
    )


def models(weights: np.ndarray, shape: tuple[int, ...], folder: Path) -> dict[str, Any]:
    """The same linear classifier, in every form."""
    network = nn.Sequential(
        nn.Flatten(), nn.Linear(len(weights), CLASSES, bias=False)
    ).eval()
    network[1].weight.data = torch.tensor(weights.T, dtype=torch.float32)
    estimator = LogisticRegression().fit(np.eye(len(weights))[:CLASSES], range(CLASSES))
    estimator.coef_, estimator.intercept_ = weights.T.copy(), np.zeros(CLASSES)
    axes = ({0: torch.export.Dim("batch")},)
    return {
        "module": network,
        "program": torch.export.export(
            network, (torch.zeros(4, *shape),), dynamic_shapes=axes
        ),
        "estimator": estimator,
        "function": lambda x: x.reshape(len(x), -1) @ weights,
        "function of labels": lambda x: (x.reshape(len(x), -1) @ weights).argmax(1),
        "ONNX": linear(folder / "net.onnx", shape=shape, weights=weights),
    }


def test_models_of_every_kind_take_inputs_of_every_shape(tmp_path: Path) -> None:
    for shape in ((5,), (2, 20), (1, 2, 3, 4)):
        x, weights = inputs(shape)
        how: dict[str, Any] = {
            "n": 200,
            "num_classes": CLASSES,
            "seed": 0,
            "identity": "the same",
            "split": "test",
        }
        made = models(weights, shape, tmp_path)
        for sigma in (300.0, "0.5std"):  # beyond what pixels allow
            tables = {
                kind: rs.certify(model, features(x), **how | {"sigma": sigma})
                for kind, model in made.items()
            }
            counts = {kind: np.asarray(table.counts) for kind, table in tables.items()}
            for kind, table in tables.items():
                ties = np.abs(counts[kind] - counts["module"]).sum()  # of rounding
                assert ties <= 2 * N, (shape, sigma, kind)
                assert table.header.norm == (
                    "deviations" if sigma == "0.5std" else "l2"
                )
            smoothed = rs.SmoothedClassifier(
                made["module"], sigma=300.0, n=400, seed=0, shape=shape
            )
            one, several = (
                smoothed.certify(torch.tensor(x[0])),
                smoothed.certify(torch.tensor(x)),
            )
            assert (one.counts[0] == several.counts[0]).all() and len(
                several.counts
            ) == N, shape


def test_a_radius_is_never_beyond_the_plane_and_in_the_units_of_its_noise() -> None:
    x, weights = inputs((5,))
    plane = weights[:, :1] - weights[:, 1:2]  # (5, 1)
    std, sides = deviations(load(x)), lambda z: np.hstack([z @ plane, -z @ plane])
    certify = partial(
        rs.certify, sides, x, n=4000, alpha=1e-6, seed=0, identity="a plane"
    )
    np.testing.assert_allclose(std, x.std(axis=0), rtol=1e-5)
    for sigma, unit, far in (
        (3.0, np.ones(5), 3.0 * 2.5),
        ("0.25std", std, 0.25 * 2.5),
        ("0.5std", std, 0.5 * 2.5),
    ):
        table = certify(sigma=sigma)
        distance = np.abs(x @ plane)[:, 0] / np.linalg.norm(
            plane[:, 0] * unit
        )  # in the norm of the header
        within = np.minimum(distance, far)
        assert (table.radius <= distance).all(), sigma
        assert np.median(table.radius / within) > 0.7, sigma
    assert table.header.noise == Deviations(0.5).noise_for(
        std
    )  # as "0.5std" says, and as a user may give it


def test_a_radius_is_in_the_unit_of_whoever_named_the_noise() -> None:
    """Under "0.25std" in deviations of the features, under an array of deviations in those of the noise."""
    x, weights = inputs((5,))
    certify = partial(
        rs.certify, lambda z: z @ weights, x, n=500, seed=0, identity="planes"
    )
    by_share = certify(sigma="0.25std")
    by_array = certify(
        noise=GaussianPerCoordinate(Deviations(0.25).noise_for(deviations(load(x))).std)
    )
    np.testing.assert_array_equal(by_share.counts, by_array.counts)
    np.testing.assert_allclose(by_share.radius, 0.25 * by_array.radius)
    np.testing.assert_allclose(
        by_share.in_norm("l2").radius, by_array.in_norm("l2").radius
    )
    said = {table.norm: NORMS[table.norm].title for table in (by_share, by_array)}
    assert said == {
        "deviations": "radius in standard deviations of each feature",
        "ellipsoid": "radius in standard deviations of the noise",
    }


def test_features_of_every_form_are_the_same_data(tmp_path: Path) -> None:
    x, y = WINE.data.to_numpy(), WINE.target.to_numpy()
    np.savez(tmp_path / "wine.npz", x=x, y=y)
    tensors = TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        WINE.data, WINE.target
    )
    certify = partial(rs.certify, pipeline, sigma="0.25std", n=100, take=5, seed=0)
    expected = certify((x, y))
    with warnings.catch_warnings():
        warnings.simplefilter(
            "error"
        )  # the pipeline knows the columns' names, and gets them
        forms: list[tuple[str, Any, dict[str, Any]]] = [
            ("tensors", (torch.tensor(x), torch.tensor(y)), {}),
            ("tables", (WINE.data, WINE.target), {}),
            ("one table", WINE.frame, {}),
            (
                "a table",
                WINE.frame.rename(columns={"target": "grower"}),
                {"label_column": "grower"},
            ),
            (".npz", str(tmp_path / "wine.npz"), {}),
            ("a torch data set", tensors, {}),
            ("a list", [*zip(x, y, strict=True)], {}),
        ]
        for name, given, options in forms:
            table = certify(given, **options)
            assert table.header.data == expected.header.data and str(
                table.counts
            ) == str(expected.counts), name
    named = load(
        (WINE.data, pd.Series(WINE.target_names[y]))
    )  # names in an array of objects
    assert (
        named.spec.classes == ("class_0", "class_1", "class_2")
        and named.labels.tolist() == y.tolist()
    )
    assert not load(WINE.data, label_column="none").labelled


def test_columns_are_taken_by_their_names() -> None:
    """As scikit-learn does: in the order of the fit, and columns that only one side has are refused."""
    cancer = load_breast_cancer(as_frame=True)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        cancer.data[:300], cancer.target[:300]
    )
    rows, target = cancer.data[300:340], cancer.target[300:340]
    right = (pipeline.predict(rows) == target).to_numpy()
    other = rows[sorted(rows.columns)]
    certify = partial(rs.certify, n=100, sigma="0.01std")
    wrapped = Ensemble([pipeline, pipeline], rule="vote")
    for model in (pipeline, wrapped):
        for given in (
            rows.assign(target=target),
            other.assign(target=target),
            (other, target),
        ):
            assert (certify(model, given, identity="mine").correct == right).all()
    decomposed = rows.rename(columns={"mean radius": "Cafe\u0301"})
    accented = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        decomposed.rename(columns={"Cafe\u0301": "Caf\xe9"}), target
    )
    certify(accented, (decomposed[sorted(decomposed.columns)], target))
    fewer, more = rows.drop(columns="mean radius"), rows.assign(patient=1.0)
    twice = pd.concat([rows, rows[["mean radius"]]], axis=1)
    check_refusals(
        [
            (
                lambda: certify(pipeline, (fewer.assign(patient=range(40)), target)),
                Refusal(WrongModel, "'mean radius'", "patient"),
            ),
            (
                lambda: certify(pipeline, (fewer, target)),
                Refusal(WrongModel, "'mean radius'"),
            ),
            (
                lambda: certify(pipeline, (more, target)),
                Refusal(WrongModel, "'patient'"),
            ),
            (
                lambda: certify(pipeline, (twice, target)),
                Refusal(WrongModel, "'mean radius'"),
            ),
        ]
    )
    run = RunSpec.of(pipeline, (rows.to_numpy(), target), sigma="0.1std", n=100).open()
    (note,) = (
        note for note in notes_of(run).notes if note.kind == "features_without_names"
    )
    assert note.facts["first"].startswith("mean radius, mean texture")


def test_what_is_no_image_is_told_by_axes_and_values() -> None:
    rng = np.random.default_rng(0)
    for x, shape in (
        (rng.normal(size=(6, 9)), (9,)),
        (rng.integers(0, 50, (6, 9)), (9,)),
        (rng.normal(size=(6, 4, 9)), (4, 9)),
        (rng.random((6, 4, 9)), (1, 4, 9)),
        (rng.random((6, 3, 9, 9)), (3, 9, 9)),
        (rng.normal(size=(6, 1, 3, 9, 9)), (1, 3, 9, 9)),
        ([*rng.normal(size=(6, 9))], (9,)),
        ([*rng.normal(size=(6, 4, 9))], (4, 9)),
        ([*rng.random((6, 4, 9))], (1, 4, 9)),
    ):
        spec = load(x).spec
        assert spec.shape == shape and spec.features == (len(shape) != 3), shape
    assert features(rng.random((6, 4, 9))).spec.shape == (4, 9)


def certify(x: Any, **options: Any) -> Any:
    flat = nn.Sequential(nn.Flatten(), nn.LazyLinear(2))
    flat(torch.zeros(1, *np.shape(x)[1:]))
    return rs.certify(flat.eval(), x, **({"sigma": 0.5, "n": 100} | options))


def test_what_cannot_be_done_with_features_is_refused() -> None:
    x = np.random.default_rng(0).normal(size=(30, 4))
    holes, constant = x.copy(), x.copy()
    holes[7, 2], constant[:, 1] = np.nan, 3.0
    images, pixels = (
        np.abs(x).reshape(30, 1, 2, 2).clip(0, 1),
        (255 * np.abs(x)).astype(np.uint8),
    )
    smoothed = rs.SmoothedClassifier(lambda z: z, sigma=0.5, n=100)
    rows: list[tuple[Any, Refusal]] = [
        (lambda: certify(holes), Refusal(WrongData)),
        (lambda: certify(x.astype(str)), Refusal(WrongData, "<U32", "OneHotEncoder")),
        (lambda: certify(x * 1e39), Refusal(WrongData, "32")),
        (
            lambda: certify(pixels),
            Refusal(WrongData, "(30, 4)", "x.reshape(N, C, H, W)"),
        ),
        (
            lambda: load([(row, 1) for row in pixels]),
            Refusal(WrongData, "x.reshape(N, C, H, W)"),
        ),
        (lambda: load([*x[:20], holes[7]]).batch([20]), Refusal(WrongData, "item 20")),
        (
            lambda: load([*x, x[0, :3]]).batch([30]),
            Refusal(WrongData, "item 30", "(3,)", "(4,)"),
        ),
        (lambda: load(x[:, 0]), Refusal(WrongData, "(30,)", "x[:, None]")),
        (
            lambda: features(images),
            Refusal(WrongData, "(30, 1, 2, 2)", "x.reshape(len(x)", "-1"),
        ),
        (lambda: certify(x, resize=8), Refusal(WrongData)),
        (lambda: load([*x], crop=2), Refusal(WrongData)),
        (
            lambda: load(pd.DataFrame({"a": ["u", "v"], "label": [0, 1]})),
            Refusal(WrongData, "'a'"),
        ),
        (
            lambda: load(pd.DataFrame({"a": [1, 2], "b": [0, 1]})),
            Refusal(NotFound, "label_column"),
        ),
        (
            lambda: load(pd.DataFrame({"label": [0, 1]})),
            Refusal(WrongData, "DataFrame"),
        ),
        (
            lambda: certify(np.round(x), sound=True),
            Refusal(WrongData, "sound", "(4,)", "features"),
        ),
        (
            lambda: certify(images, sigma=128.0),
            Refusal(BadValue, "sigma=128.0", "100", "divide", field="sigma"),
        ),
        (lambda: certify(x, sigma=1e7), Refusal(BadValue, "1e+06", field="sigma")),
        (lambda: certify(x, sigma="wide std"), Refusal(BadValue, "'wide std'")),
        (lambda: certify(x, sigma="0std"), Refusal(BadValue, "sigma=0.0", "1e-06")),
        (lambda: certify(x, sigma="0.25std", noise="uniform=1"), Refusal(Conflict)),
        (lambda: certify(constant, sigma="0.25std"), Refusal(BadValue, "[1]")),
        (
            lambda: rs.SmoothedClassifier(lambda z: z, sigma="0.25std").certify(x),
            Refusal(BadValue, "Deviations(0.25)", "x_train.std(axis=0)"),
        ),
        (lambda: smoothed.certify(holes), Refusal(WrongData, "input 7")),
        (
            lambda: smoothed.certify(torch.zeros(2, 3, 4, 5, 6)),
            Refusal(WrongData, "(2, 3, 4, 5, 6)", "shape=(C, T)"),
        ),
        (
            lambda: smoothed.certify(torch.tensor(x).to_sparse()),
            Refusal(WrongData, "sparse_coo", "x.to_dense()"),
        ),
        (
            lambda: smoothed.certify(torch.zeros(2, 4, device="meta")),
            Refusal(WrongData, "meta"),
        ),
        (
            lambda: rs.explain(lambda z: z, torch.zeros(4), sigma=0.5),
            Refusal(WrongData),
        ),
        (
            lambda: rs.train(
                (x, np.arange(30) % 2), method="gaussian", sigma=0.5, out="no"
            ),
            Refusal(WrongData, "(4,)"),
        ),
        (
            lambda: rs.certify(
                rs.wrap(nn.Flatten().eval(), resize=8),
                x,
                sigma=0.5,
                n=100,
                identity="a",
            ),
            Refusal(WrongData, "(4,)"),
        ),
    ]
    check_refusals(rows)
    taking = EstimatorModel(LogisticRegression().fit(x, np.arange(30) % 2))
    taking.shape = (4,)
    Refusal(WrongModel, "(4,)").check(
        problem_of(lambda: images_taken(taking, "the model"))
    )  # of predict and serve
    with refused(WrongData):
        rs.certify(taking, x[:, :3], sigma=0.5, n=100)


def test_notes_name_the_way_to_noise_that_suits_every_feature() -> None:
    cancer, x = load_breast_cancer(), np.random.default_rng(0).normal(size=(30, 4))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        cancer.data, cancer.target
    )
    for data, sigma, said in (
        ((cancer.data, cancer.target), 0.5, True),
        ((cancer.data, cancer.target), "0.5std", False),
        ((StandardScaler().fit_transform(cancer.data), cancer.target), 0.5, False),
    ):
        spec = RunSpec.of(pipeline, data, sigma=sigma, n=100, take=5)
        kinds = {note.kind for note in notes_of(spec.open()).notes}
        assert ("scales_apart" in kinds) is said, (sigma, kinds)
        assert "large_sigma" not in kinds
    spec = RunSpec.of(
        lambda z: z.mean(axis=2), x.reshape(15, 2, 4), sigma=0.5, n=100, identity="a"
    )
    assert Note("taken_for_signals", shape=(2, 4)) in notes_of(spec.open()).notes
