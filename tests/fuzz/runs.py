"""Training runs: their checkpoints, their settings in YAML, and their teacher's predictions."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch
import yaml

from fuzz import safetensors_file
from fuzz.draw import YAML, Draw
from fuzz.examine import put
from fuzz.plain import bent, to_yaml
from fuzz.reader import Files, Reader
from fuzz.torch_archive import inflating, records, rezipped, zipped
from randsmooth import data, models
from randsmooth.cli.certification import Certify
from randsmooth.cli.configuration import read_config, validate
from randsmooth.cli.settings import Settings
from randsmooth.cli.verbs.evaluate import Evaluate
from randsmooth.cli.verbs.train import Train
from randsmooth.progress import Silent, silent
from randsmooth.training import TrainingSettings, resolve, train
from randsmooth.training import checkpoint as checkpoints
from randsmooth.training.devices import make_fabric
from randsmooth.training.folder import CHECKPOINT, TEACHER, check
from randsmooth.training.loop import Trainer
from randsmooth.training.run import new_classifier
from randsmooth.training.teacher import SmoothedTeacher, stored_predictions

TAKE = 12
TAG = b"randsmooth sha256:"  # before the digest of a checkpoint, as a stranger knows it
WHICH = "run"  # the number of the run to go on with, in the tests' own words
ASKED = "asked"  # the folder of the teacher
PLAIN = TrainingSettings(sigma=0.25, epochs=2, take=TAKE)
AMPLIFIED = {"E_t": 1, "reweight_every": 1, "p_t": 0.05, "T": 1, "discard_noises": 4, "m": 2}
CHOSEN = (
    PLAIN.model_copy(update={"method": "amplify", "set": AMPLIFIED | {"batch": 8}}),
    PLAIN.model_copy(update={"method": "amplify", "set": AMPLIFIED | {"batch": 8}, "seed": 1}),
    PLAIN.model_copy(update={"method": "stability", "set": {"batch": 4}}),
)


class Checkpoint(Reader):
    """A checkpoint as `train --resume` takes it up: all that the run goes on with."""

    name = "checkpoint"
    target = CHECKPOINT

    def valid(self) -> list[Files]:
        return [{CHECKPOINT: _checkpoint(run), WHICH: b"%d" % run} for run in range(len(CHOSEN))]

    def bombs(self) -> list[Files]:
        (files, *_) = self.valid()
        large = inflating(files[CHECKPOINT], 700)
        return [files | {CHECKPOINT: large}, files | {CHECKPOINT: _signed(large)}]

    def read(self, folder: Path) -> Any:
        trainer = _trainer(int((folder / WHICH).read_text()))
        found, _ = check(folder, trainer.recipe, resume=True, overwrite=False)
        if found is None:
            return None
        trainer.restore(found)
        return {
            "recipe": found["recipe"],
            "weights": trainer.weights.state_dict(),
            "optimizer": trainer.optimizer.state_dict(),
            "schedule": trainer.schedule.state(),
            "history": trainer.history,
            "epoch": trainer.epoch,
        }

    def fault(self, read: Any) -> str:
        if read is None:
            return "a damaged checkpoint was taken for none"
        wrong = [name for name, tensor in read["weights"].items() if not bool(torch.isfinite(tensor).all())]
        if wrong:
            return f"{wrong[0]} is not finite"
        done = read["epoch"]
        return "" if type(done) is int and 0 <= done <= 2 else f"{done!r} of 2 epochs done"

    def bent(self, files: Files, draw: Draw) -> Files | None:
        return files | {CHECKPOINT: rezipped(files[CHECKPOINT], draw)}

    def forged(self, files: Files, draw: Draw) -> Files | None:
        """Saved by the library with a field of anything, or changed and with a digest of that or none."""
        if draw.chance(0.5):
            changed = zipped(records(rezipped(files[CHECKPOINT], draw)))
            return files | {CHECKPOINT: changed if draw.chance(0.5) else _signed(changed)}
        content = torch.load(io.BytesIO(files[CHECKPOINT]), weights_only=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                checkpoints.save(bent(content, draw), Path(folder) / CHECKPOINT)
            except Exception:  # what cannot be saved is no file
                return None
            return files | {CHECKPOINT: (Path(folder) / CHECKPOINT).read_bytes()}


class Config(Reader):
    """A YAML file of `--config`, as its verb takes it up; of `train`, up to the network that it asks for.

    It is a user's own text, and has no digest: what is read must be what the text says to YAML's own parser.
    """

    name = "run-yaml"
    signed = False

    def valid(self) -> list[Files]:
        of_train = [
            {
                "verb": "train",
                "dataset": "digits",
                "device": "cpu",
                **settings.model_dump(mode="json", exclude_none=True),
            }
            for settings in CHOSEN
        ]
        others = [
            {"verb": "certify", "model": "runs/a", "dataset": "digits", "sigma": 0.25, "n": 1000, "rule": "grid=0.25"},
            {"verb": "evaluate", "files": ["a.parquet", "b.tsv"], "radii": [0.0, 0.5], "format": "json"},
        ]
        return [{"run.yaml": yaml.safe_dump(said, sort_keys=False).encode()} for said in (*of_train, *others)]

    def read(self, folder: Path) -> Any:
        path = folder / "run.yaml"
        verb = next((verb for verb in VERBS if f"verb: {verb}".encode() in path.read_bytes()), "train")
        chosen = validate(VERBS[verb], verb, read_config(path, verb))
        found: dict[str, Any] = {"settings": chosen.model_dump(mode="json")}
        if isinstance(chosen, Train):
            found["recipe"] = _recipe(chosen)
        return found

    def bent(self, files: Files, draw: Draw) -> Files | None:
        said = yaml.safe_load(files["run.yaml"])
        return {"run.yaml": to_yaml(bent(said, draw, YAML), draw)}


class TeacherPredictions(Reader):
    """A teacher's predictions beside a run: what is damaged, or of another teacher, is asked for anew."""

    name = "teacher"
    target = TEACHER

    def valid(self) -> list[Files]:
        return [_with_predictions(run) for run in range(2)]

    def read(self, folder: Path) -> Any:
        return _ask(int((folder / WHICH).read_text()), folder)

    def fault(self, read: Any) -> str:
        shares = bool((read >= 0).all()) and bool(torch.allclose(read.sum(dim=1), torch.ones(len(read))))
        return "" if shares else "predictions that are no shares"

    def bent(self, files: Files, draw: Draw) -> Files | None:
        return files | {TEACHER: safetensors_file.rewritten(files[TEACHER], draw)}

    def forged(self, files: Files, draw: Draw) -> Files | None:
        """Without the digest, as they were stored before they had one."""
        header, body = safetensors_file.parts(files[TEACHER])
        header["__metadata__"].pop("digest", None)
        plain = safetensors_file.joined(json.dumps(header).encode(), body)
        return files | {TEACHER: safetensors_file.rewritten(plain, draw)}


