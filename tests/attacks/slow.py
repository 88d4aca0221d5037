"""Slow, obvious NumPy versions of the attacks, one image at a time, on a network fit for finite differences."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

Floats = NDArray[np.float64]

SHAPE = (1, 2, 3)  # C, H, W of an image
PIXELS, HIDDEN, CLASSES = 6, 5, 3


class TinyNet(nn.Module):
    """W2 tanh(W1 v + b1) + b2 in float64, drawn from `seed`; `seen` lists the samples of each forward pass."""

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        super().__init__()
        self.first = nn.Linear(PIXELS, HIDDEN, dtype=torch.float64)
        self.second = nn.Linear(HIDDEN, CLASSES, dtype=torch.float64)
        self.seen: list[int] = []
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(generator=generator).mul_(scale)

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(len(x))
        result: Tensor = self.second(torch.tanh(self.first(x.flatten(1))))
        return result


def batch(
    images: int, m: int, seed: int, sigma: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    """x (B, C, H, W), y (B,) and noise (m, B, C, H, W) in float64."""
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.random((images, *SHAPE)))
    y = torch.from_numpy(rng.integers(0, CLASSES, images))
    return x, y, torch.from_numpy(sigma * rng.standard_normal((m, images, *SHAPE)))


def problem(
    images: int, m: int, seed: int, sigma: float, *, easy: bool = True
) -> tuple[TinyNet, Tensor, Tensor, Tensor]:
    """A network and a batch; of `easy` labels three of four are those that the network gives without noise."""
    model, (x, y, noise) = TinyNet(seed), batch(images, m, seed, sigma)
    with torch.no_grad():
        y = torch.where(
            easy & (torch.arange(images) % 4 > 0), model(x).argmax(dim=1), y
        )
    model.seen.clear()
    return model, x, y, noise


def flat(images: Tensor) -> Floats:
    """(..., C, H, W) -> (..., PIXELS)."""
    return images.detach().double().numpy().reshape(*images.shape[:-3], PIXELS)


def parameters(model: nn.Module) -> Floats:
    """All weights in the order of `parameters()`."""
    return parameters_to_vector(model.parameters()).detach().numpy().copy()


def gradient(f: Callable[[Floats], float], at: Floats, h: float = 1e-6) -> Floats:
    """Central finite differences."""
    slope = np.zeros_like(at)
    for i in range(len(at)):
        step = np.zeros_like(at)
        step[i] = h
        slope[i] = (f(at + step) - f(at - step)) / (2 * h)
    return slope


# The network: `v` is one image (PIXELS,), `theta` all weights.


def layers(theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    a, b, c = HIDDEN * PIXELS, HIDDEN * (PIXELS + 1), HIDDEN * (PIXELS + 1 + CLASSES)
    return (
        theta[:a].reshape(HIDDEN, PIXELS),
        theta[a:b],
        theta[b:c].reshape(CLASSES, HIDDEN),
        theta[c:],
    )


def logits(theta: Floats, v: Floats) -> Floats:
    w1, b1, w2, b2 = layers(theta)
    return w2 @ np.tanh(w1 @ v + b1) + b2


def jacobian(theta: Floats, v: Floats) -> Floats:
    """(K, PIXELS) derivatives of the logits by the pixels."""
    w1, b1, w2, _ = layers(theta)
    return w2 @ ((1 - np.tanh(w1 @ v + b1) ** 2)[:, None] * w1)


def softmax(z: Floats) -> Floats:
    e = np.exp(z - z.max())
    result: Floats = e / e.sum()
    return result


def probabilities(theta: Floats, v: Floats) -> Floats:
    return softmax(logits(theta, v))


def mean_prediction(theta: Floats, x: Floats, noises: Floats) -> Floats:
    """(K,) mean over the noises (m, PIXELS) of the softmax."""
    return sum(probabilities(theta, x + noise) for noise in noises) / len(noises)  # type: ignore[return-value]


def cross_entropy(theta: Floats, v: Floats, label: int) -> float:
    """-log softmax(logits)[label]."""
    z = logits(theta, v)
    return float(np.logaddexp.reduce(z) - z[label])


def divergence(target: Floats, prediction: Floats) -> float:
    """KL(target || prediction)."""
    some = target > 0
    return float(target[some] @ np.log(target[some] / prediction[some]))


def soft_loss(theta: Floats, x: Floats, label: int, noises: Floats) -> float:
    """What SmoothAdv ascends: -log of the mean probability of the label."""
    return float(-np.log(mean_prediction(theta, x, noises)[label]))


# Gradients by the pixels, by hand; test_slow.py holds them against finite differences.


def hard_slope(theta: Floats, v: Floats, target: Floats) -> Floats:
    """Of the cross-entropy with `target` (K,), which is also that of KL(target || prediction)."""
    return jacobian(theta, v).T @ (probabilities(theta, v) - target)


def soft_slope(theta: Floats, x: Floats, label: int, noises: Floats) -> Floats:
    """Of `soft_loss`."""
    total, slope = 0.0, np.zeros(PIXELS)
    for noise in noises:
        p = probabilities(theta, x + noise)
        total += p[label]
        slope += p[label] * jacobian(theta, x + noise).T @ (p - one_hot(label))
    return slope / total


def one_hot(label: int) -> Floats:
    result: Floats = np.eye(CLASSES)[label]
    return result


def unit(v: Floats) -> Floats:
    return v / np.linalg.norm(v)


def within(point: Floats, centre: Floats, eps: float) -> Floats:
    """The nearest point of the eps ball around `centre`."""
    away = float(np.linalg.norm(point - centre))
    return centre + (point - centre) * min(1.0, eps / away) if away > 0 else point


# The attacks, for one image `x` (PIXELS,).


def pgd(theta, x, label, noises, steps, step, eps=np.inf, start=None) -> Floats:  # type: ignore[no-untyped-def]
    """SmoothAdv (Salman et al. 2019, section 2.2): one perturbation for all `noises` (m, PIXELS)."""
    point = x if start is None else start
    for _ in range(steps):
        point = point + step * unit(soft_slope(theta, point, label, noises))
        point = within(np.clip(point, 0, 1), x, eps)
    result: Floats = point
    return result


def gradient_free(theta, x, label, noises, steps, eps) -> Floats:  # type: ignore[no-untyped-def]
    """As `pgd`, along the noises that lower the label's probability (Salman et al. 2019, appendix B)."""
    point = x
    for _ in range(steps):
        away = -np.mean(
            [probabilities(theta, point + noise)[label] * noise for noise in noises],
            axis=0,
        )
        point = within(np.clip(point + 2 * eps / steps * unit(away), 0, 1), x, eps)
    result: Floats = point
    return result


