"""The result of an assessment: the figures of a model, and what they come from."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import data, metrics
from randsmooth.app.image_certificate import Attempts
from randsmooth.certificates import ABSTAIN, Certificates
from randsmooth.metrics import Estimate
from randsmooth.noise import Noise, printed_radius
from randsmooth.notes import Note

# At most so many images are attacked, for about so long.
MOST_ATTACKED = 20
SECONDS_FOR_ATTACKS = 30.0
# A radius is out of reach if each sample must agree with a probability closer to 1 than
# this.
SMALLEST_TAIL = 1e-9


@dataclass(frozen=True)
class Candidate:
    """A noise that was tried.

    Attributes:
        noise: the noise.
        accuracy: of the network, asked once under it: the mean over images of the share
            of right answers.
        expected: mean certified accuracy over the radii from 0 to the one that matters,
            as those shares foretell it.
        n: samples of an image for which it is foretold.
        farthest: the largest radius that so many can prove.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> always_right = metrics.share([True])
        >>> Candidate(Gaussian(0.25), always_right, always_right, 1000, 0.61).noise.text
        'gaussian=0.25'
    """

    noise: Noise
    accuracy: Estimate
    expected: Estimate
    n: int
    farthest: float


@dataclass(frozen=True)
class Assessment:
    """The result of `assess`.

    Where inputs are features, "images" below are rows of these.

    Attributes:
        name: what to call the model.
        images: how many the data set has.
        shape: (C, H, W) of each, or (d,) of features.
        clean: accuracy of the network alone, without noise.
        candidates: the noises that were tried, on images other than those that were
            certified.
        chosen: the candidate under whose noise the images were certified, see `choose`.
        guess: accuracy that is no better than guessing: the share of the largest class
            (see `data.guessing`).
        radius: the change that matters, in the units of the noise's radii: what
            `expected` goes up to.
        table: the certificates, under the noise that promised the most.
        attempts: attacks on right and certified images, by their rows in the table.
        pictures: the images (C, H, W) that were attacked, by the same.
        seconds_each: time of an answer with its certificate.
        seconds_all: time of a certification of all images with 100,000 samples, by
            rule.
        notes: on the run.
        columns: the names of the features, where the data name them.
        split: that of the images; empty of data that have one alone.

    Example:
        >>> import randsmooth as rs
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> assessment = rs.assess(model, "digits", sigmas=[0.25], take=20, n=200)
        >>> assessment.noise.text, len(assessment.table), assessment.clean.images
        ('gaussian=0.25', 20, 364)
    """

    name: str
    images: int
    shape: tuple[int, ...]
    clean: Estimate
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    guess: float
    radius: float
    table: Certificates
    attempts: dict[int, Attempts] = field(repr=False)
    pictures: dict[int, NDArray[np.float32]] = field(repr=False)
    seconds_each: float
    seconds_all: dict[str, float]
    notes: tuple[Note, ...]
    columns: tuple[str, ...] = ()
    split: str = ""

    @property
    def features(self) -> bool:
        """Return whether inputs are features of any scale, and no images."""
        return not data.is_image(self.shape)

    @property
    def held(self) -> tuple[str, ...]:
        """Return the names of the columns without noise.

        No certificate says anything of changes in these.
        """
        return self.table.noise.held_columns

    @property
    def inputs(self) -> str:
        """Return what to call the inputs."""
        return "rows" if self.features else "images"

    @property
    def noise(self) -> Noise:
        """Return the noise of the certificates."""
        return self.chosen.noise

    @property
    def right(self) -> int:
        """Count the images that the vote answers rightly, with a certificate."""
        return int(self.table.correct.sum())

    @property
    def wrong(self) -> int:
        """Count the images about which the vote is wrong."""
        return len(self.table) - self.right - self.abstained

    @property
    def abstained(self) -> int:
        """Count the images for which the vote declines to answer."""
        return int((self.table.predict == ABSTAIN).sum())

    @cached_property
    def certified(self) -> dict[float, Estimate]:
        """Return the certified accuracy by radius.

        The radii are 0, the one that matters and what is in reach of it, the halves of
        both, and the usual ones.
        """
        radii = {
            0.0,
            self.radius,
            self.radius / 2,
            self.reach,
            self.reach / 2,
            *metrics.usual_radii([self.table]),
        }
        return {
            radius: metrics.certified_accuracy(self.table, radius)
            for radius in sorted(radii)
        }

    @property
    def reach(self) -> float:
        """Return the radius that matters, or what the samples can prove if less."""
        if self.radius <= self.chosen.farthest:
            return self.radius
        return float(printed_radius(self.chosen.farthest))

    @property
    def least(self) -> int | None:
        """Return the fewest samples of an image that can prove the radius that matters.

        None: no number can.
        """
        q = float(self.table.noise.tail(self.radius))
        if q <= SMALLEST_TAIL:
            return None
        # If all n samples agree, p_A is above 1 - q where (1 - q)^n <= alpha.
        alpha = self.table.header.alpha or 1.0
        return math.ceil(math.log(alpha) / math.log1p(-q))

    @property
    def attacked(self) -> str:
        """Return how many images were attacked, which, and why not all."""
        certified = int((self.table.correct & (self.table.radius > 0.0)).sum())
        number = len(self.attempts)
        chosen = ""
        if number < certified:
            chosen = (
                f", chosen by chance (at most {MOST_ATTACKED}, and as many as "
                f"{SECONDS_FOR_ATTACKS:g} seconds allow, since a search takes "
                "thousands of answers)"
            )
        return (
            f"{number} of the {certified} {self.inputs} that are right and "
            f"certified{chosen}"
        )

    @property
    def failed(self) -> list[int]:
        """Return the rows whose answer an attack changed within the certified radius.

        Each of them shows that a certificate is wrong.
        """
        return [
            row
            for row, attempts in self.attempts.items()
            if attempts.inside.predict not in (self.table.predict[row], ABSTAIN)
        ]

    @property
    def changed(self) -> dict[int, float]:
        """Return the rows whose answer an attack changed -> how far away."""
        distances = {
            row: attempts.outside.distance
            for row, attempts in self.attempts.items()
            if attempts.outside is not None
        }
        for row in self.failed:
            distances[row] = self.attempts[row].inside.distance
        return distances

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain numbers and words."""
        header = self.table.header
        noises = []
        for candidate in self.candidates:
            facts = asdict(candidate)
            facts["noise"] = candidate.noise.text
            facts["chosen"] = candidate is self.chosen
            noises.append(facts)
        certified = [
            {**asdict(estimate), "radius": radius}
            for radius, estimate in self.certified.items()
        ]
        changed_at = {
            int(self.table.idx[row]): self.changed.get(row) for row in self.attempts
        }
        figures: dict[str, Any] = {
            "model": self.name,
            "images": self.images,
            "dataset": header.dataset,
            "split": header.split,
            "selection": header.selection,
            "n": header.n,
            "alpha": header.alpha,
            "seed": header.seed,
            "noise": self.noise.text,
            "norm": self.noise.norm,
            "clean": asdict(self.clean),
            "guess": self.guess,
            "noises": noises,
            "certified": certified,
        }
        if self.held:
            figures["held"] = list(self.held)
        figures |= {
            "radius": self.radius,
            "farthest": self.chosen.farthest,
            "least_n": self.least,
            "right": self.right,
            "wrong": self.wrong,
            "abstained": self.abstained,
            "attacked": len(self.attempts),
            "failed": len(self.failed),
            "changed_at": changed_at,
            "seconds_each": self.seconds_each,
            "seconds_all": self.seconds_all,
            "notes": [str(note) for note in self.notes],
        }
        return figures
