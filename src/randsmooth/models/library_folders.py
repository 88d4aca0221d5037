"""Folders of transformers, timm and diffusers, looked at before these libraries open them.

They build whatever a configuration asks for, open whatever an index names, and print names of tensors as they are.
"""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import safe_open
from torch import nn
from torch.nn.modules import module as hooks

from randsmooth.documents import parse_json, read_file, refused, shown
from randsmooth.errors import NotFound, WrongFile

MOST_NUMBER = (
    2**24
)  # of a configuration, besides counts of layers: the largest vocabularies have a million words
FEWEST_TENSORS = (
    64  # below which a count of layers is not compared with that of the tensors
)
MOST_LAYERS = re.compile(r".*(layer|depth|block|stage|repeat)s?")
MOST = {
    "num_labels": 2**20,
    "num_classes": 2**20,
    "num_train_timesteps": 100_000,
}  # things are made for each of them
MOST_IN_TABLES = (
    2**24
)  # numbers that a network makes beside its weights, such as tables of positions
PARAMETERS_A_TENSOR, MODULES_A_TENSOR, FIRST_MODULES = (
    4,
    32,
    2_048,
)  # most networks have less than half of these

# Settings by which a configuration has other files or other packages do the work.
OPENING = (
    "quantization_config",
    "use_pretrained_backbone",
    "use_timm_backbone",
    "gguf_file",
)
ATTENTION = (
    "attn_implementation",
    "_attn_implementation",
    "experts_implementation",
    "_experts_implementation",
)
OURS = ("eager", "sdpa")  # of these, what torch itself has
ADAPTER = "adapter_config.json"


