"""Image classifiers of other libraries, with the steps that images need before them.

The processors of these libraries take 8-bit images, and noisy images are none. So the steps
are done here, on tensors.
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

# Names that say nothing of a class: numbers, "LABEL_3" as transformers makes them up, and
# ImageNet's identifiers such as n01440764, whose order is that of its labels.
NAMELESS = re.compile(r"\d+|label[_ ]?\d+|n\d{8}", re.IGNORECASE)


class HubClassifier(Wrapped):
    """A base classifier logits(x) = network(steps(x)) for images of the data set's own size.

    Noise is added before all steps.

    Args:
        network: gives logits (B, K), or an answer that has them as `.logits`.
        steps: the steps on a noisy image before the network.
        source: the name by which the user opened the model, for errors.
        own: the names of the network's K classes, in the order of its logits.
        classes: the names that the user gives these classes, in the same order; None: the
            network's own.

    Attributes:
        own: the names of the network's classes, in the order of the network's logits.
        classes: the names of the same classes in the order of this model's logits, which
            `for_classes` changes.
        notes: the steps between the noisy image and the label, for the header of a
            certificate.

    Raises:
        BadValue: `classes` are not as many as `own`, or two of them are equal.
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
        # No steps follow the network, unless `for_classes` adds one.
        super().__init__(steps, network.eval().requires_grad_(False), after=[])
        self.source = source
        self.own = tuple(map(str, own))
        if classes is not None:
            _check_names(classes, self.own, source)
            self.own = tuple(map(str, classes))
        self.classes = self.own

    num_classes = property(lambda self: len(self.classes), doc="K.")

    @property
    def nameless(self) -> bool:
        """Whether the names of all classes say nothing, as numbers do."""
        return all(map(NAMELESS.fullmatch, self.classes))

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Return a model with the same network that answers for `classes` in their order.

        Raises:
            WrongModel: the model knows other classes.
        """
        # After an earlier call, the order of answers may not be the network's.
        order_of_answers = order_of(self.classes, classes, self.source)
        if order_of_answers == list(range(len(classes))):
            return self

        # This step replaces one from an earlier call, so it sorts the network's own logits.
        order = torch.tensor(order_of(self.own, classes, self.source))
        step = ModelStep(
            "classes in the order of the data set",
            lambda logits, order: logits.index_select(dim=1, index=order),
            order,
        )
        changed = self.replace(after=nn.Sequential(step).eval())
        changed.classes = tuple(classes)
        return changed


def _check_names(classes: Sequence[str], own: Sequence[str], source: str) -> None:
    """Raise BadValue unless `classes` are different names, one for each class of a model.

    Args:
        classes: the names that the user gives.
        own: the model's own names of its classes.
        source: the name of the model, for the error.
    """
    different = {str(name) for name in classes}
    if len(classes) != len(own) or len(different) < len(classes):
        raise BadValue(
            field="classes",
            value=list(classes),
            fix=f"expected {len(own)} different names, as many as {source} has",
        )


def order_of(own: Sequence[str], wanted: Sequence[str], source: str) -> list[int]:
    """Return for each class of a data set the index of its logit.

    own[order[k]] is wanted[k]. Case does not count when names are compared, and spaces,
    hyphens and underscores are the same. Where the names of the model, or those of the data
    set, say nothing (NAMELESS), both are taken to be in the same order.

    Args:
        own: the K classes of the model, in the order of its logits.
        wanted: the classes of the data set.
        source: the name of the model, for the error.

    Raises:
        WrongModel: the model knows other classes; the message names the first that it does
            not know.

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
        # A name that occurs twice does not say which class is meant.
        if own_names.count(simple) != 1 or wanted_names.count(simple) != 1:
            raise WrongModel(
                f"{source} knows no class {shown(repr(name))}, or knows it twice; its "
                f"own are {shown(', '.join(own))}",
                field="classes",
                fix="give the data set's names in the order of the model, classes=[...]",
            )
    return [own_names.index(simple) for simple in wanted_names]


def _simple(name: str) -> str:
    """Return a name in the form in which names are compared."""
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()
