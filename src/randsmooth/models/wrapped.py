"""A model behind the steps that its images need: noise is added before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from torch import Tensor, nn

from randsmooth.errors import InputError
from randsmooth.models import steps
from randsmooth.models.adapters.foreign_part import as_module
from randsmooth.models.around import Around, for_classes, notes_of, provenance_of


class Wrapped(Around):
    """A base classifier that takes noisy images as the data set has them, made by `wrap`.

    Attributes:
        before: what is done to a noisy image.
        inner: the model.
        after: what is done to its answer.
        num_classes: K, where the model says it.
        notes: what lies between the noisy image and the label, for the header of a certificate.

    Example:
        >>> isinstance(wrap(nn.Flatten(), scale=255), Wrapped)
        True
    """

    def __init__(self, before: Sequence[steps.Step], model: nn.Module, after: Sequence[steps.Step]) -> None:
        super().__init__()
        self.before, self.inner, self.after = nn.Sequential(*before), model, nn.Sequential(*after)
        self.before.training = self.after.training = False

    @property
    def num_classes(self) -> int | None:
        known: int | None = getattr(self.inner, "num_classes", None)
        return known

    @property
    def provenance(self) -> dict[str, Any]:
        """How the model was trained, as far as it says."""
        return provenance_of(self.inner)

    @property
    def notes(self) -> tuple[str, ...]:
        before = tuple(f"after noise: {step.words}" for step in self.before)
        return (*before, *notes_of(self.inner), *(f"after the model: {step.words}" for step in self.after))

    def for_classes(self, classes: Sequence[str]) -> Self:
        """The same, answering for `classes`; a model that knows other classes is refused."""
        return self.replace(inner=for_classes(self.inner, classes))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, K) of images (B, C, H, W) of the data set's own size: in [0, 1] before noise."""
        logits: Tensor = self.after(self.inner(self.before(x)))
        return logits


def wrap(
    model: object,
    *,
    channels: int | str | None = None,
    resize: int | Sequence[int] | None = None,
    crop: int | Sequence[int] | None = None,
    scale: float | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "NCHW",
    softmax: str | None = None,
    interpolation: str = "bilinear",
    num_classes: int | None = None,
) -> Wrapped:
    """`model` behind what its images need, as a base classifier of [0, 1] images of the data set's own size.

    Noise is added to the image of the data set, and everything else happens after it, in the order of the arguments. So
    a certified radius is one of the data set's images, whatever the model takes, and the header of a certificate lists
    the steps. They are torch operations: of a torch module, gradients, compilation and export stay possible.

    Args:
        model: what can be certified: a torch module in eval mode, a function, an estimator, ...
        channels: 3 repeats a grey channel, 1 makes grey of colours (ITU-R BT.601), "bgr" swaps their order.
        resize: (H, W), or the length of the shorter side; shrinking filters first (antialias).
        crop: the middle (H, W), or a side of a square.
        scale: 255 for models that take pixels in [0, 255].
        mean, std: of what is normalised, (scale * x - mean) / std: a number for each channel, or one for all.
        layout: "NHWC" for a model whose images are (B, H, W, C).
        softmax: "remove" for a model that answers with probabilities, whose logarithms are logits; "add" for one
            whose logits are to become probabilities. Neither changes the class.
        interpolation: of resize: bilinear, bicubic or nearest.
        num_classes: K, for a function that answers with labels.

    Raises:
        InputError: a step or the model cannot be used.

    Example:
        >>> import torch
        >>> network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
        >>> model = wrap(network, channels=3, resize=32, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
        >>> model(torch.rand(2, 1, 8, 8)).shape
        torch.Size([2, 4])
        >>> model.notes[1]
        'after noise: resized to 32 on the shorter side (bilinear)'
    """
    if layout not in ("NCHW", "NHWC"):
        raise InputError(f"layout={layout!r} must be 'NCHW' or 'NHWC'")
    before: list[steps.Step] = []
    if channels is not None:
        before.append(steps.Channels(channels))
    if resize is not None:
        before.append(steps.Resize(resize, interpolation))
    if crop is not None:
        before.append(steps.Crop(crop))
    if mean is not None or std is not None or scale not in (None, 1.0):
        before.append(steps.Normalise(mean, std, 1.0 if scale is None else scale))
    if layout == "NHWC":
        before.append(steps.ChannelsLast())
    return Wrapped(before, as_module(model, num_classes), [] if softmax is None else [steps.Softmax(softmax)])
