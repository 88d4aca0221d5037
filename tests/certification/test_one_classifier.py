"""One run, one classifier: what would put another one's answers into a table is refused, what would not is not."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import randsmooth as rs
from certification.runs import StopAfter, same
from models.test_weights import NormalizeLayer, dynamic, plain, static
from randsmooth.certificates import Certificates
from randsmooth.certificates.journal import journal_path
from randsmooth.certification import SmoothedClassifier, check_answers
from randsmooth.certification.checks import made_up
from randsmooth.certification.header import behaviour
from randsmooth.errors import InputError, Note
from randsmooth.models import OnnxModel
from randsmooth.noise import check_on_grid

Make = Callable[[], Any]


class Forest(nn.Module):
    """Labels of scikit-learn as logits; like any tree, it answers most images alike."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        from sklearn.datasets import load_digits
        from sklearn.tree import DecisionTreeClassifier

        x, y = load_digits(return_X_y=True)
        self.tree = DecisionTreeClassifier(max_depth=6, max_features=8, random_state=seed).fit(x / 16.0, y)

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # which cannot compile scikit-learn
    def forward(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.tree.predict_proba(x.flatten(1).float().numpy())).float()


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


def with_data_beside(folder: Path, seed: int) -> OnnxModel:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    folder.mkdir()
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).eval()
    program = torch.onnx.export(model, (torch.rand(2, 1, 8, 8),), dynamo=True, verbose=False)
    assert program is not None
    whole = program.model_proto
    onnx.save_model(whole, folder / "m.onnx", save_as_external_data=True, location="m.onnx.data", size_threshold=100)
    return OnnxModel(folder / "m.onnx")


def run(model: Any, out: Path, *, stop: bool = False, **options: Any) -> Certificates:
    """Certify three digits; with `stop`, until one is done."""
    if stop:
        options["progress"] = lambda *_: nullcontext(StopAfter(1))
    return rs.certify(model, "digits", sigma=0.25, take=3, n0=10, n=50, out=out, **options)


