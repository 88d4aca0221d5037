"""Models and training runs as they come in: folders, ONNX files, checkpoints of others and our own, YAML."""

import hashlib
import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from onnx import TensorProto, helper, numpy_helper

from fuzz.formats import inflating, torch_file
from fuzz.harness import Files, Reader, not_finite, written
from randsmooth import data, models
from randsmooth.certification.engine import Engine
from randsmooth.certification.scheduler import count_classes
from randsmooth.cli.config_files import read_config
from randsmooth.cli.settings import Settings, validate
from randsmooth.cli.verbs.certify import Certify
from randsmooth.cli.verbs.evaluate import Evaluate
from randsmooth.cli.verbs.train import Train
from randsmooth.models import Classifier, Denoiser, OnnxModel, weights_hash
from randsmooth.progress import Silent
from randsmooth.training import TrainingSettings, resolve, train
from randsmooth.training import checkpoint as checkpoints
from randsmooth.training.devices import make_fabric
from randsmooth.training.folder import CHECKPOINT, TEACHER, checkpoint_in
from randsmooth.training.loop import Trainer
from randsmooth.training.networks import new_model
from randsmooth.training.predictions import stored_predictions

CONFIG, WEIGHTS = "config.json", "model.safetensors"
DIGESTS = WEIGHTS_HASH, DIGEST = "weights", "digest"  # keys of config.json
GRAPH, DATA, SHAPE, BATCH = "model.onnx", "model.onnx.data", (1, 2, 2), 128
FOREIGN = "checkpoint.pth.tar"
TAG = b"randsmooth sha256:"  # before the digest of a checkpoint, as a stranger knows it
WHICH = "run"  # the number of the run to go on with, in the tests' own words
TAKE = 12
PLAIN = TrainingSettings(sigma=0.25, epochs=2, take=TAKE)
AMPLIFIED = {
    "E_t": 1,
    "reweight_every": 1,
    "p_t": 0.05,
    "T": 1,
    "discard_noises": 4,
    "m": 2,
}
CHOSEN = (
    PLAIN.model_copy(update={"method": "amplify", "set": AMPLIFIED | {"batch": 8}}),
    PLAIN.model_copy(
        update={"method": "amplify", "set": AMPLIFIED | {"batch": 8}, "seed": 1}
    ),
    PLAIN.model_copy(update={"method": "stability", "set": {"batch": 4}}),
)


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


# --- model folders --------------------------------------------------------------------------------------------------


def loaded(model: Any) -> Any:
    """What rebuilds a model, and its answer to an image."""
    state = dict(model.named_parameters()) | dict(model.named_buffers())
    with torch.inference_mode():
        answer = model(
            torch.full(
                (1, 1, 8, 8) if isinstance(model, Denoiser) else (1, *model.shape), 0.5
            )
        )
    return {"config": model.config, "state": state, "answer": answer}


class Folder(Reader):
    """A model folder as every verb loads it: configuration and weights."""

    name = "model-folder"
    huge: tuple[dict[str, Any], ...] = (
        *(
            {"shape": [1, 30_000, 30_000]},
            {"shape": [10**6, 8, 8]},
            {"classes": [str(k) for k in range(1_000_000)]},
        ),
        *({"arch": "resnet9998"}, {"arch": "resnet9998", "shape": [3, 32, 32]}),
    )

    def valid(self) -> list[Files]:
        return [classifier_folder(seed) for seed in range(2)]

    def read(self, folder: Path) -> Any:
        return loaded(models.load(folder))

    def fault(self, read: Any) -> str:
        return not_finite(read["state"])

    def bombs(self) -> list[Files]:
        files = self.valid()[0]
        said = json.loads(files[CONFIG])
        return [
            signed(files | {CONFIG: json.dumps(said | change).encode()})
            for change in self.huge
        ]

    def sealed(self, files: Files, name: str) -> Files:
        """With digests of what it says now, or without: whose length is odd has none."""
        return signed(files, bare=len(files[name]) % 2 == 1)


