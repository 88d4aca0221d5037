"""Maximising the certified radius of a soft-smoothed classifier (Zhai et al. 2020)."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from randsmooth.attacks import noisy_logits
from randsmooth.methods.base import Loss, LossInputs, Method, p_a_shares
from randsmooth.methods.hyperparameters import (
    Count,
    Epoch,
    NotNegative,
    Positive,
    begins,
)


@dataclass(frozen=True, kw_only=True)
class Macer(Method):
    """-log of the mean prediction, and a hinge on the certified radius of images classified right (algorithm 1).

    Attributes:
        k: noise samples per image (m in other methods).
        lbd: weight of the robustness term.
        gamma: margin, in units of sigma / 2, beyond which the loss does not reward a larger radius.
        beta: inverse temperature of the softmax.
        beta_in: which terms use beta: "robustness", that term alone, as in the paper's experiments; or "both", which is
            algorithm 1 to the letter and may be unstable for a large beta (section 5.3).
        lbd_from: epoch, counted from 0, at which the robustness term begins ("deferred").
    """

    source: ClassVar[str] = "Zhai et al., ICLR 2020"
    gaussian_only: ClassVar[bool] = True
    k: Count = 16
    lbd: NotNegative = 12.0
    gamma: Positive = 8.0
    beta: Positive = 16.0
    beta_in: Literal["robustness", "both"] = "robustness"
    lbd_from: Epoch = field(default=0, metadata=begins(lbd="the robustness term"))

    @property
    def m(self) -> int:
        return self.k

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """-log(mean z_y) + lbd * sigma / 2 * mean of max(gamma - xi, 0); arguments as for every `Method`.

        Raises:
            Problem: inputs.sigma is None.
        """
        self.check_noise(x, noise)
        sigma = inputs.given("sigma")
        logits = noisy_logits(model, x, noise)  # (k, B, K)
        classified = self.beta * logits if self.beta_in == "both" else logits
        log_mean = classified.log_softmax(dim=-1).logsumexp(dim=0) - math.log(
            len(noise)
        )
        classification = -log_mean.gather(1, y[:, None]).mean()
        hinge = self._hinge((self.beta * logits).softmax(dim=-1).mean(dim=0), y)
        robustness = self.lbd * sigma / 2.0 * hinge.mean()
        return Loss.of(
            p_a_shares(logits.argmax(dim=-1) == y),
            classification=classification,
            robustness=robustness,
        )

    def _hinge(self, z: Tensor, y: Tensor) -> Tensor:
        """(B,) max(gamma - xi, 0) of mean predictions z (B, K); 0 where z is wrong or xi is not finite."""
        top, classes = z.topk(2, dim=1)
        with torch.no_grad():
            counted = torch.special.ndtri(top).isfinite().all(dim=1) & (
                classes[:, 0] == y
            )
        safe = torch.where(
            counted[:, None], top, 0.5
        )  # images left out must not turn the gradient into NaN
        xi = torch.special.ndtri(safe[:, 0]) - torch.special.ndtri(safe[:, 1])
        return torch.where(counted, (self.gamma - xi).clamp_min(0.0), 0.0)
