"""Model folders: config.json, model.safetensors and README.md, written whole, and read with limits and digests."""

import hashlib
import json
import pkgutil
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import jinja2
import safetensors.torch
import torch
from huggingface_hub import snapshot_download
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
from randsmooth.models.base_classifier import pick_device
from randsmooth.models.sources import check_place, shipped
from randsmooth.models.weights import COUNTER
from randsmooth.noise import noise_from
from randsmooth.urls import fetched, is_url

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
HASH, DIGEST = (
    "weights",
    "digest",
)  # keys of config.json: hashes of the file of weights, and of config.json itself
PIPELINE = "model_index.json"  # of diffusers
TRANSFORMERS = {
    "model_type",
    "architectures",
    "transformers_version",
}  # keys of a config.json of theirs
TIMM = {"architecture", "pretrained_cfg"}
OPENED_ALONE = r"\.(onnx|xml|pt2?|torchscript)$"  # files that are models by themselves
DAMAGED = "save or download the model again"
M = TypeVar("M", bound=nn.Module)

KINDS = {
    "classes": "classifier",
    "channels": "denoiser",
}  # an argument that one kind of models has alone


class FolderContent(NamedTuple):
    """The content of a model folder; `kind` one of the values of KINDS."""

    folder: Path
    kind: str
    config: dict[str, Any]
    weights: dict[str, Tensor]


