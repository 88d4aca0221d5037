"""What is asked of an attack: which certificates, on which images, how hard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from randsmooth import data
from randsmooth.certificates import (
    ABSTAIN,
    Certificates,
    CertificationSettings,
    Header,
)
from randsmooth.certification.keywords import CertifiedModelOptions
from randsmooth.certification.run import RunSpec
from randsmooth.certification.run_header import called, fingerprint
from randsmooth.certification.searches import make_search
from randsmooth.certification.searches.base import BallSearch
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.data import Images
from randsmooth.errors import NotComparable, WrongTable, check_known


@dataclass(frozen=True, kw_only=True)
class AttackRequest:
    """What `attack` was asked for.

    Attributes:
        table: the certificates.
        rows: those that are attacked.
        images: the images, or where they lie now; None: as the table names them.
        options: how model and images are opened.
        scale: radius of the search, as a multiple of the certified radius.
        steps, m, restarts, seed, gradient_free: how to search, see `attack`.
        toward: the number of the only class to look for; None: any other class.
        n: samples of each PREDICT.
        alpha: probability that any reported change is false.
    """

    table: Certificates
    rows: Certificates
    images: Any
    options: CertifiedModelOptions
    scale: float
    steps: int
    m: int | None
    restarts: int
    seed: int
    gradient_free: bool
    toward: int | None
    n: int
    alpha: float

    @property
    def level(self) -> float:
        """The most probability with which the PREDICTs on one image may err.

        It is Bonferroni's correction: those on all images together err with
        probability at most alpha.
        """
        return self.alpha / len(self.rows)

    def eps(self, row: int) -> float:
        """Return the radius of the search around the image in a row."""
        return self.scale * float(self.rows.radius[row])

    def spec(self, model: object, settings: CertificationSettings) -> RunSpec:
        """Return a request for a classifier of the table on the table's images.

        Args:
            model: the model, or where it lies now.
            settings: the settings of the classifier.
        """
        header = self.table.header
        images = self.images
        if header.split is None:
            raise WrongTable(f"{called(self.table)} does not name its split")
        if images is None:
            if header.dataset is None:
                raise WrongTable(f"{called(self.table)} does not name its dataset")
            images = data.registered(header.dataset, called(self.table))
        # Images that are open have been resized and cropped already.
        are_open = isinstance(images, Images)
        return RunSpec.of(
            model,
            images,
            settings,
            split=header.split,
            resize=None if are_open else header.resize,
            crop=None if are_open else header.crop,
            num_classes=_classes_to_tell(header),
            refusal=header.refusal_name,
            **self.options,
        )

    def search(
        self,
        smoothed: SmoothedClassifier,
        shape: Sequence[int],
        elsewhere: Callable[[], tuple[Tensor, Tensor]],
    ) -> BallSearch:
        """Return the search for a point that `smoothed` answers otherwise.

        Args:
            smoothed: the classifier.
            shape: the shape (C, H, W) of the images.
            elsewhere: see `make_search`.
        """
        return make_search(
            smoothed,
            shape,
            elsewhere,
            steps=self.steps,
            m=self.m,
            restarts=self.restarts,
            seed=self.seed,
            gradient_free=self.gradient_free,
            toward=self.toward,
        )


def _classes_to_tell(header: Header) -> int | None:
    """Return K, which a function that answers with labels is told; None: not known.

    A class of declined answers is added to these, so the last one is not among them.
    """
    if not header.classes:
        return None
    number = len(header.classes)
    if header.refusal is None:
        return number
    # Another than the last class is one of the data, which tell how many there are.
    return number - 1 if header.refusal == number - 1 else None


def number_of_class(table: Certificates, name: str | None) -> int | None:
    """Return the number of the class called `name`; None for no name.

    Raises:
        Problem: the table has no such class.
    """
    if name is None:
        return None
    classes = table.header.classes or ()
    check_known("class", classes, name)
    return classes.index(name)


def certified_rows(
    table: Certificates, take: int | None, toward: str | None = None
) -> Certificates:
    """Return the rows that certify a class, or `take` of them, evenly spread.

    Args:
        table: the certificates.
        take: how many rows; None: all.
        toward: the name of a class, whose rows are left out; None: none are.

    Raises:
        Problem: there are none, or too few.
    """
    is_certified = (table.predict != ABSTAIN) & (table.radius > 0.0)
    if toward is not None:
        is_certified &= table.predict != number_of_class(table, toward)
    certified = np.flatnonzero(is_certified)
    if not len(certified):
        beside = "" if toward is None else f" as another class than {toward}"
        raise WrongTable(
            f"{called(table)} certifies none of its {len(table)} images{beside}: "
            "there is nothing to attack"
        )
    if take is not None:
        certified = certified[data.take(len(certified), take).numpy()]
    return table.rows(certified)


def check_images(
    table: Certificates, images: Images, *, expected: str | None, labelled: bool
) -> None:
    """Raise Problem unless `images` contains the table's, by pixels and labels.

    Args:
        table: the certificates.
        images: the split that should have the images.
        expected: the hash of the table's images (see `fingerprint`).
        labelled: whether that is a hash of their labels, too.
    """
    split = f"{images.spec.name} ({images.split})"
    # The table certifies some image (see `certified_rows`): there is a last one.
    indices = table.idx.tolist()
    last = max(indices)
    if last >= len(images):
        raise NotComparable(
            f"{called(table)} has an image {last}; {split} has {len(images)} images"
        )
    # Images of a table without labels may have some now: they are not compared.
    if expected != fingerprint(images, indices, labels=labelled):
        raise NotComparable(
            f"{split} does not hold the images of {called(table)}: "
            "is it another data set of that name?"
        )
