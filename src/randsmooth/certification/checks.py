"""Checks of a base classifier: whether its outputs are reproducible, and independent of the rest of the batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.certification.backends import Backend
from randsmooth.errors import InputError
from randsmooth.models import ForeignModel
from randsmooth.noise import Stream

IMAGES = 8  # that are made up
MOST_CHANGED = 0.05  # share of answers that rounding changes where classes are nearly tied
QUANTISED = ("torch.ao.nn.quantized.", "torch.ao.nn.intrinsic.quantized.")


def check_eval_mode(model: nn.Module) -> None:
    """Raise InputError if any module is in train mode, in which dropout is random and batch norm depends on the batch.

    So it does in eval mode where it keeps no running statistics, which is refused, too.

    Example:
        >>> check_eval_mode(nn.Sequential(nn.Linear(4, 2)).eval())
        >>> check_eval_mode(nn.Sequential(nn.Linear(4, 2)))
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: the model is in train mode; ...: call model.eval()
    """
    modules = {name or "the model": module for name, module in model.named_modules()}
    training = [name for name, module in modules.items() if module.training and not _fixed(module)]
    if training:
        raise InputError(f"{training[0]} is in train mode; a certificate is about fixed answers: call model.eval()")
    mixing = [name for name, module in modules.items() if _by_batch(module)]
    if mixing:
        raise InputError(
            f"{mixing[0]} is a batch norm without running statistics, so that an image's answer depends on the others "
            "in its batch; a certificate is about a function of one image: train with track_running_stats=True"
        )


def _by_batch(module: nn.Module) -> bool:
    """Whether it is a batch norm that computes its statistics of every batch, in eval mode too."""
    scripted = getattr(module, "original_name", "")  # of TorchScript's modules, which have no classes of their own
    norm = isinstance(module, nn.modules.batchnorm._BatchNorm) or "BatchNorm" in str(scripted)
    return norm and getattr(module, "running_mean", None) is None


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

    A row must stay the same, to the last bit, at another place in the batch, beside rows of one image alone (`noisy`
    holds several, one after the other, see `made_up`), and beside nothing but itself. The first fails for kernels that
    treat the last rows of a batch differently, the second for layers that scale a batch by its extremes, as dynamic
    quantisation does, the third for answers that a batch votes on.

    Raises:
        InputError: the class of many rows depends on the others, as where a layer computes statistics of the batch.
    """
    images = [part for part in torch.arange(len(noisy)).tensor_split(IMAGES) if len(part)]
    one_image = [part.repeat(len(noisy))[: len(noisy)] for part in (images[0], images[-1])]
    one_row = [part[:1].expand(len(noisy)) for part in images]
    equal = True
    for rows in (torch.arange(len(noisy)).roll(1), *one_image, *one_row):
        again, before = backend.logits(noisy[rows]), logits[rows]
        if torch.equal(again, before):
            continue
        equal, changed = False, int((again.argmax(dim=1) != before.argmax(dim=1)).sum())
        if changed > MOST_CHANGED * len(rows):
            raise InputError(
                f"the model gives {changed} of {len(rows)} noisy images another class beside other images in the batch "
                "(a layer that computes statistics of the batch?); a certificate is about a function of one image: "
                "make every layer treat each image by itself"
            )
    return equal


def made_up(shape: tuple[int, ...]) -> list[Tensor]:
    """IMAGES images of `shape` (C, H, W), on the grid k/255: black, grey, white, gradients, checks and noise."""
    channels, height, width = shape
    down, across = torch.arange(height)[:, None], torch.arange(width)[None]
    checks = 255 * ((down + across) % 2)
    planes = [0 * checks, 0 * checks + 128, 0 * checks + 255, checks]
    planes += [(255 * down // max(1, height - 1)).expand(height, width)]
    planes += [(255 * across // max(1, width - 1)).expand(height, width)]
    same_in_every_channel = [plane.expand(shape) for plane in planes]
    rolled = planes[-1] + 64 * torch.arange(channels)[:, None, None]  # differs from channel to channel
    noise = torch.from_numpy(Stream(0, "behaviour").numpy().integers(0, 256, shape))
    return [image.float() / 255.0 for image in (*same_in_every_channel, rolled % 256, noise)]
