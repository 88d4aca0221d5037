"""Options of the verbs that take a model: what it is, the arguments of what makes it, and what it cannot say itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Secret

from randsmooth.cli.settings import pairs
from randsmooth.models.arguments import secret_arguments

MODEL = (
    "Model folder, `user/name` on the Hugging Face hub, ONNX file, OpenVINO IR (.xml), TorchScript (.pt), exported "
    "program (.pt2), or code that makes the model: `package.module:NAME`, `file.py:NAME`."
)
MODEL_ARG = (
    "Argument of what makes or opens the model, such as depth=20, read as YAML reads it. Repeatable. Of "
    "secret:NAME=VALUE, and of names such as token, tables hold a hash."
)
NUM_CLASSES = "How many classes there are, for a function that answers with labels. (default: what the data set says)"
IDENTITY = (
    "A name that no other model of yours has, for one that cannot be compared by its content, such as a function."
)
KEY_VALUE: dict[str, Any] = {"cli": list[str], "metavar": "KEY=VALUE"}
ModelArgs = Annotated[dict[str, Any], BeforeValidator(lambda values: secret_arguments(pairs(values)))]


def written(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as a command that is kept gives them, stars in place of what is secret.

    Example:
        >>> written({"depth": 20, "token": Secret("abc")})
        {'depth': 20, 'secret:token': '**********'}
    """
    secret = {name for name, value in given.items() if isinstance(value, Secret)}
    plain = {name: value for name, value in given.items() if name not in secret}
    return plain | {f"secret:{name}": str(given[name]) for name in sorted(secret)}


def without_secrets(words: Sequence[str]) -> list[str]:
    """The words of a command, with stars in place of what is secret.

    Example:
        >>> without_secrets(["explain", "zoo.py:net", "--model-arg", "depth=20", "--model-arg", "token=abc"])[-3:]
        ['depth=20', '--model-arg', 'token=**********']
    """
    kept = []
    for before, word in zip(["", *words], words, strict=False):
        option, equals, argument = word.rpartition("--model-arg=")
        name = argument.partition("=")[0]
        (value,) = secret_arguments({name: None}).values()
        secret = (equals or before == "--model-arg") and value is not None
        kept.append(f"{option}{equals}{name}=**********" if secret else word)
    return kept
