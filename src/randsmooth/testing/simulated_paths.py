"""Images whose samples are simulated as a rule asks for them.

A path is how many of the samples were successes at each look of the rule.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from randsmooth.rules import Evidence, Rule


def walks(
    rule: Rule, q: NDArray[np.float64], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Return the path of an image for each failure probability in `q` (N,).

    Successes are drawn as the rule asks for samples.

    Raises:
        ValueError: the rule asks for no more samples than it has seen.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> from randsmooth.rules import make_rule
        >>> fixed = make_rule("fixed", noise=Gaussian(0.5), n=100, alpha=0.05)
        >>> walks(fixed, np.array([0.0]), np.random.default_rng(0))
        [(100,)]
    """
    # Many paths begin alike.
    next_look = cache(rule.next_look)
    paths: list[tuple[int, ...]] = [()] * len(q)
    samples_seen = np.zeros(len(q), np.int64)
    while True:
        samples_asked = np.array([next_look(path) or 0 for path in paths])
        going_on = np.flatnonzero(samples_asked)
        if len(going_on) == 0:
            return paths

        new_samples = samples_asked[going_on] - samples_seen[going_on]
        if np.any(new_samples <= 0):
            look = samples_asked[going_on][new_samples <= 0][0]
            raise ValueError(
                f"it looks again after {look} samples, when it has seen as many"
            )
        failures = rng.binomial(new_samples, q[going_on])
        new_successes = new_samples - failures
        samples_seen[going_on] = samples_asked[going_on]
        for i, more in zip(going_on.tolist(), new_successes.tolist(), strict=True):
            successes = paths[i][-1] if paths[i] else 0
            paths[i] = (*paths[i], successes + more)


def evidence_of(rule: Rule, paths: Sequence[Sequence[int]]) -> Evidence:
    """Return the evidence of images with two classes, of which the first was picked.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> from randsmooth.rules import make_rule
        >>> evidence_of(make_rule("fixed", noise=Gaussian(0.5), n=100, alpha=0.05), [(90,)]).counts
        array([[90, 10]])
    """
    successes = np.array([path[-1] for path in paths], np.int64)
    samples = np.array([rule.samples(path) for path in paths], np.int64)
    counts = np.stack([successes, samples - successes], axis=1)
    arrays = tuple(np.array(path, np.int64) for path in paths)
    picked = np.zeros(len(paths), np.int64)
    return Evidence(np.arange(len(paths)), picked, counts, arrays)
