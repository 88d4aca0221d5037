"""A classifier of a hub behind what it does to images, as a base classifier of the data set's own images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from randsmooth.errors import InputError
from randsmooth.models.around import Around
from randsmooth.models.hub.class_names import order_of
from randsmooth.models.steps import Step


class HubClassifier(Around):
    """logits(x) = network(steps(x)) for noisy images of the data set's own size: noise comes before all steps.

    Args:
        network: gives logits (B, K), or an answer that has them as `.logits`.
        steps: what is done to an image before.
        source: what the model is called.
        classes: its K classes, in the order of its logits.
        channels: of the images that it takes.

    Attributes:
        notes: what lies between the noisy image and the label, for the header of a certificate.
    """

    order: Tensor | None

    def __init__(
        self,
        network: nn.Module,
        steps: Sequence[Step],
        *,
        source: str,
        classes: Sequence[str],
        channels: int,
    ) -> None:
        super().__init__()
        self.network, self.steps = network.eval(), nn.Sequential(*steps)
        self.classes, self.channels = tuple(classes), channels
        self.name_or_path = source  # a name that no identity depends on
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
            raise InputError(
                f"{self.name_or_path} takes images of {self.channels} channels; these have {x.shape[1]}: "
                "rs.wrap(rs.load_model(...), channels=3) repeats a grey one"
            )
        answer = self.network(self.steps(x))
        logits: Tensor = getattr(answer, "logits", answer)
        return logits if self.order is None else logits.index_select(1, self.order)

    def for_classes(self, classes: Sequence[str]) -> Self:
        """The same, sharing its network, for these `classes` in their order.

        Raises:
            InputError: it knows other classes.
        """
        order = order_of(self.classes, classes, self.name_or_path)
        if order == list(range(len(order))):
            return self
        changed = self.replace()
        now = torch.tensor(order)
        changed._buffers = {"order": now if self.order is None else self.order[now]}
        changed.classes = tuple(classes)
        return changed


def given_classes(own: Sequence[str], classes: Sequence[str] | None, source: str) -> tuple[str, ...]:
    """The classes of a model as a user calls them, in the model's order; its own where nothing is given.

    Raises:
        InputError: another number of them, or two of one name.
    """
    if classes is None:
        return tuple(own)
    if len(classes) != len(own) or len({*map(str, classes)}) < len(classes):
        raise InputError(
            f"classes={list(classes)!r}: expected {len(own)} different names, as many as {source} has classes"
        )
    return tuple(map(str, classes))
