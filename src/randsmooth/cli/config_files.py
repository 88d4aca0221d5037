"""The YAML files that `--config` reads and `--save-config` writes."""

from pathlib import Path
from typing import Any

import yaml

from randsmooth.atomic import write_atomically
from randsmooth.cli.settings import Settings
from randsmooth.documents import parse_yaml, read_file, shown
from randsmooth.errors import OutputExists, WrongFile

# The largest file of settings that is read: it has room for a thousand paths, and YAML
# of this size is parsed within seconds.
MOST_BYTES = 2**16

# These say what to do about results that exist, which another run decides anew.
NOT_SAVED = {"resume", "overwrite"}


def read_document(path: Path) -> dict[str, Any]:
    """Return the keys and values of a YAML file.

    Raises:
        Problem: the file cannot be read, is larger than MOST_BYTES, or holds something
            other than keys with values.
    """
    values = parse_yaml(read_file(path, MOST_BYTES), path)
    if not isinstance(values, dict):
        raise WrongFile(
            f"{path} must hold `key: value` lines: the settings of a randsmooth "
            "command",
            file=path,
        )
    return values


def read_config(path: Path, verb: str) -> dict[str, Any]:
    """Return the settings for `verb` in a YAML file.

    Raises:
        Problem: the file is for another verb, or gives a setting twice.
    """
    values = read_document(path)
    # --save-config writes the verb; a file that a user wrote may leave it out.
    verb_of_file = values.pop("verb", verb)
    if verb_of_file != verb:
        raise WrongFile(
            f"{path} configures `randsmooth {shown(verb_of_file)}`, not `randsmooth {verb}`",
            file=path,
        )

    # The options of the command line have -, the fields of the settings have _.
    settings = {str(key).replace("-", "_"): value for key, value in values.items()}
    if len(settings) < len(values):
        raise WrongFile(
            f"{path} gives a setting twice, with - and with _: which of them is meant?",
            file=path,
        )
    return settings


def write_config(settings: Settings, verb: str, path: Path) -> None:
    """Write `settings` so that `randsmooth VERB --config PATH` runs them again.

    Raises:
        OutputExists: there is a file at `path`.
    """
    if path.exists():
        raise OutputExists(f"{path} exists; --save-config writes a new file", file=path)
    # The mode json makes texts of paths and noises, which YAML cannot hold.
    saved = settings.model_dump(mode="json", exclude_none=True, exclude=NOT_SAVED)
    document = {"verb": verb} | saved
    # Not sorted: the verb shall stand at the top.
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    write_atomically(path, text.encode())
