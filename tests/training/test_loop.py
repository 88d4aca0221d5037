"""Training runs: deterministic, resumable bit for bit, stopped when the loss is lost, and what they tell on the way."""

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
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from randsmooth import models
from randsmooth.atomic import claimed
from randsmooth.errors import (
    OUT,
    OVERWRITE,
    RESUME,
    BadValue,
    Busy,
    Conflict,
    MissingValue,
    OutputExists,
    Problem,
    Setting,
    WrongData,
    WrongFile,
)
from randsmooth.methods import Loss
from randsmooth.methods.gaussian import GaussianTraining
from randsmooth.progress import Progress, Silent
from randsmooth.training import TrainingDiverged, TrainingSettings, train
from randsmooth.training.folder import CHECKPOINT, EVENTS, HISTORY
from values import Refusal

TAKE, EPOCHS = 160, 4
GAUSSIAN = TrainingSettings(sigma=0.25, epochs=EPOCHS, take=TAKE)
PARTS = {"E_t": 1, "reweight_every": 2, "p_t": 0.2, "T": 2, "discard_noises": 8}
# What changes between these four epochs, changes within them -> the figures that each method tells.
SHORT: dict[str, tuple[dict[str, Any], set[str]]] = {
    "gaussian": ({}, {"cross_entropy"}),
    "stability": ({}, {"cross_entropy", "stability"}),
    "smoothadv": ({"T": 2, "warmup": 3}, {"cross_entropy", "attack_success"}),
    "macer": ({"k": 4, "lbd_from": 2}, {"classification", "robustness"}),
    "consistency": (
        {"eps": 0.5, "T": 2, "warmup": 3},
        {"cross_entropy", "consistency", "entropy"},
    ),
    "smoothmix": (
        {"T": 2, "start": 1.0, "warmup": 3},
        {"cross_entropy", "mixed", "mixed_share"},
    ),
    "cat-rs": ({"T": 2}, {"low", "high", "sure_share", "attack_success"}),
    "amplify": (
        PARTS,
        {"cross_entropy", "attack_success", "discarded_share", "mean_weight"},
    ),
}
SETTINGS = {
    name: GAUSSIAN.replace(method=name, set=values)
    for name, (values, _) in SHORT.items()
}
AMPLIFY = SETTINGS["amplify"]


class Interrupted(Exception):
    """Stands for whatever stops a run between two steps."""


def stopping_after(images: int, where: str = "") -> Progress:
    """What stops the run once `images` images were seen in a part of it that has `where` in its title."""

    class Reporter(Silent):
        left = images

        def advance(self, steps: int, info: str = "") -> None:
            self.left -= steps
            if self.left <= 0:
                raise Interrupted

    @contextmanager
    def progress(title: str, total: int, unit: str) -> Iterator[Silent]:
        yield Reporter() if where in title else Silent()

    return progress


ACCEPT_CHANGES = Setting("accept_changes", True)


