"""Checks of a base classifier: whether its outputs are fixed, each image's own, and about the classes of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.certification.backends import Backend
from randsmooth.data import DatasetSpec, Images
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models import Classifier, Denoised, ForeignModel
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


def check_repeats(backend: Backend, noisy: Tensor) -> Tensor:
    """The logits of `noisy` (B, C, H, W). InputError if a second call gives different ones."""
    first, again = backend.logits(noisy).clone(), backend.logits(noisy)
    if torch.equal(torch.nan_to_num(first), torch.nan_to_num(again)):
        return first
    raise InputError(
        "the model answers the same images differently from call to call (a layer that draws, such as dropout left "
        "on?); a certificate is about fixed answers: make every layer deterministic"
    )


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


def check_fit(model: object, spec: DatasetSpec) -> None:
    """Raise InputError unless the model takes the images of `spec` and knows their classes, numbered alike.

    Modules from elsewhere do not say what they take; the engine finds out when it tries the model.

    Example:
        >>> from randsmooth import data
        >>> parity = Classifier(arch="small-cnn", classes=["even", "odd"], shape=[1, 8, 8])
        >>> check_fit(parity, data.describe("digits"))
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: the model has 2 classes and digits has 10: ...
    """
    trained = model.provenance if isinstance(model, Classifier | Denoised) else {}
    trained_on = trained.get("dataset", "not recorded")
    width, shape = _known(model, "num_classes"), _known(model, "shape")
    more = spec.open_ended and width is not None and width >= spec.num_classes
    if width not in (None, spec.num_classes) and not more:
        raise InputError(
            f"the model has {width} classes and {spec.name} has {spec.num_classes}: pass the --dataset "
            f"it was trained on ({trained_on})"
        )
    if shape is not None and tuple(shape) != tuple(spec.shape):
        raise InputError(
            f"the model takes images of shape {tuple(shape)} and those of {spec.name} are {spec.shape}: pass the "
            f"--dataset it was trained on ({trained_on})"
        )
    own = {name: place for place, name in enumerate(_known(model, "classes") or ())}
    for place, name in enumerate(() if spec.open_ended else spec.classes):
        if own.get(name, place) != place:
            raise InputError(
                f"class {place} of {spec.name} is {shown(repr(name))}, which the model numbers {own[name]}: give the "
                f"labels as the model's numbers ({shown(', '.join(f'{k} {each}' for each, k in own.items()))})"
            )


def _known(model: object, name: str) -> Any:
    """What a model of ours, or one that was adapted, says of itself; another's attribute may mean something else."""
    value = getattr(model, name, None)
    if isinstance(model, Classifier | ForeignModel | Denoised):
        return value
    return value if name == "shape" and isinstance(value, tuple) and len(value) == 3 else None


def class_names(model: object, width: int, images: Images, indices: Sequence[int]) -> tuple[str, ...]:
    """The names of the K = `width` classes that the model answers with; its own where the data only number theirs.

    Raises:
        InputError: it is not for the classes of the images.
    """
    spec = images.spec
    if not spec.open_ended:
        if width != spec.num_classes:
            raise InputError(f"the model gives {width} logits; {spec.name} has {spec.num_classes} classes")
        return spec.classes
    labels = images.labels_at(torch.tensor(indices))
    beyond = (labels >= width).nonzero().flatten()
    if len(beyond):
        first = int(beyond[0])
        raise InputError(
            f"label {int(labels[first])} of image {indices[first]} of {spec.name} is not in 0..{width - 1}: the model "
            f"gives {width} logits; map the labels to its classes"
        )
    own = _known(model, "classes")
    return tuple(own) if own is not None and len(own) == width else tuple(map(str, range(width)))
