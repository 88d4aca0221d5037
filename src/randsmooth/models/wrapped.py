"""A model between the steps that its images need and those that make logits."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import WrongData, check_known
from randsmooth.models.answers import part_of, two_logits
from randsmooth.models.around import Around, notes_of
from randsmooth.models.base_classifier import as_module
from randsmooth.models.image_steps import (
    ModelStep,
    channels_step,
    crop_step,
    normalise_step,
    resize_step,
)

# Smaller probabilities count as this one, so that the logarithm is finite.
SMALLEST_PROBABILITY = 1e-30

# Layouts of a batch other than (B, C, H, W) that a model may take -> the words for each in a
# certificate, and the function that makes it.
LAYOUTS: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "NHWC": (
        "channels on the last axis",
        lambda x: x.permute(0, 2, 3, 1).contiguous(),
    ),
    "rows": (
        "its numbers in one row, by channel, row and column",
        lambda x: x.flatten(1),
    ),
}
USUAL_LAYOUT = "NCHW"

# What may be done to an answer (B, K) -> the words for it in a certificate, and the function.
SOFTMAX: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "add": ("a softmax over the logits", lambda logits: logits.softmax(dim=1)),
    "remove": (
        "the logarithm of the probabilities",
        lambda shares: shares.clamp_min(SMALLEST_PROBABILITY).log(),
    ),
}

# What a model of two classes may answer with in place of two logits: one number, which is
# the second class's.
BINARY = ("logit", "probability")


class Wrapped(Around):
    """A base classifier that takes noisy images as the data set has them.

    `wrap` makes it.

    Attributes:
        before: the steps on a noisy image.
        inner: the model.
        part: the name or index of the logits in the model's answer; None: the answer is
            the logits, or has them as `logits`.
        after: the steps on the logits.
        num_classes: K, where the model says it.
        provenance: how the model was trained, as far as it says.
        notes: the steps between the noisy image and the label, for the header of a
            certificate.

    Example:
        >>> isinstance(wrap(nn.Flatten(), scale=255), Wrapped)
        True
    """

    answering = "inner"

    def __init__(
        self,
        before: Sequence[ModelStep],
        model: nn.Module,
        after: Sequence[ModelStep],
        part: str | int | None = None,
    ) -> None:
        super().__init__()
        self.part = part
        # Steps have no train mode. Without `eval`, nn.Sequential would be in it.
        self.before = nn.Sequential(*before).eval()
        self.inner = model
        self.after = nn.Sequential(*after).eval()

    @property
    def notes(self) -> tuple[str, ...]:
        before = [f"after noise: {step.words}" for step in self.before]
        after = [f"after the model: {step.words}" for step in self.after]
        if self.part is not None:
            part = shown(repr(self.part))
            # The part is taken before the steps.
            after.insert(0, f"after the model: the part {part} of its answer")
        return (*before, *notes_of(self.inner), *after)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (B, K) of noisy images (B, C, H, W) of the data set's own size.

        The images were in [0, 1] before noise was added.
        """
        # All steps before the model are for images, not for features (B, d).
        if len(self.before) and x.dim() != 4:
            raise WrongData(
                f"{self.notes[0]}: this is for images (C, H, W); inputs have shape "
                f"{tuple(x.shape[1:])}"
            )
        logits: Tensor = self.after(self._part(self.inner(self.before(x))))
        return logits

    def _part(self, answer: Any) -> Any:
        """Return the part of an answer that becomes logits."""
        if self.part is not None:
            return part_of(answer, self.part)
        # The networks of transformers answer with an object that has `logits`.
        return getattr(answer, "logits", answer)


def wrap(
    model: object,
    *,
    channels: int | str | None = None,
    resize: int | Sequence[int] | None = None,
    crop: int | Sequence[int] | None = None,
    scale: float | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = USUAL_LAYOUT,
    answer: str | int | None = None,
    binary: str | None = None,
    softmax: str | None = None,
    interpolation: str = "bilinear",
    num_classes: int | None = None,
) -> Wrapped:
    """Return `model`, after the steps that its images need, as a base classifier.

    It takes images in [0, 1] of the data set's own size. Noise is added to such an
    image, and everything else happens after it, in the order of the arguments. So a
    certified radius is one of the data set's images, whatever the model takes, and the
    header of a certificate lists its steps. They are torch operations: of a torch
    module, gradients, compilation and export stay possible.

    Args:
        model: what can be certified: a torch module in eval mode, a function, an
            estimator, ...
        channels: 3 repeats a grey channel, 1 makes grey of colours (ITU-R BT.601),
            "bgr" swaps their order.
        resize: (H, W), or the length of the shorter side; shrinking filters first
            (antialias).
        crop: the middle (H, W), or a side of a square.
        scale: 255 for models that take pixels in [0, 255].
        mean, std: the numbers of a normalisation, (scale * x - mean) / std: one for
            each channel, or one for all.
        layout: "NHWC" for a model whose images are (B, H, W, C), "rows" for one that
            takes rows (B, C * H * W).
        answer: the name or the place of the logits, for a model that answers with
            several things. Default: its `logits`, if it has some, as the networks of
            transformers have.
        binary: for a model of two classes that answers with one number an image:
            "logit", above 0 for the second class, or "probability", that of the second
            class.
        softmax: "remove" for a model that answers with probabilities, whose logarithms
            are logits; "add" for one whose logits are to become probabilities. Neither
            changes the class.
        interpolation: the way to resize: bilinear or bicubic.
        num_classes: K, for a function that answers with labels.

    Raises:
        Problem: a step or the model cannot be used.

    Example:
        >>> import torch
        >>> pooled = [nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        >>> network = nn.Sequential(*pooled).eval()
        >>> model = wrap(network, channels=3, resize=32, mean=0.5, std=0.25)
        >>> model(torch.rand(2, 1, 8, 8)).shape
        torch.Size([2, 4])
        >>> model.notes[1]
        'after noise: resized to 32 on the shorter side (bilinear)'
    """
    check_known("layout", (USUAL_LAYOUT, *LAYOUTS), layout)
    if softmax is not None:
        check_known("softmax", SOFTMAX, softmax)
    if binary is not None:
        check_known("binary", BINARY, binary)

    # The steps are in the order of the arguments.
    before = list[ModelStep]()
    if channels is not None:
        before.append(channels_step(channels))
    if resize is not None:
        before.append(resize_step(resize, interpolation))
    if crop is not None:
        before.append(crop_step(crop))
    if mean is not None or std is not None or scale not in (None, 1.0):
        before.append(normalise_step(mean, std, 1.0 if scale is None else scale))
    if layout != USUAL_LAYOUT:
        before.append(ModelStep(*LAYOUTS[layout]))

    after = list[ModelStep]()
    if binary is not None:
        words = f"two logits of one {binary}"
        after.append(ModelStep(words, partial(two_logits, of=binary)))
    if softmax is not None:
        after.append(ModelStep(*SOFTMAX[softmax]))
    return Wrapped(before, as_module(model, num_classes), after, answer)
