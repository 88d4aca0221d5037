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

import jinja2
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from randsmooth.atomic import make_folder, naming, sync_folder, write_atomically
from randsmooth.contents import check_itself
from randsmooth.documents import parse_json, read_file, shown
from randsmooth.errors import (
    BadValue,
    NotFound,
    Problem,
    Setting,
    WrongFile,
    WrongModel,
)
from randsmooth.escape import markdown, setting
from randsmooth.models.device import pick_device
from randsmooth.models.hub_files import model_folder
from randsmooth.models.places import CONFIG, check_place, shipped
from randsmooth.models.weights import COUNTER
from randsmooth.noise import noise_from
from randsmooth.urls import fetched, is_url

WEIGHTS = "model.safetensors"
CARD = "README.md"
UNFINISHED = "checkpoint.pt"  # beside a model whose training is not finished

# Keys of config.json: the hashes of the file of weights, and of config.json itself.
HASH = "weights"
DIGEST = "digest"
# An argument that one kind of models has alone -> this kind.
KINDS = {"classes": "classifier", "channels": "denoiser"}

# What other libraries write: the file of diffusers' pipelines, and keys in a
# config.json of transformers and of timm.
DIFFUSERS_PIPELINE = "model_index.json"
TRANSFORMERS_KEYS = {"model_type", "architectures", "transformers_version"}
TIMM_KEYS = {"architecture", "pretrained_cfg"}

# Files that are models by themselves.
OPENED_ALONE = re.compile(r"\.(onnx|xml|pt2?|torchscript)$")

SAVE_AGAIN = "save or download the model again"

M = TypeVar("M", bound=nn.Module)


class FolderContent(NamedTuple):
    """The content of a model folder.

    Attributes:
        folder: where it lies.
        kind: one of the values of KINDS.
        config: the arguments of the model.
        weights: its state dict.
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
        # As it will be read back.
        self.config["provenance"] = parse_json(written, "provenance")

    @classmethod
    def load(cls, folder: Path | str, device: torch.device | str = "cpu") -> Self:
        """Return the model of this kind in `folder`, in eval mode on `device`.

        Errors are those of `models.load`.
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
            str(stored.folder / CONFIG),
            f"are {CONFIG} and {WEIGHTS} from one model?",
        )


def filled(
    make: Callable[[], M], weights: Mapping[str, Tensor], where: str, way_out: str
) -> M:
    """Return the model that `make` gives, in eval mode, with the `weights`.

    A file may describe any network: it is first made without memory. torch's generator
    stays as it is. Counters of batch norms, which change nothing, may lack.

    Args:
        make: makes the model.
        weights: its state dict.
        where: names what describes it, in errors.
        way_out: what to do where the weights do not fit.

    Raises:
        WrongFile: it cannot be made, or has other weights.
    """
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            expected = make().state_dict()
    # A TypeError is raised for an argument that the model lacks.
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
    weights = counters | dict(weights)
    _check_fit(expected, weights, where, way_out)
    with torch.random.fork_rng(devices=[]):
        model = make()
    model.load_state_dict(weights)
    return model.eval()


def _check_fit(
    expected: Mapping[str, Tensor],
    weights: Mapping[str, Tensor],
    where: str,
    way_out: str,
) -> None:
    """Raise WrongFile unless weights have the names, types and shapes expected.

    torch would convert types. Arguments are those of `filled`.
    """
    wanted = _forms(expected)
    given = _forms(weights)
    names = sorted({*wanted, *given})
    odd = [name for name in names if wanted.get(name) != given.get(name)]
    if odd:
        first = odd[0]
        raise WrongFile(
            f"{where}: {len(odd)} tensors do not fit, first {shown(repr(first))}, "
            f"expected {wanted.get(first, 'nothing')}, found "
            f"{given.get(first, 'nothing')}",
            fix=way_out,
        )


