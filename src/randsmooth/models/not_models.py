"""Errors for files that are no models by themselves, with lines of code that open them."""

from pathlib import Path

from randsmooth.contents import is_pickle, what_it_is
from randsmooth.documents import shown
from randsmooth.errors import CODE, WrongFile

SAFETENSORS = ".safetensors"
JOBLIB = ".joblib"

# The code that an error tells the user to write, to open a pickle, and to open weights.
UNPICKLING = """import joblib


def make():
    return joblib.load({path!r})  # which runs what the file says
"""
OPENING = """import randsmooth
import {module}
from my_code import MyNetwork


def make():
    model = MyNetwork()
    held = {load}
    model.load_state_dict(held.get("state_dict", held))
    # model = randsmooth.wrap(model, mean=[...], std=[...])  # if it was trained on \
normalised images
    return model.eval()
"""


def no_model(path: Path | str, reason: str = "") -> WrongFile:
    """Return the error for a file that is no model by itself.

    The error tells what the file is and, for a pickle or weights, the lines that open it.

    Args:
        path: the path of the file.
        reason: why it is no model, in parentheses after a space; the error of a file with
            weights repeats it.
    """
    path = Path(path)
    if path.suffix == JOBLIB or is_pickle(path):
        return pickled(path)

    # A file that is called so is taken for safetensors, without a look into it.
    kind = "" if path.suffix == SAFETENSORS else what_it_is(path)
    if kind:
        return WrongFile(
            f"{path} {kind}. A model of another form is opened by code: file.py:NAME",
            file=path,
        )
    return weights_alone(path, reason)


def weights_alone(path: Path | str, reason: str = "") -> WrongFile:
    """Return the error for a file that holds weights, but not their network.

    The error has the lines that open the file.

    Args:
        path: the path of the file.
        reason: as in `no_model`.

    Example:
        >>> print(str(weights_alone("model.pth")).splitlines()[-1].strip())
        return model.eval()
    """
    place = str(Path(path).absolute())
    module = "torch"
    load = f'torch.load({place!r}, map_location="cpu", weights_only=True)'
    if Path(path).suffix == SAFETENSORS:
        module = "safetensors.torch"
        load = f"safetensors.torch.load_file({place!r})"
    code = OPENING.format(module=module, load=load)
    return WrongFile(
        f"{shown(str(path))} holds weights, not the network that they are of{reason}: "
        "write these lines into a new file, open_model.py, with your network's class, "
        "and give open_model.py:make. (Of the networks of papers, `randsmooth import` "
        f"makes a model folder.){CODE}{code}",
        file=path,
    )


def pickled(path: Path | str) -> WrongFile:
    """Return the error for a pickle, in which users of scikit-learn keep estimators.

    The error has the lines that open the file.

    Example:
        >>> print(str(pickled("forest.pkl")).splitlines()[0])
        forest.pkl is a pickle, which can run code and is never loaded: if you trust ...
    """
    code = UNPICKLING.format(path=str(Path(path).absolute()))
    return WrongFile(
        f"{shown(str(path))} is a pickle, which can run code and is never loaded: if "
        "you trust it, write these lines into a new file, open_model.py, and give "
        f"open_model.py:make.{CODE}{code}",
        file=path,
    )
