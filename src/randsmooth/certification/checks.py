"""Checks of a base classifier: whether its outputs are reproducible, and independent of the rest of the batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.certification.backends import Backend
from randsmooth.errors import InputError
from randsmooth.models import ForeignModel

QUANTISED = ("torch.ao.nn.quantized.", "torch.ao.nn.intrinsic.quantized.")


def check_eval_mode(model: nn.Module) -> None:
    """Raise InputError if any module is in train mode, in which dropout is random and batch norm depends on the batch.

    Example:
        >>> check_eval_mode(nn.Sequential(nn.Linear(4, 2)).eval())
        >>> check_eval_mode(nn.Sequential(nn.Linear(4, 2)))
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: the model is in train mode; ...: call model.eval()
    """
    training = [name or "the model" for name, module in model.named_modules() if module.training and not _fixed(module)]
    if training:
        raise InputError(f"{training[0]} is in train mode; a certificate is about fixed answers: call model.eval()")


def _fixed(module: nn.Module) -> bool:
    """Whether it is a quantised layer, which torch makes in train mode although it knows no other."""
    return type(module).__module__.startswith(QUANTISED)


def check_repeats(backend: Backend, model: nn.Module | ForeignModel, noisy: Tensor) -> Tensor:
    """The logits of `noisy` (B, C, H, W). InputError, naming the layer, if a second call gives different ones."""
    first, again = backend.logits(noisy).clone(), backend.logits(noisy)
    if torch.equal(torch.nan_to_num(first), torch.nan_to_num(again)):
        return first
    layer = None if isinstance(model, ForeignModel) else random_layer(model, noisy[:2])
    raise InputError(
        f"the model answers the same images differently from call to call{f', from layer {layer} on' if layer else ''} "
        "(dropout left on?); a certificate is about fixed answers: make every layer deterministic"
    )


def random_layer(model: nn.Module, noisy: Tensor) -> str | None:
    """Name and type of the first module whose output differs between two calls; of nested modules the innermost."""
    calls: list[list[tuple[str, Tensor]]] = [[], []]
    for outputs in calls:

        def note(name: str, outputs: list[tuple[str, Tensor]] = outputs) -> Any:
            return lambda module, given, out: outputs.append((name, out)) if isinstance(out, Tensor) else None

        hooks = [module.register_forward_hook(note(name)) for name, module in model.named_modules()]
        try:
            model(noisy.to(next((p for p in model.parameters()), noisy)))
        finally:
            for hook in hooks:
                hook.remove()
    for (name, once), (_, twice) in zip(*calls, strict=False):  # inner modules return before the outer ones
        if not torch.equal(once, twice):
            return f"{name or 'the model itself'} ({type(model.get_submodule(name)).__name__})"
    return None


def rows_stand_alone(backend: Backend, noisy: Tensor, logits: Tensor) -> bool:
    """Whether images may share a batch: no row of `logits`, the outputs for `noisy`, depends on the other rows.

    A row must stay the same, to the last bit, at another place in the batch and beside other rows. The first fails for
    kernels that treat the last rows of a batch differently, the second for layers that scale a batch by its extremes,
    as dynamic quantisation does.
    """
    half = len(noisy) // 2
    others = torch.cat([noisy[:half], 8.0 * noisy[half:]])
    if not torch.equal(backend.logits(others)[:half], logits[:half]):
        return False
    return all(torch.equal(backend.logits(noisy.roll(by, 0)).roll(-by, 0), logits) for by in (1, len(noisy) // 2))