def vote(theta: Floats, x: Floats, noises: Floats) -> int:
    """The class that most of the noises give; of a tie the first."""
    return int(
        np.bincount(
            [logits(theta, x + noise).argmax() for noise in noises], minlength=CLASSES
        ).argmax()
    )


def ddn(  # type: ignore[no-untyped-def]
    theta, x, label, noises, steps, eps, released=False, gamma=0.05
) -> tuple[Floats, list[bool]]:
    """Rony et al. 2019, algorithm 1, on SmoothAdv's objective; also which iterates fooled the mean prediction.

    `released`: by a vote, in steps of 1/255, and with a schedule that has stepped before the first step.
    """
    farthest = np.linalg.norm(np.maximum(x, 1 - x))
    norm, delta, fooled = eps, np.zeros(PIXELS), []
    best = np.zeros(PIXELS)
    for i in range(steps):
        given = (
            vote(theta, x + delta, noises)
            if released
            else mean_prediction(theta, x + delta, noises).argmax()
        )
        fooled.append(bool(given != label))
        if fooled[-1] and (
            sum(fooled) == 1 or np.linalg.norm(delta) < np.linalg.norm(best)
        ):
            best = delta
        # From 1 towards 0.01, as in the authors' adversarial-library and in Foolbox.
        length = (
            0.01 + 0.99 * (1 + np.cos(np.pi * (i + 1 if released else i) / steps)) / 2
        )
        delta = delta + length * unit(soft_slope(theta, x + delta, label, noises))
        norm = min(norm * (1 - gamma if fooled[-1] else 1 + gamma), farthest)
        reached = x + norm * unit(delta)
        delta = (
            np.clip(np.round(255 * reached) / 255 if released else reached, 0, 1) - x
        )
    shortened = within(x + best, x, eps) - x
    return x + (np.round(255 * shortened) / 255 if released else shortened), fooled


def ball(theta, x, target, noise, steps, eps, damp=0.0, rms=False) -> Floats:  # type: ignore[no-untyped-def]
    """CAT-RS (Jeong et al. 2023, section 3.2), for one noise; `target` is (K,), one-hot for a label."""

    def spread(v: Floats) -> float:
        return float(np.sqrt(np.mean(v**2)) if rms else v.std())

    moved = noise
    for _ in range(steps):
        g = hard_slope(theta, x + moved, target)
        moved = moved + 2 * eps / steps * g / (np.linalg.norm(g) + damp)
        moved = within(moved, noise, eps)
        moved = noise.mean() + spread(noise) * (moved - moved.mean()) / spread(moved)
    result: Floats = moved
    return result


def walk(theta, x, label, noise, steps, eps, norm="l2", damp=0.0) -> Floats:  # type: ignore[no-untyped-def]
    """Algorithm 1 of Sun et al. 2025, line by line, for one noise."""
    moved = noise
    for _ in range(steps):
        if logits(theta, x + moved).argmax() != label:
            break
        g = hard_slope(theta, x + moved, one_hot(label))
        step = (
            g / (np.linalg.norm(g) + damp)
            if norm == "l2"
            else np.sign(g) / np.sqrt(len(g))
        )
        moved = np.linalg.norm(noise) * unit(moved + eps * step)
    result: Floats = moved
    return result
