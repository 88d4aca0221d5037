"""Confidence-aware training: the easiest noises for unsure images, the worst for sure ones (Jeong et al. 2023)."""

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
    """The K smallest of m cross-entropies, and where all m noises are right, the worst attacked one (algorithm 1).

    Attributes:
        m: noise samples per image (M in the paper).
        lbd: weight of the high loss; 0 leaves out both this loss and its attack.
        p0: the low loss wants the label's probability to reach only p0, in (0, 1], at noises beyond the K smallest
            (eq. 7; 1e-20: eq. 6, without it); not used by the "released" variant.
        T, eps: steps and radius of the attack on each noise.
        low: whether to train on the low loss.
        high: "max" over the attacked noises (eq. 8), their "mean" (eq. 11), or "off".
        mask: take the high loss only of images that are right at all m noises (eq. 10); False: of all images.
        variant: "paper"; or "released", as in the authors' code: there is no p0 term; the mask is K = m; the attack
            and the high loss use the KL divergence from a teacher's smoothed prediction to the model's; and the attack
            takes root mean squares for standard deviations and divides a gradient by its norm + m * 1e-8.
        teacher: folder of a model trained with Gaussian noise, for the "released" variant.
        teacher_noises: noise samples per image for the teacher's predictions.
        confidence: whose share of the noises (or probability of the label) K is drawn with: the "model"'s or, for a
            model that is right about too few images to begin with, the "teacher"'s.
        eps_doubled_from: epoch, counted from 0, from which on the attack's radius is 2 eps; 0: never. Like
            `confidence`, from the authors' command for ImageNet.
        teacher_augmented: the teacher predicts one randomly augmented (cropped, flipped) version of each image, as
            the authors' does; False: the images as they are.
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
        if self.variant == "paper" and (
            self.teacher or self.confidence == "teacher" or self.eps_doubled_from
        ):
            raise BadValue(
                "teacher, confidence='teacher' and eps_doubled_from are of variant='released': set it too"
            )
        if not (self.low or self._high):
            raise BadValue(
                "low=False with high='off' or lbd=0 leaves nothing to train on: switch one loss on"
            )

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """L_low + lbd * 1[all m right] * L_high (eq. 10), means over the images; arguments as for every `Method`.

        Raises:
            Problem: inputs.u is None, which the low loss and the released variant's mask need, or inputs.target,
                which the released variant's high loss needs.
        """
        self.check_noise(x, noise)
        logits = noisy_logits(model, x, noise)  # (m, B, K)
        right = logits.argmax(dim=-1) == y
        terms, figures = {}, p_a_shares(right)
        if self.low:
            terms["low"] = self._low(logits, y, self._k(right, y, inputs))
        if self._high:
            target = y if self.variant == "paper" else inputs.given("target")
            losses, after = self._attacked(model, x, y, target, noise)
            sure = (
                right.all(dim=0)
                if self.variant == "paper"
                else self._k(right, y, inputs) == self.m
            )
            worst = losses.amax(dim=0) if self.high == "max" else losses.mean(dim=0)
            terms["high"] = (
                self.lbd
                * (torch.where(sure, worst, 0.0) if self.mask else worst).mean()
            )
            figures |= attacked_shares(right, after) | {
                "sure_share": sure.float().mean()
            }
        return Loss.of(figures, **terms)

    def schedule(self) -> Schedule:
        """The same loss in every epoch, in the released variant with a teacher's predictions."""
        return Schedule(self) if self.teacher is None else Taught(self)

    @property
    def _high(self) -> bool:
        return self.high != "off" and self.lbd > 0.0

    def _k(self, right: Tensor, y: Tensor, inputs: LossInputs) -> Tensor:
        """(B,) how many noises of each image count in full (the paper's K), drawn given which are right (m, B)."""
        share = right.double().mean(dim=0)
        if self.confidence == "teacher":
            share = inputs.given("target").gather(1, y[:, None])[:, 0].double()
        return _binomial(share, self.m, inputs.given("u"))

    def _low(self, logits: Tensor, y: Tensor, k: Tensor) -> Tensor:
        """Eq. 7: the max(1, K) smallest cross-entropies of an image, and by how much the others exceed -log p0."""
        m = len(logits)
        losses = label_loss(logits, y).sort(dim=0).values
        counted = torch.arange(m, device=k.device)[:, None] < k.clamp_min(1)
        rest = (
            (losses + math.log(self.p0)).clamp_min(0.0)
            if self.variant == "paper"
            else 0.0
        )
        return torch.where(counted, losses, rest).mean()

    def _attacked(
        self, model: nn.Module, x: Tensor, y: Tensor, target: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(m, B) losses at the attacked noises, and (m, B) where the model is right nevertheless."""
        m = len(noise)
        copies = (
            x.repeat(m, 1, 1, 1),
            target.repeat(m, *(1,) * (target.dim() - 1)),
            noise.flatten(0, 1),
        )  # m*B of each
        released = self.variant == "released"
        damp = m * DAMP if released else 0.0
        found = ball_attack(
            model, *copies, steps=self.T, eps=self.eps, damp=damp, rms=released
        )
        logits = noisy_logits(model, x, found.points.view_as(noise))
        losses = divergence(target, logits) if released else label_loss(logits, target)
        return losses, logits.argmax(dim=-1) == y


def _binomial(share: Tensor, m: int, u: Tensor) -> Tensor:
    """(B,) draws of Bin(m, share): its inverse distribution function at the uniform numbers u (B,)."""
    k = torch.arange(m, dtype=torch.float64, device=share.device)
    ways = torch.tensor(
        [math.comb(m, i) for i in range(m)], dtype=torch.float64, device=share.device
    )
    of_k = ways * share[:, None] ** k * (1.0 - share[:, None]) ** (m - k)  # (B, m)
    return (of_k.cumsum(dim=1) <= u[:, None]).sum(dim=1)


class Taught(Schedule):
    """Keeps the teacher's smoothed prediction for every training image."""

    method: CatRS
    predictions: Tensor  # (N, K)

    def prepare(self, teacher: Teacher) -> None:
        method = self.method
        assert method.teacher is not None
        self.predictions = teacher(
            method.teacher, method.teacher_noises, augmented=method.teacher_augmented
        )

    def objective(self, epoch: int) -> CatRS:
        method = self.method
        return (
            dataclasses.replace(method, eps=2.0 * method.eps)
            if 0 < method.eps_doubled_from <= epoch
            else method
        )

    def target(self, indices: Tensor) -> Tensor:
        self.predictions = self.predictions.to(indices.device)
        return self.predictions[indices]
