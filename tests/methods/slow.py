"""Slow, obvious NumPy versions of the objectives, on one tiny network, with loops over images and noises.

Each takes the weights `theta`, a `Problem` and the hyperparameters, finds what a method holds fixed (attacked points,
which images are right, how many noises count), and returns the loss as a function of the weights alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from attacks import slow
from attacks.slow import Floats
from randsmooth.methods import LossInputs


class Problem(NamedTuple):
    """One batch, of B images with m noises each."""

    x: Floats  # (B, PIXELS)
    y: list[int]
    noise: Floats  # (m, B, PIXELS)
    u: Floats  # (B,)
    target: Floats  # (B, K)
    sigma: float

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, LossInputs]:
        """What a method's loss takes beside the network."""
        x, noise = torch.from_numpy(self.x), torch.from_numpy(self.noise)
        inputs = LossInputs(
            u=torch.from_numpy(self.u),
            target=torch.from_numpy(self.target),
            sigma=self.sigma,
        )
        return (
            x.view(-1, *slow.SHAPE),
            torch.tensor(self.y),
            noise.view(len(noise), -1, *slow.SHAPE),
            inputs,
        )


@dataclass
class Slow:
    """The loss of weights, and how far every tie and hinge was from turning."""

    loss: Callable[[Floats], float]
    margins: list[float] = field(default_factory=list)


def problem(
    seed: int, images: int, m: int, sigma: float = 0.5
) -> tuple[slow.TinyNet, Floats, Problem]:
    """A network, its weights, and images of which two of three carry the label that it gives them."""
    model = slow.TinyNet(seed, scale=0.8)
    theta, rng = slow.parameters(model), np.random.default_rng(seed)
    x, y, noise = slow.batch(images, m, seed, sigma)
    flat = slow.flat(x)
    labels = [
        int(slow.logits(theta, flat[i]).argmax()) if i % 3 else int(y[i])
        for i in range(images)
    ]
    target = (
        rng.multinomial(4, rng.dirichlet(np.ones(slow.CLASSES), images)) / 4
    )  # shares; some are 0 and some 1
    return (
        model,
        theta,
        Problem(flat, labels, slow.flat(noise), rng.random(images), target, sigma),
    )


def gap(values: Floats) -> float:
    """Between the largest and the next."""
    return float(np.diff(np.sort(values), prepend=-np.inf)[-1])


def mean_cross_entropy(theta: Floats, x: Floats, y: list[int], noise: Floats) -> float:
    return float(
        np.mean(
            [
                slow.cross_entropy(theta, x[i] + d[i], y[i])
                for d in noise
                for i in range(len(x))
            ]
        )
    )


def gaussian(theta: Floats, p: Problem, **_: Any) -> Slow:
    return Slow(lambda weights: mean_cross_entropy(weights, p.x, p.y, p.noise))


def stability(theta: Floats, p: Problem, *, lbd: float, **_: Any) -> Slow:
    """Li et al. 2019: clean cross-entropy, and lbd times -sum_c p_c(x) log p_c(x + delta). Nothing is held fixed."""

    def loss(weights: Floats) -> float:
        total = 0.0
        for i, x in enumerate(p.x):
            clean = slow.probabilities(weights, x)
            noisy = [
                clean @ -np.log(slow.probabilities(weights, x + delta[i]))
                for delta in p.noise
            ]
            total += -np.log(clean[p.y[i]]) + lbd * np.mean(noisy)
        return total / len(p.x)

    return Slow(loss)


def attacked_images(
    theta: Floats, p: Problem, attack: str, eps: float, steps: int
) -> Floats:
    points = []
    for i, x in enumerate(p.x):
        given = (theta, x, p.y[i], p.noise[:, i])
        if attack == "pgd":
            points.append(slow.pgd(*given, steps, 2 * eps / steps, eps))
        elif attack in ("ddn", "ddn-released"):
            points.append(
                slow.ddn(*given, steps, eps, released=attack == "ddn-released")[0]
            )
        else:
            points.append(slow.gradient_free(*given, steps, eps))
    return np.array(points)


def smoothadv(
    theta: Floats, p: Problem, *, eps: float, T: int, attack: str, **_: Any
) -> Slow:
    """Salman et al. 2019: Gaussian training at the attacked images, which are held fixed."""
    points = attacked_images(theta, p, attack, eps, T)
    return Slow(lambda weights: mean_cross_entropy(weights, points, p.y, p.noise))


