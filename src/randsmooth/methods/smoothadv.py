"""Gaussian training on images attacked under the same noises (Salman et al. 2019)."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from torch import Tensor, nn

from randsmooth.attacks import Attacked, ddn, gradient_free, noisy_logits, pgd
from randsmooth.errors import BadValue
from randsmooth.methods.base import (
    Loss,
    LossInputs,
    Method,
    attacked_shares,
    label_loss,
)
from randsmooth.methods.hyperparameters import Count, Positive, ramps

DDN = ("ddn", "ddn-released")


@dataclass(frozen=True, kw_only=True)
class SmoothAdv(Method):
    """Cross-entropy under m noises at a perturbed image.

    It is the one at which the mean prediction gives the label least.

    Attributes:
        m: noise samples per image, which share one perturbation.
        eps: L2 norm of the perturbation, reached linearly over `warmup` epochs.
        T: steps of the attack.
        attack: "pgd"; "ddn" (Rony et al. 2019); "ddn-released", as in the authors'
            code; or "gradient-free", with the gradient estimated from the noises. To
            see whether an image is misclassified, "ddn" takes the mean prediction and
            "ddn-released" a vote of the noises; the latter also rounds to multiples of
            1/255, and its step i is as long as step i + 1 of "ddn".
        warmup: epochs until eps is reached.
    """

    source: ClassVar[str] = "Salman et al., NeurIPS 2019"
    gaussian_only: ClassVar[bool] = True
    m: Count = 4
    eps: Positive = 1.0
    T: Count = 10
    attack: Literal["pgd", "ddn", "ddn-released", "gradient-free"] = "pgd"
    warmup: Count = field(default=10, metadata=ramps("eps"))

    def check(self) -> None:
        if self.attack == "gradient-free" and self.m < 2:
            raise BadValue(
                field="m",
                value=self.m,
                fix=(
                    "attack='gradient-free' estimates gradients from at least 2 "
                    "noises, better 8"
                ),
            )
        if self.attack in DDN and self.T < 2:
            raise BadValue(
                field="T",
                value=self.T,
                fix=(
                    f"attack={self.attack!r} checks the image before each step: take 2 "
                    "or more"
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
        """Return the mean cross-entropy at the attacked images under the same noises.

        The arguments are those of every `Method`.
        """
        self.check_noise(x, noise)
        attacked = self._attack(model, x, y, noise)
        logits = noisy_logits(model, attacked.points, noise)  # (m, B, K)
        figures = attacked_shares(attacked.right, logits.argmax(dim=-1) == y)
        return Loss.of(figures, cross_entropy=label_loss(logits, y).mean())

    def _attack(
        self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor
    ) -> Attacked:
        """Return the attacked images, and where the prediction was right before."""
        if self.attack in DDN:
            return ddn(
                model,
                x,
                y,
                noise,
                steps=self.T,
                eps=self.eps,
                released=self.attack == "ddn-released",
            )
        if self.attack == "gradient-free":
            return gradient_free(model, x, y, noise, steps=self.T, eps=self.eps)
        return pgd(
            model, x, y, noise, steps=self.T, step=2.0 * self.eps / self.T, eps=self.eps
        )
