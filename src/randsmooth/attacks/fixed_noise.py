"""Images that move under noises that stay: what the first layer makes of the noises is computed once."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.attacks.losses import at_least_float32, noisy_logits


class FixedNoise:
    """The logits of images under the same noises, time and again, as `noisy_logits` gives them up to rounding.

    A network that begins with a convolution makes conv(x) + W * noise of x + noise, so on a CPU its first layer is
    computed at the B images, not at the m * B noisy ones, and so is its gradient by the image. In LeNet these take a
    third of an attack's step.
    """

    def __init__(self, model: nn.Module, noise: Tensor) -> None:
        """`model` is not changed as long as this is used, and `noise` is (m, B, C, H, W)."""
        self.model, self.noise = model, noise
        apart = getattr(type(model), "apart", None)  # a compiled model has none, though it passes on the attribute
        self.parts = apart(model) if apart and noise.device.type == "cpu" and len(noise) > 1 else None
        if self.parts is not None:
            first = self.parts[0]
            with torch.no_grad():
                there = F.conv2d(noise.flatten(0, 1), first.weight, None, first.stride, first.padding, first.dilation)
            self.moved_by = there.permute(0, 2, 3, 1).unflatten(0, noise.shape[:2])  # (m, B, H, W, C)

    def logits(self, x: Tensor) -> Tensor:
        """(m, B, K) at the images x (B, C, H, W), in at least float32."""
        if self.parts is None:
            return noisy_logits(self.model, x, self.noise)
        first, rest = self.parts
        hidden = first(x).permute(0, 2, 3, 1)[None] + self.moved_by
        m, images = self.noise.shape[:2]
        return at_least_float32(rest(hidden.flatten(0, 1).permute(0, 3, 1, 2))).view(m, images, -1)
