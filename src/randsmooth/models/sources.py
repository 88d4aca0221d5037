"""How a model is named on the command line and in Python: the forms, what opens each, and its arguments.

Nothing heavy is loaded until something is opened.
"""

import hashlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Secret

from randsmooth.contents import check_itself, is_pickle, what_it_is
from randsmooth.documents import shown
from randsmooth.errors import (
    CODE,
    BadValue,
    NotFound,
    Problem,
    Setting,
    WrongFile,
    unknown,
)
from randsmooth.urls import fetched, is_url, names_a_secret, without_credentials

HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
STARS = str(Secret("-"))  # what stands for a secret in a command that is kept
UNUSED = {
    "checkpoint.pt",
    "teacher.pt",
    "history.csv",
}  # files of a training run that no model is made of
DEMOS = (
    "demo",
    "demo-amplify",
)  # models of digits that come with the package, in folders beside this file

CHECKPOINT = r"(?i)\.(pth|tar|ckpt|pkl|pickle|joblib|bin|th|safetensors|npz|npy|h5)$"
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
    # model = randsmooth.wrap(model, mean=[...], std=[...])  # if it was trained on normalised images
    return model.eval()
"""


class Form(NamedTuple):
    """One way to name a model.

    Attributes:
        written: an example of it, for errors and help.
        what: what it names.
        pattern: a regular expression of names that are written in this way; empty for a folder that is there.
        check: raises Problem where it cannot be opened, as far as that is known without loading anything heavy;
            None: nothing is known of a model of a hub or of code until it is opened.
        opener: "module:name" in `randsmooth.models` of what opens it: called with the source and the model's arguments,
            it gives a base classifier, or whatever `adapt` makes one of.
    """

    written: str
    what: str
    pattern: str
    check: Callable[[str], None] | None
    opener: str


def shipped(place: Path | str) -> Path | str:
    """`place`, or the folder of the model in DEMOS that it names; a model folder of that name here comes first.

    Example:
        >>> Path(shipped("demo-amplify")).parent.name, shipped("runs/demo")
        ('models', 'runs/demo')
    """
    ours = str(place) in DEMOS and not Path(place, "config.json").is_file()
    return Path(__file__).with_name(str(place)) if ours else place


def check_place(folder: Path | str) -> None:
    """Raise Problem unless `folder` is a folder that is there, or may be a model's id on the Hugging Face hub.

    What would lie beside model folders that are here is taken for one of them that was misspelt, not for such an id.

    Example:
        >>> check_place("user/name")
        >>> check_place("nomodel")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: nomodel is not a folder: expected a model folder or a hub id such as user/name
    """
    if Path(shipped(folder)).is_dir():
        return
    if Path(folder).exists() or not HUB_ID.fullmatch(str(folder)):
        raise NotFound(
            f"{folder} is not a folder: expected a model folder or a hub id such as user/name",
            file=folder,
        )
    if beside := [
        config.parent.as_posix() for config in Path(folder).parent.glob("*/config.json")
    ]:
        way = f"a model of the hub: `hf download {folder} --local-dir FOLDER`, and FOLDER here"
        raise NotFound(f"{unknown('model folder', str(folder), beside)} ({way})")


def check_file(source: str) -> None:
    """Raise Problem unless the file that `source` names, before any :NAME in it, is there, and no pointer to it.

    Example:
        >>> check_file("nofile.onnx")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: no file at nofile.onnx
    """
    path = source.rpartition(":")[0] if re.search(r"\.py:\w", source) else source
    if not Path(path).is_file():
        raise NotFound(f"no file at {path}", file=path)
    check_itself(Path(path))


_TRANSFORMERS, _TIMM, _CODE = (
    "hub:from_transformers",
    "hub:from_timm",
    "by_code:from_code",
)
# In this order: the first whose pattern a source matches opens it.
FORMS = (
    Form(
        "hf:user/name or hf:FOLDER",
        "an image classifier of transformers",
        "hf:.*",
        None,
        _TRANSFORMERS,
    ),
    Form("timm:NAME", "an image classifier of timm", "timm:.*", None, _TIMM),
    Form(
        f"FOLDER, {' or '.join(DEMOS)}",
        "a model folder",
        "",
        check_place,
        "classifier:load",
    ),
    Form(
        "file.py:NAME",
        "what returns the model, or is it",
        r".*\.py:[A-Z_][\w.]*",
        check_file,
        _CODE,
    ),
    Form(
        "package.module:NAME",
        "the same in a module",
        r"[A-Z_][\w.]*:[A-Z_][\w.]*",
        None,
        _CODE,
    ),
    Form(
        "NET.onnx",
        "an ONNX file",
        r".*\.onnx",
        check_file,
        "adapters.graph_file:OnnxModel",
    ),
    Form(
        "NET.xml",
        "an OpenVINO IR, with NET.bin beside it",
        r".*\.xml",
        check_file,
        "adapters.graph_file:IrModel",
    ),
    Form(
        "NET.pt2",
        "a program of torch.export",
        r".*\.pt2",
        check_file,
        "adapters.torch_program:exported",
    ),
    Form(
        "NET.pt",
        "a TorchScript file",
        r".*\.(pt|torchscript|ts|jit)",
        check_file,
        "adapters.torch_program:scripted",
    ),
    Form(
        "user/name",
        "a model folder on the Hugging Face hub",
        HUB_ID.pattern,
        check_place,
        "classifier:load",
    ),
)


def form_of(source: Path | str) -> Form:
    """The form that `source` is written in.

    Raises:
        Problem: none; the message lists the forms that exist.

    Example:
        >>> form_of("net.onnx").what
        'an ONNX file'
        >>> form_of("zoo.py:small").written
        'file.py:NAME'
    """
    name = "" if Path(source).is_dir() else str(source)
    found = next(
        (
            form
            for form in FORMS
            if re.fullmatch(form.pattern, name, re.IGNORECASE | re.DOTALL)
        ),
        None,
    )
    if re.search(CHECKPOINT, name):
        check_file(name)
        raise no_model(name)
    if found is None:
        forms = ", ".join(f"{form.written} ({form.what})" for form in FORMS)
        raise NotFound(f"{shown(str(source))} names no model: expected one of: {forms}")
    return found


def no_model(path: Path | str, reason: str = "") -> Problem:
    """The error for a file that is no model by itself: what it is, and where that can be said the lines that open it.

    Args:
        path: of the file.
        reason: why it is none, in parentheses, where it may hold weights.
    """
    path = Path(path)
    if path.suffix == ".joblib" or is_pickle(path):
        return pickled(path)
    if path.suffix != ".safetensors" and (kind := what_it_is(path)):
        return WrongFile(
            f"{path} {kind}. A model of another form is opened by code: file.py:NAME",
            file=path,
        )
    return weights_alone(path, reason)


def weights_alone(path: Path | str, reason: str = "") -> Problem:
    """The error for a file that holds weights, but not the network that they are of, with lines that open it.

    Example:
        >>> print(str(weights_alone("model.pth")).splitlines()[-1].strip())
        return model.eval()
    """
    place = str(Path(path).absolute())
    module, load = (
        "torch",
        f'torch.load({place!r}, map_location="cpu", weights_only=True)',
    )
    if Path(path).suffix == ".safetensors":
        module, load = "safetensors.torch", f"safetensors.torch.load_file({place!r})"
    return WrongFile(
        f"{shown(str(path))} holds weights, not the network that they are of{reason}: write these lines into "
        "a new file, open_model.py, with your network's class, and give open_model.py:make. (Of the networks of "
        f"papers, `randsmooth import` makes a model folder.){CODE}{OPENING.format(module=module, load=load)}"
    )


def pickled(path: Path | str) -> Problem:
    """The error for a pickle, such as scikit-learn's users make of an estimator, with lines that open it.

    Example:
        >>> print(str(pickled("forest.pkl")).splitlines()[0])
        forest.pkl is a pickle, which can run code and is never loaded: if you trust it, write these lines into ...
    """
    return WrongFile(
        f"{shown(str(path))} is a pickle, which can run code and is never loaded: if you trust it, write these lines "
        f"into a new file, open_model.py, and give open_model.py:make.{CODE}"
        f"{UNPICKLING.format(path=str(Path(path).absolute()))}"
    )


def check_source(source: Path | str) -> tuple[Path | str, Form]:
    """Where what `source` names lies on this machine, of a URL without what training needs, and its form.

    Raises:
        Problem: it cannot be opened, as far as that is known without loading torch.

    Example:
        >>> check_source("nofile.onnx")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: no file at nofile.onnx
    """
    if is_url(source):
        source = fetched(
            source, lambda path: path.name not in UNUSED and "events" not in path.parts
        )
    form = form_of(place := shipped(source))
    if form.check is not None:
        form.check(str(place))
    return place, form


def open_source(source: Path | str, **model_args: Any) -> Any:
    """What `source` names: a base classifier, or something that `adapt` makes one of.

    Args:
        source: written in one of the FORMS, or the URL of a model folder or of a file of one of these kinds.
        model_args: for what opens it: a function's own arguments, or those of `OnnxModel` and its like.

    Raises:
        Problem: it cannot be opened, or takes other arguments.

    Example:
        >>> open_source("nofile.onnx", output="logits")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: no file at nofile.onnx
    """
    source, form = check_source(source)
    opener = pkgutil.resolve_name(f"randsmooth.models.{form.opener}")
    given = {
        name: each.get_secret_value() if isinstance(each, Secret) else each
        for name, each in model_args.items()
    }
    check_arguments(opener, given, shown(str(source)), first=1)
    return opener(source, **given)


def secret_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with those in `pydantic.Secret` that their user marks by "secret:NAME", or that are called so.

    Raises:
        Problem: one of them holds the stars that stand for a secret.

    Example:
        >>> secret_arguments({"depth": 20, "api_key": "abc", "secret:who": "me"})
        {'depth': 20, 'api_key': Secret('**********'), 'who': Secret('**********')}
    """
    made = {}
    for name, value in given.items():
        plain = name.removeprefix("secret:")
        if not isinstance(value, Secret) and (plain != name or names_a_secret(name)):
            value = Secret[Any](value)
        if isinstance(value, Secret) and value.get_secret_value() == STARS:
            way = "give the value; commands and files that are kept hold stars in its place"
            raise BadValue(f"the secret argument {shown(plain)} is {STARS}: {way}")
        made[plain] = value
    return made


