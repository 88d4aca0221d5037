"""One run, one classifier: what would put another one's answers into a table is refused, what would not is not."""

import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import randsmooth as rs
from certification.runs import interrupt, same
from models.refusing import check_refusals
from models.test_weights import NormalizeLayer, plain, static
from randsmooth.certificates import Certificates
from randsmooth.certificates.journal import journal_path
from randsmooth.certification import SmoothedClassifier, check_answers
from randsmooth.certification.run_header import behaviour
from randsmooth.errors import NotComparable, OutputExists, WrongModel
from randsmooth.notes import Note
from values import Refusal, noted

Make = Callable[[], Any]


class Forest(nn.Module):
    """Labels of scikit-learn as logits; like any tree, it answers most images alike."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        from sklearn.datasets import load_digits
        from sklearn.tree import DecisionTreeClassifier

        x, y = load_digits(return_X_y=True)
        self.tree = DecisionTreeClassifier(
            max_depth=6, max_features=8, random_state=seed
        ).fit(x / 16.0, y)

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # which cannot compile scikit-learn
    def forward(self, x: Tensor) -> Tensor:
        return torch.from_numpy(
            self.tree.predict_proba(x.flatten(1).float().numpy())
        ).float()


def classifier(scale: float) -> nn.Module:
    """A class whose code says the scale, as one that was edited between two calls."""

    class Edited(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.linear = nn.Linear(64, 10)

        def forward(self, x: Tensor) -> Tensor:
            logits: Tensor = self.linear(x.flatten(1)) * scale
            return logits

    return Edited().eval()


def normalised(mean: float) -> nn.Module:
    return nn.Sequential(NormalizeLayer((mean,)), plain()).eval()


def run(model: Any, out: Path | None, **options: Any) -> Certificates:
    """Certify three digits."""
    return rs.certify(
        model, "digits", sigma=0.25, take=3, n0=10, n=50, out=out, **options
    )


def check_only_itself_goes_on(
    first: Make, again: Make, other: Make, out: Path, **options: Any
) -> None:
    """A run that `first` began is refused to `other`, and what `again` makes of it is the uninterrupted table."""
    interrupt(run, first(), out, **options)
    before = journal_path(out).read_bytes()

    def resumed(model: Any) -> Certificates:
        return run(model, out, resume=True, **options)

    check_refusals(
        [
            (
                lambda: resumed(other()),
                Refusal(OutputExists, "model", "resume=True"),
            )
        ]
    )
    assert journal_path(out).read_bytes() == before
    table = run(again(), out, resume=True, **options)
    assert same(table, run(first(), None, **options))
    # A finished one is refused, too.
    check_refusals([(lambda: resumed(other()), Refusal(OutputExists, "model"))])


SLOW = [
    pytest.param(backend, marks=pytest.mark.slow) for backend in ("openvino", "compile")
]


@pytest.mark.parametrize("backend", ["torch", *SLOW])
def test_another_model_is_refused_by_weights_or_answers(
    backend: str, tmp_path: Path
) -> None:
    """Other code under the same name, by so little that counts would hardly tell, is told by the answers alone."""
    if backend == "openvino":
        pytest.importorskip("openvino")
    named = {"identity": "tree of May"}
    cases: dict[str, tuple[Callable[[Any], nn.Module], Any, Any, dict[str, Any]]] = {
        "means": (normalised, 0.5, 0.25, {}),
        "code": (classifier, 1.0, 1.0 + 2**-20, {}),
        "static": (static, 0, 1, {}),
        "estimator": (Forest, 0, 1, named),
    }
    of_openvino = {"means", "code"}  # the others cannot be exported
    for name, (make, this, that, more) in cases.items():
        if backend != "openvino" or name in of_openvino:
            first, other = (
                lambda make=make, of=of: make(of).eval() for of in (this, that)
            )
            check_only_itself_goes_on(
                first,
                first,
                other,
                tmp_path / f"{name}.parquet",
                backend=backend,
                **more,
            )


def test_what_has_no_weights_is_certified_under_a_name(tmp_path: Path) -> None:
    out = tmp_path / "a.parquet"
    nameless, weighted = (Forest(0).eval(), Asking().eval()), Asking().eval()
    weighted.scale = nn.Parameter(torch.ones(1))  # it could change while it is counted
    check_refusals(
        (partial(run, each, out), Refusal(WrongModel, "identity=", field="identity"))
        for each in nameless
    )
    check_refusals([(lambda: run(weighted, None), Refusal(WrongModel))])
    assert not list(tmp_path.iterdir())
    assert len(run(Asking().eval(), None, identity="my server"))
    run(Forest(0).eval(), out, identity="tree of May")
    other = partial(run, Forest(0).eval(), out, resume=True, identity="tree of June")
    check_refusals([(other, Refusal(OutputExists, "'tree of May'", "'tree of June'"))])


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return run(
        classifier(1.0), tmp_path_factory.mktemp("certified") / "a.parquet", seed=3
    )


def smoothed(model: nn.Module) -> SmoothedClassifier:
    return SmoothedClassifier(
        model, sigma=0.25
    )  # its own seed: what is checked does not depend on it


def test_answers_are_checked_without_the_data(certified: Certificates) -> None:
    def check(scale: float, **facts: Any) -> None:
        table = replace(certified, header=certified.header.replace(**facts))
        check_answers(smoothed(classifier(scale)).engine, (1, 8, 8), table)

    with warnings.catch_warnings():
        warnings.simplefilter("error", Note)
        check(1.0)
    there: dict[str, Any] = {
        "instructions": "others",
        "behaviour": {"made-up images": "others"},
    }
    with noted("another_arithmetic"):
        check(1.0, **there)
    called = there | {"model": {**(certified.header.model or {}), "called": "mine"}}
    attacking = partial(
        rs.certification.attack, table=certified, images="digits", n=100, steps=1, m=2
    )
    outputs, name = (
        Refusal(NotComparable),
        Refusal(NotComparable, "'mine'"),
    )
    check_refusals(
        [
            (lambda: check(2.0), outputs),
            (lambda: check(1.0, **called), Refusal(NotComparable)),
            (lambda: attacking(classifier(2.0)), outputs),
            (lambda: attacking(classifier(1.0), identity="mine"), name),
        ]
    )


def test_answers_say_the_same_whatever_the_seed_and_the_threads(
    certified: Certificates,
) -> None:
    assert certified.header.behaviour is not None
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        told = behaviour(smoothed(classifier(1.0)).engine, (1, 8, 8))["made-up images"]
        torch.set_num_threads(before)
        assert told == certified.header.behaviour["made-up images"], threads


class Asking(nn.Module):
    """Asks something that cannot be copied, as a connection to a server cannot."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def forward(self, x: Tensor) -> Tensor:
        with self.lock:
            return torch.stack(
                [
                    x.mean(dim=(1, 2, 3)),
                    0.3 - x.mean(dim=(1, 2, 3)),
                    *[x[:, 0, 0, 0]] * 8,
                ],
                dim=1,
            )
