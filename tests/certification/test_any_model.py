"""`randsmooth.certify` and `SmoothedClassifier` take whatever a user has as a classifier."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from torch import Tensor, nn

import randsmooth as rs
from models.graphs import WEIGHTS, linear
from models.refusing import check_refusals
from randsmooth.certification import certify_soft, check_fit, matched
from randsmooth.errors import (
    MissingValue,
    ModelFailed,
    NotComparable,
    Problem,
    WrongData,
    WrongModel,
)
from randsmooth.models import (
    Classifier,
    Ensemble,
    EstimatorModel,
    FunctionModel,
    adapt,
    weights_hash,
)
from values import Refusal, noted, refused

HOW: dict[str, Any] = {"sigma": 0.25, "n": 300, "seed": 0}
X = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    layers = (
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 10),
    )
    return nn.Sequential(*layers).eval()


class Viewed(nn.Module):
    """Flattens by `view`, which a batch in channels-last memory refuses."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.out = nn.Conv2d(1, 4, 3, padding=1), nn.Linear(256, 10)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.conv(x).relu()
        result: Tensor = self.out(hidden.view(hidden.shape[0], -1))
        return result


def exported(model: nn.Module, images: int = 7, batch: Any = None) -> Any:
    axes = None if batch is None else ({0: batch},)
    return torch.export.export(
        model, (torch.zeros(images, 1, 8, 8),), dynamic_shapes=axes
    )


