"""What attacks share: losses of noisy logits, lengths image by image, networks left as they
were, and what is returned.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.errors import BadValue

# A length above 0 by which a row without a direction is divided.
SHORTEST = 1e-12

# What the released codes of CAT-RS and Sun et al. add to the norm of a gradient, of a loss
# divided by m.
DAMP = 1e-8


class Attacked(NamedTuple):
    """The points that an attack found, and which samples were classified correctly before it.

    Attributes:
        points: the attacked images or noises, in the shape of what was attacked.
        right: whether each sample was correct before the attack; (m, B) for images (B,
            ...) under m noises each, (N,) for noises (N, ...).

    Example:
        >>> import torch
        >>> from randsmooth.attacks import sphere_attack
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2))
        >>> x, noise = torch.rand(3, 1, 2, 2), torch.randn(3, 1, 2, 2)
        >>> attacked = sphere_attack(model, x, torch.tensor([0, 1, 0]), noise, steps=2, eps=0.1)
        >>> attacked.points.shape, attacked.right.shape
        (torch.Size([3, 1, 2, 2]), torch.Size([3]))
    """

    points: Tensor
    right: Tensor


def check(steps: int, **lengths: float) -> None:
    """Raise Problem unless the attack takes at least one step and every length is finite and above 0."""
    if steps < 1:
        raise BadValue(field="steps", value=steps, fix="an attack takes at least 1")
    for name, length in lengths.items():
        if not 0.0 < length < math.inf:
            raise BadValue(
                field=name, value=length, expected="must be a finite length above 0"
            )


@contextmanager
def frozen(model: nn.Module) -> Iterator[nn.Module]:
    """A context in which the model is in eval mode and its parameters take no gradient.

    Afterwards both are as they were before, for each module and parameter, also where
    an exception ends the context.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> with frozen(model):
        ...     model.training, model.weight.requires_grad
        (False, False)
        >>> model.training, model.weight.requires_grad
        (True, True)
    """
    modes = {module: module.training for module in model.modules()}
    wanted = {parameter: parameter.requires_grad for parameter in model.parameters()}
    model.eval().requires_grad_(False)
    try:
        yield model
    finally:
        for module, training in modes.items():
            module.training = training
        for parameter, requires_grad in wanted.items():
            parameter.requires_grad_(requires_grad)


def at_least_float32(logits: Tensor) -> Tensor:
    """Return `logits` as float32 if they are bfloat16 or float16; others as they are.

    Example:
        >>> at_least_float32(torch.zeros(2, 3, dtype=torch.bfloat16)).dtype
        torch.float32
    """
    return logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits


def noisy_logits(model: nn.Module, x: Tensor, noise: Tensor) -> Tensor:
    """Return (m, B, K) logits of images under each of their noises, in at least float32.

    Args:
        model: gives logits (N, K).
        x: (B, C, H, W) images.
        noise: (m, B, C, H, W)

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
        >>> noisy_logits(model, torch.rand(5, 1, 2, 2), torch.randn(2, 5, 1, 2, 2)).shape
        torch.Size([2, 5, 3])
    """
    m, images = noise.shape[:2]
    noisy = (x[None] + noise).flatten(0, 1)  # (m*B, C, H, W)
    return at_least_float32(model(noisy)).view(m, images, -1)


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """Return (...,) cross-entropy as log(1 + (1 - p_y) / p_y).

    It is of logits (..., K) and labels y, broadcast to (...,). Where the label's
    probability rounds to 1, the gradient of the usual form loses its part for the
    label. The gradient of this form keeps its direction, and such images are the ones
    that an attack is for.
    """
    label = y.expand(logits.shape[:-1])[..., None]
    logit_of_label = logits.gather(-1, label)[..., 0]
    logit_of_others = logits.scatter(-1, label, -torch.inf).logsumexp(dim=-1)
    return F.softplus(logit_of_others - logit_of_label)


def mean_cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """Return (B,) -log of the mean over m noises of the label's probability.

    It is computed from logits (m, B, K). It is the logarithm of a sum of logarithms'
    exponentials, so that it grows, and has a gradient, however small the probability
    is. Source: Salman et al. 2019, eq. 6 (mean first, then the logarithm).
    """
    return math.log(len(logits)) - (-cross_entropy(logits, y)).logsumexp(dim=0)


def divergence(target: Tensor, logits: Tensor) -> Tensor:
    """Return (...,) KL(target || softmax(logits)) of target and logits (..., K).

    Gradients go through both.

    Example:
        >>> divergence(torch.tensor([0.5, 0.5]), torch.zeros(2))
        tensor(0.)
    """
    return F.kl_div(logits.log_softmax(dim=-1), target, reduction="none").sum(dim=-1)


def climb(
    logits: Callable[[Tensor], Tensor],
    loss: Callable[[Tensor, Tensor], Tensor],
    y: Tensor,
    at: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the gradient of loss(logits(at), y), added up, by the points `at`.

    Returns:
        gradient: in the shape of `at`.
        logits: at these points.
    """
    with torch.enable_grad():
        at = at.detach().requires_grad_()
        logits_there = logits(at)
        (gradient,) = torch.autograd.grad(loss(logits_there, y).sum(), at)
    return gradient, logits_there.detach()