class DenoiserFolder(Folder):
    """A denoiser's folder."""

    name = "denoiser-folder"
    huge = ({"arch": "dncnn-200x2048"}, {"arch": "dncnn-3x9999"}, {"channels": 10**9})

    def valid(self) -> list[Files]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            provenance = {"dataset": "digits", "sigma": 0.25, "objective": "mse"}
            return [
                saved(
                    Denoiser(channels=1, arch="dncnn-4x3", provenance=provenance).eval()
                )
            ]

    def read(self, folder: Path) -> Any:
        return loaded(models.load_denoiser(folder))


def signed(files: Files, *, bare: bool = False) -> Files:
    """The folder with digests of what lies in it, or with none: the weights' in config.json, and of all else there."""
    try:
        said = {
            key: value
            for key, value in json.loads(files[CONFIG]).items()
            if key not in DIGESTS
        }
        if not bare:
            said[WEIGHTS_HASH] = sha256(files[WEIGHTS])
            said[DIGEST] = sha256(
                json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
            )
        return files | {CONFIG: json.dumps(said).encode()}
    except (
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
    ):  # what says nothing has no digest either
        return files


@cache
def classifier_folder(seed: int) -> Files:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        facts = {
            "dataset": "digits",
            "sigma": 0.25,
            "method": "gaussian",
            "hyperparameters": {"m": 1},
        }
        how: dict[str, Any] = {
            "classes": ["a", "b", "c"],
            "shape": [1, 8, 8],
            "mean": [0.5 + seed / 10],
            "std": [0.2],
        }
        return saved(Classifier(arch="small-cnn", **how, provenance=facts).eval())


def saved(model: Classifier | Denoiser) -> Files:
    made = written(partial(models.save, model))
    return {name: made[name] for name in (CONFIG, WEIGHTS)}


# --- files of others ------------------------------------------------------------------------------------------------


class Graph(Reader):
    """An ONNX file, alone or with its weights beside it, as a base classifier, and what it answers.

    Whoever changes it makes another classifier, which is fine as long as its identity is another, too.
    """

    name = "onnx"

    def valid(self) -> list[Files]:
        return [
            onnx_files(0, beside=True),
            onnx_files(1, beside=True),
            onnx_files(2, beside=False),
        ]

    def bombs(self) -> list[Files]:
        return [
            onnx_files(0, beside=False, dims=dims)
            for dims in ([10**6, 10**6], [4, 10**10], [-1, 3])
        ]

    def read(self, folder: Path) -> Any:
        model = OnnxModel(folder / GRAPH)
        engine = Engine(
            model, sigma=0.5, device=torch.device("cpu"), batch=BATCH, backend="onnx"
        )
        shape = model.shape or (1, 8, 8)  # of a file that leaves it free
        engine.prepare(shape)
        counts = count_classes(engine, torch.full(shape, 0.5), [("fuzz", BATCH)])
        return {"identity": weights_hash(model), "shape": model.shape, "counts": counts}

    def tells(self, meant: Any, read: Any) -> bool:
        return bool(meant["identity"] != read["identity"])


def onnx_files(seed: int, *, beside: bool, dims: list[int] | None = None) -> Files:
    """logits = flat image @ W; W lies beside the graph or in it, and says it has the shape `dims`."""
    weights = np.random.default_rng(seed).normal(size=(4, 3)).astype(np.float32)
    w = numpy_helper.from_array(weights, "w")
    if dims is not None:
        w.dims[:] = dims
    if beside:
        w.ClearField("raw_data")
        w.data_location = TensorProto.EXTERNAL
        for key, value in (
            ("location", DATA),
            ("offset", "0"),
            ("length", str(weights.nbytes)),
        ):
            w.external_data.add(key=key, value=value)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *SHAPE])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], axis=1),
        helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "model", [x], [y], [w])
    proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    return {GRAPH: proto.SerializeToString()} | (
        {DATA: weights.tobytes()} if beside else {}
    )