def quietly(make: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def counts(model: object, **options: Any) -> NDArray[np.int64]:
    return rs.SmoothedClassifier(model, **HOW | options).certify(X).counts


LIKE_THE_MODULE: dict[str, Callable[[], Any]] = {
    "TorchScript": lambda: quietly(lambda: torch.jit.script(network())),
    "a trace": lambda: quietly(lambda: torch.jit.trace(network(), X)),
    "a program for batches of 7": lambda: exported(network()),
    "one for any batch": lambda: exported(network(), batch=torch.export.Dim("batch")),
    "one for at most 64": lambda: exported(
        network(), batch=torch.export.Dim("batch", max=64)
    ),
    "decomposed": lambda: exported(network()).run_decompositions(),
    "a function of tensors": lambda: lambda x: network()(x),
    "one that gives NumPy's": lambda: (
        lambda x: network()(torch.from_numpy(x)).detach().numpy()
    ),
}


def test_a_network_in_another_form_counts_as_the_module_does() -> None:
    expected = counts(network())
    for kind, make in LIKE_THE_MODULE.items():
        assert np.abs(expected - counts(quietly(make))).sum() <= 4, (
            kind
        )  # up to ties that rounding decides
    assert (
        np.abs(
            counts(Viewed().eval()) - counts(lambda x: Viewed()(torch.from_numpy(x)))
        ).sum()
        <= 4
    )


FORMS: dict[str, dict[str, Any]] = {
    "as usual": {},
    "NHWC": {"layout": "NHWC"},
    "float16": {"dtype": "float16"},
    "batches of 5": {"batch": 5},
    "two outputs": {"gives": ("label", "logits")},
    "weights beside it": {"external": True},
    "labels": {"gives": ("label",)},
}


def test_eight_bit_inputs_get_noisy_images_rounded_and_clipped(tmp_path: Path) -> None:
    expected = counts(
        lambda x: np.rint(np.clip(x, 0, 1) * 255).reshape(len(x), -1) @ WEIGHTS
    )
    path = linear(tmp_path / "net.onnx", dtype="uint8", layout="NHWC")
    assert np.abs(counts(str(path)) - expected).sum() <= 6
    header = rs.certify(path, "digits", sigma=0.25, n=200, take=2).header
    assert (
        header.model is not None
        and "rounds each noisy pixel" in header.model["notes"][0]
    )


def test_onnx_files_and_openvino_ir_in_every_form_count_alike(tmp_path: Path) -> None:
    expected, openvino = (
        counts(lambda x: x.reshape(len(x), -1) @ WEIGHTS),
        pytest.importorskip("openvino"),
    )
    for form, how in FORMS.items():
        (folder := tmp_path / form).mkdir()
        path = linear(folder / "net.onnx", **how)
        for backend in ("onnx", "openvino"):
            assert (
                np.abs(
                    counts(str(path), backend=backend, num_classes=10) - expected
                ).sum()
                <= 6
            ), (form, backend)
        if form != "weights beside it":
            openvino.save_model(
                openvino.convert_model(path), folder / "net.xml", compress_to_fp16=False
            )
            assert (
                np.abs(counts(str(folder / "net.xml"), num_classes=10) - expected).sum()
                <= 6
            ), form
    before = weights_hash(rs.load_model(tmp_path / "as usual" / "net.xml"))
    with (tmp_path / "as usual" / "net.bin").open("r+b") as file:
        file.seek(1024)  # among the weights
        file.write(b"\x01")
    assert weights_hash(rs.load_model(tmp_path / "as usual" / "net.xml")) != before


class Yielding(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Of another package, with nothing but `predict`."""

    def fit(self, x: Any, y: Any) -> Yielding:
        self.classes_ = np.unique(y)
        return self

    def predict(self, x: NDArray[np.float64]) -> Any:
        return self.classes_[
            (x.mean(axis=1) * 10).astype(int).clip(0, len(self.classes_) - 1)
        ]


ESTIMATORS = [
    RandomForestClassifier(5, random_state=0),
    HistGradientBoostingClassifier(max_iter=3),
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=50)),
    SVC(),
    Yielding(),
]


def test_estimators(tmp_path: Path) -> None:
    pixels, y = load_digits(return_X_y=True)
    noisy = (
        X
        + 0.25
        * torch.randn(
            50, 3, 1, 8, 8, generator=torch.Generator().manual_seed(0)
        ).flatten(0, 1)[:3]
    )
    for estimator in ESTIMATORS:
        name, out = (
            type(estimator).__name__,
            tmp_path / f"{type(estimator).__name__}.parquet",
        )
        fitted = quietly(
            lambda: copy.deepcopy(estimator).fit(pixels[:500] / 16, y[:500])  # noqa: B023
        )
        model = adapt(fitted)
        assert isinstance(model, EstimatorModel), name
        answers = model.answer(noisy).argmax(dim=1).numpy()
        assert (
            answers.tolist()
            == fitted.predict(noisy.flatten(1).double().numpy()).tolist()
        ), name
        how: dict[str, Any] = {"sigma": 0.25, "n": 200, "take": 2, "out": out}
        table = rs.certify(fitted, "digits", **how, overwrite=True)
        assert (
            table.header.model is not None
            and table.header.model["arch"] == f"scikit-learn {name}"
        )
        assert weights_hash(model) == weights_hash(adapt(copy.deepcopy(fitted))), name
        other = quietly(
            lambda: copy.deepcopy(estimator).fit(  # noqa: B023
                1 - pixels[:500] / 16, (y[:500] + 1) % 10
            )
        )
        if not isinstance(estimator, Yielding):
            with pytest.raises(rs.Problem) as error:
                rs.certify(other, "digits", **how, resume=True)
            assert "another model" in str(error.value), name


def bright(x: NDArray[np.float32]) -> Any:
    return (x.mean(axis=(1, 2, 3)) * 10).clip(0, 9).astype(int)


def test_labels_count_as_the_logits_do_that_they_come_from(tmp_path: Path) -> None:
    logits = counts(network())
    assert np.array_equal(
        counts(lambda x: network()(x).argmax(1), num_classes=10, device="cpu"), logits
    )
    spoken = FunctionModel(
        lambda x: [*map(int, bright(x))], num_classes=10, identity="bright"
    )
    assert np.array_equal(counts(spoken), counts(bright, num_classes=10))
    how: dict[str, Any] = {
        "sigma": 0.25,
        "n": 200,
        "take": 2,
        "out": tmp_path / "a.parquet",
        "identity": "bright",
    }
    model = rs.certify(bright, "digits", **how).header.model
    assert (
        model is not None
        and model["arch"] == "Python function bright, labels only"
        and model["called"] == "bright"
    )
    assert rs.certify(bright, "digits", **how, resume=True).header.model == model
    labels = rs.SmoothedClassifier(bright, num_classes=10, **HOW)
    check_refusals(
        [
            (
                lambda: certify_soft(labels, X, n=100),
                Refusal(WrongModel),
            )
        ]
    )


def test_what_cannot_be_certified_is_named() -> None:
    dropout = nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(64, 10)).train()
    table: list[tuple[Any, dict[str, Any], Refusal]] = [
        (bright, {}, Refusal(MissingValue, "num_classes", field="num_classes")),
        (bright, {"num_classes": 5}, Refusal(WrongModel)),
        (
            lambda x: x,
            {},
            Refusal(WrongModel, "256", "32", "(256, 1, 8, 8)", "(256, K)"),
        ),
        (
            lambda x: x.mean(axis=(1, 2, 3)),
            {},
            Refusal(WrongModel, "32", "(256,)"),
        ),
        (
            lambda x: {"logits": x},
            {},
            Refusal(WrongModel, "'logits'"),
        ),
        (
            lambda x: ["cat"] * len(x),
            {"num_classes": 10},
            Refusal(WrongModel, "256"),
        ),
        (lambda x: 1 / 0, {}, Refusal(ModelFailed, "ZeroDivisionError")),
        (3, {}, Refusal(WrongModel, "torch.nn.Module")),
        (nn.Linear, {}, Refusal(WrongModel)),
        (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten()).eval(),
            {},
            Refusal(ModelFailed),
        ),
        (LogisticRegression(), {}, Refusal(WrongModel, "LogisticRegression")),
        (
            LogisticRegression().fit(np.eye(3), [0, 1, 2]),
            {},
            Refusal(ModelFailed, "64"),
        ),
        (quietly(lambda: exported(dropout)), {}, Refusal(WrongModel)),
        (
            torch.export.export(nn.Linear(64, 10), (torch.zeros(2, 64),)),
            {},
            Refusal(WrongData, "64"),
        ),
    ]
    check_refusals(
        (partial(counts, model, **options), said) for model, options, said in table
    )


NUMBERS = [str(k) for k in range(12)]
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def digits() -> tuple[Tensor, NDArray[np.int64]]:
    images = rs.data.load("digits", "train")
    x, y = images.batch(rs.data.take(len(images), 400))
    return x, y.numpy()


def fitted(labels: NDArray[np.generic]) -> LogisticRegression:
    return LogisticRegression(max_iter=200).fit(digits()[0].flatten(1).numpy(), labels)


def test_an_estimators_classes_are_matched_by_name_and_else_by_number() -> None:
    """Fitted on each of these labels, and asked about data of these classes, class k gets column places[k]."""
    known: list[tuple[Sequence[object], list[str] | None, list[int] | None]] = [
        (list(range(12)), NUMBERS, list(range(12))),
        (
            NUMBERS,
            None,
            list(range(12)),
        ),  # sorted by the estimator as 0, 1, 10, 11, 2, ...
        ([1, 2, 10], [str(k) for k in range(1, 11)], [0, 1, 9]),
        ([0, 1, 2], sorted(WORDS)[:3], [0, 1, 2]),
        (["one", "two"], ["two", "one"], [1, 0]),
        ([0, 3], ["two", "one"], None),
    ]
    for labels, classes, places in known:
        x = np.arange(len(labels), dtype=float)[:, None]
        model = EstimatorModel(LogisticRegression(C=1e6, max_iter=5000).fit(x, labels))
        if places is None:
            with refused(WrongModel):
                model.for_classes(classes or ())
            continue
        told = model if classes is None else model.for_classes(classes)
        answered = told.answer(torch.from_numpy(x).float()[..., None, None]).argmax(
            dim=1
        )
        assert answered.tolist() == places, (labels, classes)


def test_a_model_whose_names_stand_under_other_numbers_is_refused_unless_it_is_matched(
    tmp_path: Path,
) -> None:
    shape = (1, 8, 8)
    for name in WORDS:
        (tmp_path / "folders" / name).mkdir(parents=True)
        Image.new("L", (8, 8)).save(tmp_path / "folders" / name / "1.png")
    folders = rs.data.load(str(tmp_path / "folders"), "test")
    known = (WORDS, sorted(WORDS), NUMBERS[:10])
    by_words, *fitting = (
        Classifier(arch="small-cnn", classes=classes, shape=shape) for classes in known
    )
    check_refusals(
        [
            (
                lambda: check_fit(by_words, folders.spec),
                Refusal(WrongData, "'eight'"),
            )
        ]
    )
    for model in fitting:
        check_fit(model, folders.spec)
    for stream in (False, True):
        images = rs.data.load(str(tmp_path / "folders"), "test", stream=stream)
        _, renumbered = matched(by_words, images)
        assert renumbered.spec.classes == tuple(WORDS)
        assert renumbered.labels.tolist() == [
            WORDS.index(name) for name in sorted(WORDS)
        ]
        assert renumbered.batch([2])[1].tolist() == [WORDS.index("four")]
        assert torch.equal(renumbered.batch([2])[0], images.batch([2])[0])
        assert matched(fitting[0], images)[1] is images


def test_names_of_classes_that_both_sides_know_are_used() -> None:
    """Right answers are those of scikit-learn about the same rows; a guess at the order has 7% to 11% of them."""
    x, y = digits()
    names = np.array(WORDS)
    by_name, by_number = fitted(names[y]), fitted(y)
    right = by_name.predict(x.flatten(1).numpy()) == names[y]
    few = np.flatnonzero(right & (y < 7))[:12]
    both = Ensemble([by_name, by_name], rule="vote")
    for model in (by_name, both):
        for rows in (np.flatnonzero(right)[:40], few, few[:1]):
            table = rs.certify(
                model,
                (x[rows], names[y[rows]]),
                sigma=0.001,
                n=100,
                take=len(rows),
                identity="a",
            )
            assert table.correct.all() and table.header.classes == tuple(
                sorted(WORDS)
            ), len(rows)
        check_refusals(
            [
                (
                    lambda: rs.certify(model, (x, y), sigma=0.1, n=100),  # noqa: B023
                    Refusal(NotComparable, "eight, five", "[y]"),
                )
            ]
        )
    unlabelled = rs.certify(by_name, x[:3], sigma=0.001, n=100)
    assert unlabelled.header.classes == tuple(sorted(WORDS))
    unknown = (x[:2], ["one", "ten"])
    check_refusals(
        [
            (
                lambda: rs.certify(by_name, unknown, sigma=0.1, n=100),
                Refusal(WrongModel, "'ten'", "eight, five"),
            )
        ]
    )
    ordered = pd.Categorical(names[y], categories=WORDS)
    with noted("numbers_for_names", order="0 zero, 1 one, 2 two"):
        rs.certify(by_number, (x, ordered), sigma=0.1, n=100, take=2)
    with noted("class_never_answered", name="3"):
        rs.certify(fitted(np.where(y == 3, 8, y)), (x, y), sigma=0.1, n=100, take=2)


def test_names_that_a_model_does_not_know_are_refused_unless_their_order_is_stated(
    tmp_path: Path,
) -> None:
    """Taken in the order of the alphabet, they have 3% of the answers right, which are all right."""
    x, y = digits()
    names = np.array(WORDS)
    by_number = fitted(y)
    network = nn.Sequential(nn.Flatten(), nn.Linear(x[0].numel(), 10)).eval()
    network[1].weight.data = torch.from_numpy(by_number.coef_).float()
    network[1].bias.data = torch.from_numpy(by_number.intercept_).float()
    ours = Classifier(arch="small-cnn", classes=NUMBERS[:10], shape=(1, 8, 8)).eval()
    rows = np.flatnonzero(by_number.predict(x.flatten(1).numpy()) == y)[:30]
    table = pd.DataFrame(x[rows].flatten(1).numpy()).add_prefix("p")
    table["label"] = names[y[rows]]
    table.to_csv(tmp_path / "digits.csv", index=False)
    for row in rows[:10]:
        pixels = (255 * x[row, 0].numpy()).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{row}.png")
    listed = [f"{row}.png,{WORDS[y[row]]}\n" for row in rows[:10]]
    (tmp_path / "list.csv").write_text("path,label\n" + "".join(listed))
    mixed = Ensemble([fitted(names[y]), by_number], rule="vote")
    how: dict[str, Any] = {"sigma": 0.001, "n": 100, "identity": "a"}
    for model in (by_number, network, ours, mixed):
        for labelled in ((x[rows], names[y[rows]]), tmp_path / "list.csv"):
            with pytest.raises(NotComparable, match=r"eight.*pd\.Categorical"):
                rs.certify(model, labelled, **how)
    with pytest.raises(NotComparable, match=r"eight.*pd\.Categorical"):
        rs.certify(by_number, tmp_path / "digits.csv", **how)
    for stated in (
        y[rows],
        list(map(str, y[rows])),
        pd.Categorical(names[y[rows]], categories=WORDS),
    ):
        assert rs.certify(network, (x[rows], stated), **how).correct.all()
    unlabelled = rs.data.load(tmp_path / "list.csv", "test", label_column="none")
    assert len(rs.certify(network, unlabelled, **how)) == 10


def test_an_estimator_fitted_with_negative_numbers_gets_them_by_name(
    tmp_path: Path,
) -> None:
    """-1 alone stands for no label; beside 1, or as a category, it is a class."""
    images, digit = digits()
    x = images[:60].flatten(1).numpy()
    y = digit[:60] % 2
    how: dict[str, Any] = {"sigma": 0.001, "n": 100, "identity": "a"}
    signs = 2 * y - 1
    table = pd.DataFrame(x).add_prefix("p").assign(label=signs)
    table.to_csv(tmp_path / "signs.csv", index=False)
    signed = LogisticRegression(C=100.0, max_iter=2000)
    for fitted_with in (signs, signs.astype(float), signs.astype(str)):
        model = copy.deepcopy(signed).fit(x, fitted_with)
        labelled = [
            (x, signs),
            (x, signs.astype(str)),
            (x, np.array(["-1", "1"])[y]),
            tmp_path / "signs.csv",
        ]
        for source in labelled:
            found = rs.certify(model, source, **how)
            assert found.correct.all() and found.header.classes == ("-1", "1")
            assert found.label.tolist() == y.tolist()
    with pytest.raises(NotComparable, match=r"-1, 1.*names\[y\]"):
        rs.certify(model, (x, y), **how)
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 2)).eval()
    with pytest.raises(NotComparable, match=r"-1, 1"):
        rs.certify(network, (x, signs), **how)

    three = np.arange(60) % 3 - 1
    nearest = KNeighborsClassifier(1).fit(x, three)
    with pytest.raises(Problem, match=r"-1.*pd\.Categorical\(y\.astype\(str\)\)"):
        rs.certify(nearest, (x, three), **how)
    stated = pd.Categorical(three.astype(str))
    assert rs.certify(nearest, (x, stated), **how).correct.all()
    assert not rs.data.load((x, -np.ones(60, int)), "test").labelled


def test_names_that_say_their_order_or_that_the_model_knows_are_taken() -> None:
    """ImageNet's identifiers are numbered in the order of the alphabet."""
    x = torch.zeros(2, 1, 8, 8)
    known = Classifier(arch="small-cnn", classes=["dog", "cat"], shape=(1, 8, 8))
    other = Classifier(arch="small-cnn", classes=["Hund", "Katze"], shape=(1, 8, 8))
    identifiers = rs.data.load((x, ["n02123045", "n02099601"]), "test")
    assert matched(other, identifiers)[1].labels.tolist() == [1, 0]
    names = rs.data.load((x, ["dog", "cat"]), "test")
    assert matched(known, names)[1].labels.tolist() == [0, 1]
    with pytest.raises(NotComparable, match="Hund"):
        matched(other, names)


def test_the_note_on_guessing_says_rows_and_an_order_only_where_there_are_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x, y = digits()
    rows = x[:60].flatten(1).numpy()
    layer = nn.Linear(64, 10)
    nn.init.zeros_(layer.weight)
    network = nn.Sequential(layer).eval()
    how: dict[str, Any] = {"sigma": 0.01, "n": 100, "take": 30}
    with noted("hardly_better_than_guessing", inputs="rows", numbering=""):
        rs.certify(network, (rows, y[:60]), **how)
    ordered = pd.Categorical(np.array(WORDS)[y[:60]], categories=WORDS)
    with noted("hardly_better_than_guessing", numbering="0 zero, 1 one, 2 two, ..."):
        rs.certify(network, (rows, ordered), **how)
    rs.certify(network, (rows, y[:60]), **how, progress=True)
    said = capsys.readouterr().err
    assert "30 rows" in said and "images" not in said


def test_one_class_for_all_is_no_more_than_guessing_the_largest() -> None:
    """Of 60 images 48 are of one class: right about 80% is no better than a constant."""
    x, _ = digits()
    y = np.array([0] * 48 + [1] * 6 + [2] * 6)
    last = nn.Linear(x[0].numel(), 3)
    with torch.no_grad():
        last.weight.zero_()
        last.bias.copy_(torch.tensor([9.0, 0.0, 0.0]))
    network = nn.Sequential(nn.Flatten(), last)
    with noted("hardly_better_than_guessing", guess=0.8):
        rs.certify(network.eval(), (x[:60], y), sigma=0.1, n=100, progress=False)


def test_a_model_that_only_guesses_without_noise_is_noticed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Fitted on numbers and asked about names, whose order is the alphabet's, it is right about few."""
    x, y = digits()
    names = np.array(WORDS)
    alphabet = pd.Categorical(names[y])
    for labels, take, told in (
        (y, 60, False),
        (alphabet, 19, False),
        (alphabet, 60, True),
    ):
        model = rs.models.adapt(fitted(y))
        vars(model)["provenance"] = {"epochs": 1, "take": 2000}
        how: dict[str, Any] = {"sigma": 0.01, "n": 100, "take": take}
        rs.certify(model, (x, labels), **how, progress=True)
        said = " ".join(capsys.readouterr().err.split())
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            rs.certify(model, (x, labels), **how, progress=False)
        assert (
            any(
                "hardly more often than guessing (12.5%)" in str(each.message)
                for each in heard
            )
            == told
        )
        assert ("hardly more often than guessing (12.5%)" in said) == told
        assert ("(0 eight, 1 five, 2 four, ...)" in said) == told
        assert (
            "was it trained long enough (1 epoch on 2,000 images), " in said
        ) == told
