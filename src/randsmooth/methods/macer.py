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
    """-log of the mean prediction, and a hinge on the certified radius (algorithm 1).

    The hinge is of images whose mean prediction is right.

    Attributes:
        k: noise samples per image (m in other methods).
        lbd: weight of the robustness term.
        gamma: margin, in units of sigma / 2, beyond which the loss does not reward a
            larger radius.
        beta: inverse temperature of the softmax.
        beta_in: which terms use beta: "robustness", that term alone, as in the paper's
            experiments; or "both", which is algorithm 1 to the letter and may be
            unstable for a large beta (section 5.3).
        lbd_from: epoch, counted from 0, at which the robustness term begins
            ("deferred").
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
        """Return -log(mean z_y) + lbd * sigma / 2 * mean of max(gamma - xi, 0).

        The arguments are those of every `Method`.

        Raises:
            Problem: inputs.sigma is None.
        """
        self.check_noise(x, noise)
        sigma = inputs.given("sigma")
        logits = noisy_logits(model, x, noise)  # (k, B, K)
        # Algorithm 1 has beta in this term too, the paper's experiments have not.
        beta = self.beta if self.beta_in == "both" else 1.0
        log_z = (beta * logits).log_softmax(dim=-1)
        log_mean = log_z.logsumexp(dim=0) - math.log(len(noise))  # (B, K)
        classification = -log_mean.gather(1, y[:, None]).mean()

        z = (self.beta * logits).softmax(dim=-1).mean(dim=0)  # (B, K)
        robustness = self.lbd * sigma / 2.0 * self._hinge(z, y).mean()
        return Loss.of(
            p_a_shares(logits.argmax(dim=-1) == y),
            classification=classification,
            robustness=robustness,
        )

    def _hinge(self, z: Tensor, y: Tensor) -> Tensor:
        """Return (B,) max(gamma - xi, 0) with xi = Phi^-1(z_1) - Phi^-1(z_2).

        z_1 and z_2 are the two largest mean predictions of z (B, K). It is 0 where z is
        wrong, or xi is not finite.
        """
        largest, classes = z.topk(2, dim=1)
        with torch.no_grad():
            is_finite = torch.special.ndtri(largest).isfinite().all(dim=1)
            counted = is_finite & (classes[:, 0] == y)
        # Images left out must not turn the gradient into NaN.
        safe = torch.where(counted[:, None], largest, 0.5)
        xi = torch.special.ndtri(safe[:, 0]) - torch.special.ndtri(safe[:, 1])
        return torch.where(counted, (self.gamma - xi).clamp_min(0.0), 0.0)
