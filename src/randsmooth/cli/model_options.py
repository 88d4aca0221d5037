"""Options of the verbs that take a model: what it is, the arguments of what makes it, and what it cannot say itself."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from randsmooth.cli.settings import pairs

MODEL = (
    "Model folder, `user/name` on the Hugging Face hub, ONNX file, OpenVINO IR (.xml), TorchScript (.pt), exported "
    "program (.pt2), or code that makes the model: `package.module:NAME`, `file.py:NAME`."
)
MODEL_ARG = "Argument of what makes or opens the model, such as depth=20, read as YAML reads it. Repeatable."
NUM_CLASSES = "How many classes there are, for a function that answers with labels. (default: what the data set says)"
IDENTITY = (
    "A name that no other model of yours has, for one that cannot be compared by its content, such as a function."
)
KEY_VALUE: dict[str, Any] = {"cli": list[str], "metavar": "KEY=VALUE"}
ModelArgs = Annotated[dict[str, Any], BeforeValidator(pairs)]
