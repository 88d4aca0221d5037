"""Checks of folders of transformers, timm and diffusers, before these libraries open them.

The libraries build whatever a configuration asks for, open whatever file an index names,
and print names of tensors raw. A folder may come from a stranger.
"""

from __future__ import annotations

import logging
import math
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
from randsmooth.errors import NotFound, Problem, WrongFile, WrongModel

# The largest number in a configuration: the largest vocabularies have a million words.
# Numbers of layers have a smaller limit, see COUNTS_LAYERS.
MOST_NUMBER = 2**24
# Settings with a smaller limit, since so many rows or steps are made -> their largest values.
MOST_OF_SETTING = {
    "num_labels": 2**20,
    "num_classes": 2**20,
    "num_train_timesteps": 100_000,
}
# Names of settings that count layers. A network has at most as many layers as its weights
# have tensors.
COUNTS_LAYERS = re.compile(r".*(layer|depth|block|stage|repeat)s?")
# But so many layers are allowed however few tensors there are.
ALWAYS_ALLOWED_LAYERS = 64

# A network may have these multiples of what its weights have, plus the constants below. Most
# networks have less than half of these multiples.
PARAMETERS_A_TENSOR = 4
MODULES_A_TENSOR = 32
NUMBERS_A_NUMBER = 4
ALWAYS_ALLOWED_PARAMETERS = 64
ALWAYS_ALLOWED_MODULES = 2_048
# A network makes numbers beside its weights, such as tables of positions.
ALWAYS_ALLOWED_NUMBERS = 2**24

# Settings by which a configuration has other files or other packages do the work.
OPENING = (
    "quantization_config",
    "use_pretrained_backbone",
    "use_timm_backbone",
    "gguf_file",
)
# Settings that name an implementation of the attention or the experts; only those in
# TORCHS_OWN are taken.
ATTENTION = (
    "attn_implementation",
    "_attn_implementation",
    "experts_implementation",
    "_experts_implementation",
)
# Kinds of attention that need no other package than torch.
TORCHS_OWN = ("eager", "sdpa")
ADAPTER = "adapter_config.json"
SAFETENSORS = ".safetensors"


