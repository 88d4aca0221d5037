"""What a table of certificates is about: everything needed to redo it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

VERSION = 1


class Header(BaseModel):
    """The facts shared by all rows of a table. None means that the source (a published log) does not say.

    Attributes:
        sigma: standard deviation of the noise, in units of pixels in [0, 1].
        n0, n: samples an image that picked the class, and the most other samples that bounded its probability.
        alpha: probability that one image's certificate is wrong.
        bound: the confidence bound on p_A: of the fixed rule, "clopper-pearson", "two-sided" or "randomised".
        rule: how many samples an image takes (see `make_rule`).
        guarantee: what a certificate says, in one sentence.
        label_aware: an image whose picked class is not its label took no further samples. For evaluation only.
        seed: seed of the noise streams.
        sound: the base classifier rounds to the grid k/255 first, so that its noise is exact.
        noise: how a sample's noise is addressed and generated.
        dataset, split, selection: which images, and how they were chosen among the split's.
        data: a hash of the chosen images' labels and of the first of them.
        classes: class names, in the order of the counts.
        model: the base classifier: weights hash, architecture and how it was trained.
        backend, precision, batch, device: the arithmetic that the base classifier is defined by.
        versions: of the libraries that made the counts.
        notes: what was done to the table since (counts thinned, another alpha).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = VERSION
    sigma: float | None = None
    n0: int | None = None
    n: int | None = None
    alpha: float | None = None
    bound: str | None = None
    rule: str = "fixed"
    guarantee: str | None = None
    label_aware: bool = False
    seed: int | None = None
    sound: bool = False
    noise: str | None = None
    dataset: str | None = None
    split: str | None = None
    selection: str | None = None
    data: str | None = None
    classes: tuple[str, ...] | None = None
    model: dict[str, Any] | None = None
    backend: str | None = None
    precision: str | None = None
    batch: int | None = None
    device: str | None = None
    versions: dict[str, str] | None = None
    notes: tuple[str, ...] = ()

    def differences(self, other: Header) -> list[str]:
        """The fields in which two headers differ, as `name: ours != theirs`."""
        mine, theirs = self.model_dump(), other.model_dump()
        return [f"{key}: {mine[key]!r} != {theirs[key]!r}" for key in mine if mine[key] != theirs[key]]
