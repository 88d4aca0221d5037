"""Model folders: config.json, model.safetensors and README.md.

They are written whole, and read with limits and digests.
"""

import hashlib
import json
import pkgutil
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from randsmooth import cards
from randsmooth.atomic import make_folder, naming, sync_folder, write_atomically
from randsmooth.contents import check_no_placeholder
from randsmooth.documents import parse_json, read_file, shown
from randsmooth.errors import (
    BadValue,
    NotFound,
    Problem,
    Setting,
    WrongFile,
    WrongModel,
)
from randsmooth.models.device import pick_device
from randsmooth.models.hub_files import model_folder
from randsmooth.models.places import CONFIG, check_place, shipped
from randsmooth.models.weights import COUNTER
from randsmooth.noise import noise_from
from randsmooth.urls import fetched, is_url

WEIGHTS = "model.safetensors"
# A file beside the model whose training is not finished.
CHECKPOINT_OF_TRAINING = "checkpoint.pt"

# Keys of config.json: the hash of the file of weights, and that of the other entries.
WEIGHTS_HASH_KEY = "weights"
DIGEST_KEY = "digest"
# An argument that only one kind of model has -> this kind.
KIND_WITH_ARGUMENT = {"classes": "classifier", "channels": "denoiser"}

# Kind of a model -> the front matter of its card, which the Hugging Face hub reads.
FRONT_MATTER: dict[str, dict[str, Any]] = {
    "classifier": {
        "library_name": "randsmooth",
        "license": "apache-2.0",
        "pipeline_tag": "image-classification",
        "tags": cards.TAGS,
    },
    "denoiser": {
        "library_name": "randsmooth",
        "license": "apache-2.0",
        "pipeline_tag": "image-to-image",
        "tags": [*cards.TAGS, "denoising"],
    },
}

# What other libraries write: the file of diffusers' pipelines, and keys in a
# config.json of transformers and of timm.
DIFFUSERS_PIPELINE = "model_index.json"
TRANSFORMERS_KEYS = {"model_type", "architectures", "transformers_version"}
TIMM_KEYS = {"architecture", "pretrained_cfg"}

# Files that are models by themselves.
OPENED_ALONE = re.compile(r"\.(onnx|xml|pt2?|torchscript)$")

SAVE_AGAIN = "save or download the model again"

M = TypeVar("M", bound=nn.Module)


class FolderConfig(NamedTuple):
    """What the config.json of a model folder says.

    Attributes:
        kind: what the model is, one of the values of KIND_WITH_ARGUMENT.
        arguments: the arguments that the model is rebuilt with.
        weights_hash: the hash of the file of weights, as it was written.
    """

    kind: str
    arguments: dict[str, Any]
    weights_hash: object


class FolderContent(NamedTuple):
    """The content of a model folder.

    Attributes:
        folder: where it lies on this machine.
        kind: what the model is, one of the values of KIND_WITH_ARGUMENT.
        config: the arguments that the model is rebuilt with.
        weights: the state dict of the model.
    """

    folder: Path
    kind: str
    config: dict[str, Any]
    weights: dict[str, Tensor]


