"""A classifier of a hub behind what it does to images, for the data set's own images and classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models.around import Around
from randsmooth.models.wrapped import Step

# Names that say nothing: numbers, transformers' own, and ImageNet's identifiers, whose order is that of its labels.
NAMELESS = re.compile(r"\d+|label[_ ]?\d+|n\d{8}", re.IGNORECASE)


class HubClassifier(Around):
    """logits(x) = network(steps(x)) for noisy images of the data set's own size: noise comes before all steps.

    Args:
        network: gives logits (B, K), or an answer that has them as `.logits`.
        steps: what is done to an image before.
        source: what the model is called.
        own: its K classes, in the order of its logits.
        classes: what a user calls them; None: as it does itself.
        channels: of the images that it takes.

    Attributes:
        notes: what lies between the noisy image and the label, for the header of a certificate.

    Raises:
        InputError: another number of classes than its own, or two of one name.
    """

    order: Tensor | None

    def __init__(
        self,
        network: nn.Module,
        steps: Sequence[Step],
        *,
        source: str,
        own: Sequence[str],
        classes: Sequence[str] | None,
        channels: int,
    ) -> None:
        super().__init__()
        if classes is not None and (len(classes) != len(own) or len({*map(str, classes)}) < len(classes)):
            raise InputError(f"classes={list(classes)!r}: expected {len(own)} different names, as many as {source} has")
        self.classes = tuple(map(str, own if classes is None else classes))
        self.network, self.steps = network.eval(), nn.Sequential(*steps)
        self.channels, self.source = channels, source
        self.register_buffer("order", None, persistent=False)  # the class of the network that each logit is about
        self.steps.training = False

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def notes(self) -> tuple[str, ...]:
        told = tuple(f"after noise: {step.words}" for step in self.steps if isinstance(step, Step))
        return told if self.order is None else (*told, "after the model: classes in the order of the data set")

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, K) of images (B, C, H, W): in [0, 1] before noise."""
        if x.shape[1] != self.channels:
            way_out = "rs.wrap(rs.load_model(...), channels=3) repeats a grey one"
            raise InputError(f"{self.source} takes {self.channels} channels; these images have {x.shape[1]}: {way_out}")
        answer = self.network(self.steps(x))
        logits: Tensor = getattr(answer, "logits", answer)
        return logits if self.order is None else logits.index_select(1, self.order)

    def for_classes(self, classes: Sequence[str]) -> Self:
        """The same, sharing its network, for these `classes` in their order.

        Raises:
            InputError: it knows other classes.
        """
        order = order_of(self.classes, classes, self.source)
        if order == list(range(len(order))):
            return self
        changed, now = self.replace(), torch.tensor(order)
        changed._buffers = {"order": now if self.order is None else self.order[now]}
        changed.classes = tuple(classes)
        return changed


def order_of(own: Sequence[str], wanted: Sequence[str], source: str) -> list[int]:
    """The place in a model's logits of each class of a data set: own[order[k]] is wanted[k].

    Names are compared without regard to case, spaces, hyphens and underscores. Where one side has no names but numbers,
    classes are taken to be in the same order.

    Args:
        own: the K classes of the model, in the order of its logits.
        wanted: the classes of the data set.
        source: what the model is called, for the error.

    Raises:
        InputError: other classes; the message names the first that the model does not have.

    Example:
        >>> order_of(["dog", "Cat"], ["cat", "dog"], "hf:pets")
        [1, 0]
    """
    if len(own) != len(wanted):
        wants = f"the data set has {len(wanted)}, {shown(', '.join(wanted))}: take a model that was trained for them"
        raise InputError(f"{source} tells {len(own)} classes apart, {shown(', '.join(own))}; {wants}")
    if all(map(NAMELESS.fullmatch, own)) or all(map(NAMELESS.fullmatch, wanted)):
        return list(range(len(own)))
    simple = [[re.sub(r"[\s_-]+", " ", name).strip().casefold() for name in names] for names in (own, wanted)]
    missing = [name for name, form in zip(wanted, simple[1], strict=True) if simple[0].count(form) != 1]
    if missing or len({*simple[1]}) < len(wanted):
        raise InputError(
            f"{source} knows no class {shown(repr([*missing, *wanted][0]))} of the data set (or knows it twice); its "
            f"own are {shown(', '.join(own))}: say what they are called there, --model-arg 'classes=[...]'"
        )
    return [simple[0].index(form) for form in simple[1]]