class StoredPredictions(TeacherPredictions):
    """The same file, where `reproduce` draws what the teacher of a finished run predicted."""

    name = "teacher-told"

    def valid(self) -> list[Files]:
        return [{TEACHER: files[TEACHER]} for files in super().valid()]

    def read(self, folder: Path) -> Any:
        return stored_predictions(folder)


VERBS: dict[str, type[Settings]] = {"train": Train, "certify": Certify, "evaluate": Evaluate}


@cache
def _trainer(run: int) -> Trainer:
    """What a run is resumed into; restoring sets all of it."""
    spec = data.describe("digits")
    recipe, _ = resolve("digits", CHOSEN[run], spec, device="cpu")
    images = data.load("digits").subset(data.take(1437, TAKE))
    schedule, fabric = recipe.build_method().schedule(), make_fabric(recipe)
    return Trainer(recipe, images, new_classifier(recipe, spec), schedule, Path("nowhere"), fabric, Silent())


@cache
def _checkpoint(run: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run" / CHECKPOINT
        train("digits", CHOSEN[run], out=path.parent, device="cpu")
        found = checkpoints.load(path)
        for epoch in found["history"]:  # what a clock says is another every time
            epoch |= {key: 1.0 for key in epoch if "seconds" in key}
        checkpoints.save(found, path)
        return path.read_bytes()


def _recipe(chosen: Train) -> Any:
    """The recipe that the settings resolve to, with the network that it names."""
    spec = data.describe("digits")
    recipe, _ = resolve(chosen.dataset, chosen, spec, device=chosen.device)
    new_classifier(recipe, spec)
    return recipe.model_dump(mode="json")


def _signed(archive: bytes) -> bytes:
    """A zip file without comment, with the digest of all before it for one, as a stranger would put it there."""
    head = archive[:-2] + len(TAG + b"0" * 64).to_bytes(2, "little")
    return head + TAG + hashlib.sha256(head).hexdigest().encode()


@cache
def _teacher(run: int) -> Files:
    """A model folder of an untrained teacher."""
    with tempfile.TemporaryDirectory() as folder:
        models.save(new_classifier(_trainer(run).recipe, data.describe("digits")), folder)
        names = ("config.json", "model.safetensors")
        return {f"{ASKED}/{name}": (Path(folder) / name).read_bytes() for name in names}


def _ask(run: int, folder: Path) -> Any:
    trainer = _trainer(run)
    images = trainer.images.subset(torch.arange(2))
    ask = SmoothedTeacher(trainer.recipe, images, folder, torch.device("cpu"), silent)
    return ask(str(folder / ASKED), 4)


@cache
def _with_predictions(run: int) -> Files:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        put(_teacher(run), folder)
        _ask(run, folder)
        return {TEACHER: (folder / TEACHER).read_bytes(), WHICH: b"%d" % run} | _teacher(run)
