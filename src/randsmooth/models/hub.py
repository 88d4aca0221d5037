"""Image classifiers of others' libraries, behind what they do to images.

Their own processors take 8-bit images, which noisy ones are not: here they are steps on
tensors.
"""

import re
from collections.abc import Sequence
from typing import Self

import torch
from torch import nn

from randsmooth.documents import shown
from randsmooth.errors import BadValue, WrongModel
from randsmooth.models.image_steps import ModelStep
from randsmooth.models.wrapped import Wrapped

# Names that say nothing: numbers, transformers' own, and ImageNet's identifiers, whose
# order is that of its labels.
NAMELESS = re.compile(r"\d+|label[_ ]?\d+|n\d{8}", re.IGNORECASE)


class HubClassifier(Wrapped):
    """logits(x) = network(steps(x)) for noisy images of the data set's own size.

    Noise comes before all steps.

    Args:
        network: gives logits (B, K), or an answer that has them as `.logits`.
        steps: the steps on an image before the network.
        source: what the model is called.
        own: the network's K classes, in the order of its logits.
        classes: the names that a user gives the classes; None: the network's own.

    Attributes:
        notes: what lies between the noisy image and the label, for the header of a
            certificate.

    Raises:
        BadValue: another number of classes than its own, or two of one name.
    """

    def __init__(
        self,
        network: nn.Module,
        steps: Sequence[ModelStep],
        *,
        source: str,
        own: Sequence[str],
        classes: Sequence[str] | None,
    ) -> None:
        super().__init__(steps, network.eval().requires_grad_(False), [])
        self.source = source
        self.own = tuple(map(str, own))
        if classes is not None:
            _check_names(classes, self.own, source)
            self.own = tuple(map(str, classes))
        self.classes = self.own

    num_classes = property(lambda self: len(self.classes), doc="K.")

    @property
    def nameless(self) -> bool:
        """Whether its classes are called by numbers alone."""
        return all(map(NAMELESS.fullmatch, self.classes))

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Return the same, sharing its network, for `classes` in their order.

        Raises:
            WrongModel: it knows other classes.
        """
        # It may answer in another order than the network's, from an earlier call.
        order_of_answers = order_of(self.classes, classes, self.source)
        if order_of_answers == list(range(len(classes))):
            return self

        # The step takes the place of an earlier one: it sorts the network's own logits.
        order = torch.tensor(order_of(self.own, classes, self.source))
        step = ModelStep(
            "classes in the order of the data set",
            lambda logits, order: logits.index_select(1, order),
            order,
        )
        changed = self.replace(after=nn.Sequential(step).eval())
        changed.classes = tuple(classes)
        return changed


def _check_names(classes: Sequence[str], own: Sequence[str], source: str) -> None:
    """Raise BadValue where a model has no classes that could be called so."""
    different = {str(name) for name in classes}
    if len(classes) != len(own) or len(different) < len(classes):
        raise BadValue(
            field="classes",
            value=list(classes),
            fix=f"expected {len(own)} different names, as many as {source} has",
        )


def order_of(own: Sequence[str], wanted: Sequence[str], source: str) -> list[int]:
    """Return the place in a model's logits of each class of a data set.

    own[order[k]] is wanted[k]. Names are compared without regard to case, spaces,
    hyphens and underscores. Where one side has no names but numbers, classes are taken
    to be in the same order.

    Args:
        own: the K classes of the model, in the order of its logits.
        wanted: the classes of the data set.
        source: what the model is called, for the error.

    Raises:
        WrongModel: other classes; the message names the first that the model does not
            have.

    Example:
        >>> order_of(["dog", "Cat"], ["cat", "dog"], "hf:pets")
        [1, 0]
    """
    if len(own) != len(wanted):
        raise WrongModel(
            f"{source} tells {len(own)} classes apart, {shown(', '.join(own))}; the "
            f"data set has {len(wanted)}, {shown(', '.join(wanted))}",
            fix="take a model that was trained for them",
        )
    if all(map(NAMELESS.fullmatch, own)) or all(map(NAMELESS.fullmatch, wanted)):
        return list(range(len(own)))

    own_names = [_simple(name) for name in own]
    wanted_names = [_simple(name) for name in wanted]
    for name, simple in zip(wanted, wanted_names, strict=True):
        if own_names.count(simple) != 1 or wanted_names.count(simple) != 1:
            raise WrongModel(
                f"{source} knows no class {shown(repr(name))}, or knows it twice; its "
                f"own are {shown(', '.join(own))}",
                field="classes",
                fix="say what they are called there, classes=[...]",
            )
    return [own_names.index(simple) for simple in wanted_names]


def _simple(name: str) -> str:
    """Return a name as it is compared with others."""
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()