class StoredModel(nn.Module):
    """A network that is rebuilt from the plain JSON in `config` and its weights.

    A subclass names its `kind`, and sets `config` to its arguments and then `provenance`.
    """

    kind: ClassVar[str]
    arch: str
    config: dict[str, Any]

    @property
    def provenance(self) -> dict[str, Any]:
        """How the weights were trained. To change it, assign a new dictionary, which must be plain JSON."""
        return self.config["provenance"]  # type: ignore[no-any-return]

    @provenance.setter
    def provenance(self, value: dict[str, Any]) -> None:
        try:
            written = json.dumps(dict(value), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            way = "expected a dictionary of str, int, float, list, dict; {} if nothing is known"
            raise BadValue(
                field="provenance",
                value=value,
                expected=f"is not plain JSON ({shown(error)}): {way}",
            ) from None
        self.config["provenance"] = parse_json(
            written, "provenance"
        )  # as it will be read back

    @classmethod
    def load(cls, folder: Path | str, device: torch.device | str = "cpu") -> Self:
        """The model of this kind in `folder`, in eval mode on `device`. Errors as those of `models.load`."""
        return cls.rebuilt(read(folder)).to(pick_device(device))

    @classmethod
    def rebuilt(cls, stored: FolderContent) -> Self:
        """The model of a folder's content, in eval mode; Problem where its parts do not fit."""
        if stored.kind != cls.kind:
            raise WrongFile(
                f"{stored.folder} holds a {stored.kind}, not a {cls.kind}",
                fix=("certify a classifier with a ", Setting("denoiser")),
                file=stored.folder,
            )
        way_out = f"are {CONFIG} and {WEIGHTS} from one model?"
        return filled(
            lambda: cls(**stored.config),
            stored.weights,
            str(stored.folder / CONFIG),
            way_out,
        )


def filled(
    make: Callable[[], M], weights: dict[str, Tensor], where: str, way_out: str
) -> M:
    """The model that `make` gives, in eval mode, with the `weights`; `where` and `way_out` are for errors.

    A file may describe any network: it is first made without memory. torch's generator stays as it is. Counters of
    batch norms, which change nothing, may lack.

    Raises:
        Problem: it cannot be made, or has other weights.
    """
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            expected = make().state_dict()
    except (
        Problem,
        RuntimeError,
        TypeError,
    ) as error:  # TypeError: of an argument that the model lacks
        reason = shown(str(error).partition("\n")[0])
        raise WrongFile(f"{where}: no such network can be built ({reason})") from error
    counters = {
        name: torch.zeros((), dtype=torch.int64)
        for name in expected
        if name.endswith(COUNTER)
    }
    weights = counters | weights
    wanted, got = (
        {name: (t.dtype, tuple(t.shape)) for name, t in state.items()}
        for state in (expected, weights)
    )
    odd = sorted(
        name for name in wanted | got if wanted.get(name) != got.get(name)
    )  # torch would convert types
    if odd:
        first = f"expected {wanted.get(odd[0], 'nothing')}, found {got.get(odd[0], 'nothing')}"
        raise WrongFile(
            f"{where}: {len(odd)} tensors do not fit, first {shown(repr(odd[0]))}, {first}; {way_out}"
        )
    with torch.random.fork_rng(devices=[]):
        model = make()
    model.load_state_dict(weights)
    return model.eval()


def save(model: StoredModel, folder: Path | str) -> None:
    """Write `model`, a classifier or a denoiser, into `folder`, replacing a model that is there; other files stay.

    The files are first written to a temporary folder inside `folder`. Then config.json, without which nothing loads,
    is removed first and put in place last: a killed process leaves the old model, the new one, or none that loads,
    never a mixture. On return the files are on the disk.

    Raises:
        Problem: `folder` cannot be made, or the weights are not float32.

    Example:
        >>> from randsmooth.models import Classifier
        >>> model = Classifier(arch="small-cnn", classes=["cat", "dog"], shape=(1, 8, 8))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(model, folder)
        ...     sorted(file.name for file in Path(folder).iterdir())
        ['README.md', 'config.json', 'model.safetensors']
    """
    folder, state = Path(folder), model.state_dict()
    for name, tensor in state.items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise WrongModel(
                f"{name} is {tensor.dtype}; expected float32 weights: call model.float() before saving"
            )
    weights = safetensors.torch.save(
        {name: tensor.contiguous() for name, tensor in state.items()}, {"format": "pt"}
    )
    config = model.config | {HASH: f"sha256:{hashlib.sha256(weights).hexdigest()}"}
    content = json.dumps(
        config | {DIGEST: _digest(config)}, sort_keys=True, indent=2
    ).encode()
    files = {WEIGHTS: weights, CARD: card(model).encode(), CONFIG: content}
    make_folder(folder)
    with (
        naming(folder),
        tempfile.TemporaryDirectory(
            dir=folder, prefix=".saving-", suffix=".tmp"
        ) as written,
    ):
        for name, content in files.items():
            write_atomically(Path(written) / name, content)
        (folder / CONFIG).unlink(missing_ok=True)
        sync_folder(folder)
        for name in files:
            (Path(written) / name).replace(folder / name)
        sync_folder(folder)


def card(model: StoredModel) -> str:
    """The README.md that travels with the weights; names in it are escaped, so that they stay text in Markdown."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("randsmooth.models", "cards"), autoescape=False
    )
    templates.filters["cell"] = lambda value: markdown(setting(value))
    said, noise = model.provenance, None
    with suppress(
        Problem, AttributeError, TypeError
    ):  # no noise, but a Gaussian of one sigma, or none known here
        noise = noise_from(said.get("noise") or {})
    sigma = said.get("sigma") if type(said.get("sigma")) in (int, float) else None
    facts = {"sigma": sigma, "dataset": said.get("dataset"), "noise": noise}
    facts["provenance"] = said | ({"noise": noise.text} if noise else {})
    return templates.get_template(f"{model.kind}.md.j2").render(model.config | facts)


def read(folder: Path | str) -> FolderContent:
    """What is in `folder`, of a URL or the hub's "user/name" too, once it is known to be as it was saved.

    Raises:
        Problem: a file is missing, cut short, not ours, or not as it was written; weights are not finite.
    """
    named, folder = str(folder), local(folder)
    path = folder / WEIGHTS
    kind, config = _read_config(folder / CONFIG, named)
    if not path.is_file():
        unfinished = (folder / "checkpoint.pt").is_file()
        way_out = (
            "training is not finished, go on with resume=True"
            if unfinished
            else f"{DAMAGED}, as safetensors"
        )
        raise NotFound(
            f"{path} is missing: {way_out}; pickles are never loaded", file=path
        )
    check_itself(path)
    try:
        content = path.read_bytes()
        if config.pop(HASH) != f"sha256:{hashlib.sha256(content).hexdigest()}":
            raise WrongFile(
                f"{path} is not the file that {CONFIG} was written with: {DAMAGED}",
                file=path,
            )
        weights = safetensors.torch.load(
            content
        )  # compares sizes with the file's before it allocates any
    except (OSError, SafetensorError) as error:
        raise WrongFile(
            f"{path} is damaged ({shown(error)}): {DAMAGED}", file=path
        ) from None
    if infinite := [
        name
        for name, tensor in weights.items()
        if not bool(torch.isfinite(tensor).all())
    ]:
        raise WrongFile(
            f"{path} holds NaN or infinity in {shown(repr(infinite[0]))}: {DAMAGED}",
            file=path,
        )
    return FolderContent(folder, kind, config, weights)


def check_folder(folder: Path | str) -> str:
    """Check a model folder, and say in one sentence what was found to be right.

    Raises:
        Problem: as `models.load`.

    Example:
        >>> from randsmooth.models import Classifier
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(Classifier(arch="small-cnn", classes=["cat", "dog"], shape=(1, 8, 8)), folder)
        ...     check_folder(folder)
        'model folder: classifier small-cnn, 20,866 finite numbers that fit it; configuration and weights are as they \
were saved'
    """
    stored = read(folder)
    model = pkgutil.resolve_name(
        f"randsmooth.models:{stored.kind.capitalize()}"
    ).rebuilt(stored)
    size = sum(tensor.numel() for tensor in stored.weights.values())
    vouched = "configuration and weights are as they were saved"
    return f"model folder: {stored.kind} {model.arch}, {size:,} finite numbers that fit it; {vouched}"


def local(folder: Path | str) -> Path:
    """`folder`, or one on this machine with the files of a URL, the hub or a demo. Problem where none is."""
    folder = fetched(folder) if is_url(folder) else shipped(folder)
    check_place(folder)
    return here(str(folder), [CONFIG, WEIGHTS], "FOLDER")


def here(name: str, files: list[str], written: str) -> Path:
    """The folder `name`, or one with the `files` of the hub's model of that name; `written` is how one is given."""
    try:
        return (
            Path(name)
            if name and Path(name).is_dir()
            else Path(snapshot_download(name, allow_patterns=files))
        )
    except (OSError, ValueError) as error:
        told = f"no folder {name}, and no such model came from the Hugging Face hub or its cache ({shown(error)})"
        way = f"`hf download {name} --local-dir FOLDER` where there is a network, and {written} here"
        raise NotFound(f"{told}: check the name, or {way}") from error


def _read_config(path: Path, named: str) -> tuple[str, dict[str, Any]]:
    """The kind of model and its arguments, with the hash of its weights; `named` is how the folder was given."""
    if not path.is_file():
        raise _without_config(path, named)
    check_itself(path)
    config = parse_json(read_file(path), path)
    keys = set(config) if isinstance(config, dict) else set()
    if keys & TRANSFORMERS:
        beside = sorted(each.name for each in path.parent.glob("*.onnx"))
        way = f", or {named}/{beside[0]}" if beside else ""
        raise WrongFile(
            f"{named} holds a model of transformers, as save_pretrained writes it: give hf:{named}{way}"
        )
    if keys & TIMM:
        way = named if Path(named).is_dir() else f"hf-hub:{named}"
        raise WrongFile(f"{named} holds a model of timm: give timm:{way}")
    kind = next((KINDS[key] for key in keys if key in KINDS), None)
    if kind is None or not keys >= {HASH, DIGEST}:
        found = shown(", ".join(sorted(keys)) or type(config).__name__)
        raise WrongFile(
            f"{path} was not written by this randsmooth, it holds {found}: name a folder of `train`",
            file=path,
        )
    if config.pop(DIGEST) != _digest(config):
        raise WrongFile(
            f"{path} is not as it was written, its digest differs: {DAMAGED}", file=path
        )
    return kind, config


def _without_config(path: Path, named: str) -> NotFound:
    """Return the error for a folder without a configuration of ours at `path`: what it is, what of it can be given."""
    folder = path.parent
    if (folder / PIPELINE).is_file():
        return NotFound(
            f"{path} is missing: the folder holds a diffusion model of diffusers, which is a denoiser",
            fix=("give it as ", Setting("denoiser", named)),
            file=path,
        )
    files = sorted(
        each.name for each in folder.glob("*") if re.search(OPENED_ALONE, each.name)
    )
    way = (
        f"; name one of its files: {shown(', '.join(f'{named}/{name}' for name in files))}"
        if files
        else ""
    )
    return NotFound(
        f"{path} is missing: not a randsmooth model folder, or its saving was interrupted{way}",
        file=path,
    )


def _digest(content: dict[str, Any]) -> str:
    """The hash of a dictionary's content, whatever its order and layout in the file."""
    canonical = json.dumps(
        content, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