def norms(v: Tensor) -> Tensor:
    """Return the L2 norm of each row, shaped (B, 1, ..., 1) to scale `v` (B, ...) by."""
    return v.flatten(1).norm(dim=1).view(-1, *(1,) * (v.dim() - 1))  # type: ignore[no-any-return]


def unit(v: Tensor, damp: float = 0.0) -> Tensor:
    """Return each row of `v` (B, ...) scaled to L2 norm 1, however short it is.

    A row of zeros stays as it is. `damp` is added to the norm that a row is divided by,
    so that rows shorter than `damp` stay short.
    """
    if damp:
        return v / (norms(v) + damp)
    # Scaled to a largest number of 1 at first, so that no square underflows.
    largest = v.flatten(1).abs().amax(dim=1).view(-1, *(1,) * (v.dim() - 1))
    v = v / largest.clamp_min(torch.finfo(v.dtype).tiny)
    return v / norms(v).clamp_min(SHORTEST)


def within_ball(v: Tensor, eps: float) -> Tensor:
    """Return each row of `v` (B, ...), shortened to L2 norm eps where it is longer.

    Example:
        >>> within_ball(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    return v * (eps / norms(v).clamp_min(SHORTEST)).clamp_max(1.0)


def with_moments_of(v: Tensor, model: Tensor, *, rms: bool = False) -> Tensor:
    """Return each row of `v` (B, ...), shifted and scaled to the moments of another.

    Args:
        v: rows that are changed.
        model: (B, ...) rows whose mean and standard deviation they are given.
        rms: scale by the ratio of the two rows' root mean squares instead of their
            standard deviations.
    """
    dims = tuple(range(1, v.dim()))
    std, mean = torch.std_mean(v, dim=dims, correction=0, keepdim=True)
    std_of_model, mean_of_model = torch.std_mean(
        model, dim=dims, correction=0, keepdim=True
    )
    if rms:
        std = v.square().mean(dim=dims, keepdim=True).sqrt()
        std_of_model = model.square().mean(dim=dims, keepdim=True).sqrt()
    return (v - mean) * (std_of_model / std.clamp_min(SHORTEST)) + mean_of_model


class FixedNoise:
    """The logits of images under the same noises, time and again, as `noisy_logits` gives them up to rounding.

    A network that begins with a convolution makes conv(x) + W * noise of x + noise, so
    on a CPU its first layer is computed at the B images, not at the m * B noisy ones,
    and so is its gradient by the image. In LeNet these take a third of an attack's
    step.
    """

    def __init__(self, model: nn.Module, noise: Tensor) -> None:
        """Prepare the first layer, where a model has one apart.

        Args:
            model: is not changed as long as this is used.
            noise: (m, B, C, H, W)
        """
        self.model = model
        self.noise = noise
        self.parts = None
        # A compiled model's type has no such method, though it passes on the attribute.
        apart = getattr(type(model), "apart", None)
        if apart and noise.device.type == "cpu" and len(noise) > 1:
            self.parts = apart(model)
        if self.parts is not None:
            first, _ = self.parts
            with torch.no_grad():
                of_noise = F.conv2d(
                    noise.flatten(0, 1),
                    first.weight,
                    None,
                    first.stride,
                    first.padding,
                    first.dilation,
                )
            channels_last = of_noise.permute(0, 2, 3, 1)
            # (m, B, H, W, C)
            self.first_layer_of_noise = channels_last.unflatten(0, noise.shape[:2])

    def logits(self, x: Tensor) -> Tensor:
        """Return (m, B, K) at the images x (B, C, H, W), in at least float32."""
        if self.parts is None:
            return noisy_logits(self.model, x, self.noise)
        first, rest = self.parts
        first_layer_of_x = first(x).permute(0, 2, 3, 1)[None]
        hidden = (first_layer_of_x + self.first_layer_of_noise).flatten(0, 1)
        m, images = self.noise.shape[:2]
        logits = rest(hidden.permute(0, 3, 1, 2))
        return at_least_float32(logits).view(m, images, -1)
