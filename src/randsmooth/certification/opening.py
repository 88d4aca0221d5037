"""The base classifier that a user names, or means by an object."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from randsmooth import models
from randsmooth.certification.checks import check_eval_mode
from randsmooth.errors import InputError


def opened(model: object, model_args: Mapping[str, Any], num_classes: int | None) -> models.BaseClassifier:
    """The base classifier that is named, or is meant by an object; modules are in eval mode."""
    if isinstance(model, str | Path):
        model = load_model(model, **model_args)
    elif model_args:
        raise InputError(
            f"model_args for {', '.join(model_args)} are for a model that is named; got a {type(model).__name__}"
        )
    base = models.adapt(model, num_classes=num_classes)
    if isinstance(base, nn.Module):
        check_eval_mode(base)
    return base


def load_model(source: Path | str, **model_args: Any) -> models.BaseClassifier:
    """The base classifier that is named: a folder, `user/name` on the hub, a file, or code that makes it.

    | written | what it is |
    | --- | --- |
    | `FOLDER`, `user/name` | a model folder, here or on the Hugging Face hub |
    | `NET.onnx`, `NET.xml` | an ONNX file, an OpenVINO IR; arguments: `output`, `layout` (see `models.OnnxModel`) |
    | `NET.pt2`, `NET.pt` | what `torch.export.save` or `torch.jit.save` wrote |
    | `package.module:NAME`, `file.py:NAME` | a function that returns any model, called with `model_args`; or a model |

    `NET.pt2`, `NET.pt` and the last row are code, which is run: open only what you trust.

    Args:
        source: written as in the table.
        model_args: for what opens or makes the model.

    Raises:
        InputError: there is no such thing, or it cannot be opened; the message lists the forms.

    Example:
        >>> import tempfile
        >>> model = models.Classifier(arch="small-cnn", classes=["cat", "dog"], shape=[1, 8, 8])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     models.save(model, folder)
        ...     load_model(folder).classes
        ['cat', 'dog']
    """
    return models.adapt(models.open_source(source, **model_args))
