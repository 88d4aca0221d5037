"""Cross-entropy of the images themselves, mixed with that of noisy copies."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from randsmooth.attacks import noisy_logits
from randsmooth.methods import Loss, LossInputs, Method
from randsmooth.methods.hyperparameters import Count, Share


@dataclass(frozen=True, kw_only=True)
class CleanAndNoisy(Method):
    """`share` times the cross-entropy of clean images, and the rest of noisy ones.

    Attributes:
        m: noise samples per image.
        share: of the clean images in the loss.
    """

    source: ClassVar[str] = "an example, after Cohen, Rosenfeld & Kolter, ICML 2019"
    m: Count = 1
    share: Share = 0.2

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """The mixed cross-entropy; arguments as for every `Method`."""
        self.check_noise(x, noise)
        noisy = noisy_logits(model, x, noise).flatten(0, 1)  # (m*B, K)
        clean = self.share * cross_entropy(model(x), y)
        rest = (1.0 - self.share) * cross_entropy(noisy, y.repeat(self.m))
        return Loss.of({}, clean=clean, noisy=rest)