def begin(model: Any, out: Path, **options: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(model, out, stop=True, **options)


def check_only_itself_goes_on(first: Make, again: Make, other: Make, message: str, out: Path, **options: Any) -> None:
    """A run that `first` began is refused to `other`, and what `again` makes of it is the uninterrupted table."""
    begin(first(), out, **options)
    before = journal_path(out).read_bytes()
    with pytest.raises(InputError, match=rf"was begun differently \(.*{message}.*To go on with it: .*resume=True"):
        run(other(), out, resume=True, **options)
    assert journal_path(out).read_bytes() == before
    table = run(again(), out, resume=True, **options)
    assert same(table, run(first(), out.with_name("whole.parquet"), **options))
    with pytest.raises(InputError, match=message):  # finished too
        run(other(), out, resume=True, **options)


COMPILED = pytest.param("compile", marks=pytest.mark.slow)
OPENVINO = pytest.param("openvino", marks=pytest.mark.slow)  # which the ONNX files try too


@pytest.mark.parametrize("backend", ["torch", OPENVINO, COMPILED])
def test_means_in_plain_attributes(backend: str, tmp_path: Path) -> None:
    if backend == "openvino":
        pytest.importorskip("openvino")
    message = "another model: its weights are the same but its outputs differ"
    first, other = (lambda: normalised(0.5)), (lambda: normalised(0.25))
    check_only_itself_goes_on(first, first, other, message, tmp_path / "a.parquet", backend=backend)


@pytest.mark.parametrize("backend", ["onnx", pytest.param("openvino", marks=pytest.mark.slow)])
def test_onnx_files_with_weights_beside_them(backend: str, tmp_path: Path) -> None:
    pytest.importorskip("openvino" if backend == "openvino" else "onnxruntime")
    first, copy, other = (with_data_beside(tmp_path / name, seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    message = "another model: weights 'sha256:"
    out = tmp_path / "a.parquet"
    check_only_itself_goes_on(lambda: first, lambda: copy, lambda: other, message, out, backend=backend)


@pytest.mark.parametrize("make", [dynamic, static])
@pytest.mark.parametrize("backend", ["torch", COMPILED])
def test_quantised_modules(make: Callable[[int], nn.Module], backend: str, tmp_path: Path) -> None:
    message = "another model: weights 'sha256:"
    first, other = (lambda: make(0).eval()), (lambda: make(1).eval())
    check_only_itself_goes_on(first, first, other, message, tmp_path / "a.parquet", backend=backend)


@pytest.mark.parametrize("backend", ["torch", COMPILED])
def test_estimators(backend: str, tmp_path: Path) -> None:
    out = tmp_path / "a.parquet"
    name: dict[str, Any] = {"identity": "tree of May", "backend": backend}
    with pytest.raises(InputError, match=r"\(Forest\) holds no weights.*identity="):
        run(Forest(0).eval(), out)
    assert not list(tmp_path.iterdir())

    def first() -> nn.Module:
        return Forest(0).eval()

    def other() -> nn.Module:
        return Forest(1).eval()

    message = "another model: its weights are the same but its outputs differ"
    check_only_itself_goes_on(first, first, other, message, out, **name)
    with pytest.raises(
        InputError, match=r"another model: called 'tree of May' in the file, 'tree of June' asked for.*identity="
    ):
        run(first(), out, resume=True, **name | {"identity": "tree of June"})


@pytest.mark.parametrize("backend", ["torch", OPENVINO, COMPILED])
def test_other_code_under_the_same_name(backend: str, tmp_path: Path) -> None:
    """What no identity can tell, since code is known by its names: the answers do."""
    if backend == "openvino":
        pytest.importorskip("openvino")
    first, other = (lambda: classifier(1.0)), (lambda: classifier(1.0 + 2**-20))  # counts would hardly tell
    message = "another model: its weights are the same but its outputs differ"
    check_only_itself_goes_on(first, first, other, message, tmp_path / "a.parquet", backend=backend)


def test_a_model_compiled_by_its_user_is_the_same(tmp_path: Path) -> None:
    begin(plain(), tmp_path / "a.parquet")
    run(torch.compile(plain(), backend="eager"), tmp_path / "a.parquet", resume=True)


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return run(classifier(1.0), tmp_path_factory.mktemp("certified") / "a.parquet", seed=3)


def smoothed(model: nn.Module) -> SmoothedClassifier:
    return SmoothedClassifier(model, sigma=0.25)  # its own seed: what is checked does not depend on it


def test_answers_are_checked_without_the_data(certified: Certificates) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", Note)
        check_answers(smoothed(classifier(1.0)).engine, (1, 8, 8), certified)
    with pytest.raises(InputError, match="about another model: its weights are the same but its outputs differ"):
        check_answers(smoothed(classifier(2.0)).engine, (1, 8, 8), certified)


def test_answers_of_another_processor_are_noted(certified: Certificates) -> None:
    there = certified.header.model_copy(update={"instructions": "others", "behaviour": {"made-up images": "others"}})
    with pytest.warns(Note, match=r"another arithmetic: equal models give different outputs \(instructions: 'others'"):
        check_answers(smoothed(classifier(1.0)).engine, (1, 8, 8), replace(certified, header=there))
    called = there.model_copy(update={"model": {**(there.model or {}), "called": "mine"}})
    with pytest.raises(InputError, match=r"of this name .*or its arithmetic differs"):
        check_answers(smoothed(classifier(1.0)).engine, (1, 8, 8), replace(certified, header=called))


def test_an_attack_is_refused_to_another_model(certified: Certificates) -> None:
    with pytest.raises(InputError, match="about another model: its weights are the same but its outputs differ"):
        rs.certification.attack(classifier(2.0), certified, "digits", n=100, steps=1, m=2)
    with pytest.raises(InputError, match="about another model: called nothing in the file, 'mine' asked for"):
        rs.certification.attack(classifier(1.0), certified, "digits", n=100, identity="mine")


def test_answers_say_the_same_whatever_the_seed_and_the_threads(certified: Certificates) -> None:
    assert certified.header.behaviour is not None
    told = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        engine = smoothed(classifier(1.0)).engine
        engine.prepare((1, 8, 8))
        told.append(behaviour(engine, shape=(1, 8, 8))["made-up images"])
        torch.set_num_threads(before)
    assert {*told} == {certified.header.behaviour["made-up images"]}


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 5, 7), (3, 1, 1)])
def test_made_up_images_are_images_on_the_grid(shape: tuple[int, ...]) -> None:
    images = made_up(shape)
    for image in images:
        assert image.shape == shape and image.min() >= 0.0 and image.max() <= 1.0
        check_on_grid(image)
    assert len(images) == 8 and (shape[1:] == (1, 1) or len({image.numpy().tobytes() for image in images}) >= 7)


def test_sound_runs_tell_their_answers_too(tmp_path: Path) -> None:
    begin(plain(), tmp_path / "a.parquet", sound=True)
    table = run(plain(), tmp_path / "a.parquet", sound=True, resume=True)
    assert same(table, run(plain(), tmp_path / "b.parquet", sound=True))


class Asking(nn.Module):
    """Asks something that cannot be copied, as a connection to a server cannot."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def forward(self, x: Tensor) -> Tensor:
        with self.lock:
            return torch.stack([x.mean(dim=(1, 2, 3)), 0.3 - x.mean(dim=(1, 2, 3)), *[x[:, 0, 0, 0]] * 8], dim=1)


def test_a_model_that_cannot_be_copied_is_certified_under_a_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no weights"):
        run(Asking().eval(), tmp_path / "a.parquet")
    assert len(run(Asking().eval(), tmp_path / "a.parquet", identity="my server"))
    weighted = Asking().eval()
    weighted.scale = nn.Parameter(torch.ones(1))
    with pytest.raises(InputError, match="cannot be copied"):
        run(weighted, tmp_path / "b.parquet", identity="my server")
