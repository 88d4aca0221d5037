"""The objectives that denoisers are trained on (Salman et al., NeurIPS 2020)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.attacks import at_least_float32, noisy_logits
from randsmooth.methods.base import Loss, LossInputs, Method
from randsmooth.methods.hyperparameters import Count

SOURCE = 'Salman, Sun, Yang, Kapoor & Kolter, "Denoised Smoothing", NeurIPS 2020'


@dataclass(frozen=True, kw_only=True)
class MeanSquaredError(Method):
    """Mean of (denoiser(x + noise) - x)^2 (Salman et al. 2020).

    It is over noises, images, channels and pixels. It needs no classifier, so one
    denoiser serves any, also one that answers with labels alone.

    Attributes:
        m: noise samples per image.
    """

    source: ClassVar[str] = SOURCE
    m: Count = 1

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """Return the mean of (denoiser(x + noise) - x)^2.

        The model is a denoiser; y is not used.
        """
        self.check_noise(x, noise)
        noisy = (x[None] + noise).flatten(0, 1)  # (m*B, C, H, W)
        denoised = at_least_float32(model(noisy))
        return Loss.of({}, mse=F.mse_loss(denoised, x.repeat(self.m, 1, 1, 1)))


@dataclass(frozen=True, kw_only=True)
class DenoisedStability(Method):
    """Mean cross-entropy of a classifier at the denoised image, for its clean class.

    -log F_c(denoiser(x + noise)) with c = argmax F(x) (Salman et al. 2020). The
    classifier is held fixed. Labels are not used, and the gradient flows through the
    classifier into the denoiser.

    Attributes:
        m: noise samples per image.
    """

    source: ClassVar[str] = SOURCE
    m: Count = 1

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        noise: Tensor,
        inputs: LossInputs = LossInputs(),
    ) -> Loss:
        """Return the mean of -log F_c(denoiser(x + noise)) with c = argmax F(x).

        The model is a denoiser; y is not used.

        Raises:
            Problem: inputs.classifier is None.
        """
        self.check_noise(x, noise)
        classifier = inputs.given("classifier")
        with torch.no_grad():
            clean_class = classifier(x).argmax(dim=-1)  # (B,)
        logits = noisy_logits(nn.Sequential(model, classifier), x, noise)  # (m, B, K)
        agreement = (logits.argmax(dim=-1) == clean_class).float().mean()
        loss = F.cross_entropy(logits.flatten(0, 1), clean_class.repeat(self.m))
        return Loss.of({"agreement": agreement}, stability=loss)


# By the names that users give.
Objective = type[MeanSquaredError | DenoisedStability]
OBJECTIVES: dict[str, Objective] = {
    "mse": MeanSquaredError,
    "stability": DenoisedStability,
}
