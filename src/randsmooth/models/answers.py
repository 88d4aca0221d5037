"""What a base classifier answers with: logits, or something of which a wrapper makes logits."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import WrongModel, article


def check_logits(answer: Any, images: int, called: str = "the model") -> Tensor:
    """The logits (B, K) that a model answered with, in a form that can be counted.

    Numbers of 8 and 16 bits become float32, and so do truth values. Sparse and quantised tensors become plain ones.

    Args:
        answer: what it said.
        images: B, of which it was asked.
        called: what to call it in the error.

    Raises:
        Problem: it is something else; the message names what makes logits of it.

    Example:
        >>> check_logits(torch.zeros(2, 3, dtype=torch.float16), 2).dtype
        torch.float32
        >>> check_logits({"logits": torch.zeros(2, 3)}, 2)
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongModel: the model answers 2 images with a dict of 'logits'; expected logits (2, K), ...
    """
    fits = (
        isinstance(answer, Tensor)
        and answer.dim() == 2
        and len(answer) == images
        and answer.shape[1] >= 2
    )
    if not fits or answer.is_complex() or answer.is_meta:
        expected = f"expected logits ({images}, K), K >= 2, as a tensor of real numbers"
        raise WrongModel(
            f"{called} answers {images} images with {described(answer)}; {expected}{_way(answer, images)}"
        )
    plain: Tensor = answer
    if answer.is_quantized:
        plain = answer.dequantize()
    elif answer.layout != torch.strided:
        plain = answer.to_dense()
    whole = not plain.is_floating_point() and plain.dtype != torch.bool
    return (
        plain
        if whole or plain.dtype in (torch.float32, torch.float64)
        else plain.float()
    )


def described(answer: object) -> str:
    """What an answer is, in words.

    Example:
        >>> described((torch.zeros(2, 3), None)), described(torch.zeros(2, 1))
        ('a tuple of 2 parts', 'torch.float32 (2, 1)')
    """
    if isinstance(answer, Tensor | np.ndarray):
        kind = (
            answer.dtype
            if isinstance(answer, Tensor)
            else f"a NumPy array of {answer.dtype}"
        )
        return f"{kind} {tuple(answer.shape)}"
    name = article(type(answer).__name__)
    if isinstance(answer, Mapping):
        return f"{name} of {shown(', '.join(map(repr, answer)))}"
    return (
        f"{name} of {len(answer)} parts" if isinstance(answer, tuple | list) else name
    )


def with_a_class(logits: Tensor) -> Tensor:
    """Whether each row of logits (B, K) has a class: none is NaN, and the largest is finite.

    A logit of minus infinity is one like any other: so classes are masked, and so does the logarithm of a probability
    say that it is 0.

    Example:
        >>> with_a_class(torch.tensor([[0.0, -torch.inf], [-torch.inf, -torch.inf], [torch.nan, 0.0]]))
        tensor([ True, False, False])
    """
    return logits.amax(dim=1).isfinite()


def part_of(answer: Any, name: str | int) -> Any:
    """The part of an answer of several parts: by its name, of a dictionary or object, or by its place.

    Raises:
        Problem: there is no such part.

    Example:
        >>> part_of({"logits": 3}, "logits"), part_of(("a", "b"), 1)
        (3, 'b')
    """
    try:
        if isinstance(name, str) and not isinstance(answer, Mapping):
            return getattr(answer, name)
        return answer[name]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise WrongModel(
            f"answer={name!r} is no part of what the model answers with, {described(answer)}"
        ) from None


def two_logits(answer: Tensor, of: str) -> Tensor:
    """Logits (B, 2) of one number an image, (B,) or (B, 1), about the second of two classes.

    Args:
        answer: what a model said.
        of: "logit", which is above 0 for the second class, or "probability", in [0, 1]; others become NaN.

    Raises:
        Problem: it is not one number an image.

    Example:
        >>> two_logits(torch.tensor([[-3.0], [2.0]]), "logit").argmax(dim=1)
        tensor([0, 1])
        >>> two_logits(torch.tensor([0.25, 0.75]), "probability").exp()
        tensor([[0.7500, 0.2500],
                [0.2500, 0.7500]])
    """
    if (
        not isinstance(answer, Tensor)
        or tuple(answer.shape[1:]) not in ((), (1,))
        or not answer.dim()
    ):
        raise WrongModel(
            f"binary={of!r} is for one number an image, (B,) or (B, 1); it answers {described(answer)}"
        )
    second = answer.reshape(len(answer)).float()
    if of == "logit":
        return torch.stack([torch.zeros_like(second), second], dim=1)
    shares = torch.stack([1.0 - second, second], dim=1)
    return torch.where(
        (shares >= 0.0).all(dim=1, keepdim=True), shares, torch.nan
    ).log()


def _parts(answer: Any) -> dict[str | int, Any]:
    """The parts of an answer, by their names or places; none of one that is a tensor, or has none."""
    if isinstance(answer, Mapping):
        return dict(answer)
    if isinstance(answer, Tensor | np.ndarray):
        return {}
    if hasattr(answer, "logits"):
        return {"logits": answer.logits}
    return dict(enumerate(answer)) if isinstance(answer, tuple | list) else {}


def _way(answer: Any, images: int) -> str:
    """How logits are made of an answer, where that is known; empty otherwise."""
    if answer is None:
        return ". Does its forward return what it computes?"
    if parts := _parts(answer):
        shapes = {
            name: tuple(getattr(part, "shape", ())) for name, part in parts.items()
        }
        fitting = [
            name
            for name, shape in shapes.items()
            if len(shape) == 2 and shape[0] == images and shape[1] > 1
        ]
        named = ["logits"] if "logits" in parts else fitting or [*parts][:1]
        words = " or ".join(f"answer={name!r}" for name in named)
        return f". rs.wrap(model, {words}) takes that part of it"
    if isinstance(answer, np.ndarray):
        return ". Let it return torch.from_numpy(...), or give a function of arrays in its place"
    if not isinstance(answer, Tensor) or answer.is_meta:
        return ""
    if answer.is_complex():
        return ". Let it return .abs() or .real of these"
    shape = tuple(answer.shape)
    if shape in ((images,), (images, 1)) and answer.is_floating_point():
        logit = "rs.wrap(model, binary='logit') if it is above 0 for the second"
        return f". Of two classes: {logit}, binary='probability' if it is above 0.5"
    if shape in ((images,), (images, 1)):
        flat = ".flatten()" if len(shape) == 2 else ""
        return f". If these are labels, give the function lambda x: model(x){flat}, which may answer with them"
    if shape[:1] == (images,) and len(shape) > 2 and set(shape[2:]) == {1}:
        return ". torch.nn.Sequential(model, torch.nn.Flatten()) makes logits of it"
    if len(shape) == 2 and shape[1] == images:
        return ". Its axes are turned: let it return .T"
    return ""
