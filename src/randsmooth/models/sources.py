"""How a model is named on the command line and in Python: the forms, and what opens each. Loads no torch by itself."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models.arguments import check_arguments, revealed
from randsmooth.models.hub.places import HF, TIMM, check_timm, check_transformers
from randsmooth.models.place import HUB_ID, check_file, check_place
from randsmooth.urls import fetched, has_protocol

FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
CHECKPOINTS = (".pth", ".tar", ".ckpt", ".bin", ".safetensors", ".pkl", ".pickle", ".joblib")


UNUSED = {"checkpoint.pt", "teacher.safetensors", "history.csv"}  # files of a training run that no model is made of


class Form(NamedTuple):
    """One way to name a model.

    Attributes:
        written: an example of it, for errors and help.
        what: what it names.
        recognises: whether a source is written in this way; looks at its name alone, or whether it is a folder.
        check: raises InputError where it cannot be opened, as far as that is known without loading anything heavy.
        opener: "module:name" of what opens it: called with the source and the model's arguments, it gives a base
            classifier, or whatever `adapt` makes one of.
    """

    written: str
    what: str
    recognises: Callable[[str], bool]
    check: Callable[[str], None]
    opener: str


def _ends_in(*suffixes: str) -> Callable[[str], bool]:
    return lambda source: source.lower().endswith(suffixes)


def _check_python(source: str) -> None:
    check_file(source.rpartition(":")[0], "Python file")


def _check_module(source: str) -> None:
    from randsmooth.models.adapters.factories import check_module

    check_module(source)


def _check_ir(source: str) -> None:
    check_file(source, "OpenVINO IR")
    check_file(str(Path(source).with_suffix(".bin")), "file of weights beside it")


def _check_file(what: str) -> Callable[[str], None]:
    return lambda source: check_file(source, what)


# In this order: the first that recognises a source opens it.
FORMS: tuple[Form, ...] = (
    Form(
        "hf:user/name or hf:FOLDER",
        "an image classifier of transformers",
        lambda source: source.startswith(HF),
        check_transformers,
        "randsmooth.models.hub.transformers_model:from_transformers",
    ),
    Form(
        "timm:NAME",
        "an image classifier of timm",
        lambda source: source.startswith(TIMM),
        check_timm,
        "randsmooth.models.hub.timm_model:from_timm",
    ),
    Form("FOLDER", "a model folder", lambda source: Path(source).is_dir(), check_place, "randsmooth.models:load"),
    Form(
        "file.py:NAME",
        "a function in a Python file that returns the model, or the model itself",
        lambda source: re.search(r"\.py:[A-Za-z_][\w.]*$", source) is not None,
        _check_python,
        "randsmooth.models.adapters.factories:from_file",
    ),
    Form(
        "package.module:NAME",
        "the same in a module that can be imported, from the current folder too",
        lambda source: FUNCTION.fullmatch(source) is not None,
        _check_module,
        "randsmooth.models.adapters.factories:from_module",
    ),
    Form("NET.onnx", "an ONNX file", _ends_in(".onnx"), _check_file("ONNX file"), "randsmooth.models:OnnxModel"),
    Form("NET.xml", "an OpenVINO IR, with NET.bin beside it", _ends_in(".xml"), _check_ir, "randsmooth.models:IrModel"),
    Form(
        "NET.pt2",
        "a program of torch.export",
        _ends_in(".pt2"),
        _check_file("exported program"),
        "randsmooth.models.adapters.programs:exported",
    ),
    Form(
        "NET.pt or NET.torchscript",
        "a TorchScript file",
        _ends_in(".pt", ".torchscript", ".ts", ".jit"),
        _check_file("TorchScript file"),
        "randsmooth.models.adapters.programs:scripted",
    ),
    Form(
        "user/name",
        "a model folder on the Hugging Face hub",
        lambda source: HUB_ID.fullmatch(source) is not None and not Path(source).exists(),
        check_place,
        "randsmooth.models:load",
    ),
)


def form_of(source: Path | str) -> Form:
    """The form that `source` is written in.

    Raises:
        InputError: none; the message lists the forms that exist.

    Example:
        >>> form_of("net.onnx").what
        'an ONNX file'
        >>> form_of("zoo.py:small").written
        'file.py:NAME'
    """
    found = next((form for form in FORMS if form.recognises(str(source))), None)
    if found is None:
        forms = ", ".join(f"{form.written} ({form.what})" for form in FORMS)
        raise InputError(f"{shown(str(source))} {_fault(str(source))}: expected one of: {forms}")
    return found


def local_source(source: Path | str) -> Path | str:
    """`source`, or of a URL the path of a copy on this machine, without what only training needs.

    Example:
        >>> local_source("user/name")
        'user/name'
    """
    return (
        fetched(source, lambda path: path.name not in UNUSED and "events" not in path.parts)
        if has_protocol(source)
        else source
    )


def _fault(source: str) -> str:
    if Path(source).suffix.lower() in CHECKPOINTS:
        return (
            "is a checkpoint or pickle, which is not opened as it is (`randsmooth import` makes a model folder of it)"
        )
    if source.endswith(".py"):
        return "does not say which function in it returns the model"
    if Path(source).exists():
        return "is a file of no kind that holds a model"
    return "is not a folder, nor written as any other model is"


def check_source(source: Path | str) -> None:
    """Raise InputError for a model that cannot be opened, as far as that is known without loading torch.

    Example:
        >>> check_source("nofile.onnx")
        Traceback (most recent call last):
        randsmooth.errors.InputError: no ONNX file at nofile.onnx
    """
    source = local_source(source)
    form_of(source).check(str(source))


def open_source(source: Path | str, **model_args: Any) -> Any:
    """What `source` names: a base classifier, or something that `adapt` makes one of.

    Args:
        source: written in one of the FORMS, or the URL of a model folder or of a file of one of these kinds.
        model_args: for what opens it: a function's own arguments, or those of `OnnxModel` and its like.

    Raises:
        InputError: it cannot be opened, or takes other arguments.

    Example:
        >>> open_source("nofile.onnx", output="logits")
        Traceback (most recent call last):
        randsmooth.errors.InputError: no ONNX file at nofile.onnx
    """
    source = local_source(source)
    form = form_of(source)
    form.check(str(source))
    opener = pkgutil.resolve_name(form.opener)
    given = revealed(model_args)
    check_arguments(opener, given, shown(str(source)), first=1)
    return opener(source, **given)