class Weights(NamedTuple):
    """What the safetensors files of a folder hold: how many tensors, and how many numbers in all of them."""

    tensors: int
    numbers: int


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a file of JSON. Problem where it holds something else."""
    said = parse_json(read_file(path), path)
    if not isinstance(said, dict):
        raise WrongFile(
            f"{path} holds a {type(said).__name__}; expected settings by name",
            file=path,
        )
    return said


def checked_weights(
    folder: Path, said: Mapping[str, Any], config: str, name: str
) -> Weights:
    """What the files of weights in `folder` hold, once they and the settings are known to be harmless.

    Args:
        said: what the file `config` says.
        name: of the weights, which are in `name`.safetensors, or in the files that an index of it names.

    Raises:
        Problem: a file is missing or damaged, names another outside of the folder, or asks for what nobody would
            build with these weights; the message names the setting.
    """
    if (folder / ADAPTER).exists():
        raise WrongFile(
            f"{folder} holds {ADAPTER}, which names another model: merge the adapter and save the whole",
            file=folder,
        )
    held = _weights(folder, name)
    check_settings(said, str(folder / config), held.tensors)
    return held


def check_settings(said: Any, where: str, tensors: int, key: str = "") -> None:
    """Check the numbers of a configuration, and that it has no other package or folder do its work.

    Args:
        said: a value in it, with whatever lies in it.
        where: what to call it in an error.
        tensors: how many the weights are: each layer has one at the least.
        key: the name of the setting.

    Raises:
        Problem: a number that no such network has, or a setting in OPENING or ATTENTION.

    Example:
        >>> check_settings({"vision": {"num_hidden_layers": 200_000}}, "config.json", 200)
        Traceback (most recent call last):
        randsmooth.errors.WrongFile: config.json says num_hidden_layers=200000, and its weights are 200 tensors: ...
    """
    if isinstance(said, Mapping):
        for name, value in said.items():
            _check_opening(name, value, where)
            check_settings(value, where, tensors, name)
    elif isinstance(said, list):
        for value in said:
            check_settings(value, where, tensors, key)
    elif isinstance(said, int) and not isinstance(said, bool):
        _check_number(said, where, tensors, key)


def _check_opening(name: str, value: Any, where: str) -> None:
    if (name in OPENING and value) or (
        name in ATTENTION and isinstance(value, str) and value not in OURS
    ):
        way = "only weights as they are, and attention of torch's, are read: save the network without it"
        raise WrongFile(f"{where} says {name}={shown(repr(value))}; {way}")


def _check_number(number: int, where: str, tensors: int, key: str) -> None:
    says = f"{where} says {shown(key)}={shown(number)}"
    if MOST_LAYERS.fullmatch(key) and number > max(tensors, FEWEST_TENSORS):
        raise WrongFile(
            f"{says}, and its weights are {tensors:,} tensors: they are not of such a network"
        )
    most = MOST.get(key, MOST_NUMBER)
    if abs(number) > most:
        raise WrongFile(f"{says}; expected at most {most:,}")


def _weights(folder: Path, name: str) -> Weights:
    """How many tensors and numbers the safetensors files hold, by their headers."""
    index = folder / f"{name}.safetensors.index.json"
    files = {f"{name}.safetensors"}
    if not (folder / f"{name}.safetensors").exists() and index.exists():
        told = parse_json(read_file(index), index)
        map_of = told.get("weight_map") if isinstance(told, dict) else None
        if (
            not isinstance(map_of, dict)
            or not map_of
            or not isinstance(told.get("metadata", {}), dict)
        ):
            raise WrongFile(f"{index} has no weight_map from tensors to files")
        files = {str(file) for file in map_of.values()}
    tensors = numbers = 0
    for file in sorted(files):
        if Path(file).name != file or "\\" in file or not file.endswith(".safetensors"):
            raise WrongFile(
                f"{index} names {shown(repr(file))}; expected files of safetensors beside it alone"
            )
        if not (folder / file).is_file():  # nor a pipe, which may have no end
            raise NotFound(
                f"no file at {folder / shown(file)}: weights are read from safetensors alone"
            )
        with (
            refused(f"{folder / file} is damaged, or no file of safetensors"),
            safe_open(folder / file, "pt") as opened,
        ):
            for tensor in opened.keys():  # noqa: SIM118  # which is no dictionary
                tensors += 1
                size = 1
                for side in opened.get_slice(tensor).get_shape():
                    size *= side
                numbers += size
    return Weights(tensors, numbers)


@contextmanager
def no_larger_than(held: Weights) -> Iterator[None]:
    """Stop whoever builds a network in this thread as soon as it has far more parts or numbers than the weights.

    Raises:
        Problem: it has; within the library, which may turn it into an error of its own.
    """
    counted = {"parameters": 0, "modules": 0, "numbers": 0}
    most = {
        "parameters": PARAMETERS_A_TENSOR * held.tensors + FEWEST_TENSORS,
        "modules": MODULES_A_TENSOR * held.tensors + FIRST_MODULES,
        "numbers": PARAMETERS_A_TENSOR * held.numbers + MOST_IN_TABLES,
    }
    thread = threading.get_ident()

    def count(what: str, number: int) -> None:
        if threading.get_ident() != thread:
            return
        counted[what] += number
        if counted[what] > most[what]:
            said = f"the configuration asks for more than {most[what]:,} {what}"
            raise WrongFile(
                f"{said}, and the weights are {held.tensors:,} tensors of {held.numbers:,} numbers"
            )

    def tensor(_: nn.Module, name: str, held: Any) -> None:
        count("parameters", 1)
        count("numbers", 0 if held is None else held.numel())

    def part(_: nn.Module, name: str, held: Any) -> None:
        count("modules", 1)

    registered = [
        hooks.register_module_parameter_registration_hook(tensor),
        hooks.register_module_buffer_registration_hook(tensor),
        hooks.register_module_module_registration_hook(part),
    ]
    try:
        yield
    finally:
        for hook in registered:
            hook.remove()


@contextmanager
def silent(library: str) -> Iterator[None]:
    """Let the logger of `library` and warnings print nothing: they hold names of a file as they are."""
    logger = logging.getLogger(library)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logger.setLevel(level)


def check_loaded(loaded: Mapping[str, Any], folder: Path, what: str, why: str) -> None:
    """Raise Problem where a network was loaded without all of its weights.

    Args:
        loaded: as `output_loading_info=True` gives it.
        folder: of the network.
        what: what it is called in the message.
        why: how that comes about.
    """
    lacking = sorted(map(str, [*loaded["missing_keys"], *loaded["mismatched_keys"]]))
    if lacking:
        raise WrongFile(
            f"{folder} lacks {len(lacking)} tensors of {what}, first {shown(lacking[0])}: {why}",
            file=folder,
        )