def macer(
    theta: Floats,
    p: Problem,
    *,
    lbd: float,
    gamma: float,
    beta: float,
    beta_in: str = "robustness",
    **_: Any,
) -> Slow:
    """Zhai et al. 2020, algorithm 1: its z has beta in both terms, as trained only that of the robustness term has."""

    def image(weights: Floats, i: int) -> tuple[float, float, bool]:
        """The cross-entropy of the mean prediction, xi, and whether the sharpened mean prediction is right."""
        z, sharp = np.zeros(slow.CLASSES), np.zeros(slow.CLASSES)
        for delta in p.noise:
            logits = slow.logits(weights, p.x[i] + delta[i])
            z += slow.softmax(logits) / len(p.noise)
            sharp += slow.softmax(beta * logits) / len(p.noise)
        runner_up = max(sharp[c] for c in range(slow.CLASSES) if c != p.y[i])
        xi = stats.norm.ppf(sharp[p.y[i]]) - stats.norm.ppf(runner_up)
        return (
            -np.log((sharp if beta_in == "both" else z)[p.y[i]]),
            float(xi),
            bool(sharp.argmax() == p.y[i]),
        )

    def loss(weights: Floats) -> float:
        total = 0.0
        for i in range(len(p.x)):
            classification, xi, right = image(weights, i)
            total += classification
            if right and np.isfinite(xi):
                total += lbd * p.sigma / 2 * max(gamma - xi, 0.0)
        return total / len(p.x)

    result = Slow(loss)
    for i in range(len(p.x)):
        distance, is_right = image(theta, i)[1:]
        result.margins.append(abs(distance))  # 0 where the label and another are level
        if is_right:
            result.margins.append(abs(gamma - distance))
    return result


def consistency(
    theta: Floats,
    p: Problem,
    *,
    lbd: float,
    eta: float,
    form: str,
    eps: float,
    T: int,
    **_: Any,
) -> Slow:
    """Jeong & Shin 2020, eq. 8, and its other forms; attacked images are held fixed, the mean prediction is not."""
    points = attacked_images(theta, p, "pgd", eps, T) if eps else p.x

    def regulariser(weights: Floats, i: int) -> float:
        each = [slow.probabilities(weights, points[i] + delta[i]) for delta in p.noise]
        mean = np.mean(each, axis=0)
        scatter = np.mean([slow.divergence(mean, one) for one in each])
        entropy = -(mean @ np.log(mean))
        pairs = [((one - other) ** 2).sum() for one, other in combinations(each, 2)]
        forms = {
            "default": lbd * scatter + eta * entropy,
            "xent": lbd * (scatter + entropy),
            "kl": lbd * scatter,
            "mse": lbd * np.mean(pairs),
        }
        return float(forms[form])

    def loss(weights: Floats) -> float:
        extra = np.mean([regulariser(weights, i) for i in range(len(p.x))])
        return float(mean_cross_entropy(weights, points, p.y, p.noise) + extra)

    return Slow(loss)


def smoothmix(
    theta: Floats,
    p: Problem,
    *,
    T: int,
    alpha: float,
    eta: float,
    start: float,
    **_: Any,
) -> Slow:
    """Jeong et al. 2021: which images are right and both ends of the mix are held fixed, the target is not."""
    images = range(len(p.x))
    clean, mixed, right = [], [], []
    for i in images:
        given = (theta, p.x[i], p.y[i], p.noise[:, i])
        adversary = slow.pgd(*given, T, alpha)
        clean.append(
            slow.within(slow.pgd(*given, 1, alpha), p.x[i], start) if start else p.x[i]
        )
        mixed.append((1 - p.u[i] / 2) * clean[i] + p.u[i] / 2 * adversary)
        mean = slow.mean_prediction(theta, clean[i], p.noise[:, i])
        right.append(bool(mean.argmax() == p.y[i]))

    def mixup(weights: Floats, i: int) -> float:
        share = p.u[i] / 2
        target = (1 - share) * slow.mean_prediction(
            weights, clean[i], p.noise[:, i]
        ) + share / slow.CLASSES
        return float(
            np.mean(
                [
                    slow.divergence(
                        target, slow.probabilities(weights, mixed[i] + d[i])
                    )
                    for d in p.noise
                ]
            )
        )

    def loss(weights: Floats) -> float:
        extra = sum(mixup(weights, i) for i in images if right[i]) / len(p.x)
        return mean_cross_entropy(weights, np.array(clean), p.y, p.noise) + eta * extra

    return Slow(loss)


