"""What must be true of a model's answers so that they can be counted, and how that is
tried out.
"""

import math

import torch
from torch import Tensor, nn

from randsmooth import data
from randsmooth.certification.backends import Backend
from randsmooth.errors import WrongModel
from randsmooth.noise import Stream

# The number of made-up images on which a base classifier is tried out.
MADE_UP_IMAGES = 8

# The share of answers that rounding may change, where classes are nearly tied. If other
# rows of the batch change more, it is not rounding.
MOST_CHANGED = 0.05

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)

# Where torch has its quantised layers.
QUANTISED = ("torch.ao.nn.quantized.", "torch.ao.nn.intrinsic.quantized.")


def check_eval_mode(model: nn.Module) -> None:
    """Raise Problem if a module answers as in training.

    In train mode dropout is random, and the answers of a batch norm depend on the
    batch. A batch norm without running statistics depends on it in eval mode, too, and
    is refused.

    Example:
        >>> check_eval_mode(nn.Sequential(nn.Linear(4, 2)).eval())
        >>> check_eval_mode(nn.Sequential(nn.Linear(4, 2)))
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongModel: the model is in train mode; ...: call model.eval()
    """
    for name, module in model.named_modules():
        place = name or "the model"
        # torch makes quantised layers in train mode, although they know no other.
        quantised = type(module).__module__.startswith(QUANTISED)
        if module.training and not quantised:
            raise WrongModel(
                f"{place} is in train mode; a certificate is about fixed answers: call "
                "model.eval()"
            )
        if _is_batch_norm(module) and getattr(module, "running_mean", None) is None:
            raise WrongModel(
                f"{place} is a batch norm without running statistics, so an "
                "image's answer depends on others: train with "
                "track_running_stats=True"
            )


def _is_batch_norm(module: nn.Module) -> bool:
    """Return whether a module is a batch norm, also in TorchScript."""
    # Modules of TorchScript are all of one class, and keep the name of their old class.
    name_in_script = str(getattr(module, "original_name", ""))
    return isinstance(module, BATCH_NORMS) or "BatchNorm" in name_in_script


def check_repeats(backend: Backend, noisy: Tensor) -> Tensor:
    """Return the logits of `noisy` (B, C, H, W).

    Raises:
        WrongModel: a second call gives different ones.
    """
    # The next answer may overwrite the memory of this one.
    first = backend.logits(noisy).clone()
    again = backend.logits(noisy)
    # NaN is not equal to itself; it is refused later, by the images that it occurs for.
    if not torch.equal(torch.nan_to_num(first), torch.nan_to_num(again)):
        raise WrongModel(
            "the model answers the same images differently from call to call: make "
            "every layer deterministic"
        )
    return first


def rows_stand_alone(backend: Backend, noisy: Tensor, logits: Tensor) -> bool:
    """Return whether images may share a batch: no row of the outputs depends on others.

    A row must stay the same, to the last bit, in three other batches:

    - at another place among the same rows: kernels may treat the last rows of a batch
      differently;
    - beside rows of one image alone: layers may scale a batch by its extremes, as
      dynamic quantisation does;
    - beside copies of itself: a batch may vote on its answers.

    Args:
        backend: the backend that is tried out.
        noisy: (B, C, H, W) copies of several images, one after the other, see
            `made_up`.
        logits: (B, K), the answers of the backend to them.

    Raises:
        WrongModel: the class of many rows depends on the others, as where a layer
            computes statistics of the batch.
    """
    size = len(noisy)
    # A batch smaller than MADE_UP_IMAGES has no rows of some images.
    rows_of_images = [
        rows for rows in torch.arange(size).tensor_split(MADE_UP_IMAGES) if len(rows)
    ]
    # Each batch is given by the rows of `noisy` that it has, (B,).
    moved = torch.arange(size).roll(1)
    of_one_image = [
        rows.repeat(size)[:size] for rows in (rows_of_images[0], rows_of_images[-1])
    ]
    of_one_row = [rows[:1].expand(size) for rows in rows_of_images]

    all_equal = True
    for rows in (moved, *of_one_image, *of_one_row):
        again = backend.logits(noisy[rows])
        before = logits[rows]
        if torch.equal(again, before):
            continue
        all_equal = False
        changed = int((again.argmax(dim=1) != before.argmax(dim=1)).sum())
        if changed > MOST_CHANGED * size:
            raise WrongModel(
                f"the model gives {changed} of {size} noisy images another class "
                "beside other images in the batch: make every layer treat each by "
                "itself"
            )
    return all_equal


def made_up(shape: tuple[int, ...]) -> list[Tensor]:
    """Return MADE_UP_IMAGES images of `shape` (C, H, W), on the grid k/255.

    They are black, grey, white, checks, gradients and noise. Inputs of another `shape`
    have the numbers of images of one row.

    Example:
        >>> images = made_up((3, 8, 8))
        >>> len(images), images[0].shape
        (8, torch.Size([3, 8, 8]))
    """
    if not data.is_image(shape):
        as_row = made_up((1, 1, math.prod(shape)))
        return [row.reshape(shape) for row in as_row]
    channels, height, width = shape
    down = torch.arange(height)[:, None]
    across = torch.arange(width)[None]
    checks = 255 * ((down + across) % 2)
    black = 0 * checks
    grey = black + 128
    white = black + 255
    top_to_bottom = 255 * down // max(1, height - 1)
    left_to_right = 255 * across // max(1, width - 1)
    # A gradient that differs from channel to channel; it begins anew beyond 255.
    shifted = left_to_right + 64 * torch.arange(channels)[:, None, None]
    noise = torch.from_numpy(Stream(0, "behaviour").numpy().integers(0, 256, shape))
    images = (
        black,
        grey,
        white,
        checks,
        top_to_bottom,
        left_to_right,
        shifted % 256,
        noise,
    )
    return [image.expand(shape).float() / 255.0 for image in images]