class StoredModel(nn.Module):
    """A network that is rebuilt from the plain JSON in `config` and its weights.

    A subclass names its `kind`, and sets `config` to its arguments and then
    `provenance`.
    """

    kind: ClassVar[str]
    arch: str
    config: dict[str, Any]

    @property
    def provenance(self) -> dict[str, Any]:
        """How the weights were trained.

        To change it, assign a new dictionary, which must be plain JSON.
        """
        return self.config["provenance"]  # type: ignore[no-any-return]

    @provenance.setter
    def provenance(self, value: dict[str, Any]) -> None:
        try:
            written = json.dumps(dict(value), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise BadValue(
                field="provenance",
                value=value,
                expected=f"is not plain JSON ({shown(error)})",
                fix="expected a dictionary of str, int, float, list, dict; {} if "
                "nothing is known",
            ) from None
        # The value as it will be read back from the file: a tuple becomes a list.
        self.config["provenance"] = parse_json(written, where="provenance")

    @classmethod
    def load(cls, folder: Path | str, device: torch.device | str = "cpu") -> Self:
        """Return the model of this kind in `folder`, in eval mode on `device`.

        Raises:
            Problem: in the cases of `models.load`.
        """
        return cls.rebuilt(read(folder)).to(pick_device(device))

    @classmethod
    def rebuilt(cls, stored: FolderContent) -> Self:
        """Return the model of a folder's content, in eval mode.

        Raises:
            WrongFile: it is of another kind, or its parts do not fit.
        """
        if stored.kind != cls.kind:
            raise WrongFile(
                f"{stored.folder} holds a {stored.kind}, not a {cls.kind}",
                fix=("certify a classifier with a ", Setting("denoiser")),
                file=stored.folder,
            )
        return filled(
            lambda: cls(**stored.config),
            stored.weights,
            where=str(stored.folder / CONFIG),
            way_out=f"are {CONFIG} and {WEIGHTS} from one model?",
        )


def filled(
    make: Callable[[], M], weights: Mapping[str, Tensor], where: str, way_out: str
) -> M:
    """Return the model that `make` gives, in eval mode, with the `weights`.

    A file may describe a network of any size. So the network is first made without
    memory, and it is made in memory only if it fits the weights, which are there
    already. torch's generator stays as it is. Counters of batch norms may be missing
    from the weights: they change no answer.

    Args:
        make: makes the model, with new weights.
        weights: the state dict of the model.
        where: the thing that describes the model, such as a file: errors begin with it.
        way_out: the advice for weights that do not fit.

    Raises:
        WrongFile: the model cannot be made, or has other weights.
    """
    try:
        # Tensors on the device "meta" have a type and a shape, and take no memory.
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            expected = make().state_dict()
    # Python raises a TypeError for an argument in the file that the model does not take.
    except (Problem, RuntimeError, TypeError) as error:
        first_line, _, _ = str(error).partition("\n")
        raise WrongFile(
            f"{where}: no such network can be built ({shown(first_line)})"
        ) from error

    counters = {
        name: torch.zeros((), dtype=torch.int64)
        for name in expected
        if name.endswith(COUNTER)
    }
    # A counter that the weights have takes the place of 0.
    with_counters = counters | dict(weights)
    _check_fit(expected, with_counters, where, way_out)
    with torch.random.fork_rng(devices=[]):
        model = make()
    model.load_state_dict(with_counters)
    return model.eval()


def _check_fit(
    expected: Mapping[str, Tensor],
    weights: Mapping[str, Tensor],
    where: str,
    way_out: str,
) -> None:
    """Raise WrongFile unless weights have the names, types and shapes expected.

    torch itself would convert other types without a word.

    Args:
        expected: the state dict of the model.
        weights: the state dict that is to be loaded into it.
        where: as in `filled`.
        way_out: as in `filled`.
    """
    wanted = _types_and_shapes(expected)
    given = _types_and_shapes(weights)
    names = sorted({*wanted, *given})
    unfit = [name for name in names if wanted.get(name) != given.get(name)]
    if unfit:
        first = unfit[0]
        raise WrongFile(
            f"{where}: {len(unfit)} tensors do not fit, first {shown(repr(first))}, "
            f"expected {wanted.get(first, 'nothing')}, found "
            f"{given.get(first, 'nothing')}",
            fix=way_out,
        )


def _types_and_shapes(
    state: Mapping[str, Tensor],
) -> dict[str, tuple[torch.dtype, tuple[int, ...]]]:
    """Return the type and the shape of each tensor by its name."""
    return {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in state.items()}


def save(model: StoredModel, folder: Path | str) -> None:
    """Write `model`, a classifier or a denoiser, into `folder`.

    A model that is there is replaced; other files stay. The files are first written to
    a temporary folder inside `folder`. Then config.json, without which nothing loads,
    is removed first and put in place last: a killed process leaves the old model, the
    new one, or none that loads, never a mixture. On return the files are on the disk.

    Raises:
        Problem: `folder` cannot be made, or the weights are not float32.

    Example:
        >>> from randsmooth.models import Classifier
        >>> classes = ["cat", "dog"]
        >>> model = Classifier(arch="small-cnn", classes=classes, shape=(1, 8, 8))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(model, folder)
        ...     sorted(file.name for file in Path(folder).iterdir())
        ['README.md', 'config.json', 'model.safetensors']
    """
    folder = Path(folder)
    files = _files_of(model)
    make_folder(folder)
    temporary = tempfile.TemporaryDirectory(
        dir=folder, prefix=".saving-", suffix=".tmp"
    )
    # `naming`: a failed write names `folder`, not a file in the temporary one.
    with naming(folder), temporary as temporary_folder:
        for name, content in files.items():
            write_atomically(Path(temporary_folder) / name, content)

        (folder / CONFIG).unlink(missing_ok=True)
        # The removal reaches the disk before the first new file does.
        sync_folder(folder)
        # In the order of `_files_of`, config.json last.
        for name in files:
            (Path(temporary_folder) / name).replace(folder / name)
        sync_folder(folder)


def _files_of(model: StoredModel) -> dict[str, bytes]:
    """Return the files of a model folder, name -> content, config.json last.

    Raises:
        WrongModel: the weights are not float32.
    """
    state = model.state_dict()
    for name, tensor in state.items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise WrongModel(
                f"{name} is {tensor.dtype}; expected float32 weights",
                fix="call model.float() before saving",
            )

    # safetensors refuses tensors that are not contiguous.
    tensors = {name: tensor.contiguous() for name, tensor in state.items()}
    # Other readers of safetensors learn from "format" that the tensors are torch's.
    weights = safetensors.torch.save(tensors, metadata={"format": "pt"})
    config = model.config | {WEIGHTS_HASH_KEY: _sha256(weights)}
    # The digest is that of all other entries, the hash of the weights among them.
    config[DIGEST_KEY] = _digest(config)
    config_text = json.dumps(config, sort_keys=True, indent=2)
    # The configuration comes last: without it nothing loads.
    return {
        WEIGHTS: weights,
        cards.CARD: card(model).encode(),
        CONFIG: config_text.encode(),
    }


def card(model: StoredModel) -> str:
    """Return the README.md that travels with the weights.

    Names in it are escaped, so that they stay text in Markdown.
    """
    provenance = model.provenance
    # Training records the noise unless it is Gaussian of one sigma. An entry that is no
    # noise here, of a package that is not installed or the user's own, stays among the
    # provenance as it is, and the card says nothing else of it.
    noise = None
    if provenance.get("noise") is not None:
        with suppress(Problem, AttributeError, TypeError):
            noise = noise_from(provenance["noise"])
    sigma = provenance.get("sigma")
    printed_provenance = dict(provenance)
    if noise is not None:
        printed_provenance["noise"] = noise.text
    facts = {
        # The entry may be the user's own, of any type.
        "sigma": sigma if type(sigma) in (int, float) else None,
        "dataset": provenance.get("dataset"),
        "noise": noise,
        "provenance": printed_provenance,
    }
    body = cards.filled(
        "randsmooth.models", "cards", f"{model.kind}.md.j2", model.config | facts
    )
    return cards.Card(FRONT_MATTER[model.kind], body).text


def read(folder: Path | str) -> FolderContent:
    """Return the content of a model folder, checked against the hashes in it.

    Args:
        folder: a path, a URL, or the hub's "user/name".

    Raises:
        Problem: a file is missing, cut short, not of this package, or not as it was
            written; or weights are not finite.
    """
    folder_on_disk = _on_this_machine(folder)
    config = _read_config(folder_on_disk / CONFIG, str(folder))
    weights = _read_weights(folder_on_disk / WEIGHTS, config.weights_hash)
    return FolderContent(folder_on_disk, config.kind, config.arguments, weights)


def _read_weights(path: Path, expected_hash: object) -> dict[str, Tensor]:
    """Return the weights in a file.

    Raises:
        NotFound: there is no file.
        WrongFile: the file has another hash than expected, or holds NaN or infinity.
    """
    if not path.is_file():
        raise _no_weights(path)
    check_no_placeholder(path)
    try:
        content = path.read_bytes()
        if _sha256(content) != expected_hash:
            raise WrongFile(
                f"{path} is not the file that {CONFIG} was written with",
                file=path,
                fix=SAVE_AGAIN,
            )
        # safetensors compares all sizes with the file's before it allocates any memory.
        weights: dict[str, Tensor] = safetensors.torch.load(content)
    except (OSError, SafetensorError) as error:
        raise WrongFile(
            f"{path} is damaged ({shown(error)})", file=path, fix=SAVE_AGAIN
        ) from None

    # A network with such weights answers NaN, which no certificate can rest on.
    for name, tensor in weights.items():
        if not bool(torch.isfinite(tensor).all()):
            raise WrongFile(
                f"{path} holds NaN or infinity in {shown(repr(name))}",
                file=path,
                fix=SAVE_AGAIN,
            )
    return weights


def _no_weights(path: Path) -> NotFound:
    """Return the problem of a folder without its file of weights."""
    if path.with_name(CHECKPOINT_OF_TRAINING).is_file():
        return NotFound(
            f"{path} is missing, since training is not finished",
            file=path,
            fix=("go on with ", Setting("resume", True)),
        )
    return NotFound(
        f"{path} is missing",
        file=path,
        fix=f"{SAVE_AGAIN}, as safetensors; pickles are never loaded",
    )


def check_folder(folder: Path | str) -> str:
    """Check a model folder, and return a sentence that tells what was checked.

    Raises:
        Problem: the folder cannot be loaded, as in `models.load`.

    Example:
        >>> from randsmooth.models import Classifier
        >>> classes = ["cat", "dog"]
        >>> model = Classifier(arch="small-cnn", classes=classes, shape=(1, 8, 8))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(model, folder)
        ...     check_folder(folder)
        'model folder: classifier small-cnn, 20,866 finite numbers that fit it; \
configuration and weights are as they were saved'
    """
    # This compares both files with their hashes, and checks that the weights are finite.
    stored = read(folder)
    # The class is `Classifier` or `Denoiser`. Their modules import this one, so this one
    # cannot import them: the class is looked up by its name.
    class_name = stored.kind.capitalize()
    model_class = pkgutil.resolve_name(f"randsmooth.models:{class_name}")
    # This checks that the weights fit the network.
    model = model_class.rebuilt(stored)
    numbers = sum(tensor.numel() for tensor in stored.weights.values())
    return (
        f"model folder: {stored.kind} {model.arch}, {numbers:,} finite numbers that "
        "fit it; configuration and weights are as they were saved"
    )


def _on_this_machine(folder: Path | str) -> Path:
    """Return a folder on this machine that has the files of a model folder.

    It is `folder` itself if that is a path; for a name in DEMOS, the folder that comes
    with the package; for a URL or the hub's "user/name", a copy.

    Raises:
        NotFound: there is no such folder.
    """
    place = fetched(folder) if is_url(folder) else shipped(folder)
    check_place(place)
    return model_folder(str(place), files=[CONFIG, WEIGHTS], written="FOLDER")


def _read_config(path: Path, folder_as_given: str) -> FolderConfig:
    """Return the content of a configuration, once its digest was found to be right.

    Args:
        path: the file of the configuration.
        folder_as_given: what the user gave as the folder, for errors.

    Raises:
        NotFound: there is no file.
        WrongFile: another library wrote the file, or it was changed since.
    """
    if not path.is_file():
        raise _no_config(path, folder_as_given)
    check_no_placeholder(path)
    config = parse_json(read_file(path), where=path)
    # A damaged file may hold a list or a number.
    keys = set(config) if isinstance(config, dict) else set()
    _check_is_ours(keys, path, folder_as_given)

    kinds = [KIND_WITH_ARGUMENT[key] for key in keys if key in KIND_WITH_ARGUMENT]
    if not kinds or not keys >= {WEIGHTS_HASH_KEY, DIGEST_KEY}:
        content = ", ".join(sorted(keys)) or type(config).__name__
        raise WrongFile(
            f"{path} was not written by this randsmooth, it holds {shown(content)}",
            file=path,
            fix="name a folder of `train`",
        )
    # `_files_of` took the digest of all other entries.
    digest = config.pop(DIGEST_KEY)
    if digest != _digest(config):
        raise WrongFile(
            f"{path} is not as it was written, its digest differs",
            file=path,
            fix=SAVE_AGAIN,
        )
    weights_hash = config.pop(WEIGHTS_HASH_KEY)
    # What is left are the arguments of the model.
    return FolderConfig(kind=kinds[0], arguments=config, weights_hash=weights_hash)


def _check_is_ours(keys: set[str], path: Path, folder_as_given: str) -> None:
    """Raise WrongFile where another library wrote a configuration.

    Args:
        keys: the keys of the configuration.
        path: the file of the configuration.
        folder_as_given: what the user gave as the folder.
    """
    if keys & TRANSFORMERS_KEYS:
        fix = f"give hf:{folder_as_given}"
        graphs = sorted(file.name for file in path.parent.glob("*.onnx"))
        if graphs:
            fix += f", or {folder_as_given}/{graphs[0]}"
        raise WrongFile(
            f"{folder_as_given} holds a model of transformers, written by "
            "save_pretrained",
            file=path,
            fix=fix,
        )
    if keys & TIMM_KEYS:
        name_in_timm = folder_as_given
        if not Path(folder_as_given).is_dir() and not is_url(folder_as_given):
            # It is an id of the hub, which timm writes with this prefix.
            name_in_timm = f"hf-hub:{folder_as_given}"
        raise WrongFile(
            f"{folder_as_given} holds a model of timm",
            file=path,
            fix=f"give timm:{name_in_timm}",
        )


def _no_config(path: Path, folder_as_given: str) -> NotFound:
    """Return the problem of a folder without a configuration.

    It says what the folder holds instead, and what in it can be given as a model.

    Args:
        path: where the configuration would be.
        folder_as_given: what the user gave as the folder.
    """
    folder = path.parent
    if (folder / DIFFUSERS_PIPELINE).is_file():
        return NotFound(
            f"{path} is missing: the folder holds a diffusion model of diffusers, "
            "which is a denoiser",
            file=path,
            fix=("give it as ", Setting("denoiser", folder_as_given)),
        )

    names = sorted(
        file.name for file in folder.glob("*") if OPENED_ALONE.search(file.name)
    )
    fix = ""
    if names:
        listed = ", ".join(f"{folder_as_given}/{name}" for name in names)
        fix = f"name one of its files: {shown(listed)}"
    return NotFound(
        f"{path} is missing: not a randsmooth model folder, or its saving was "
        "interrupted",
        file=path,
        fix=fix,
    )


def _digest(content: Mapping[str, Any]) -> str:
    """Return the hash of a JSON object.

    It does not depend on the order of the keys, or on the spaces in the file.
    """
    canonical = json.dumps(
        content, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return _sha256(canonical.encode())


def _sha256(content: bytes) -> str:
    """Return the hash of `content`, with the name of the hash before it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
