"""Gaussian training that favours easy images (Sun et al. 2025)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from randsmooth import bounds
from randsmooth.attacks import DAMP, Attacked, noisy_logits, sphere_attack
from randsmooth.errors import BadValue, Setting
from randsmooth.methods.base import (
    Loss,
    LossInputs,
    Method,
    Probe,
    Schedule,
    attacked_shares,
    label_loss,
)
from randsmooth.methods.gaussian import GaussianTraining
from randsmooth.methods.hyperparameters import (
    EPOCHS,
    Count,
    Epoch,
    Positive,
    Share,
    begins,
    model_folder,
)
from randsmooth.noise import Gaussian, Stream


@dataclass(frozen=True, kw_only=True)
class Amplify(Method):
    """Discard hard images, sample the rest by their weights, and attack the noise: each part can be switched off.

    Before epoch E_t this is Gaussian training with m noises per image. From then on, in the paper's letters
    (section 5):

    Attributes:
        m: noise samples per image.
        E_t: epoch at which the three parts begin, counted from 0: with E_t = 70 they follow 70 epochs of Gaussian
            training.
        discard: at epoch E_t, discard the images whose p_A is below p_t.
        p_t: that threshold; p_A is estimated as the share of `discard_noises` noisy copies that get the label.
        p_A_from: folder of a trained model that estimates this p_A (as on ImageNet); None: the model in training.
        p_A_augmented: estimate p_A, for discarding and reweighting, on one randomly augmented (cropped, flipped)
            version of each image, like the authors; False: on the images as they are.
        reweight: sample images by their approximate certified radius, which is estimated anew every
            `reweight_every` epochs from `reweight_noises` noisy copies and a bound at level `reweight_alpha`.
        p_min: up to this share of the noisy copies being classified correctly, an image has weight 1.
        weight: "bound" divides an image's radius by the radius at the bound of p_min, as the caption of figure 4 says
            ("divided by the value at p_A = 0.75") and the authors' code does; "literal", by Phi^-1(p_min), as the
            formula says.
        attack: move each noise on its sphere until the image is misclassified (algorithm 1).
        T, eps: how many steps this takes at most, and their length.
        norm: "l2"; or "linf", whose steps follow the sign of the gradient.
        gradient: "unit" steps along the unit gradient, as algorithm 1 says; "damped", as in the authors' code, divides
            the gradient by its norm + m * 1e-8, so that noises with a margin beyond about 20 hardly move.
        with_replacement: without reweighting, draw images with replacement, as the authors' code does; False: go
            through all of them before any comes again.
    """

    source: ClassVar[str] = "Sun, Mao, Mueller & Vechev, ICML 2025 ('Ours')"
    gaussian_only: ClassVar[bool] = True
    m: Count = 4
    E_t: Epoch = field(
        default=70,
        metadata=begins(
            discard="discarding", reweight="reweighting", attack="the attack"
        ),
    )
    discard: bool = True
    p_t: Share = 0.4
    discard_noises: Count = 100
    p_A_from: str | None = field(default=None, metadata=model_folder("of the run"))
    p_A_augmented: bool = True
    reweight: bool = True
    reweight_every: Count = field(default=10, metadata=EPOCHS)
    reweight_noises: Count = 16
    reweight_alpha: Annotated[float, Field(gt=0, lt=1)] = 0.1
    p_min: Annotated[float, Field(ge=0.5, le=1)] = 0.75
    weight: Literal["bound", "literal"] = "bound"
    attack: bool = True
    T: Count = 6
    eps: Positive = 0.25
    norm: Literal["l2", "linf"] = "l2"
    gradient: Literal["unit", "damped"] = "unit"
    with_replacement: bool = False

    def check(self) -> None:
        if self.discard and self.E_t == 0 and self.p_A_from is None:
            raise BadValue(
                field="E_t",
                value=0,
                expected="discards images before any training",
                fix=(
                    "take 1 or more, in a run of at least 2 epochs, or name the folder of a model trained at this "
                    "sigma to take p_A from, ",
                    Setting("p_A_from", of="set"),
                ),
            )
        if self.reweight:
            image_weights(
                self, torch.tensor([self.reweight_noises])
            )  # refuses a p_min that certifies nothing

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """Mean cross-entropy at the attacked noises, each moved by itself; arguments as for every `Method`."""
        self.check_noise(x, noise)
        walked = self.walk(model, x, y, noise)
        logits = noisy_logits(model, x, walked.points)  # (m, B, K)
        figures = attacked_shares(walked.right, logits.argmax(dim=-1) == y)
        return Loss.of(figures, cross_entropy=label_loss(logits, y).mean())

    def walk(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor) -> Attacked:
        """The noises (m, B, C, H, W) of images x (B, C, H, W) labelled y (B,) after the attack; `right` is (m, B)."""
        m = len(noise)
        copies = x.repeat(m, 1, 1, 1), y.repeat(m), noise.flatten(0, 1)  # m*B of each
        damp = m * DAMP if self.gradient == "damped" else 0.0
        walked = sphere_attack(
            model, *copies, steps=self.T, eps=self.eps, norm=self.norm, damp=damp
        )
        return Attacked(walked.points.view_as(noise), walked.right.view(m, -1))

    def schedule(self) -> Schedule:
        """Gaussian training before epoch `E_t`; from then on those of the three parts that are switched on."""
        return AmplifySchedule(self)


def image_weights(method: Amplify, counts: Tensor) -> Tensor:
    """Sampling weights of images of which `counts` (N,) of the `reweight_noises` noisy copies get the label.

    max(1, Phi^-1(bound(C)) / Phi^-1(bound(C_min))) with C_min = ceil(p_min * noises), the bound being the
    one-sided Clopper-Pearson bound (Sun et al. 2025, section 5.2).

    Returns:
        (N,) float64, at least 1.

    Raises:
        Problem: the radius at p_min is 0, so that no other can be divided by it.
    """
    noises, alpha = method.reweight_noises, method.reweight_alpha
    least = math.ceil(
        round(method.p_min * noises, 9)
    )  # a product a little above 12 must not become 13
    q = (
        1.0 - method.p_min
        if method.weight == "literal"
        else bounds.q_upper(least, noises, alpha)
    )
    floor = float(Gaussian(1.0).radius(q))
    if floor <= 0.0:
        raise BadValue(
            f"p_min={method.p_min} of {noises} noises certifies nothing at level {alpha}, so no weight can be "
            "relative to it: raise p_min or reweight_noises"
        )
    radii = Gaussian(1.0).radius(bounds.q_upper(counts.numpy(), noises, alpha))
    return torch.from_numpy(radii / floor).clamp_min(1.0)


class AmplifySchedule(Schedule):
    """Which images are kept and how often each is drawn: decided from epoch E_t on, saved with every checkpoint."""

    method: Amplify

    def __init__(self, method: Amplify) -> None:
        super().__init__(method)
        self.before = GaussianTraining(m=method.m)
        self.kept: Tensor | None = None  # (N,) bool
        self.weights: Tensor | None = None  # (N,) float64, 0 where discarded

    def advance(self, epoch: int, total: int, probe: Probe) -> dict[str, float]:
        method, every, self.remark = self.method, torch.arange(total), ""
        if self._discards(epoch):
            enough = self._enough()
            of, augmented = method.p_A_from, method.p_A_augmented
            self.kept = (
                probe(
                    every, method.discard_noises, of, augmented=augmented, enough=enough
                )
                >= enough
            )
            if not self.kept.any():
                raise BadValue(
                    field="p_t",
                    value=method.p_t,
                    expected=f"would discard every image: no p_A of {total} images is so large",
                )
            self.remark = self._discarded(total - int(self.kept.sum()), total)
        if self._reweights(epoch):
            left = every if self.kept is None else every[self.kept]
            counts = probe(left, method.reweight_noises, augmented=method.p_A_augmented)
            self.weights = torch.zeros(total, dtype=torch.float64).index_put(
                (left,), image_weights(method, counts)
            )
        figures = (
            {}
            if self.kept is None
            else {"discarded_share": 1.0 - int(self.kept.sum()) / total}
        )
        return figures | {
            f"mean_{name}": float(values.mean())
            for name, values in self.histograms().items()
        }

    def _discarded(self, lost: int, total: int) -> str:
        said = (
            f"discarded {lost:,} of {total:,} images (p_A < {self.method.p_t})"
            * bool(lost)
        )
        way = f"a smaller p_t, or more epochs before E_t, now {self.method.E_t}"
        return (
            f"{said}, more than half: to keep more take {way}"
            if 2 * lost > total
            else said
        )

    def copies(self, epoch: int) -> int:
        decide = min(
            self.method.discard_noises, self._enough() * 5 // 4
        )  # most images stay, and have a p_A near 0.8
        return decide * self._discards(
            epoch
        ) + self.method.reweight_noises * self._reweights(epoch)

    def _discards(self, epoch: int) -> bool:
        return self.method.discard and epoch == self.method.E_t

    def _reweights(self, epoch: int) -> bool:
        since = epoch - self.method.E_t
        return (
            self.method.reweight
            and since >= 0
            and since % self.method.reweight_every == 0
        )

    def _enough(self) -> int:
        """Of how many of the `discard_noises` copies an image needs its label to stay: the least share that is p_t."""
        noises = self.method.discard_noises
        return next(
            right for right in range(noises + 1) if right / noises >= self.method.p_t
        )

    def objective(self, epoch: int) -> GaussianTraining | Amplify:
        return (
            self.method
            if self.method.attack and epoch >= self.method.E_t
            else self.before
        )

    def order(self, epoch: int, total: int, stream: Stream) -> Tensor:
        generator = stream.torch()
        if self.weights is not None:
            return torch.multinomial(
                self.weights, total, replacement=True, generator=generator
            )
        kept = torch.arange(total) if self.kept is None else self.kept.nonzero()[:, 0]
        if self.method.with_replacement and epoch >= self.method.E_t:
            return kept[torch.randint(len(kept), (total,), generator=generator)]
        passes = -(-total // len(kept))
        return torch.cat(
            [
                kept[torch.randperm(len(kept), generator=generator)]
                for _ in range(passes)
            ]
        )[:total]

    def histograms(self) -> dict[str, Tensor]:
        return (
            {} if self.weights is None else {"weight": self.weights[self.weights > 0]}
        )

    def state(self) -> dict[str, Any]:
        return {"kept": self.kept, "weights": self.weights}

    def restore(self, state: Mapping[str, Any], total: int) -> None:
        for name, dtype in (("kept", torch.bool), ("weights", torch.float64)):
            each = state[name]
            if each is not None and (
                (each.dtype, each.shape) != (dtype, (total,)) or not (each >= 0).all()
            ):
                raise BadValue(
                    f"{name} is not one {dtype} number, 0 or more, for each of {total} images"
                )
        self.kept, self.weights = state["kept"], state["weights"]
