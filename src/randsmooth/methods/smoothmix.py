"""Mixing each image with an adversarial one (Jeong et al. 2021)."""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from randsmooth.attacks import Attacked, divergence, noisy_logits, pgd, within_ball
from randsmooth.methods.base import Loss, LossInputs, Method, label_loss, p_a_shares
from randsmooth.methods.hyperparameters import Count, NotNegative, Positive, ramps


@dataclass(frozen=True, kw_only=True)
class SmoothMix(Method):
    """Gaussian training, plus KL on the way to an attacked image (section 3.2).

    The target becomes uniform on the way. The gradient flows through the target too.
    `eta` and `start` grow linearly over `warmup` epochs.

    Attributes:
        m: noise samples per image.
        T: steps of the attack, which is not confined to a ball.
        alpha: L2 length of these steps.
        eta: weight of the mixed term, which counts images whose mean prediction is
            right.
        start: radius of the one-step adversary that takes the clean image's place (the
            paper takes alpha); 0: the clean image itself.
        warmup: epochs until eta and start are reached.
    """

    source: ClassVar[str] = "Jeong et al., NeurIPS 2021"
    gaussian_only: ClassVar[bool] = True
    m: Count = 4
    T: Count = 4
    alpha: Positive = 1.0
    eta: NotNegative = 5.0
    start: NotNegative = 0.0
    warmup: Count = field(default=10, metadata=ramps("eta", "start"))

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """Return cross-entropy at x0 + eta * mean KL(target || prediction at mixture).

        The latter counts where the mean prediction is right. The arguments are those of
        every `Method`.

        Raises:
            Problem: inputs.u is None.
        """
        self.check_noise(x, noise)
        # (B, 1) the attacked image's share in the mixture
        share = inputs.given("u")[:, None] / 2.0
        x0, attacked = self._ends(model, x, y, noise)
        logits_at_x0 = noisy_logits(model, x0, noise)  # (m, B, K)

        # Not 0, where KL's gradient is NaN.
        tiny = torch.finfo(logits_at_x0.dtype).tiny
        mean = logits_at_x0.softmax(dim=-1).mean(dim=0).clamp_min(tiny)  # (B, K)
        classes = mean.shape[1]
        target = (1.0 - share) * mean + share / classes
        mixture = torch.lerp(x0, attacked.points, share[:, :, None, None])
        logits_at_mixture = noisy_logits(model, mixture, noise)

        counted = (mean.argmax(dim=-1) == y).to(mean.dtype)  # (B,)
        mixed = self.eta * (counted * divergence(target, logits_at_mixture)).mean()
        figures = p_a_shares(attacked.right)
        figures["mixed_share"] = counted.mean()
        cross_entropy = label_loss(logits_at_x0, y).mean()
        return Loss.of(figures, cross_entropy=cross_entropy, mixed=mixed)

    def _ends(
        self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor
    ) -> tuple[Tensor, Attacked]:
        """Return x0, the images to mix from, and the attacked ones to mix with."""
        if self.start == 0.0:
            return x, pgd(model, x, y, noise, steps=self.T, step=self.alpha)
        # The image after one step, but nearer, takes the place of the clean one; the
        # attack goes on from there.
        first = pgd(model, x, y, noise, steps=1, step=self.alpha)
        x0 = x + within_ball(first.points - x, self.start)
        if self.T == 1:
            return x0, first
        last = pgd(
            model, x, y, noise, steps=self.T - 1, step=self.alpha, start=first.points
        )
        return x0, Attacked(last.points, first.right)
