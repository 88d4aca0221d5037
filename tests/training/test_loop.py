"""Training runs: deterministic, resumable bit for bit, stopped when the loss is lost."""

from __future__ import annotations

import errno
import itertools
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from randsmooth import models
from randsmooth.atomic import claimed
from randsmooth.errors import InputError
from randsmooth.methods import Loss
from randsmooth.methods.gaussian import Gaussian
from randsmooth.progress import Progress, Silent
from randsmooth.training import TrainingDiverged, TrainingSettings, train
from randsmooth.training.folder import CHECKPOINT, EVENTS, HISTORY

TAKE, EPOCHS = 160, 4
GAUSSIAN = TrainingSettings(sigma=0.25, epochs=EPOCHS, take=TAKE)
AMPLIFY = GAUSSIAN.model_copy(
    update={"method": "amplify", "set": {"E_t": 1, "reweight_every": 2, "p_t": 0.2, "T": 2, "discard_noises": 8}}
)
DISCARD_ONLY = AMPLIFY.model_copy(update={"set": AMPLIFY.set | {"reweight": False, "attack": False}})
SHORT: dict[str, dict[str, object]] = {  # what changes between these four epochs, changes within them
    "stability": {},
    "smoothadv": {"T": 2, "warmup": 3},
    "macer": {"k": 4, "lbd_from": 2},
    "consistency": {"eps": 0.5, "T": 2, "warmup": 3},
    "smoothmix": {"T": 2, "start": 1.0, "warmup": 3},
    "cat-rs": {"T": 2},
}
OTHERS = {name: GAUSSIAN.model_copy(update={"method": name, "set": values}) for name, values in SHORT.items()}
SETTINGS = {"gaussian": GAUSSIAN, "amplify": AMPLIFY, "discard only": DISCARD_ONLY, **OTHERS}


class Interrupted(Exception):
    """Stands for whatever stops a run between two steps."""


class StopAfter(Silent):
    """A reporter that stops the run once `images` images were seen."""

    def __init__(self, images: int) -> None:
        self.left = images

    def advance(self, steps: int, info: str = "") -> None:
        self.left -= steps
        if self.left <= 0:
            raise Interrupted


def stopping_after(images: int) -> Progress:
    @contextmanager
    def progress(title: str, total: int, unit: str) -> Iterator[StopAfter]:
        yield StopAfter(images)

    return progress


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {name: tmp_path_factory.mktemp("run") / "model" for name in SETTINGS}
    for name, settings in SETTINGS.items():
        train("digits", settings, out=folders[name])
    return folders


CUTS = [1, TAKE + 1, 2 * TAKE - 1, 2 * TAKE, 3 * TAKE + 40]
QUICK = [("amplify", cut) for cut in CUTS] + [("discard only", CUTS[1]), *((name, CUTS[1]) for name in OTHERS)]
ALL = [*itertools.product(("gaussian", "amplify", "discard only"), CUTS), *itertools.product(OTHERS, CUTS[1:-1:2])]


