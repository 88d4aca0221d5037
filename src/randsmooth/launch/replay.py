"""How many samples a rule would take of images of which some samples are known: they are drawn again by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from randsmooth.certificates import Rule
from randsmooth.launch.pilot import PilotImage
from randsmooth.launch.span import Span

PATHS = 240  # images that are drawn again for each rule
FEW = 3  # images below which nothing is learnt about the others


class Replay:
    """Draws p_A of the pilot's images, as far as their samples leave it open, and then samples under any rule.

    Before its samples, an image's p_A has the Beta distribution under which the samples of all images are the
    likeliest: those of most models lie near 0 or 1, and many nearer to 1 than any samples of a single image could tell.

    Args:
        images: those of the pilot.
        seed: of all that is drawn.
    """

    def __init__(self, images: Sequence[PilotImage], seed: int) -> None:
        self.images, self.seed = images, seed
        self.prior = _likeliest_beta([(image.successes, image.drawn) for image in images if image.drawn])

    def rest(self, rule: Rule, image: PilotImage) -> float:
        """How many samples an image takes that the pilot gave up, on average."""
        rng = np.random.default_rng([self.seed, image.index])
        ends = [_end(rule, image.path, self._p(image, rng), rng) for _ in range(PATHS // 10)]
        return float(np.mean([max(image.least, image.n0 + end) for end in ends]))

    def of_rule(self, rule: Rule, total: int, n0: int) -> Span:
        """Mean samples of `total` images under a rule, with n0 that pick the class."""
        rng, samples = np.random.default_rng(self.seed), []
        for k in range(max(PATHS, len(self.images))):
            image = self.images[k % len(self.images)]
            settled = image.drawn == 0 and image.samples is not None  # of a wrong class, where labels are looked at
            samples.append(n0 + (0 if settled else _end(rule, [], self._p(image, rng), rng)))
        per_image = [np.mean(samples[i :: len(self.images)]) for i in range(len(self.images))]
        chance = np.var(per_image) / len(per_image) + np.var(samples) / total  # of the pilot's choice, and of the run
        reach = 1.96 * float(np.sqrt(chance))
        mean, most = float(np.mean(samples)), n0 + rule.n
        return Span(mean, max(0.0, mean - reach), min(float(most), mean + reach))

    def _p(self, image: PilotImage, rng: np.random.Generator) -> float:
        a, b = self.prior
        return float(rng.beta(a + image.successes, b + image.drawn - image.successes))


def _end(rule: Rule, path: Sequence[int], p: float, rng: np.random.Generator) -> int:
    """How many samples are drawn in all after `path`, where each is a success with probability `p`."""
    path = list(path)
    drawn = rule.samples(path)
    while (look := rule.next_look(path)) is not None:
        path.append((path[-1] if path else 0) + int(rng.binomial(look - drawn, p)))
        drawn = look
    return drawn


def _likeliest_beta(counts: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """a and b of the Beta distribution of p under which (successes, samples) of each image are the likeliest."""
    if len(counts) < FEW:
        return 0.5, 0.5
    from scipy import optimize, special  # here, since they take long to load

    s, n = np.array(counts, np.float64).T

    def minus_log(logs: np.ndarray) -> float:
        a, b = np.exp(np.clip(logs, -7.0, 7.0))
        return -float(np.sum(special.betaln(a + s, b + n - s) - special.betaln(a, b)))

    found = optimize.minimize(minus_log, np.log([0.5, 0.5]), method="Nelder-Mead")
    a, b = np.exp(np.clip(found.x, -7.0, 7.0))
    return float(a), float(b)
