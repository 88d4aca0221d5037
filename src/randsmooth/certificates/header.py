"""What a table of certificates is about: everything needed to redo it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from randsmooth.errors import InputError

VERSION = 2  # 1: of the rule `tolerance` about half of the certificates lie within it (see `ByMean`)

# What to do about a run that was begun otherwise, by the field that differs.
WAYS_ON = {
    "version": "the table was begun by an older version: go on with that, or use --overwrite or another --out",
    "noise": "the noise was drawn or addressed otherwise (on another kind of device, or by an older version): go on as "
    "it was begun, or use --overwrite or another --out",
    "data": "the images or labels are others (or were hashed by an older version): give the same, or use --overwrite "
    "or another --out",
    "device": "on another processor the same network may give other last bits: go on with the one it was begun on, or "
    "use --overwrite or another --out",
    "instructions": "with these the same network may give other last bits: go on with those it was begun with (on a "
    "CPU, ATEN_CPU_CAPABILITY and ONEDNN_MAX_CPU_ISA limit them), or use --overwrite or another --out",
}


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
        data: a hash of the chosen images and their labels; in older tables of the labels and the first image.
        classes: class names, in the order of the counts.
        model: the base classifier: weights hash, architecture and how it was trained.
        backend, precision, batch: the arithmetic that the base classifier is defined by.
        device, instructions: the processor and the instructions that it was done with, on which its last bits depend.
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
    instructions: str | None = None
    versions: dict[str, str] | None = None
    notes: tuple[str, ...] = ()

    def differences(self, other: Header) -> list[str]:
        """The fields in which two headers differ, as `name: ours != theirs`."""
        mine, theirs = self.model_dump(), other.model_dump()
        return [f"{key}: {mine[key]!r} != {theirs[key]!r}" for key in mine if mine[key] != theirs[key]]

    def check_same_run(self, other: Header, path: Path) -> None:
        """Raise InputError unless `other` would go on with the run into `path` that this is the header of."""
        different = self.differences(other)
        if different:
            way = WAYS_ON.get(different[0].partition(":")[0], "repeat its settings or use --overwrite")
            raise InputError(f"{path} is of another run ({different[0]}); {way}")
