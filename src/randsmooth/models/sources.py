"""How a model is named, on the command line and in Python, and what opens it.

Nothing heavy is loaded until something is opened.
"""

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from randsmooth import models
from randsmooth.documents import shown
from randsmooth.errors import NotFound
from randsmooth.models.arguments import check_arguments, revealed
from randsmooth.models.not_models import no_model
from randsmooth.models.places import (
    DEMOS,
    HUB_ID,
    check_file,
    check_place,
    shipped,
)
from randsmooth.urls import fetched, is_url

# Files in a folder of a training run that are not part of its model, and the folder of its
# logs.
UNUSED_FILES = {"checkpoint.pt", "teacher.pt", "history.csv"}
UNUSED_FOLDER = "events"

# Files that are refused: they hold weights without a network, or can run code when they are
# read.
NO_MODEL = re.compile(
    r".*\.(pth|tar|ckpt|pkl|pickle|joblib|bin|th|safetensors|npz|npy|h5)",
    re.IGNORECASE | re.DOTALL,
)


class SourceForm(NamedTuple):
    """One way to name a model.

    Attributes:
        written: an example of it, for errors and help.
        what: the kind of model that it names.
        pattern: a regular expression that the names in this form match, in capitals or
            not. It is empty for a folder on this machine, for which `form_of` looks up "".
        check: called with a name, it raises Problem where the model cannot be opened, as
            far as that is known without loading anything heavy. It is None for a model of
            a hub or of code: nothing is known of it until it is opened.
        opener: imports and returns the function or class that opens the model. This one is
            called with the source and the model's arguments, and returns a base
            classifier, or whatever `adapt` makes one of.
    """

    written: str
    what: str
    pattern: str
    check: Callable[[str], None] | None
    opener: Callable[[], Callable[..., Any]]

    def names(self, source: str) -> bool:
        """Return whether `source` is written in this form."""
        return bool(re.fullmatch(self.pattern, source, re.IGNORECASE | re.DOTALL))


def _opener_of_exported() -> Callable[..., Any]:
    # Importing it loads torch.
    from randsmooth.models.adapters.torch_program import exported

    return exported


def _opener_of_scripted() -> Callable[..., Any]:
    # Importing it loads torch.
    from randsmooth.models.adapters.torch_program import scripted

    return scripted


OF_HUB = SourceForm(
    written="user/name",
    what="a model folder on the Hugging Face hub",
    pattern=HUB_ID.pattern,
    check=check_place,
    opener=lambda: models.load,
)

# A name may be written in several of these forms: the first one counts.
FORMS = (
    SourceForm(
        written="hf:user/name or hf:FOLDER",
        what="a classifier of images or of texts of transformers",
        pattern="hf:.*",
        check=None,
        opener=lambda: models.transformers_models.open_transformers,
    ),
    SourceForm(
        written="timm:NAME",
        what="an image classifier of timm",
        pattern="timm:.*",
        check=None,
        opener=lambda: models.timm_models.from_timm,
    ),
    SourceForm(
        written=f"FOLDER, {' or '.join(DEMOS)}",
        what="a model folder",
        pattern="",
        check=check_place,
        opener=lambda: models.load,
    ),
    SourceForm(
        written="file.py:NAME",
        what="a function in a file that returns the model, or the model itself",
        pattern=r".*\.py:[A-Z_][\w.]*",
        check=check_file,
        opener=lambda: models.by_code.from_code,
    ),
    SourceForm(
        written="package.module:NAME",
        what="the same in a module",
        pattern=r"[A-Z_][\w.]*:[A-Z_][\w.]*",
        check=None,
        opener=lambda: models.by_code.from_code,
    ),
    SourceForm(
        written="NET.onnx",
        what="an ONNX file",
        pattern=r".*\.onnx",
        check=check_file,
        opener=lambda: models.OnnxModel,
    ),
    SourceForm(
        written="NET.xml",
        what="an OpenVINO IR, with NET.bin beside it",
        pattern=r".*\.xml",
        check=check_file,
        opener=lambda: models.IrModel,
    ),
    SourceForm(
        written="NET.pt2",
        what="a program of torch.export",
        pattern=r".*\.pt2",
        check=check_file,
        opener=_opener_of_exported,
    ),
    SourceForm(
        written="NET.pt",
        what="a TorchScript file",
        pattern=r".*\.(pt|torchscript|ts|jit)",
        check=check_file,
        opener=_opener_of_scripted,
    ),
    OF_HUB,
)


def form_of(source: Path | str) -> SourceForm:
    """Return the form that `source` is written in.

    Raises:
        NotFound: it is written in no form; the message lists all forms.
        WrongFile: it is a file that is no model by itself.

    Example:
        >>> form_of("net.onnx").what
        'an ONNX file'
        >>> form_of("zoo.py:small").written
        'file.py:NAME'
    """
    # A folder on this machine is a model folder, even one called "net.onnx". The form of
    # model folders matches the empty name. The empty `source` has this form as well, and
    # `models.load` refuses it.
    name = "" if Path(source).is_dir() else str(source)
    form = next((form for form in FORMS if form.names(name)), None)
    # "runs/net.pth" has the form of an id of the hub. Names in other forms are no paths to
    # such files, whatever they end in: "net.py:make.th" is an object in a file.
    if form in (None, OF_HUB) and NO_MODEL.fullmatch(name):
        # If there is no such file, this says so.
        check_file(name)
        raise no_model(name)
    if form is not None:
        return form

    forms = ", ".join(f"{form.written} ({form.what})" for form in FORMS)
    raise NotFound(f"{shown(str(source))} names no model: expected one of: {forms}")


def check_source(source: Path | str) -> tuple[Path | str, SourceForm]:
    """Return where the model that `source` names lies on this machine, and its form.

    What a URL names is fetched, without the files that only training needs.

    Returns:
        The path or the name to open, and the form that it is written in.

    Raises:
        Problem: it cannot be opened, as far as that is known without loading torch.

    Example:
        >>> check_source("nofile.onnx")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: no file at nofile.onnx
    """
    if is_url(source):
        source = fetched(source, _is_of_model)
    place = shipped(source)
    form = form_of(place)
    if form.check is not None:
        form.check(str(place))
    return place, form


def _is_of_model(path: PurePosixPath) -> bool:
    """Return whether a file in a folder of a training run is part of its model."""
    return path.name not in UNUSED_FILES and UNUSED_FOLDER not in path.parts


def open_source(source: Path | str, **model_args: Any) -> Any:
    """Return the model that `source` names: a base classifier, or what `adapt` takes.

    Args:
        source: a name in one of the FORMS, or the URL of a model folder or of a file in
            one of these forms.
        model_args: the arguments of what opens it: those of the user's function, or those
            of `OnnxModel` and the like. They may be secrets.

    Raises:
        Problem: the model cannot be opened, or takes other arguments.

    Example:
        >>> open_source("nofile.onnx", output="logits")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: no file at nofile.onnx
    """
    place, form = check_source(source)
    opener = form.opener()
    arguments = revealed(model_args)
    # The place is the opener's first argument.
    check_arguments(opener, arguments, shown(str(place)), first=1)
    return opener(place, **arguments)
