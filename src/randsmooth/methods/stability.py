"""Training noisy predictions to agree with the clean one (Li et al. 2019)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.attacks import at_least_float32, noisy_logits
from randsmooth.methods.base import Loss, LossInputs, Method, p_a_shares
from randsmooth.methods.hyperparameters import Count, NotNegative


@dataclass(frozen=True, kw_only=True)
class Stability(Method):
    """Cross-entropy of the clean image, and between its clean and noisy predictions.

    Source: Li et al. 2019, eq. 8. Gradients flow through both predictions of the second
    term.

    Attributes:
        m: noise samples per image.
        lbd: weight of the second term.
    """

    source: ClassVar[str] = "Li, Chen, Wang & Carin, NeurIPS 2019"
    m: Count = 1
    lbd: NotNegative = 2.0

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """Return CE(clean, y) + lbd * mean over noises of CE(softmax(clean), noisy).

        The arguments are those of every `Method`.
        """
        self.check_noise(x, noise)
        clean = at_least_float32(model(x))  # (B, K)
        noisy = noisy_logits(model, x, noise)  # (m, B, K)
        log_p_noisy = noisy.log_softmax(dim=-1)
        # CE(softmax(clean), noisy)
        instability = -(clean.softmax(dim=-1) * log_p_noisy).sum(dim=-1).mean()
        return Loss.of(
            p_a_shares(noisy.argmax(dim=-1) == y),
            cross_entropy=F.cross_entropy(clean, y),
            stability=self.lbd * instability,
        )
