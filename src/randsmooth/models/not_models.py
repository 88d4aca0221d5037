"""Files that are no models by themselves, and the lines of code that open them."""

from pathlib import Path

from randsmooth.contents import is_pickle, what_it_is
from randsmooth.documents import shown
from randsmooth.errors import CODE, WrongFile

SAFETENSORS = ".safetensors"
JOBLIB = ".joblib"

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

    It tells what the file is and, where that can be said, the lines that open it.

    Args:
        path: the path of the file.
        reason: why it is none, in parentheses, where it may hold weights.
    """
    path = Path(path)
    if path.suffix == JOBLIB or is_pickle(path):
        return pickled(path)

    # Of safetensors nothing else is expected than what their name says.
    kind = "" if path.suffix == SAFETENSORS else what_it_is(path)
    if kind:
        return WrongFile(
            f"{path} {kind}. A model of another form is opened by code: file.py:NAME",
            file=path,
        )
    return weights_alone(path, reason)


def weights_alone(path: Path | str, reason: str = "") -> WrongFile:
    """Return the error for a file that holds weights, but not their network.

    It has lines that open the file.

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
    """Return the error for a pickle, as scikit-learn's users make of an estimator.

    It has lines that open the file.

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