def told(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as a table may say them: of a secret, a hash, by which two runs are told apart.

    Example:
        >>> told({"depth": 20, "token": "abc"})
        {'depth': 20, 'token': 'secret sha256:25f1489e989b'}
    """
    made = secret_arguments(given)
    for name, value in made.items():
        if isinstance(value, Secret):
            hashed = hashlib.sha256(
                repr((name, value.get_secret_value())).encode()
            ).hexdigest()
            made[name] = f"secret sha256:{hashed[:12]}"
        elif isinstance(value, str):
            made[name] = without_credentials(value)
    return made


def check_arguments(
    called: Callable[..., Any], given: Mapping[str, Any], what: str, *, first: int = 0
) -> None:
    """Raise Problem where `called` does not take the arguments `given` by name, or needs others.

    Args:
        called: a function or class.
        given: arguments by name.
        what: what to call it in the message.
        first: how many arguments it is given besides, at the front.

    Example:
        >>> def resnet(depth, width=1):
        ...     ...
        >>> check_arguments(resnet, {"depth": 8}, "zoo.py:resnet")
        >>> check_arguments(resnet, {"dept": 8}, "zoo.py:resnet")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: zoo.py:resnet takes the arguments depth, width (missing a required argument: ...
    """
    try:
        signature = inspect.signature(called)
        signature.bind(*[None] * first, **given)
    except ValueError:  # of a compiled function
        return
    except TypeError as error:
        names = shown(", ".join([*signature.parameters][first:]) or "none")
        raise BadValue(
            f"{what} takes the arguments {names} ({error})",
            field="model_arg",
            fix=(
                "give each as ",
                Setting("model_arg"),
                "; a function that itself takes images is returned by another",
            ),
        ) from error