class Weights(NamedTuple):
    """How much the safetensors files of a folder hold.

    Attributes:
        tensors: the number of tensors.
        numbers: the number of numbers in all tensors together.
    """

    tensors: int
    numbers: int


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings in a file of JSON.

    Raises:
        Problem: there is no such file, or it holds something else.
    """
    settings = parse_json(read_file(path), path)
    if not isinstance(settings, dict):
        raise WrongFile(
            f"{path} holds a {type(settings).__name__}; expected settings by name",
            file=path,
        )
    return settings


def checked_weights(
    folder: Path, settings: Mapping[str, Any], config: str, name: str
) -> Weights:
    """Check that weights and settings are harmless, and return what the weights hold.

    Args:
        folder: the folder of the model.
        settings: the content of the file `config`.
        config: the name of that file.
        name: the name of the weights, which are in `name`.safetensors, or in the files
            that an index of this name lists.

    Raises:
        Problem: a file is missing or damaged, or names a file outside of the folder; or
            the configuration asks for a network that these weights do not fill, and the
            message names the setting.
    """
    if (folder / ADAPTER).exists():
        raise WrongFile(
            f"{folder} holds {ADAPTER}, which names another model",
            file=folder,
            fix="merge the adapter and save the whole",
        )
    weights = _weights(folder, name)
    check_settings(settings, str(folder / config), weights.tensors)
    return weights


def check_settings(value: Any, where: str, tensors: int, name: str = "") -> None:
    """Check the numbers in a configuration, and that it opens no other files or packages.

    Args:
        value: the configuration, or a value in it; the values within it are checked too.
        where: the name of the configuration in an error.
        tensors: how many tensors the weights have. Each layer has at least one.
        name: the name of the setting that has the value; "" for a whole configuration.

    Raises:
        WrongFile: a number is larger than such a network can have, or a setting in
            OPENING or ATTENTION names other files or packages.

    Example:
        >>> settings = {"vision": {"num_hidden_layers": 200_000}}
        >>> check_settings(settings, "config.json", 200)
        Traceback (most recent call last):
        randsmooth.errors.WrongFile: config.json says num_hidden_layers=200000, and ...
    """
    if isinstance(value, Mapping):
        for inner, part in value.items():
            _check_opens_nothing(inner, part, where)
            check_settings(part, where, tensors, inner)
    elif isinstance(value, list):
        for part in value:
            check_settings(part, where, tensors, name)
    elif isinstance(value, int) and not isinstance(value, bool):
        _check_number(value, where, tensors, name)


def _check_opens_nothing(name: str, value: Any, where: str) -> None:
    """Raise WrongFile where a setting has other files or packages do the work."""
    opens = name in OPENING and bool(value)
    is_foreign = isinstance(value, str) and value not in TORCHS_OWN
    if opens or (name in ATTENTION and is_foreign):
        raise WrongFile(
            f"{where} says {name}={shown(repr(value))}; only weights as they are, and "
            "attention of torch's, are read",
            field=name,
            value=value,
            fix="save the network without it",
        )


def _check_number(number: int, where: str, tensors: int, name: str) -> None:
    """Raise WrongFile for a number that no network with so many tensors has.

    Arguments are those of `check_settings`.
    """
    says = f"{where} says {shown(name)}={shown(number)}"
    if COUNTS_LAYERS.fullmatch(name) and number > max(tensors, ALWAYS_ALLOWED_LAYERS):
        raise WrongFile(
            f"{says}, and its weights are {tensors:,} tensors: they are not of such a "
            "network",
            field=name,
            value=number,
        )
    most = MOST_OF_SETTING.get(name, MOST_NUMBER)
    if abs(number) > most:
        raise WrongFile(f"{says}; expected at most {most:,}", field=name, value=number)


def _weights(folder: Path, name: str) -> Weights:
    """Return how many tensors and numbers the safetensors files say that they hold.

    Only their headers are read. Arguments are those of `checked_weights`.
    """
    tensors = 0
    numbers = 0
    for file in _files(folder, name):
        path = folder / file
        # A pipe may have no end.
        if not path.is_file():
            raise NotFound(
                f"no file at {folder / shown(file)}: weights are read from safetensors "
                "alone",
                file=path,
            )
        damaged = refused(f"{path} is damaged, or no file of safetensors")
        with damaged, safe_open(path, framework="pt") as opened:
            # An open file of safetensors has `keys`, but is no dictionary.
            for tensor in opened.keys():  # noqa: SIM118
                tensors += 1
                numbers += math.prod(opened.get_slice(tensor).get_shape())
    return Weights(tensors, numbers)


def _files(folder: Path, name: str) -> list[str]:
    """Return the names of the files that hold the weights called `name`.

    Raises:
        WrongFile: the index of the weights names no files, or files that do not lie
            beside it.
    """
    single_file = f"{name}{SAFETENSORS}"
    index = folder / f"{single_file}.index.json"
    # If neither is there, the caller reports that the single file is missing.
    if (folder / single_file).exists() or not index.exists():
        return [single_file]

    content = parse_json(read_file(index), index)
    file_of = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(file_of, dict) or not file_of:
        raise _no_index(index)
    # transformers fails where the metadata are something else.
    if not isinstance(content.get("metadata", {}), dict):
        raise _no_index(index)

    files = sorted({str(file) for file in file_of.values()})
    for file in files:
        lies_beside = Path(file).name == file and "\\" not in file
        if not lies_beside or not file.endswith(SAFETENSORS):
            raise WrongFile(
                f"{index} names {shown(repr(file))}; expected files of safetensors "
                "beside it alone",
                file=index,
            )
    return files


def _no_index(index: Path) -> WrongFile:
    """Return the problem of an index that does not tell which file holds a tensor."""
    return WrongFile(f"{index} has no weight_map from tensors to files", file=index)


@contextmanager
def no_larger_than(weights: Weights) -> Iterator[None]:
    """Refuse a network that is far larger than its weights, while it is built.

    The parameters, modules and numbers of all that this thread builds within the block are
    counted.

    Raises:
        WrongFile: the network has far more of these than the weights have. The error is
            raised within the library that builds it, which may catch it and raise one of
            its own.
    """
    counted = {"parameters": 0, "modules": 0, "numbers": 0}
    most = {
        "parameters": (
            PARAMETERS_A_TENSOR * weights.tensors + ALWAYS_ALLOWED_PARAMETERS
        ),
        "modules": MODULES_A_TENSOR * weights.tensors + ALWAYS_ALLOWED_MODULES,
        "numbers": NUMBERS_A_NUMBER * weights.numbers + ALWAYS_ALLOWED_NUMBERS,
    }
    thread = threading.get_ident()

    def count(part: str, number: int) -> None:
        # torch calls hooks in all threads, and another thread may build another network.
        if threading.get_ident() != thread:
            return
        counted[part] += number
        if counted[part] > most[part]:
            raise WrongFile(
                f"the configuration asks for more than {most[part]:,} {part}, and the "
                f"weights are {weights.tensors:,} tensors of {weights.numbers:,} "
                "numbers"
            )

    # torch calls these two whenever a module gets a parameter, a buffer or a submodule.
    def count_tensor(_: nn.Module, name: str, tensor: Any) -> None:
        # Buffers count as parameters too.
        count("parameters", 1)
        count("numbers", 0 if tensor is None else tensor.numel())

    def count_module(_: nn.Module, name: str, module: Any) -> None:
        count("modules", 1)

    registered = [
        hooks.register_module_parameter_registration_hook(count_tensor),
        hooks.register_module_buffer_registration_hook(count_tensor),
        hooks.register_module_module_registration_hook(count_module),
    ]
    try:
        yield
    finally:
        for hook in registered:
            hook.remove()


@contextmanager
def building(what: str, config: Path, library: str) -> Iterator[None]:
    """Turn an error of a library that builds a network into a Problem.

    A library may raise any error for a configuration that it did not write. Its message is
    about its own code, so it does not become part of ours; it stays the cause of the
    Problem.

    Args:
        what: the network that is built, such as "the vit".
        config: the file that describes the network.
        library: the name of the library.

    Raises:
        WrongModel: the library cannot build it.
    """
    try:
        yield
    # A Problem is ours, as that of `no_larger_than`: its words are repeated.
    except Problem as error:
        raise WrongModel(
            f"{config.parent} cannot be loaded by {library}: {error}", file=config
        ) from error
    except Exception as error:
        raise WrongModel(
            f"{config.parent} cannot be loaded by {library}, which finds no way to "
            f"build {what} that {config.name} describes",
            file=config,
            fix=f"load it by {library} alone to see why, and save it anew",
        ) from error


@contextmanager
def silent(library: str) -> Iterator[None]:
    """Let a library print neither log messages nor warnings within the block.

    It would print names from a file raw, which may hold control characters.

    Args:
        library: the name of its logger.
    """
    logger = logging.getLogger(library)
    level = logger.level
    # No message has a level above CRITICAL.
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logger.setLevel(level)


def check_loaded(
    loaded: Mapping[str, Any], folder: Path, what: str, reason: str
) -> None:
    """Raise WrongFile where a network was loaded without all of its weights.

    Args:
        loaded: what the library says of the loading, which it returns beside a network
            where it is called with `output_loading_info=True`.
        folder: the folder of the network.
        what: the name for the network in the message.
        reason: the end of the message about missing tensors: why they may be missing, or
            what to do.
    """
    missing = sorted(map(str, loaded["missing_keys"]))
    if missing:
        raise WrongFile(
            f"{folder} lacks {len(missing)} tensors of {what}, first "
            f"{shown(missing[0])}: {reason}",
            file=folder,
        )
    # An entry is a name, or a tuple of a name and both shapes, depending on the library.
    mismatched = [
        key[0] if isinstance(key, tuple) else key for key in loaded["mismatched_keys"]
    ]
    if mismatched:
        raise WrongFile(
            f"{folder} has {len(mismatched)} tensors of {what} of other shapes than "
            f"its configuration says, first {shown(min(map(str, mismatched)))}",
            file=folder,
            fix="take configuration and weights of one model",
        )
