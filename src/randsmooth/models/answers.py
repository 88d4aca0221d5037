"""The answers of base classifiers: logits, or something of which logits can be made."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import WrongModel, article


def check_logits(answer: Any, inputs: int, called: str = "the model") -> Tensor:
    """Check that a model answered with logits (B, K), and return them as a plain tensor.

    Floats of 8 and 16 bits become float32, and so do truth values. Sparse and quantised
    tensors become dense ones.

    Args:
        answer: the value that the model returned.
        inputs: B, the number of inputs that the model was given.
        called: the name for the model in errors.

    Raises:
        WrongModel: the answer is something else; the message tells how to make logits of
            it, where that is known.

    Example:
        >>> check_logits(torch.zeros(2, 3, dtype=torch.float16), 2).dtype
        torch.float32
        >>> check_logits({"logits": torch.zeros(2, 3)}, 2)
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongModel: the model answers 2 images with a dict of ...
    """
    if not _are_logits(answer, inputs):
        raise WrongModel(
            f"{called} answers {inputs} images with {described(answer)}; expected "
            f"logits ({inputs}, K), K >= 2, as a tensor of real numbers"
            f"{_way_out(answer, inputs)}"
        )

    logits: Tensor = answer
    if logits.is_quantized:
        logits = logits.dequantize()
    elif logits.layout != torch.strided:
        logits = logits.to_dense()

    are_exact = logits.dtype in (torch.float32, torch.float64)
    are_whole = not logits.is_floating_point() and logits.dtype != torch.bool
    return logits if are_exact or are_whole else logits.float()


def _are_logits(answer: Any, inputs: int) -> bool:
    """Return whether an answer is real numbers (B, K), K >= 2, for B inputs."""
    if not isinstance(answer, Tensor) or answer.is_complex() or answer.is_meta:
        return False
    return answer.dim() == 2 and len(answer) == inputs and answer.shape[1] >= 2


def described(answer: object) -> str:
    """Return what an answer is, in words.

    Example:
        >>> described((torch.zeros(2, 3), None)), described(torch.zeros(2, 1))
        ('a tuple of 2 parts', 'torch.float32 (2, 1)')
    """
    if isinstance(answer, Tensor):
        return f"{answer.dtype} {tuple(answer.shape)}"
    if isinstance(answer, np.ndarray):
        return f"a NumPy array of {answer.dtype} {answer.shape}"

    kind = article(type(answer).__name__)
    if isinstance(answer, Mapping):
        return f"{kind} of {shown(', '.join(map(repr, answer)))}"
    if isinstance(answer, tuple | list):
        return f"{kind} of {len(answer)} parts"
    return kind


def with_a_class(logits: Tensor) -> Tensor:
    """Return (B,), whether each row of logits (B, K) names a class.

    A row names one if no logit is NaN and the largest is finite. A single logit may be minus
    infinity, as that of a class which is masked, or as the logarithm of the probability 0.

    Example:
        >>> masked = [0.0, -torch.inf]
        >>> none = [-torch.inf, -torch.inf]
        >>> with_a_class(torch.tensor([masked, none, [torch.nan, 0.0]]))
        tensor([ True, False, False])
    """
    # `amax` is NaN where any logit is.
    return logits.amax(dim=1).isfinite()


def part_of(answer: Any, name: str | int) -> Any:
    """Return the part of an answer of several parts.

    Args:
        answer: a dictionary, an object, a tuple or a list.
        name: the name of the part, or its index.

    Raises:
        WrongModel: there is no such part.

    Example:
        >>> part_of({"logits": 3}, "logits"), part_of(("a", "b"), 1)
        (3, 'b')
    """
    try:
        # Objects, named tuples among them, have parts by name as attributes.
        if isinstance(name, str) and not isinstance(answer, Mapping):
            return getattr(answer, name)
        return answer[name]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise WrongModel(
            f"answer={name!r} is not a part of the model's answer, {described(answer)}",
            field="answer",
            value=name,
        ) from None


def two_logits(answer: Tensor, of: str) -> Tensor:
    """Return logits (B, 2) made of one number for each input, about the second class.

    Args:
        answer: the numbers, (B,) or (B, 1).
        of: what the numbers are: "logit", above 0 for the second class, or "probability",
            that of the second class. A number outside [0, 1] is no probability, and its
            logits are NaN.

    Raises:
        WrongModel: the answer is not one number for each input.

    Example:
        >>> two_logits(torch.tensor([[-3.0], [2.0]]), "logit").argmax(dim=1)
        tensor([0, 1])
        >>> two_logits(torch.tensor([0.25, 0.75]), "probability").exp()
        tensor([[0.7500, 0.2500],
                [0.2500, 0.7500]])
    """
    is_tensor = isinstance(answer, Tensor) and answer.dim() > 0
    if not is_tensor or tuple(answer.shape[1:]) not in ((), (1,)):
        raise WrongModel(
            f"binary={of!r} is for one number an image, (B,) or (B, 1); it answers "
            f"{described(answer)}",
            field="binary",
            value=of,
        )

    # (B,)
    second = answer.reshape(len(answer)).float()
    if of == "logit":
        return torch.stack([torch.zeros_like(second), second], dim=1)
    shares = torch.stack([1.0 - second, second], dim=1)
    # Both are at least 0 only where `second` is in [0, 1].
    are_probabilities = (shares >= 0.0).all(dim=1, keepdim=True)
    return torch.where(are_probabilities, shares, torch.nan).log()


def _parts(answer: Any) -> dict[str | int, Any]:
    """Return the parts of an answer by their names or indices.

    An array has no parts, and neither has what is no container.
    """
    if isinstance(answer, Mapping):
        return dict(answer)
    if hasattr(answer, "logits"):
        return {"logits": answer.logits}
    if isinstance(answer, tuple | list):
        return dict(enumerate(answer))
    return {}


def _way_out(answer: Any, inputs: int) -> str:
    """Return how to make logits of an answer; empty where that is not known.

    The text goes on with a sentence of the caller, so it begins with the full stop of that
    sentence.

    Args:
        answer: the value that a model returned.
        inputs: B, the number of inputs that the model was given.
    """
    if answer is None:
        return ". Let its forward return what it computes"
    parts = _parts(answer)
    if parts:
        return _way_out_of_parts(parts, inputs)
    if isinstance(answer, np.ndarray):
        return (
            ". Let it return torch.from_numpy(...), or give a function of arrays in "
            "its place"
        )
    if isinstance(answer, Tensor) and not answer.is_meta:
        return _way_out_of_tensor(answer, inputs)
    return ""


def _way_out_of_parts(parts: Mapping[str | int, Any], inputs: int) -> str:
    """Return how to take the logits out of an answer with these parts.

    Args:
        parts: at least one part, by its name or index.
        inputs: as in `_way_out`.
    """
    names = [name for name, part in parts.items() if _has_shape_of_logits(part, inputs)]
    if "logits" in parts:
        names = ["logits"]
    # If no part looks like logits, the first one serves as an example.
    if not names:
        names = list(parts)[:1]
    choices = " or ".join(f"answer={name!r}" for name in names)
    return f". rs.wrap(model, {choices}) takes that part of it"


def _has_shape_of_logits(part: Any, inputs: int) -> bool:
    """Return whether a part of an answer to B inputs is (B, K), K >= 2."""
    shape = tuple(getattr(part, "shape", ()))
    return len(shape) == 2 and shape[0] == inputs and shape[1] > 1


def _way_out_of_tensor(answer: Tensor, inputs: int) -> str:
    """Return how to make logits of a tensor; arguments are those of `_way_out`."""
    shape = tuple(answer.shape)
    if answer.is_complex():
        return ". Let it return .abs() or .real of these"
    if shape in ((inputs,), (inputs, 1)):
        return _way_out_of_numbers(answer)
    # (B, K, 1, 1), as of a network without a flatten at its end.
    if shape[:1] == (inputs,) and len(shape) > 2 and set(shape[2:]) == {1}:
        return ". torch.nn.Sequential(model, torch.nn.Flatten()) makes logits of it"
    if len(shape) == 2 and shape[1] == inputs:
        return ". Its axes are turned: let it return .T"
    return ""


def _way_out_of_numbers(answer: Tensor) -> str:
    """Return how to make logits of one number for each input, (B,) or (B, 1)."""
    if answer.is_floating_point():
        return (
            ". For two classes: rs.wrap(model, binary='logit') if the number is above 0 "
            "for the second class, binary='probability' if it is above 0.5"
        )
    flat = ".flatten()" if answer.dim() == 2 else ""
    return (
        f". If these are labels, give the function lambda x: model(x){flat} in place of "
        "the model: functions may answer with labels"
    )
