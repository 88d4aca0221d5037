"""Predictions under noise that agree with their mean (Jeong & Shin 2020)."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from torch import Tensor, nn

from randsmooth.attacks import noisy_logits, pgd
from randsmooth.errors import BadValue
from randsmooth.methods.base import (
    Loss,
    LossInputs,
    Method,
    attacked_shares,
    label_loss,
    p_a_shares,
)
from randsmooth.methods.hyperparameters import Count, NotNegative, ramps


@dataclass(frozen=True, kw_only=True)
class Consistency(Method):
    """Gaussian training with predictions that agree with their mean (eq. 8).

    The loss has KL of the mean prediction to each prediction, and the mean's entropy.

    Attributes:
        m: noise samples per image, at least 2.
        lbd: weight of the disagreement.
        eta: weight of the entropy; only the "default" form uses it.
        form: "default"; "xent" (eta = lbd, which makes it the cross-entropy to the
            mean); "kl" (no entropy); "mse" (the squared distance between two
            predictions, averaged over all pairs).
        eps: L2 norm of SmoothAdv's attack on the image, reached linearly over `warmup`
            epochs; 0: no attack.
        T: steps of the attack.
        warmup: epochs until eps is reached.
    """

    source: ClassVar[str] = "Jeong & Shin, NeurIPS 2020"
    m: Count = 2
    lbd: NotNegative = 10.0
    eta: NotNegative = 0.5
    form: Literal["default", "xent", "kl", "mse"] = "default"
    eps: NotNegative = 0.0
    T: Count = 10
    warmup: Count = field(default=10, metadata=ramps("eps"))

    @property
    def gaussian_only(self) -> bool:  # type: ignore[override]
        """Whether it attacks in L2, as SmoothAdv does."""
        return self.eps > 0.0

    def check(self) -> None:
        if self.m < 2:
            raise BadValue(
                field="m",
                value=self.m,
                fix=(
                    "consistency compares predictions, so it needs at least 2 noises "
                    "per image"
                ),
            )

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """Return cross-entropy + lbd * KL(mean || p_i) + eta * H(mean), say.

        The arguments are those of every `Method`.
        """
        self.check_noise(x, noise)
        right_before = None
        if self.eps > 0.0:
            x, right_before = pgd(
                model,
                x,
                y,
                noise,
                steps=self.T,
                step=2.0 * self.eps / self.T,
                eps=self.eps,
            )
        logits = noisy_logits(model, x, noise)  # (m, B, K)
        right = logits.argmax(dim=-1) == y
        figures = p_a_shares(right)
        if right_before is not None:
            figures = attacked_shares(right_before, right)

        disagreement, entropy = self._regulariser(logits.log_softmax(dim=-1))
        return Loss.of(
            figures,
            cross_entropy=label_loss(logits, y).mean(),
            consistency=disagreement,
            entropy=entropy,
        )

    def _regulariser(self, log_p: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weighted disagreement and entropy, averaged over the images.

        They are of log-predictions (m, B, K).
        """
        m = len(log_p)
        log_mean = log_p.logsumexp(dim=0) - math.log(m)  # (B, K)
        mean = log_mean.exp()
        if self.form == "mse":
            # The mean over the m (m - 1) / 2 pairs i < j of |p_i - p_j|^2: their sum is
            # m times the sum of |p_i - mean|^2.
            squares = (log_p.exp() - mean).square()
            of_pairs = 2.0 / (m - 1) * squares.sum(dim=(0, 2))  # (B,)
            return self.lbd * of_pairs.mean(), log_p.new_zeros(())
        divergence = (mean * (log_mean - log_p)).sum(dim=-1).mean()
        entropy = -(mean * log_mean).sum(dim=-1).mean()
        weights = {"default": self.eta, "xent": self.lbd, "kl": 0.0}
        return self.lbd * divergence, weights[self.form] * entropy