@pytest.mark.parametrize(
    ("name", "images"),
    [pytest.param(*case, marks=[] if case in QUICK else pytest.mark.slow) for case in ALL],
)
def test_a_resumed_run_ends_with_the_same_bits(
    name: str, images: int, uninterrupted: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(Interrupted):
        train("digits", SETTINGS[name], out=tmp_path / "model", progress=stopping_after(images))
    resumed = train("digits", SETTINGS[name], out=tmp_path / "model", resume=True)
    assert models.weights_hash(resumed) == models.weights_hash(models.load(uninterrupted[name]))
    columns = [c for c in pd.read_csv(uninterrupted[name] / HISTORY).columns if c != "seconds"]
    left, right = (pd.read_csv(folder / HISTORY)[columns] for folder in (tmp_path / "model", uninterrupted[name]))
    pd.testing.assert_frame_equal(left, right)


def test_the_seed_decides_the_weights(uninterrupted: dict[str, Path], tmp_path: Path) -> None:
    again = train("digits", GAUSSIAN, out=tmp_path / "again")
    other = train("digits", GAUSSIAN.model_copy(update={"seed": 1}), out=tmp_path / "other")
    first = models.load(uninterrupted["gaussian"])
    assert models.weights_hash(again) == models.weights_hash(first)
    assert models.weights_hash(other) != models.weights_hash(first)


def test_the_global_generator_decides_nothing(uninterrupted: dict[str, Path], tmp_path: Path) -> None:
    torch.manual_seed(12345)
    model = train("digits", GAUSSIAN, out=tmp_path / "model")
    assert models.weights_hash(model) == models.weights_hash(models.load(uninterrupted["gaussian"]))


def test_the_discarded_images_are_in_the_checkpoint(uninterrupted: dict[str, Path]) -> None:
    state = torch.load(uninterrupted["amplify"] / CHECKPOINT, weights_only=True)["schedule"]
    assert state["kept"].shape == (TAKE,)
    assert 0 < int(state["kept"].sum()) < TAKE
    assert torch.equal(state["weights"] == 0, ~state["kept"])


def test_a_run_leaves_a_model_a_history_and_curves(uninterrupted: dict[str, Path]) -> None:
    folder = uninterrupted["amplify"]
    config = json.loads((folder / "config.json").read_text())["provenance"]
    assert (config["dataset"], config["method"], config["sigma"], config["seed"]) == ("digits", "amplify", 0.25, 0)
    assert config["hyperparameters"]["E_t"] == 1
    assert {"torch", "randsmooth", "python"} <= set(config["versions"])
    history = pd.read_csv(folder / HISTORY)
    assert history["epoch"].tolist() == list(range(EPOCHS))
    assert history["discarded_share"].notna().tolist() == [False, True, True, True]
    assert any((folder / EVENTS).iterdir())


@pytest.mark.slow
def test_training_learns(tmp_path: Path) -> None:
    from randsmooth import SmoothedClassifier, data

    model = train("digits", GAUSSIAN.model_copy(update={"epochs": 15, "take": None}), out=tmp_path / "model")
    images = data.load("digits", "test")
    x, y = images.batch(torch.arange(0, len(images), 4))
    predicted = SmoothedClassifier(model, sigma=0.25, seed=0).predict(x, n=100)
    assert (predicted == y.numpy()).mean() > 0.85


class Breaking:
    """Gaussian's loss, NaN after the given number of calls."""

    def __init__(self, after: int) -> None:
        self.left, self.loss = after, Gaussian.loss

    def __call__(self, method: Gaussian, *batch: Any) -> Loss:
        self.left -= 1
        total, terms, figures, _ = self.loss(method, *batch)
        factor = float("nan") if self.left < 0 else 1.0
        return Loss(total * factor, {name: term * factor for name, term in terms.items()}, figures)


def test_a_lost_loss_stops_the_run_and_keeps_the_last_good_checkpoint(
    uninterrupted: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = -(-TAKE * 4 // 256)
    broken = Breaking(after=2 * steps + 1)
    with (
        monkeypatch.context() as patch,
        pytest.raises(
            TrainingDiverged,
            match=r"epoch 2.*cross_entropy nan.*checkpoint of 2 epochs is kept.*--set lr.*--accept-changes",
        ),
    ):
        patch.setattr(Gaussian, "loss", lambda *batch: broken(*batch))
        train("digits", GAUSSIAN, out=tmp_path / "m")
    assert torch.load(tmp_path / "m" / CHECKPOINT, weights_only=True)["epoch"] == 2
    resumed = train("digits", GAUSSIAN, out=tmp_path / "m", resume=True)
    assert models.weights_hash(resumed) == models.weights_hash(models.load(uninterrupted["gaussian"]))


def test_a_lost_run_goes_on_under_other_settings(tmp_path: Path) -> None:
    diverging = GAUSSIAN.model_copy(update={"set": {"lr_gamma": 1e30, "lr_milestones": [2]}})
    with pytest.raises(TrainingDiverged, match="2 epochs"):
        train("digits", diverging, out=tmp_path / "m")
    assert len(pd.read_csv(tmp_path / "m" / HISTORY)) == 2
    saved = GAUSSIAN.model_copy(update={"set": {"lr_gamma": 0.1, "lr_milestones": [2]}})
    with pytest.raises(InputError, match=r"lr_gamma: 1e\+30 in the file, 0.1 asked for.*--accept-changes"):
        train("digits", saved, out=tmp_path / "m", resume=True)
    model = train("digits", saved, out=tmp_path / "m", resume=True, accept_changes=True)
    assert model.provenance["changed"] == ["lr_gamma changed from 1e+30 to 0.1 after 2 epochs"]
    assert len(pd.read_csv(tmp_path / "m" / HISTORY)) == EPOCHS
    assert train("digits", saved, out=tmp_path / "m", resume=True).provenance["changed"] == model.provenance["changed"]


def test_a_threshold_that_leaves_nothing_can_be_changed_where_it_is_met(tmp_path: Path) -> None:
    noisy = AMPLIFY.model_copy(update={"sigma": 2.0, "set": AMPLIFY.set | {"p_t": 0.05}})
    strict = noisy.model_copy(update={"set": noisy.set | {"p_t": 1.0, "discard_noises": 200}})
    with pytest.raises(InputError, match=r"p_t=1.0 would discard.*% at 0.3.*checkpoint of 1 epoch .*--accept-changes"):
        train("digits", strict, out=tmp_path / "m")
    train("digits", noisy, out=tmp_path / "m", resume=True, accept_changes=True)


@pytest.mark.parametrize("change", [{"seed": 1}, {"take": 100}, {"method": "gaussian", "set": {}}])
def test_what_cannot_change_on_the_way_is_refused(change: dict[str, Any], uninterrupted: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=r"begun differently.*cannot change on the way.*--overwrite"):
        train(
            "digits", AMPLIFY.model_copy(update=change), out=uninterrupted["amplify"], resume=True, accept_changes=True
        )


def test_accepting_changes_needs_a_run_to_change(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs resume=True \(--resume\)"):
        train("digits", GAUSSIAN, out=tmp_path / "m", accept_changes=True)


def test_the_history_is_there_after_every_epoch(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train("digits", GAUSSIAN, out=tmp_path / "m", progress=stopping_after(2 * TAKE + 1))
    assert pd.read_csv(tmp_path / "m" / HISTORY)["epoch"].tolist() == [0, 1]


def test_weights_broken_by_an_epochs_last_step_are_not_saved(tmp_path: Path) -> None:
    one_step = GAUSSIAN.model_copy(update={"take": 50, "epochs": 1, "set": {"lr": 1e30}})
    with pytest.raises(TrainingDiverged, match="not finite"):
        train("digits", one_step, out=tmp_path / "m")
    assert not {CHECKPOINT, "model.safetensors"} & {path.name for path in (tmp_path / "m").iterdir()}


def test_a_finished_run_resumes_to_itself(uninterrupted: dict[str, Path]) -> None:
    before = models.weights_hash(models.load(uninterrupted["gaussian"]))
    assert models.weights_hash(train("digits", GAUSSIAN, out=uninterrupted["gaussian"], resume=True)) == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"sigma": 0.5}, "sigma: 0.25 in the file, 0.5 asked for"),
        ({"seed": 7}, "seed"),
        ({"epochs": 5}, "epochs"),
        ({"take": 100}, "take"),
        ({"set": {"lr": 0.001}}, "lr"),
        ({"precision": "bf16-mixed"}, "precision"),
        ({"method": "amplify"}, "method"),
    ],
)
def test_resuming_with_other_settings_names_them(
    change: dict[str, Any], named: str, uninterrupted: dict[str, Path]
) -> None:
    with pytest.raises(InputError, match=named) as refused:
        train("digits", GAUSSIAN.model_copy(update=change), out=uninterrupted["gaussian"], resume=True)
    assert "lr_milestones" not in str(refused.value)  # which nobody chose


def test_a_folder_in_use_is_refused(uninterrupted: dict[str, Path], tmp_path: Path) -> None:
    folder = uninterrupted["gaussian"]
    with pytest.raises(InputError, match=r" holds a trained model\. .*--resume.*--overwrite"):
        train("digits", GAUSSIAN, out=folder)
    shutil.copytree(folder, tmp_path / "unfinished", ignore=shutil.ignore_patterns("config.json"))
    with pytest.raises(InputError, match=r" holds an unfinished run\. .*--resume"):
        train("digits", GAUSSIAN, out=tmp_path / "unfinished")
    with pytest.raises(InputError, match="one of them"):
        train("digits", GAUSSIAN, out=folder, resume=True, overwrite=True)
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match=r"thesis.tex"):
        train("digits", GAUSSIAN, out=tmp_path, overwrite=True)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_resuming_touches_no_strangers_files(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("a project of mine")
    with pytest.raises(InputError, match=r"README.md.*no checkpoint to go on from"):
        train("digits", GAUSSIAN, out=tmp_path, resume=True)
    assert (tmp_path / "README.md").read_text() == "a project of mine"


def test_refused_settings_leave_the_old_run(tmp_path: Path) -> None:
    train("digits", GAUSSIAN, out=tmp_path / "m")
    before = models.weights_hash(models.load(tmp_path / "m"))
    with pytest.raises(InputError, match="99999"):
        train("digits", GAUSSIAN.model_copy(update={"take": 99999}), out=tmp_path / "m", overwrite=True)
    assert models.weights_hash(models.load(tmp_path / "m")) == before


def test_curves_that_cannot_be_written_are_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tensorboard.summary.writer.record_writer.RecordWriter.write", full)
    with pytest.raises(OSError, match="No space left") as refused:
        train("digits", GAUSSIAN, out=tmp_path / "m")
    assert refused.value.filename == str(tmp_path / "m" / "events")
    assert "Traceback" not in capfd.readouterr().err


def test_a_folder_removed_under_a_run_is_told_and_not_made_anew(tmp_path: Path) -> None:
    @contextmanager
    def remove(*_: object) -> Iterator[Silent]:
        yield Silent()
        shutil.rmtree(tmp_path / "m")

    with pytest.raises((InputError, FileNotFoundError)) as refused:
        train("digits", GAUSSIAN, out=tmp_path / "m", progress=remove)
    assert str(tmp_path / "m") in str(refused.value)
    assert not (tmp_path / "m").exists()
    train("digits", GAUSSIAN, out=tmp_path / "m", resume=True)


def test_a_run_file_that_is_gone_is_written_again(tmp_path: Path) -> None:
    train("digits", GAUSSIAN, out=tmp_path / "m")
    whole = (tmp_path / "m" / "run.yaml").read_text()
    (tmp_path / "m" / "run.yaml").unlink()
    train("digits", GAUSSIAN, out=tmp_path / "m", resume=True)
    assert (tmp_path / "m" / "run.yaml").read_text() == whole


def test_a_kill_between_a_checkpoint_and_the_history_loses_no_line(tmp_path: Path) -> None:
    train("digits", GAUSSIAN, out=tmp_path / "m")
    whole = (tmp_path / "m" / "history.csv").read_text()
    (tmp_path / "m" / "history.csv").write_text("".join(whole.splitlines(keepends=True)[:-1]))
    train("digits", GAUSSIAN, out=tmp_path / "m", resume=True)
    assert (tmp_path / "m" / "history.csv").read_text() == whole


@pytest.mark.parametrize("flags", [{"overwrite": True}, {"resume": True}], ids=["overwrite", "resume"])
def test_what_a_kill_left_of_a_write_is_cleared(flags: dict[str, Any], tmp_path: Path) -> None:
    train("digits", GAUSSIAN, out=tmp_path / "m")
    (tmp_path / "m" / ".checkpoint.pt.123.tmp").write_bytes(b"half")
    (tmp_path / "m" / ".saving-abc").mkdir()
    train("digits", GAUSSIAN, out=tmp_path / "m", **flags)
    assert not [path.name for path in (tmp_path / "m").iterdir() if path.name.startswith(".")]


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    with claimed(tmp_path / "m"), pytest.raises(InputError, match="another run is writing"):
        train("digits", GAUSSIAN, out=tmp_path / "m")


def test_overwriting_starts_anew(tmp_path: Path) -> None:
    train("digits", GAUSSIAN.model_copy(update={"seed": 3}), out=tmp_path / "m")
    anew = train("digits", GAUSSIAN, out=tmp_path / "m", overwrite=True)
    assert anew.provenance["seed"] == 0
    assert len(pd.read_csv(tmp_path / "m" / HISTORY)) == EPOCHS


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_checkpoint_is_named(share: float, uninterrupted: dict[str, Path], tmp_path: Path) -> None:
    data = (uninterrupted["gaussian"] / CHECKPOINT).read_bytes()
    (tmp_path / CHECKPOINT).write_bytes(data[: int(len(data) * share)])
    with pytest.raises(InputError, match=r"checkpoint.pt is damaged"):
        train("digits", GAUSSIAN, out=tmp_path, resume=True)


@pytest.mark.parametrize("name", ["gaussian", "amplify"])
def test_bf16_trains(name: str, tmp_path: Path) -> None:
    model = train("digits", SETTINGS[name].model_copy(update={"precision": "bf16-mixed"}), out=tmp_path / "m")
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    losses = pd.read_csv(tmp_path / "m" / HISTORY)["cross_entropy"]
    assert losses.iloc[-1] < losses.iloc[0] or name == "amplify"  # whose loss rises when its attack begins


def test_discarding_with_another_models_p_a(uninterrupted: dict[str, Path], tmp_path: Path) -> None:
    settings = AMPLIFY.set | {"E_t": 0, "p_A_from": str(uninterrupted["gaussian"])}
    train("digits", AMPLIFY.model_copy(update={"set": settings, "epochs": 1}), out=tmp_path / "m")
    assert 0.0 < pd.read_csv(tmp_path / "m" / HISTORY)["discarded_share"][0] < 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "mnits"}, "mnist"),
        ({"arch": "resnt20"}, "resnet20"),
        ({"arch": "resnet50"}, "32"),
        ({"device": "tpu"}, "auto, cpu, cuda or"),
        ({"take": 10**6}, "1000000"),
        ({"method": "amplify", "set": {"p_t": 1.0, "E_t": 0, "p_A_from": "/nowhere"}}, "nowhere"),
    ],
)
def test_bad_settings(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        arguments: dict[str, Any] = {"dataset": "digits", "settings": GAUSSIAN, "out": tmp_path / "m"}
        train(**arguments | change)


@pytest.mark.cuda
@pytest.mark.parametrize("precision", ["32", "bf16-mixed"])
def test_amplify_trains_on_cuda(precision: str, tmp_path: Path) -> None:
    model = train("digits", AMPLIFY.replace(precision=precision), out=tmp_path / "m", device="cuda")
    assert {parameter.device.type for parameter in model.parameters()} == {"cuda"}


@pytest.mark.slow
def test_a_compiled_run_learns_the_same(tmp_path: Path) -> None:
    train("digits", GAUSSIAN, out=tmp_path / "eager")
    train("digits", GAUSSIAN.model_copy(update={"compile": True}), out=tmp_path / "compiled")
    eager, compiled = (pd.read_csv(tmp_path / name / HISTORY)["cross_entropy"] for name in ("eager", "compiled"))
    assert (eager - compiled).abs().max() < 1e-3
    assert models.load(tmp_path / "compiled").arch == "small-cnn"
