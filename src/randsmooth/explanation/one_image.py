"""One image with its certificate, and what shows how far that reaches."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import ABSTAIN, CertificationSettings
from randsmooth.certification import Certified
from randsmooth.explanation.attempts import Attempts
from randsmooth.explanation.neighbours import Neighbours

Pixels = NDArray[np.float32]


@dataclass(frozen=True)
class Copies:
    """Some of the noisy copies that were counted.

    Attributes:
        pixels: (n, C, H, W), which noise takes out of [0, 1].
        answers: (n,) the base classifier's classes.
        denoised: (n, C, H, W) what a denoiser before the classifier makes of them; None without one.

    Example:
        >>> Copies(np.zeros((3, 1, 8, 8), np.float32), np.array([7, 7, 9]), None).answers.tolist()
        [7, 7, 9]
    """

    pixels: Pixels
    answers: NDArray[np.int64]
    denoised: Pixels | None


@dataclass(frozen=True)
class Explanation:
    """What `explain` found about one image.

    Attributes:
        name: what to call the image.
        image: (C, H, W) float32 in [0, 1].
        classes: their names.
        label: the true class; None where it is not known.
        certified: the certificate, with its counts.
        copies: some of the noisy copies.
        neighbours: distances to the images of a data set; None without one.
        attempts: attacks on the certificate; None where there were none.
        left_out: sentences that say what is missing, and why.
        notes: sentences about what answers: its kind, denoisers, ensembles, and the like.

    Example:
        >>> import randsmooth as rs
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> explained = rs.explain(model, torch.rand(1, 8, 8), sigma=0.25, n=200, attack=False)
        >>> explained.counts.sum(), explained.radius >= 0.0
        (np.int64(200), True)
    """

    name: str
    image: Pixels
    classes: tuple[str, ...]
    label: int | None
    certified: Certified = field(repr=False)
    copies: Copies = field(repr=False)
    neighbours: Neighbours | None = field(repr=False)
    attempts: Attempts | None = field(repr=False)
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def settings(self) -> CertificationSettings:
        """How the image was certified."""
        return self.certified.drawn.settings

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise."""
        return self.settings.known_sigma

    @property
    def predict(self) -> int:
        """The certified class, or ABSTAIN (-1)."""
        return int(self.certified.predict[0])

    @property
    def abstains(self) -> bool:
        """Whether no class is certified."""
        return self.predict == ABSTAIN

    @property
    def radius(self) -> float:
        """The certified L2 radius; 0 where it abstains."""
        return 0.0 if self.abstains else float(self.certified.radius[0])

    @property
    def picked(self) -> int:
        """The class that the first n0 samples picked, whose probability is bounded."""
        return int(self.certified.counts0[0].argmax())

    @property
    def counts(self) -> NDArray[np.int64]:
        """(K,) classes of the samples that bound its probability."""
        return np.asarray(self.certified.counts[0])

    @property
    def n(self) -> int:
        """How many samples these are."""
        return int(self.counts.sum())

    @property
    def agreeing(self) -> int:
        """How many of them are of the picked class."""
        return int(self.counts[self.picked])

    @property
    def q(self) -> float:
        """Upper bound on 1 - p_A."""
        rule = self.settings.stopping_rule()
        return rule.claim([self.agreeing]).q

    def name_of(self, k: int) -> str:
        """The name of class `k`."""
        return self.classes[k] if 0 <= k < len(self.classes) else str(k)