class Foreign(Reader):
    """A checkpoint of another project, as `import` reads it: without a digest, but it must be a whole network."""

    name = "foreign-checkpoint"
    signed = False
    target = FOREIGN

    def valid(self) -> list[Files]:
        return [foreign(prefix) for prefix in ("1.", "1.module.", "")]

    def bombs(self) -> list[Files]:
        huge = {
            "1.conv1.weight": torch.zeros(1).expand(16, 1, 3, 3),
            "1.layer1.0.x": torch.zeros(1).expand(2**40),
        }
        lie = torch_file({"state_dict": huge, "arch": "cifar_resnet9998"})
        return [{FOREIGN: inflating(foreign("1.")[FOREIGN], 700)}, {FOREIGN: lie}]

    def read(self, folder: Path) -> Any:
        model = models.import_checkpoint(folder / FOREIGN, "digits", normalise="none")
        assert isinstance(model, models.Classifier)
        with torch.inference_mode():
            answer = model(torch.full((1, *model.shape), 0.5))
        return {"arch": model.arch, "state": model.state_dict(), "answer": answer}

    def fault(self, read: Any) -> str:
        return not_finite(read["state"])


@cache
def foreign(prefix: str) -> Files:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(len(prefix))
        network = models.build("resnet8", in_channels=1, image_size=8, num_classes=10)
    state = {f"{prefix}{name}": tensor for name, tensor in network.state_dict().items()}
    return {
        FOREIGN: torch_file(
            {"epoch": 90, "arch": "cifar_resnet8", "state_dict": state}
            if prefix
            else state
        )
    }


# --- training runs --------------------------------------------------------------------------------------------------


class Archive(Reader):
    """An archive of torch's with a digest behind it."""

    def sealed(self, files: Files, name: str) -> Files:
        return files | {name: tagged(files[name])}


class Checkpoint(Archive):
    """A checkpoint as `train --resume` takes it up: all that the run goes on with."""

    name = "checkpoint"
    target = CHECKPOINT

    def valid(self) -> list[Files]:
        return [
            {CHECKPOINT: checkpoint_of(run), WHICH: b"%d" % run}
            for run in range(len(CHOSEN))
        ]

    def bombs(self) -> list[Files]:
        files = self.valid()[0]
        large = inflating(files[CHECKPOINT], 700)
        return [files | {CHECKPOINT: large}, files | {CHECKPOINT: tagged(large)}]

    def read(self, folder: Path) -> Any:
        trainer = trainer_of(int((folder / WHICH).read_text()))
        found, _ = checkpoint_in(folder, trainer.recipe, resume=True, overwrite=False)
        if found is None:
            return None
        trainer.restore(found)
        state: dict[str, Any] = {
            "weights": trainer.weights.state_dict(),
            "optimizer": trainer.optimizer.state_dict(),
        }
        state |= {
            "schedule": trainer.schedule.state(),
            "history": trainer.history,
            "epoch": len(trainer.history),
        }
        return state | {"recipe": found.recipe}

    def fault(self, read: Any) -> str:
        if read is None:
            return "a damaged checkpoint was taken for none"
        return not_finite(read["weights"]) or (
            "" if read["epoch"] in (0, 1, 2) else f"epoch {read['epoch']!r} of 2"
        )


def tagged(archive: bytes) -> bytes:
    """A zip file with its digest behind it, as a stranger would put it there."""
    bare = archive.rpartition(TAG)[0] or archive
    return bare + TAG + hashlib.sha256(bare).hexdigest().encode()


