"""Training on noisy images (Cohen et al. 2019)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from randsmooth.attacks import noisy_logits
from randsmooth.methods.base import Loss, LossInputs, Method, label_loss, p_a_shares
from randsmooth.methods.hyperparameters import Count


@dataclass(frozen=True, kw_only=True)
class GaussianTraining(Method):
    """Mean cross-entropy over m noisy copies of each image.

    Source: Cohen et al., ICML 2019, section 3.3.

    Attributes:
        m: noise samples per image.
    """

    source: ClassVar[str] = "Cohen, Rosenfeld & Kolter, ICML 2019"
    m: Count = 1

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """Return the mean cross-entropy over the m * B noisy images.

        The arguments are those of every `Method`.
        """
        self.check_noise(x, noise)
        logits = noisy_logits(model, x, noise)  # (m, B, K)
        figures = p_a_shares(logits.argmax(dim=-1) == y)
        return Loss.of(figures, cross_entropy=label_loss(logits, y).mean())
