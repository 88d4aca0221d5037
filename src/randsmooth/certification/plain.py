"""CERTIFY as Cohen et al. (ICML 2019) publish it, for one image: the algorithm to read
first.

Everything else in this package gives the same answer faster, or answers more: in
batches, by other rules, under other noises, across kills. Nothing of that is needed
here; a test compares both.
"""

from collections.abc import Callable

import torch
from scipy import stats
from torch import Tensor

# The class that stands for none.
ABSTAIN = -1


def certify_one(
    f: Callable[[Tensor], Tensor],
    x: Tensor,
    sigma: float,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    standard_normal: Callable[..., Tensor] = torch.randn,
) -> tuple[int, float]:
    """Return the class of g at `x`, and the L2 radius within which it cannot change.

    g(x) is the class that f gives most often to x + N(0, sigma^2 I). The answer is
    wrong with probability at most alpha; it is (-1, 0) where the samples do not show
    the class.

    Args:
        f: the base classifier: logits (B, K) of images (B, C, H, W).
        x: the image (C, H, W).
        sigma: the standard deviation of the noise, for pixels in [0, 1].
        n0: samples that pick the class.
        n: other samples that bound the probability of that class.
        alpha: the probability of a wrong answer.
        standard_normal: called with n, C, H and W, returns standard normal numbers of
            that shape.

    All n copies are in memory at once.

    Example:
        >>> def bright(images):
        ...     mean = images.mean(dim=(1, 2, 3))
        ...     return torch.stack([0.5 - mean, mean - 0.5], dim=1)
        >>> c, radius = certify_one(bright, torch.ones(1, 2, 2), sigma=0.25, n=1000)
        >>> c, round(radius, 2)
        (1, 0.62)
    """
    # n0 samples pick the class.
    noisy = x + sigma * standard_normal(n0, *x.shape)
    counts0 = f(noisy).argmax(dim=1).bincount()
    c_a = int(counts0.argmax())

    # n other samples count how often that class comes out.
    noisy = x + sigma * standard_normal(n, *x.shape)
    n_a = int((f(noisy).argmax(dim=1) == c_a).sum())

    # The lower end of a one-sided Clopper-Pearson interval: p_A is below it with
    # probability at most alpha.
    p_lower = stats.beta.ppf(alpha, n_a, n - n_a + 1) if n_a > 0 else 0.0
    if p_lower <= 0.5:
        return ABSTAIN, 0.0
    radius = sigma * stats.norm.ppf(p_lower)
    return c_a, float(radius)