@cache
def trainer_of(run: int) -> Trainer:
    """What a run is resumed into; restoring sets all of it."""
    spec = data.describe("digits")
    recipe, _ = resolve("digits", CHOSEN[run], spec, device="cpu")
    images = data.load("digits").subset(data.take(1437, TAKE))
    schedule, fabric = recipe.build_method().schedule(), make_fabric(recipe)
    return Trainer(
        recipe,
        images,
        new_model(recipe, spec),
        schedule,
        Path("nowhere"),
        fabric,
        Silent(),
    )


@cache
def checkpoint_of(run: int) -> bytes:
    def write(folder: Path) -> None:
        train("digits", CHOSEN[run], out=folder, device="cpu")
        found = checkpoints.load(folder / CHECKPOINT)
        for epoch in found.history:  # what a clock says is another every time
            epoch |= {key: 1.0 for key in epoch if "seconds" in key}
        checkpoints.write_signed(folder / CHECKPOINT, dict(found))

    return written(write)[CHECKPOINT]


class RunConfig(Reader):
    """A YAML file of `--config`, as its verb takes it up; of `train`, up to the network that it asks for.

    It is a user's own text, and has no digest: what is read must be what the text says to YAML's own parser.
    """

    name = "run-yaml"
    signed = False

    def valid(self) -> list[Files]:
        start = {"verb": "train", "dataset": "digits", "device": "cpu"}
        of_train = [
            {**start, **chosen.model_dump(mode="json", exclude_none=True)}
            for chosen in CHOSEN
        ]
        others = [
            {
                "verb": "certify",
                "model": "runs/a",
                "dataset": "digits",
                "sigma": 0.25,
                "n": 1000,
                "rule": "grid=0.25",
            },
            {
                "verb": "evaluate",
                "files": ["a.parquet", "b.tsv"],
                "radii": [0.0, 0.5],
                "format": "json",
            },
        ]
        return [
            {"run.yaml": yaml.safe_dump(said, sort_keys=False).encode()}
            for said in (*of_train, *others)
        ]

    def read(self, folder: Path) -> Any:
        path = folder / "run.yaml"
        verb = next(
            (verb for verb in VERBS if f"verb: {verb}".encode() in path.read_bytes()),
            "train",
        )
        chosen = validate(VERBS[verb], verb, read_config(path, verb))
        found: dict[str, Any] = {"settings": chosen.model_dump(mode="json")}
        if isinstance(chosen, Train):
            spec = data.describe("digits")
            settings = chosen.of_training()
            recipe, _ = resolve(chosen.dataset, settings, spec, device=chosen.device)
            new_model(recipe, spec)
            found["recipe"] = recipe.model_dump(mode="json")
        return found


VERBS: dict[str, type[Settings]] = {
    "train": Train,
    "certify": Certify,
    "evaluate": Evaluate,
}


class TeacherPredictions(Archive):
    """What the teacher of a finished run predicted, beside the run, as `reproduce` draws it."""

    name = "teacher"
    target = TEACHER

    def valid(self) -> list[Files]:
        return [teacher_of(seed) for seed in range(2)]

    def read(self, folder: Path) -> Any:
        return stored_predictions(folder)

    def fault(self, read: Any) -> str:
        shares = bool((read >= 0).all()) and bool(
            torch.allclose(read.sum(dim=1), torch.ones(len(read)))
        )
        return "" if shares else "predictions that are no shares"


@cache
def teacher_of(seed: int) -> Files:
    """The predictions that a run of one epoch stored of its teacher."""

    def write(folder: Path) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            models.save(
                new_model(trainer_of(seed).recipe, data.describe("digits")).eval(),
                folder / "t",
            )
        how = {
            "variant": "released",
            "teacher": str(folder / "t"),
            "teacher_noises": 4,
            "m": 2,
            "T": 1,
            "batch": 8,
        }
        chosen = PLAIN.model_copy(
            update={"method": "cat-rs", "epochs": 1, "take": 4, "set": how}
        )
        train("digits", chosen, out=folder / "run", device="cpu")

    return {TEACHER: written(write)[f"run/{TEACHER}"]}
