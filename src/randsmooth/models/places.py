"""Where a model lies that is named by a folder, a file or the id of a hub.

Nothing heavy is loaded.
"""

import re
from pathlib import Path

from randsmooth.contents import check_no_placeholder
from randsmooth.errors import NotFound, unknown

HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")

# Models of digits that come with the package, in folders beside this file.
DEMOS = ("demo", "demo-amplify")

# The file by which a folder is known as a model folder.
CONFIG = "config.json"


def shipped(place: Path | str) -> Path | str:
    """Return `place`, or the folder of the model in DEMOS that it names.

    A model folder of that name in the current folder comes first.

    Example:
        >>> Path(shipped("demo-amplify")).parent.name, shipped("runs/demo")
        ('models', 'runs/demo')
    """
    if str(place) in DEMOS and not Path(place, CONFIG).is_file():
        return Path(__file__).with_name(str(place))
    return place


def check_place(folder: Path | str) -> None:
    """Raise NotFound unless `folder` is there, or may be a model's id on the hub.

    The hub is not asked. A text such as "runs/modle" has the form of an id; if runs/
    holds model folders, it is taken for a misspelt one of these.

    Example:
        >>> check_place("user/name")
        >>> check_place("nomodel")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: nomodel is not a folder: expected a model folder ...
    """
    if Path(shipped(folder)).is_dir():
        return
    if Path(folder).exists() or not HUB_ID.fullmatch(str(folder)):
        raise NotFound(
            f"{folder} is not a folder: expected a model folder or a hub id such as "
            "user/name",
            file=folder,
        )

    configs = Path(folder).parent.glob(f"*/{CONFIG}")
    beside = [config.parent.as_posix() for config in configs]
    if beside:
        misspelt = unknown("model folder", str(folder), beside)
        raise NotFound(
            f"{misspelt} (a model of the hub: `hf download {folder} --local-dir "
            "FOLDER`, and FOLDER here)"
        )


def check_file(source: str) -> None:
    """Raise Problem unless the file that `source` names is there.

    A small file that only stands for the real one, as a pointer of Git LFS does, is
    refused too.

    Args:
        source: a file, or "file.py:NAME".

    Example:
        >>> check_file("nofile.onnx")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: no file at nofile.onnx
    """
    file = source
    if re.search(r"\.py:\w", source):
        file, _, _ = source.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise NotFound(f"no file at {file}", file=file)
    check_no_placeholder(path)
