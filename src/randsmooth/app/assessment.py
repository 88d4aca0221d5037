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

# The most images that are attacked, and about how long that may take.
MOST_ATTACKED = 20
SECONDS_FOR_ATTACKS = 30.0
# A radius is out of reach if it needs a p_A that is closer to 1 than this.
SMALLEST_TAIL = 1e-9


@dataclass(frozen=True)
class Candidate:
    """A noise that was tried.

    Attributes:
        noise: the noise.
        accuracy: the accuracy of the network on one noisy copy of each image: the mean
            over images of the share of right answers.
        expected: the mean certified accuracy over the radii from 0 to the one that
            matters, if the shares of right answers stay as they are.
        n: the samples of an image for which it is expected.
        farthest: the largest radius that n samples can prove.

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
        name: the name of the model on the page.
        images: the number of images in the split.
        shape: the shape of an image (C, H, W), or of a row of features (d,).
        clean: the accuracy of the network alone, without noise.
        candidates: the noises that were tried, on images other than those that were
            certified.
        chosen: the candidate under whose noise the images were certified, see `choose`.
        guess: the accuracy of guessing: the share of the largest class (see
            `data.guessing`).
        radius: the change that matters, in the units of the noise's radii.
        table: the certificates, under the noise of `chosen`.
        attempts: row of the table -> the attacks on that image, which is right and
            certified.
        pictures: row of the table -> the image (C, H, W) that was attacked.
        seconds_each: the seconds that an answer with its certificate takes.
        seconds_all: rule -> the seconds that a certification of all images with 100,000
            samples takes.
        notes: the notes on the run.
        columns: the names of the features, where the data name them.
        split: the split of the images; empty for data with one split alone.

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
        """Return the word for several inputs: "images", or "rows" of features."""
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
        return int(self.table.wrong.sum())

    @property
    def declined(self) -> int:
        """Count the images for which the vote is that the model declines."""
        return int(self.table.declined.sum())

    @property
    def abstained(self) -> int:
        """Count the images for which the vote is too close to give an answer."""
        return int((self.table.predict == ABSTAIN).sum())

    @cached_property
    def certified(self) -> dict[float, Estimate]:
        """Return radius -> the certified accuracy, in ascending order.

        The radii are 0, `radius`, `reach`, the halves of both, and the usual ones.
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
        """Return the radius that matters, or the largest provable one if that is less."""
        if self.radius <= self.chosen.farthest:
            return self.radius
        return float(printed_radius(self.chosen.farthest))

    @property
    def least(self) -> int | None:
        """Return the fewest samples of an image that can prove the radius that matters.

        It is None where no number can.
        """
        # The tail of the noise is the largest q = 1 - p_A that proves the radius.
        q = float(self.table.noise.tail(self.radius))
        if q <= SMALLEST_TAIL:
            return None
        # If all n samples agree, p_A is above 1 - q where (1 - q)^n <= alpha. An alpha
        # of 0 means that all copies are counted: no number of samples is needed.
        alpha = self.table.header.alpha or 1.0
        return math.ceil(math.log(alpha) / math.log1p(-q))

    @property
    def attacked(self) -> str:
        """Return in words how many images were attacked, which, and why not all."""
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
        """Return row -> the distance of the nearest change, where an attack found one."""
        distances = {
            row: attempts.outside.distance
            for row, attempts in self.attempts.items()
            if attempts.outside is not None
        }
        # A change within the certified radius is nearer than one beyond it.
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
        # Position of an attacked image -> how far away it changed; None if it did not.
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
            "declined": self.declined,
            "abstained": self.abstained,
            "attacked": len(self.attempts),
            "failed": len(self.failed),
            "changed_at": changed_at,
            "seconds_each": self.seconds_each,
            "seconds_all": self.seconds_all,
            "notes": [str(note) for note in self.notes],
        }
        return figures