def _forms(
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
    with naming(folder), temporary as written:
        for name, content in files.items():
            write_atomically(Path(written) / name, content)

        (folder / CONFIG).unlink(missing_ok=True)
        sync_folder(folder)
        for name in files:
            (Path(written) / name).replace(folder / name)
        sync_folder(folder)


def _files_of(model: StoredModel) -> dict[str, bytes]:
    """Return the files of a model folder, in the order of putting them in place."""
    state = model.state_dict()
    for name, tensor in state.items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise WrongModel(
                f"{name} is {tensor.dtype}; expected float32 weights",
                fix="call model.float() before saving",
            )

    tensors = {name: tensor.contiguous() for name, tensor in state.items()}
    weights = safetensors.torch.save(tensors, {"format": "pt"})
    config = model.config | {HASH: f"sha256:{hashlib.sha256(weights).hexdigest()}"}
    config[DIGEST] = _digest(config)
    written = json.dumps(config, sort_keys=True, indent=2)
    return {
        WEIGHTS: weights,
        CARD: card(model).encode(),
        CONFIG: written.encode(),
    }


def card(model: StoredModel) -> str:
    """Return the README.md that travels with the weights.

    Names in it are escaped, so that they stay text in Markdown.
    """
    loader = jinja2.PackageLoader("randsmooth.models", "cards")
    templates = jinja2.Environment(loader=loader, autoescape=False)
    templates.filters["cell"] = lambda value: markdown(setting(value))

    provenance = model.provenance
    noise = None
    # Where it says no noise, it is a Gaussian of one sigma, or none that is known here.
    with suppress(Problem, AttributeError, TypeError):
        noise = noise_from(provenance.get("noise") or {})
    sigma = provenance.get("sigma")
    facts = {
        "sigma": sigma if type(sigma) in (int, float) else None,
        "dataset": provenance.get("dataset"),
        "noise": noise,
        "provenance": provenance | ({"noise": noise.text} if noise else {}),
    }
    return templates.get_template(f"{model.kind}.md.j2").render(model.config | facts)


def read(folder: Path | str) -> FolderContent:
    """Return what is in a folder, once it is known to be as it was saved.

    Args:
        folder: a path, a URL, or the hub's "user/name".

    Raises:
        Problem: a file is missing, cut short, not ours, or not as it was written;
            weights are not finite.
    """
    named = str(folder)
    folder = local(folder)
    kind, config = _read_config(folder / CONFIG, named)
    path = folder / WEIGHTS
    if not path.is_file():
        raise _no_weights(path)
    check_itself(path)
    weights = _read_weights(path, config.pop(HASH))
    for name, tensor in weights.items():
        if not bool(torch.isfinite(tensor).all()):
            raise WrongFile(
                f"{path} holds NaN or infinity in {shown(repr(name))}",
                file=path,
                fix=SAVE_AGAIN,
            )
    return FolderContent(folder, kind, config, weights)


def _no_weights(path: Path) -> NotFound:
    """Return the problem of a folder without its file of weights."""
    fix = f"{SAVE_AGAIN}, as safetensors; pickles are never loaded"
    if path.with_name(UNFINISHED).is_file():
        fix = "training is not finished, go on with resume=True"
    return NotFound(f"{path} is missing", file=path, fix=fix)


def _read_weights(path: Path, expected_hash: object) -> dict[str, Tensor]:
    """Return the weights in a file that has this hash."""
    try:
        content = path.read_bytes()
        if expected_hash != f"sha256:{hashlib.sha256(content).hexdigest()}":
            raise WrongFile(
                f"{path} is not the file that {CONFIG} was written with",
                file=path,
                fix=SAVE_AGAIN,
            )
        # It compares sizes with the file's before it allocates any.
        weights: dict[str, Tensor] = safetensors.torch.load(content)
        return weights
    except (OSError, SafetensorError) as error:
        raise WrongFile(
            f"{path} is damaged ({shown(error)})", file=path, fix=SAVE_AGAIN
        ) from None


def check_folder(folder: Path | str) -> str:
    """Check a model folder, and return in one sentence what was found to be right.

    Raises:
        Problem: as `models.load`.

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
    stored = read(folder)
    # Of the room, as the modules of these classes import this one.
    kind = pkgutil.resolve_name(f"randsmooth.models:{stored.kind.capitalize()}")
    model = kind.rebuilt(stored)
    numbers = sum(tensor.numel() for tensor in stored.weights.values())
    return (
        f"model folder: {stored.kind} {model.arch}, {numbers:,} finite numbers that "
        "fit it; configuration and weights are as they were saved"
    )


def local(folder: Path | str) -> Path:
    """Return `folder`, or one on this machine with the files of a URL, hub or demo.

    Raises:
        NotFound: there is none.
    """
    folder = fetched(folder) if is_url(folder) else shipped(folder)
    check_place(folder)
    return model_folder(str(folder), [CONFIG, WEIGHTS], "FOLDER")


def _read_config(path: Path, named: str) -> tuple[str, dict[str, Any]]:
    """Return the kind of model and its arguments, with the hash of its weights.

    Args:
        path: of the configuration.
        named: how the folder was given.
    """
    if not path.is_file():
        raise _no_config(path, named)
    check_itself(path)
    config = parse_json(read_file(path), path)
    keys = set(config) if isinstance(config, dict) else set()
    _check_is_ours(keys, path, named)

    kinds = [KINDS[key] for key in keys if key in KINDS]
    if not kinds or not keys >= {HASH, DIGEST}:
        content = ", ".join(sorted(keys)) or type(config).__name__
        raise WrongFile(
            f"{path} was not written by this randsmooth, it holds {shown(content)}",
            file=path,
            fix="name a folder of `train`",
        )
    if config.pop(DIGEST) != _digest(config):
        raise WrongFile(
            f"{path} is not as it was written, its digest differs",
            file=path,
            fix=SAVE_AGAIN,
        )
    return kinds[0], config


def _check_is_ours(keys: set[str], path: Path, named: str) -> None:
    """Raise WrongFile where another library wrote a configuration.

    Args:
        keys: of the configuration.
        path: of the file.
        named: how the folder was given.
    """
    if keys & TRANSFORMERS_KEYS:
        fix = f"give hf:{named}"
        beside = sorted(file.name for file in path.parent.glob("*.onnx"))
        if beside:
            fix += f", or {named}/{beside[0]}"
        raise WrongFile(
            f"{named} holds a model of transformers, as save_pretrained writes it",
            file=path,
            fix=fix,
        )
    if keys & TIMM_KEYS:
        name = named if Path(named).is_dir() else f"hf-hub:{named}"
        raise WrongFile(
            f"{named} holds a model of timm", file=path, fix=f"give timm:{name}"
        )


def _no_config(path: Path, named: str) -> NotFound:
    """Return the problem of a folder without a configuration of ours.

    It says what the folder is, and what of it can be given.

    Args:
        path: where the configuration would be.
        named: how the folder was given.
    """
    folder = path.parent
    if (folder / DIFFUSERS_PIPELINE).is_file():
        return NotFound(
            f"{path} is missing: the folder holds a diffusion model of diffusers, "
            "which is a denoiser",
            file=path,
            fix=("give it as ", Setting("denoiser", named)),
        )

    names = sorted(
        file.name for file in folder.glob("*") if OPENED_ALONE.search(file.name)
    )
    fix = ""
    if names:
        listed = ", ".join(f"{named}/{name}" for name in names)
        fix = f"name one of its files: {shown(listed)}"
    return NotFound(
        f"{path} is missing: not a randsmooth model folder, or its saving was "
        "interrupted",
        file=path,
        fix=fix,
    )


def _digest(content: Mapping[str, Any]) -> str:
    """Return the hash of a content, whatever its order and layout in the file."""
    canonical = json.dumps(
        content, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
