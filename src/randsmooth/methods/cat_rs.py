"""Confidence-aware training (Jeong et al. 2023).

It trains on the easiest noises of unsure images, and on the worst ones of sure images.
"""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from randsmooth.attacks import DAMP, ball_attack, divergence, noisy_logits
from randsmooth.errors import BadValue, Setting
from randsmooth.methods.base import (
    Loss,
    LossInputs,
    Method,
    Schedule,
    Teacher,
    attacked_shares,
    label_loss,
    p_a_shares,
)
from randsmooth.methods.hyperparameters import (
    EPOCHS,
    Count,
    Epoch,
    NotNegative,
    Positive,
    model_folder,
)


@dataclass(frozen=True, kw_only=True)
class CatRS(Method):
    """The K smallest of m cross-entropies, and the worst attacked one (algorithm 1).

    The latter counts where all m noises are right.

    Attributes:
        m: noise samples per image (M in the paper).
        lbd: weight of the high loss; 0 leaves out both this loss and its attack.
        p0: the low loss wants the label's probability to reach only p0, in (0, 1], at
            noises beyond the K smallest (eq. 7; 1e-20: eq. 6, without it); not used by
            the "released" variant.
        T, eps: steps and radius of the attack on each noise.
        low: whether to train on the low loss.
        high: "max" over the attacked noises (eq. 8), their "mean" (eq. 11), or "off".
        mask: take the high loss only of images that are right at all m noises (eq. 10);
            False: of all images.
        variant: "paper"; or "released", as in the authors' code: there is no p0 term;
            the mask is K = m; the attack and the high loss use the KL divergence from a
            teacher's smoothed prediction to the model's; and the attack takes root mean
            squares for standard deviations and divides a gradient by its norm + m *
            1e-8.
        teacher: folder of a model trained with Gaussian noise, for the "released"
            variant.
        teacher_noises: noise samples per image for the teacher's predictions.
        confidence: whose share of the noises (or probability of the label) K is drawn
            with: the "model"'s or, for a model that is right about too few images to
            begin with, the "teacher"'s.
        eps_doubled_from: epoch, counted from 0, from which on the attack's radius is 2
            eps; 0: never. Like `confidence`, from the authors' command for ImageNet.
        teacher_augmented: the teacher predicts one randomly augmented (cropped,
            flipped) version of each image, as the authors' does; False: the images as
            they are.
    """

    source: ClassVar[str] = "Jeong, Kim & Shin, AAAI 2023"
    gaussian_only: ClassVar[bool] = True
    m: Count = 4
    lbd: NotNegative = 1.0
    p0: Annotated[float, Field(gt=0, le=1)] = 0.2
    T: Count = 4
    eps: Positive = 1.0
    low: bool = True
    high: Literal["max", "mean", "off"] = "max"
    mask: bool = True
    variant: Literal["paper", "released"] = "paper"
    teacher: str | None = field(default=None, metadata=model_folder("of the model"))
    teacher_noises: Count = 10_000
    teacher_augmented: bool = True
    confidence: Literal["model", "teacher"] = "model"
    eps_doubled_from: Epoch = field(default=0, metadata=EPOCHS)

    def check(self) -> None:
        if self.variant == "released" and self.teacher is None:
            raise BadValue(
                field="variant",
                value="released",
                expected="learns from a teacher",
                fix=("name its folder, ", Setting("teacher", of="set")),
            )
        of_released = (
            self.teacher is not None
            or self.confidence == "teacher"
            or self.eps_doubled_from > 0
        )
        if self.variant == "paper" and of_released:
            raise BadValue(
                "teacher, confidence='teacher' and eps_doubled_from are of "
                "variant='released': set it too"
            )
        if not self.low and not self._trains_on_high:
            raise BadValue(
                "low=False with high='off' or lbd=0 leaves nothing to train on: switch "
                "one loss on"
            )

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """Return L_low + lbd * 1[all m right] * L_high (eq. 10), means over the images.

        The arguments are those of every `Method`.

        Raises:
            Problem: inputs.u is None, which the low loss and the released variant's
                mask need, or inputs.target, which the released variant's high loss
                needs.
        """
        self.check_noise(x, noise)
        logits = noisy_logits(model, x, noise)  # (m, B, K)
        right = logits.argmax(dim=-1) == y  # (m, B)
        figures = p_a_shares(right)
        terms = {}
        if self.low:
            terms["low"] = self._low_loss(logits, y, self._k(right, y, inputs))
        if self._trains_on_high:
            losses, right_after = self._attacked(model, x, y, noise, inputs)
            high = losses.mean(dim=0)  # (B,)
            if self.high == "max":
                high = losses.amax(dim=0)
            sure = self._sure(right, y, inputs)
            if self.mask:
                high = torch.where(sure, high, 0.0)
            terms["high"] = self.lbd * high.mean()
            figures |= attacked_shares(right, right_after)
            figures["sure_share"] = sure.float().mean()
        return Loss.of(figures, **terms)

    def schedule(self) -> Schedule:
        """Return a schedule with the same loss in every epoch.

        In the released variant it has a teacher's predictions.
        """
        return Schedule(self) if self.teacher is None else Taught(self)

    @property
    def _trains_on_high(self) -> bool:
        """Return whether the high loss is a part of the loss."""
        return self.high != "off" and self.lbd > 0.0

    def _sure(self, right: Tensor, y: Tensor, inputs: LossInputs) -> Tensor:
        """Return (B,) at which images the high loss counts (eq. 10)."""
        if self.variant == "paper":
            return right.all(dim=0)
        return self._k(right, y, inputs) == self.m

    def _k(self, right: Tensor, y: Tensor, inputs: LossInputs) -> Tensor:
        """Draw (B,) how many noises of each image count in full, the paper's K.

        It is binomial with the share of the noises that are right, of right (m, B).
        """
        share = right.double().mean(dim=0)
        if self.confidence == "teacher":
            predictions = inputs.given("target")  # (B, K)
            share = predictions.gather(1, y[:, None])[:, 0].double()
        return _binomial(share, self.m, inputs.given("u"))

    def _low_loss(self, logits: Tensor, y: Tensor, k: Tensor) -> Tensor:
        """Return eq. 7 of logits (m, B, K), labels y (B,) and k (B,).

        The max(1, k) smallest cross-entropies of an image count in full, and the others
        by how much they exceed -log p0.
        """
        m = len(logits)
        losses = label_loss(logits, y).sort(dim=0).values  # (m, B)
        in_full = torch.arange(m, device=k.device)[:, None] < k.clamp_min(1)
        if self.variant == "released":
            return torch.where(in_full, losses, 0.0).mean()
        beyond_p0 = (losses + math.log(self.p0)).clamp_min(0.0)
        return torch.where(in_full, losses, beyond_p0).mean()

    def _attacked(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs,
    ) -> tuple[Tensor, Tensor]:
        """Attack each noise (m, B, C, H, W) in its ball.

        Returns:
            (m, B) losses at the attacked noises, and (m, B) where the model is right
            there.
        """
        m = len(noise)
        released = self.variant == "released"
        # (B,) labels, or (B, K) predictions of the teacher.
        target = inputs.given("target") if released else y
        once_each_noise = (m, *(1,) * (target.dim() - 1))
        attacked = ball_attack(
            model,
            x.repeat(m, 1, 1, 1),  # (m*B, C, H, W)
            target.repeat(once_each_noise),
            noise.flatten(0, 1),
            steps=self.T,
            eps=self.eps,
            damp=m * DAMP if released else 0.0,
            rms=released,
        )
        logits = noisy_logits(model, x, attacked.points.view_as(noise))  # (m, B, K)
        losses = divergence(target, logits) if released else label_loss(logits, y)
        return losses, logits.argmax(dim=-1) == y