def binomial(u: float, m: int, share: float) -> int:
    """The number of successes at the quantile u."""
    return next(k for k in range(m + 1) if stats.binom.cdf(k, m, share) > u or k == m)


def cat_rs(
    theta: Floats, p: Problem, *, lbd: float, p0: float, T: int, eps: float, low: bool, high: str, mask: bool,
    variant: str, confidence: str = "model", **_: Any,
) -> Slow:  # fmt: skip
    """Jeong et al. 2023, algorithm 1: p-hat, K and the attacked noises are held fixed, their order is not."""
    m, images, released = len(p.noise), range(len(p.x)), variant == "released"
    result = Slow(lambda weights: float(np.mean([image(weights, i) for i in images])))
    right = [
        [slow.logits(theta, p.x[i] + d[i]).argmax() == p.y[i] for d in p.noise]
        for i in images
    ]
    shares = [
        p.target[i][p.y[i]] if confidence == "teacher" else np.mean(right[i])
        for i in images
    ]
    drawn = [binomial(p.u[i], m, float(share)) for i, share in enumerate(shares)]
    sure = [drawn[i] == m if released else all(right[i]) for i in images]
    aims = [p.target[i] if released else slow.one_hot(p.y[i]) for i in images]
    theirs: dict[str, Any] = (
        {"damp": 1e-8 * m, "rms": True} if released else {}
    )  # their loss is divided by m
    worst = [
        [slow.ball(theta, p.x[i], aims[i], d[i], T, eps, **theirs) for d in p.noise]
        for i in images
    ]

    def losses(weights: Floats, i: int) -> list[float]:
        return sorted(
            slow.cross_entropy(weights, p.x[i] + delta[i], p.y[i]) for delta in p.noise
        )

    def adversarial(weights: Floats, i: int) -> list[float]:
        return [
            slow.divergence(aims[i], slow.probabilities(weights, p.x[i] + delta))
            for delta in worst[i]
        ]

    def image(weights: Floats, i: int) -> float:
        kept = max(1, drawn[i])
        total = 0.0
        if low:
            total += sum(losses(weights, i)[:kept]) / m
            if not released:
                total += (
                    sum(max(0.0, one + np.log(p0)) for one in losses(weights, i)[kept:])
                    / m
                )
        if high != "off" and (sure[i] or not mask):
            combine = np.max if high == "max" else np.mean
            total += lbd * float(combine(adversarial(weights, i)))
        return total

    for i in images:
        kept = max(1, drawn[i])
        result.margins += [
            abs(p.u[i] - stats.binom.cdf(k, m, shares[i])) for k in range(m)
        ]
        result.margins += [
            *np.diff(losses(theta, i)),
            gap(np.array(adversarial(theta, i))),
        ]
        result.margins += [abs(one + np.log(p0)) for one in losses(theta, i)[kept:]]
    return result


def amplify(
    theta: Floats,
    p: Problem,
    *,
    T: int,
    eps: float,
    norm: str = "l2",
    gradient: str = "unit",
    **_: Any,
) -> Slow:
    """Sun et al. 2025, algorithm 1; the walked noises are held fixed."""
    damp = 1e-8 * len(p.noise) if gradient == "damped" else 0.0
    walked = np.array(
        [
            [
                slow.walk(theta, p.x[i], p.y[i], d[i], T, eps, norm, damp)
                for i in range(len(p.x))
            ]
            for d in p.noise
        ]
    )
    return Slow(lambda weights: mean_cross_entropy(weights, p.x, p.y, walked))


SLOW: Mapping[str, Callable[..., Slow]] = {
    "amplify": amplify,
    "cat-rs": cat_rs,
    "consistency": consistency,
    "gaussian": gaussian,
    "macer": macer,
    "smoothadv": smoothadv,
    "smoothmix": smoothmix,
    "stability": stability,
}
