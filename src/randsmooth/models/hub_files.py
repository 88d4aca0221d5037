"""The files of a model on the Hugging Face hub, or of a folder in its place."""

from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

from randsmooth.errors import NotFound

# A class of errors of the hub's client -> what it means. The first class that fits counts:
# some of these are subclasses of later ones.
MEANINGS: tuple[tuple[type[Exception], str], ...] = (
    (HFValidationError, "and no id of the hub has such a form"),
    (GatedRepoError, "and the hub gives it only to those who accepted its terms"),
    (RepositoryNotFoundError, "and the hub has no such model, or not for you"),
    (OfflineModeIsEnabled, "and HF_HUB_OFFLINE forbids to ask the hub"),
    (
        LocalEntryNotFoundError,
        "nor a model in the cache of the hub, and the hub cannot be reached",
    ),
)
NOT_REACHED = "and the hub does not answer"


def model_folder(name: str, files: list[str], written: str) -> Path:
    """Return the folder `name`, or a folder with the files of the hub's model `name`.

    Args:
        name: a folder, or an id of the hub.
        files: patterns of the names of the files that are needed.
        written: how the user would name a folder, such as "hf:FOLDER", for the error.

    Raises:
        NotFound: there is no such folder, and no such model can be had from the hub.
    """
    # Path("") would be the current folder.
    if name and Path(name).is_dir():
        return Path(name)
    try:
        return Path(snapshot_download(name, allow_patterns=files))
    except (OSError, ValueError) as error:
        raise _not_found(name, written, error) from error


def _not_found(name: str, written: str, error: Exception) -> NotFound:
    """Return the problem of a name for which there is no folder, and no model of the hub.

    Args:
        name: the name.
        written: how the user would name a folder.
        error: what the client of the hub raised.
    """
    fix = (
        f"check the name, or `hf download {name} --local-dir FOLDER` where there is a "
        f"network, and {written} here"
    )
    if isinstance(error, HFValidationError):
        fix = "check the name"
    elif isinstance(error, GatedRepoError):
        fix = "accept the terms on its page, and then `hf auth login`"
    return NotFound(
        f"no folder {name!r}, {_meaning(error)}", field="model", value=name, fix=fix
    )


def _meaning(error: Exception) -> str:
    """Return the meaning of an error of the hub's client, as part of a sentence."""
    for kind, words in MEANINGS:
        if isinstance(error, kind):
            return words
    return NOT_REACHED