def _binomial(share: Tensor, m: int, u: Tensor) -> Tensor:
    """Draw (B,) numbers of Bin(m, share) by the uniform numbers u (B,).

    It is the inverse distribution function at u: the number of k below m at which the
    distribution function is at most u.
    """
    k = torch.arange(m, dtype=torch.float64, device=share.device)
    coefficients = torch.tensor(
        [math.comb(m, i) for i in range(m)], dtype=torch.float64, device=share.device
    )
    p = share[:, None]
    # C(m, k) p^k (1 - p)^(m - k), (B, m)
    probabilities = coefficients * p**k * (1.0 - p) ** (m - k)
    return (probabilities.cumsum(dim=1) <= u[:, None]).sum(dim=1)


class Taught(Schedule):
    """Keeps the teacher's smoothed prediction for every training image.

    Attributes:
        method: the hyperparameters.
        predictions: (N, K) of the teacher.
    """

    method: CatRS
    predictions: Tensor

    def prepare(self, teacher: Teacher) -> None:
        method = self.method
        assert method.teacher is not None
        self.predictions = teacher(
            method.teacher, method.teacher_noises, augmented=method.teacher_augmented
        )

    def objective(self, epoch: int) -> CatRS:
        method = self.method
        if 0 < method.eps_doubled_from <= epoch:
            return dataclasses.replace(method, eps=2.0 * method.eps)
        return method

    def target(self, indices: Tensor) -> Tensor:
        self.predictions = self.predictions.to(indices.device)
        return self.predictions[indices]
