"""What certifying a batch of images in memory returns, and the table that it makes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.certificates import NO_LABEL, Certificates, CertificationSettings, from_evidence
from randsmooth.certificates.digest import hashed_images, in_bytes
from randsmooth.certification.algorithm import uniform_number
from randsmooth.certification.behaviour import on_made_up
from randsmooth.certification.described import describe_model, made_with
from randsmooth.certification.engine import Engine
from randsmooth.errors import InputError

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """How the evidence of a batch came about.

    Attributes:
        engine: what drew the noise and asked the model.
        settings: of the certification.
        shape: (C, H, W) of the images.
        addresses: a hash of each image's pixels.
    """

    engine: Engine
    settings: CertificationSettings
    shape: tuple[int, ...]
    addresses: tuple[int, ...]

    @property
    def u(self) -> NDArray[np.float64] | None:
        """(B,) the uniform numbers of the randomised bound; None for another."""
        if self.settings.bound != "randomised":
            return None
        return np.array([uniform_number(self.engine.seed, address) for address in self.addresses])


@dataclass(frozen=True)
class Certified:
    """Certificates of B images.

    Attributes:
        predict: (B,) certified class, or ABSTAIN (-1).
        radius: (B,) L2 radius within which that class cannot change, in units of pixels in [0, 1].
        counts0: (B, K) classes of the n0 samples that picked the class.
        counts: (B, K) classes of the other samples, that bounded its probability.
        paths: for each image, how often the picked class had come out at each look.
        seconds: (B,) time that each image took.
        drawn: how the counts came about.

    Example:
        >>> import torch
        >>> from randsmooth.certification import SmoothedClassifier
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> certified = SmoothedClassifier(model, sigma=0.5).certify(torch.ones(1, 1, 2, 2), n0=20, n=500)
        >>> certified.counts0.sum(axis=1), certified.counts.sum(axis=1)
        (array([20]), array([500]))
        >>> certified.table([1], name="mine")
        Certificates('mine': 1 images, sigma 0.5, n 500, rule fixed)
    """

    predict: Ints
    radius: NDArray[np.float64]
    counts0: Ints
    counts: Ints
    paths: tuple[Ints, ...]
    seconds: NDArray[np.float64]
    drawn: Drawn = field(repr=False, compare=False)

    @property
    def seed(self) -> int:
        """Of the noise: a `SmoothedClassifier` that is given it repeats these counts."""
        return self.drawn.engine.seed

    def table(
        self,
        labels: ArrayLike | None = None,
        *,
        idx: ArrayLike | None = None,
        dataset: str | None = None,
        split: str | None = None,
        name: str = "",
        identity: str | None = None,
    ) -> Certificates:
        """The certificates as a table, which metrics judge, `write_parquet` saves and `attack` tries to refute.

        Its header says what one of `randsmooth.certify` would say of the model, its arithmetic and its noise.

        Args:
            labels: (B,) true classes; without them nothing is known of accuracy.
            idx: (B,) positions of the images in their split; 0..B-1 if not given.
            dataset, split: which images they are.
            name: what to call the table in a comparison.
            identity: as in `randsmooth.certify`, for a model that does not hold all that it is.

        Raises:
            InputError: labels or positions that do not fit; samples that `until` stopped, where the rule would have
                gone on (but for "anytime", which holds wherever one stops); or a model that needs an `identity`.
        """
        drawn, B = self.drawn, len(self.predict)
        label = np.full(B, NO_LABEL) if labels is None else _integers("labels", labels, B)
        self._check_complete()
        header = made_with(
            drawn.engine,
            drawn.settings,
            drawn.shape,
            dataset=dataset,
            split=split,
            data=hashed_images(label.tobytes(), map(in_bytes, drawn.addresses)),
            model=describe_model(drawn.engine.model, identity),
            behaviour=on_made_up(drawn.engine, drawn.shape),
        )
        return from_evidence(
            header,
            idx=np.arange(B) if idx is None else _integers("idx", idx, B),
            label=label,
            counts0=self.counts0,
            counts=self.counts,
            seconds=self.seconds,
            paths=self.paths,
            u=drawn.u,
            name=name,
        )

    def _check_complete(self) -> None:
        rule = self.drawn.settings.stopping_rule()
        if not all(rule.complete(path.tolist()) for path in self.paths):
            raise InputError(
                "samples were stopped by until=, and a table holds those that its rule asks for: certify without it; "
                f"{rule.name} stops by itself"
            )


def _integers(name: str, values: ArrayLike, B: int) -> Ints:
    found = np.asarray(values)
    if found.shape != (B,) or found.dtype.kind not in "iu":
        raise InputError(f"{name} must be one whole number for each of {B} images; got {found.dtype} {found.shape}")
    return found.astype(np.int64)
