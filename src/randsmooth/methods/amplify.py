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

# Decimals of p_min * noises that count.
PRODUCT_DECIMALS = 9


@dataclass(frozen=True, kw_only=True)
class Amplify(Method):
    """Discard hard images, sample the rest by their weights, and attack the noise.

    Each of the three parts can be switched off. Before epoch E_t this is Gaussian
    training with m noises per image. From then on, in the paper's letters (section 5):

    Attributes:
        m: noise samples per image.
        E_t: epoch at which the three parts begin, counted from 0: with E_t = 70 they
            follow 70 epochs of Gaussian training.
        discard: at epoch E_t, discard the images whose p_A is below p_t.
        p_t: that threshold; p_A is estimated as the share of `discard_noises` noisy
            copies that get the label.
        p_A_from: folder of a trained model that estimates this p_A (as on ImageNet);
            None: the model in training.
        p_A_augmented: estimate p_A, for discarding and reweighting, on one randomly
            augmented (cropped, flipped) version of each image, like the authors; False:
            on the images as they are.
        reweight: sample images by their approximate certified radius, which is
            estimated anew every `reweight_every` epochs from `reweight_noises` noisy
            copies and a bound at level `reweight_alpha`.
        p_min: up to this share of the noisy copies being classified correctly, an image
            has weight 1.
        weight: "bound" divides an image's radius by the radius at the bound of p_min,
            as the caption of figure 4 says ("divided by the value at p_A = 0.75") and
            the authors' code does; "literal", by Phi^-1(p_min), as the formula says.
        attack: move each noise on its sphere until the image is misclassified
            (algorithm 1).
        T, eps: how many steps this takes at most, and their length.
        norm: "l2"; or "linf", whose steps follow the sign of the gradient.
        gradient: "unit" steps along the unit gradient, as algorithm 1 says; "damped",
            as in the authors' code, divides the gradient by its norm + m * 1e-8, so
            that noises with a margin beyond about 20 hardly move.
        with_replacement: without reweighting, draw images with replacement, as the
            authors' code does; False: go through all of them before any comes again.
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
                    "take 1 or more, in a run of at least 2 epochs, or name the folder "
                    "of a model trained at this sigma to take p_A from, ",
                    Setting("p_A_from", of="set"),
                ),
            )
        if self.reweight:
            # Refuses a p_min that certifies nothing.
            image_weights(self, torch.tensor([self.reweight_noises]))

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """Return the mean cross-entropy at the attacked noises, each moved by itself.

        The arguments are those of every `Method`.
        """
        self.check_noise(x, noise)
        attacked = self.walk(model, x, y, noise)
        logits = noisy_logits(model, x, attacked.points)  # (m, B, K)
        figures = attacked_shares(attacked.right, logits.argmax(dim=-1) == y)
        return Loss.of(figures, cross_entropy=label_loss(logits, y).mean())

    def walk(self, model: nn.Module, x: Tensor, y: Tensor, noise: Tensor) -> Attacked:
        """Return the noises of images after the attack.

        Args:
            model: the network.
            x: (B, C, H, W)
            y: (B,)
            noise: (m, B, C, H, W)

        Returns:
            The noises in the same shape, and (m, B) which samples were right before.
        """
        m = len(noise)
        attacked = sphere_attack(
            model,
            x.repeat(m, 1, 1, 1),  # (m*B, C, H, W)
            y.repeat(m),
            noise.flatten(0, 1),
            steps=self.T,
            eps=self.eps,
            norm=self.norm,
            damp=m * DAMP if self.gradient == "damped" else 0.0,
        )
        return Attacked(attacked.points.view_as(noise), attacked.right.view(m, -1))

    def schedule(self) -> Schedule:
        """Return the schedule of the three parts, which begin at epoch `E_t`."""
        return AmplifySchedule(self)


def image_weights(method: Amplify, counts: Tensor) -> Tensor:
    """Return the weights by which images are sampled.

    max(1, Phi^-1(bound(C)) / Phi^-1(bound(C_min))) with C_min = ceil(p_min * noises),
    the bound being the one-sided Clopper-Pearson bound (Sun et al. 2025, section 5.2).

    Args:
        method: the hyperparameters.
        counts: (N,) C: how many of the `reweight_noises` noisy copies of each image get
            its label.

    Returns:
        (N,) float64, at least 1.

    Raises:
        Problem: the radius at p_min is 0, so that no other can be divided by it.
    """
    noises = method.reweight_noises
    alpha = method.reweight_alpha
    q_min = 1.0 - method.p_min
    if method.weight == "bound":
        # Rounded, since a product a little above 12 must not become 13.
        c_min = math.ceil(round(method.p_min * noises, PRODUCT_DECIMALS))
        q_min = float(bounds.q_upper(c_min, noises, alpha))

    # Under sigma = 1 a radius is Phi^-1(p_A).
    unit_noise = Gaussian(1.0)
    radius_at_p_min = float(unit_noise.radius(q_min))
    if radius_at_p_min <= 0.0:
        raise BadValue(
            f"p_min={method.p_min} of {noises} noises certifies nothing at level "
            f"{alpha}, so no weight can be relative to it: raise p_min or "
            "reweight_noises"
        )
    radii = unit_noise.radius(bounds.q_upper(counts.numpy(), noises, alpha))
    return torch.from_numpy(radii / radius_at_p_min).clamp_min(1.0)


class AmplifySchedule(Schedule):
    """Which images are kept and how often each is drawn, from epoch E_t on.

    Both are saved with every checkpoint.

    Attributes:
        method: the hyperparameters.
        before: the objective before epoch E_t, and after it without the attack.
        kept: (N,) bool, which images are kept; None: nothing was discarded yet.
        weights: (N,) float64, how often each is drawn: 0 where discarded; None: all
            alike.
    """

    method: Amplify

    def __init__(self, method: Amplify) -> None:
        super().__init__(method)
        self.before = GaussianTraining(m=method.m)
        self.kept: Tensor | None = None
        self.weights: Tensor | None = None

    def advance(self, epoch: int, total: int, probe: Probe) -> dict[str, float]:
        self.remark = ""
        if self._discards(epoch):
            self._discard(total, probe)
        if self._reweights(epoch):
            self._reweight(total, probe)
        figures = {}
        if self.kept is not None:
            figures["discarded_share"] = 1.0 - int(self.kept.sum()) / total
        for name, values in self.histograms().items():
            figures[f"mean_{name}"] = float(values.mean())
        return figures

    def _discard(self, total: int, probe: Probe) -> None:
        """Decide which images are kept: those whose p_A is at least p_t."""
        method = self.method
        least = self._least_right()
        right = probe(
            torch.arange(total),
            method.discard_noises,
            method.p_A_from,
            augmented=method.p_A_augmented,
            enough=least,
        )
        self.kept = right >= least
        if not self.kept.any():
            raise BadValue(
                field="p_t",
                value=method.p_t,
                expected=(
                    f"would discard every image: no p_A of {total} images is so large"
                ),
            )
        self.remark = self._remark(total - int(self.kept.sum()), total)

    def _reweight(self, total: int, probe: Probe) -> None:
        """Estimate the weights of the images that are kept anew."""
        method = self.method
        kept = self._kept_of(total)
        right = probe(kept, method.reweight_noises, augmented=method.p_A_augmented)
        weights = torch.zeros(total, dtype=torch.float64)
        weights[kept] = image_weights(method, right)
        self.weights = weights

    def _kept_of(self, total: int) -> Tensor:
        """Return the indices of the images that are kept."""
        if self.kept is None:
            return torch.arange(total)
        return self.kept.nonzero()[:, 0]

    def _remark(self, discarded: int, total: int) -> str:
        """Return what the user is told of the images that were discarded."""
        method = self.method
        if discarded == 0:
            return ""
        remark = f"discarded {discarded:,} of {total:,} images (p_A < {method.p_t})"
        if 2 * discarded > total:
            remark += (
                ", more than half: to keep more take a smaller p_t, or more epochs "
                f"before E_t, now {method.E_t}"
            )
        return remark

    def copies(self, epoch: int) -> int:
        method = self.method
        copies = 0
        if self._discards(epoch):
            # Most images stay, and have a p_A near 0.8: enough of 5 / 4 as many are
            # right.
            copies += min(method.discard_noises, self._least_right() * 5 // 4)
        if self._reweights(epoch):
            copies += method.reweight_noises
        return copies

    def _discards(self, epoch: int) -> bool:
        """Return whether images are discarded before `epoch`."""
        return self.method.discard and epoch == self.method.E_t

    def _reweights(self, epoch: int) -> bool:
        """Return whether weights are estimated before `epoch`."""
        method = self.method
        epochs_since = epoch - method.E_t
        is_due = epochs_since >= 0 and epochs_since % method.reweight_every == 0
        return method.reweight and is_due

    def _least_right(self) -> int:
        """Return how many of the `discard_noises` copies must be right."""
        noises = self.method.discard_noises
        right = 0
        while right / noises < self.method.p_t:
            right += 1
        return right

    def objective(self, epoch: int) -> GaussianTraining | Amplify:
        if self.method.attack and epoch >= self.method.E_t:
            return self.method
        return self.before

    def order(self, epoch: int, total: int, stream: Stream) -> Tensor:
        generator = stream.torch()
        if self.weights is not None:
            return torch.multinomial(
                self.weights, total, replacement=True, generator=generator
            )
        kept = self._kept_of(total)
        if self.method.with_replacement and epoch >= self.method.E_t:
            return kept[torch.randint(len(kept), (total,), generator=generator)]
        # All of them, in a new order each time, until there are as many as in an epoch.
        passes = [
            kept[torch.randperm(len(kept), generator=generator)]
            for _ in range(math.ceil(total / len(kept)))
        ]
        return torch.cat(passes)[:total]

    def histograms(self) -> dict[str, Tensor]:
        if self.weights is None:
            return {}
        return {"weight": self.weights[self.weights > 0]}

    def state(self) -> dict[str, Any]:
        return {"kept": self.kept, "weights": self.weights}

    def restore(self, state: Mapping[str, Any], total: int) -> None:
        _check_state("kept", state["kept"], torch.bool, total)
        _check_state("weights", state["weights"], torch.float64, total)
        self.kept = state["kept"]
        self.weights = state["weights"]


def _check_state(
    name: str, values: Tensor | None, dtype: torch.dtype, total: int
) -> None:
    """Raise Problem unless there are no values, or one of a `dtype` for each image."""
    if values is None:
        return
    fits = values.dtype == dtype and values.shape == (total,)
    if not fits or not (values >= 0).all():
        raise BadValue(
            f"{name} is not one {dtype} number, 0 or more, for each of {total} images"
        )