def refusal(
    out: Path,
    settings: TrainingSettings = GAUSSIAN,
    dataset: Any = "digits",
    **flags: Any,
) -> Problem:
    """The problem that `train` raises."""
    with pytest.raises(Problem) as refused:
        train(dataset, settings, out=out, **flags)
    return refused.value


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Uninterrupted runs."""
    folders = {name: tmp_path_factory.mktemp("run") / "model" for name in SETTINGS}
    for name, settings in SETTINGS.items():
        train("digits", settings, out=folders[name])
    return folders


def same(folder: Path, other: Path) -> bool:
    """Whether two runs have the same weights, and the same history but for the times."""
    one, two = (
        pd.read_csv(each / HISTORY).drop(columns="seconds").to_csv()
        for each in (folder, other)
    )
    return one == two and models.weights_hash(
        models.load(folder)
    ) == models.weights_hash(models.load(other))


CUTS = [1, TAKE + 1, 2 * TAKE - 1, 2 * TAKE, 3 * TAKE + 40]


def check_resumed(name: str, images: int, whole: dict[str, Path], folder: Path) -> None:
    with pytest.raises(Interrupted):
        train("digits", SETTINGS[name], out=folder, progress=stopping_after(images))
    done, kept = (
        (images - 1) // TAKE,
        len(pd.read_csv(folder / HISTORY)) if (folder / HISTORY).exists() else 0,
    )
    assert (
        kept <= done if name == "amplify" else kept == done
    )  # what Amplify asks before an epoch counts, too
    train("digits", SETTINGS[name], out=folder, resume=True)
    assert same(folder, whole[name]), (name, images)


def test_a_resumed_run_ends_with_the_same_bits(
    whole: dict[str, Path], tmp_path: Path
) -> None:
    for number, case in enumerate(
        [("amplify", CUTS[4]), ("amplify", CUTS[1]), ("macer", CUTS[3])]
    ):
        check_resumed(*case, whole, tmp_path / str(number))


@pytest.mark.slow
def test_a_run_resumed_from_anywhere_ends_with_the_same_bits(
    whole: dict[str, Path], tmp_path: Path
) -> None:
    for name, images in itertools.product(SETTINGS, CUTS):
        check_resumed(name, images, whole, tmp_path / f"{name}-{images}")


def test_what_amplify_asks_moves_the_progress_and_is_counted_beforehand(
    tmp_path: Path,
) -> None:
    moved: list[tuple[int, str]] = []
    totals: list[int] = []
    notes: list[str] = []
    skipped: list[int] = []

    class Recorder(Silent):
        def advance(self, steps: int, info: str = "") -> None:
            moved.append((steps, info))

        def skip(self, steps: int) -> None:
            skipped.append(steps)

        def say(self, line: str) -> None:
            notes.append(line)

    @contextmanager
    def progress(title: str, total: int, unit: str) -> Iterator[Silent]:
        totals.append(total)
        yield Recorder()

    train("digits", AMPLIFY.replace(epochs=2), out=tmp_path / "m", progress=progress)
    asked = (
        TAKE * (2 + 16) // (3 * 4)
    )  # 2 of 8 copies suffice, then 16 weigh; a step on m = 4 noises is 3 passes each
    assert totals == [2 * TAKE + asked] == [sum(steps for steps, _ in moved)]
    assert any(f" {asked:,} " in note for note in notes), notes
    asking = [
        steps
        for steps, info in moved
        if "epoch 2/2  asking which images are easy: " in info
    ]
    assert (
        len(asking) > 16
        and max(asking) <= TAKE
        and sum(asking) > asked / 3
        and min(asking) >= 0
    )
    moved.clear()
    train(
        "digits",
        AMPLIFY.replace(epochs=2),
        out=tmp_path / "m",
        resume=True,
        progress=progress,
    )
    assert skipped == totals[:1] and moved == []


def test_the_seed_alone_decides_the_weights(
    whole: dict[str, Path], tmp_path: Path
) -> None:
    torch.manual_seed(12345)
    train("digits", GAUSSIAN, out=tmp_path / "again")
    assert same(tmp_path / "again", whole["gaussian"])
    train(
        "digits", GAUSSIAN, out=whole["gaussian"], resume=True
    )  # a finished run resumes to itself
    assert same(tmp_path / "again", whole["gaussian"])
    train("digits", GAUSSIAN.replace(seed=3), out=tmp_path / "again", overwrite=True)
    assert not same(tmp_path / "again", whole["gaussian"])


def test_a_run_leaves_a_model_a_history_and_the_same_curves(
    whole: dict[str, Path],
) -> None:
    config = json.loads((whole["amplify"] / "config.json").read_text())["provenance"]
    assert (config["dataset"], config["method"], config["sigma"], config["seed"]) == (
        "digits",
        "amplify",
        0.25,
        0,
    )
    assert config["hyperparameters"]["E_t"] == 1 and {
        "torch",
        "randsmooth",
        "python",
    } <= {*config["versions"]}
    state = torch.load(whole["amplify"] / CHECKPOINT, weights_only=True)["schedule"]
    assert 0 < int(state["kept"].sum()) < TAKE == len(state["kept"])
    assert torch.equal(state["weights"] == 0, ~state["kept"])
    for name, (_, told) in SHORT.items():
        history, names = (
            pd.read_csv(whole[name] / HISTORY),
            told | {"easy_share", "hard_share"},
        )
        assert history["epoch"].tolist() == [*range(EPOCHS)] and names <= {*history}, (
            name
        )
        shares = history[
            [column for column in history if column.endswith(("_share", "_success"))]
        ].fillna(0)
        assert ((shares >= 0) & (shares <= 1)).all(axis=None), name
        events = EventAccumulator(str(whole[name] / EVENTS)).Reload()
        for column in names:
            curve = [event.value for event in events.Scalars(f"epoch/{column}")]
            assert curve == pytest.approx(
                history[column].dropna().tolist(), rel=1e-5
            ), (name, column)
        assert {f"step/{column}" for column in names & {"cross_entropy", "low"}} <= {
            *events.Tags()["scalars"]
        }
        assert ("weight" in events.Tags()["histograms"]) == (name == "amplify")


def test_a_lost_loss_stops_the_run_and_keeps_the_last_good_checkpoint(
    whole: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, real = itertools.count(), GaussianTraining.loss

    def breaking(*batch: Any) -> Loss:
        total, terms, figures = real(*batch)
        factor = (
            float("nan") if next(calls) > 2 * 3 else 1.0
        )  # from the second step of the third epoch on
        return Loss(
            total * factor,
            {name: term * factor for name, term in terms.items()},
            figures,
        )

    with monkeypatch.context() as patch, pytest.raises(TrainingDiverged) as lost:
        patch.setattr(GaussianTraining, "loss", breaking)
        train("digits", GAUSSIAN, out=tmp_path / "m")
    for named in ("epoch 2", "cross_entropy nan", "lr", "0.05"):
        assert named in str(lost.value)
    assert "accept_changes=True" in str(lost.value) and "resume=True" in str(lost.value)
    calls = itertools.count(
        7
    )  # from the first step of all on, which no learning rate can be at fault for
    with (
        monkeypatch.context() as patch,
        pytest.raises(TrainingDiverged, match=r"step 0: .* nan"),
    ):
        patch.setattr(GaussianTraining, "loss", breaking)
        train("digits", GAUSSIAN, out=tmp_path / "n")
    train("digits", GAUSSIAN, out=tmp_path / "m", resume=True)
    assert same(tmp_path / "m", whole["gaussian"])


def test_a_lost_run_goes_on_under_other_settings(tmp_path: Path) -> None:
    diverging, saved = (
        GAUSSIAN.replace(set={"lr_gamma": gamma, "lr_milestones": [2]})
        for gamma in (1e30, 0.1)
    )
    with pytest.raises(TrainingDiverged, match="2 epochs"):
        train("digits", diverging, out=tmp_path / "m")
    problem = refusal(tmp_path / "m", saved, resume=True)
    Refusal(OutputExists, "lr_gamma", "1e+30").check(problem)
    assert ACCEPT_CHANGES in problem.settings_in_fix
    ways: list[dict[str, Any]] = [{"accept_changes": True}, {}]
    for flags in ways:  # once accepted, they are the run's own
        model = train("digits", saved, out=tmp_path / "m", resume=True, **flags)
        assert model.provenance["changed"] == [
            "lr_gamma changed from 1e+30 to 0.1 after 2 epochs"
        ]
    noisy = AMPLIFY.replace(sigma=2.0, set=PARTS | {"p_t": 0.05})
    problem = refusal(
        tmp_path / "n",
        noisy.replace(set=noisy.set | {"p_t": 1.0, "discard_noises": 200}),
    )
    assert "p_t=1.0" in str(problem) and "accept_changes=True" in str(problem)
    train("digits", noisy, out=tmp_path / "n", resume=True, accept_changes=True)


def test_resuming_with_other_settings_names_them(whole: dict[str, Path]) -> None:
    changes: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        ({"sigma": 0.5}, ("sigma", "0.25", "0.5")),
        ({"epochs": 5}, ("epochs", "4", "5")),
        ({"set": {"lr": 0.001}}, ("lr", "0.05", "0.001")),
        ({"precision": "bf16-mixed"}, ("precision", "bf16-mixed")),
    ]
    for change, values in changes:
        problem = refusal(whole["gaussian"], GAUSSIAN.replace(**change), resume=True)
        Refusal(OutputExists, *values, "run.yaml").check(problem)
        assert ACCEPT_CHANGES in problem.settings_in_fix
    for change in ({"seed": 1}, {"take": 100}, {"method": "gaussian", "set": {}}):
        problem = refusal(
            whole["amplify"],
            AMPLIFY.replace(**change),
            resume=True,
            accept_changes=True,
        )
        Refusal(OutputExists).check(problem)
        assert OVERWRITE in problem.settings_in_fix
        assert ACCEPT_CHANGES not in problem.settings_in_fix


def test_a_folder_in_use_or_a_strangers_is_refused(
    whole: dict[str, Path], tmp_path: Path
) -> None:
    folder = whole["gaussian"]
    there = refusal(folder)
    Refusal(OutputExists).check(there)
    assert there.settings_in_fix == (RESUME, OVERWRITE, OUT)
    Refusal(Conflict, field="resume").check(
        refusal(folder, resume=True, overwrite=True)
    )
    no_run = refusal(tmp_path / "m", accept_changes=True)
    Refusal(MissingValue, field="accept_changes").check(no_run)
    assert no_run.settings_in_fix == (RESUME,)
    shutil.copytree(
        folder, tmp_path / "unfinished", ignore=shutil.ignore_patterns("config.json")
    )
    assert refusal(tmp_path / "unfinished").settings_in_fix == there.settings_in_fix
    files: list[tuple[str, dict[str, Any]]] = [
        ("thesis.tex", {"overwrite": True}),
        ("README.md", {"resume": True}),
    ]
    for name, flags in files:
        other = tmp_path / name.replace(".", "-")
        other.mkdir()
        (other / name).write_text("precious")
        Refusal(OutputExists, name).check(refusal(other, **flags))
        assert (other / name).read_text() == "precious"
    (tmp_path / "m").mkdir()
    wide = refusal(
        tmp_path / "wide", dataset=(torch.rand(4, 1, 8, 12), torch.arange(4) % 2)
    )
    Refusal(WrongData, "8x12").check(wide)
    assert [setting.name for setting in wide.settings_in_fix] == ["resize", "crop"]
    assert not (tmp_path / "wide").exists()
    with claimed(tmp_path / "m"):
        Refusal(Busy).check(refusal(tmp_path / "m"))
    before = models.weights_hash(models.load(folder))
    Refusal(BadValue, "99999", field="take").check(
        refusal(folder, GAUSSIAN.replace(take=99999), overwrite=True)
    )
    assert models.weights_hash(models.load(folder)) == before
    content = (folder / CHECKPOINT).read_bytes()
    for share in (0.0, 0.5, 0.999):
        (tmp_path / "m" / CHECKPOINT).write_bytes(content[: int(len(content) * share)])
        Refusal(WrongFile, "checkpoint.pt").check(refusal(tmp_path / "m", resume=True))


@pytest.mark.cuda
@pytest.mark.parametrize("precision", ["32", "bf16-mixed"])
def test_amplify_trains_on_cuda(precision: str, tmp_path: Path) -> None:
    model = train(
        "digits",
        AMPLIFY.replace(precision=precision),
        out=tmp_path / "m",
        device="cuda",
    )
    assert {parameter.device.type for parameter in model.parameters()} == {"cuda"}
