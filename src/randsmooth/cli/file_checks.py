"""What `randsmooth verify` checks in files of a kind that does not check itself."""

from __future__ import annotations

from pathlib import Path

from randsmooth.cli.command import settings_of
from randsmooth.cli.settings import read_config, read_document, validate
from randsmooth.cli.verbs import DATA_VERBS, VERBS
from randsmooth.errors import unknown


def check_model(folder: Path) -> str:
    from randsmooth import models

    return models.check_folder(folder)


def check_checkpoint(path: Path) -> str:
    from randsmooth.training import checkpoint

    return checkpoint.check(path)


def check_teacher(path: Path) -> str:
    from randsmooth.training.predictions import check_answers

    return check_answers(path)


def check_configuration(path: Path) -> str:
    """That the file names a verb of randsmooth, and settings that this verb takes."""
    verbs = {**VERBS, **DATA_VERBS}
    document = read_document(path)
    verb = document.get("verb")
    if verb not in verbs:
        raise unknown("verb", str(verb), verbs)
    validate(settings_of(verbs[verb].load()), verb, read_config(path, verb))
    return f"configuration of `randsmooth {verb}`; it has no digest; its keys and their types are those of the verb"


def check_onnx(path: Path) -> str:
    from randsmooth.models import OnnxModel

    model = OnnxModel(path)
    return f"{model.kind} for images of shape {model.shape}; it has no digest, and ONNX Runtime opens it"


def check_ir(path: Path) -> str:
    """Also that the weights beside it are those that it was written with, where it says which these are."""
    from randsmooth.models import IrModel

    model = IrModel(path)
    weights = "its weights are those that it was written with" if model.quantised else "it has no digest"
    return f"{model.kind} for images of shape {model.shape}; {weights}, and OpenVINO opens it"
