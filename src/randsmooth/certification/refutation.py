"""Attack certificates: search each certified ball for a point of another class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth import data
from randsmooth.certificates import (
    ABSTAIN,
    Certificates,
    CertificationSettings,
    Header,
)
from randsmooth.certification.batches import EVERY
from randsmooth.certification.engine import Engine
from randsmooth.certification.keywords import CertifiedModelOptions
from randsmooth.certification.predicting import enough_to_predict, top_if_clear
from randsmooth.certification.run import RunSpec
from randsmooth.certification.run_header import (
    called,
    certified_as,
    check_answers,
    check_same,
    fingerprint,
)
from randsmooth.certification.scheduler import count_classes
from randsmooth.certification.searches import make_search
from randsmooth.certification.searches.base import BallSearch
from randsmooth.data import Images
from randsmooth.errors import BadValue, NotComparable, WrongTable, check_known
from randsmooth.noise import WordAblation
from randsmooth.progress import Progress, chosen_progress
from randsmooth.word_codes import read

# The stream of noise by which the points that a search found are tested.
PREDICT = "attack/predict"

# The most images that a search without gradients may begin its walks from.
MOST_STARTS = 200


@dataclass(frozen=True)
class Attacks:
    """The results of attacking N certified images.

    Attributes:
        idx: (N,) position of the image in its split.
        label: (N,) true class.
        certified: (N,) certified class.
        radius: (N,) certified radius.
        points: (N, C, H, W) float32, the points that the search found. They may lie
            outside [0, 1], where certificates hold too.
        distance: (N,) distance of the point from the image in the norm of `radius`, in
            float64.
        predict: (N,) answer of PREDICT at the point: a class, or ABSTAIN (-1).
        scale: radius of the search, as a multiple of the certified radius.
        n: samples that each PREDICT drew.
        alpha: the most probability that any class in `predict` is not that of the
            smoothed classifier; 0 where all copies of a point were counted.
        gradient_free: whether the search used the answers alone, without gradients.
        norm: the norm of radii and distances, see `Noise.norm`.

    Example:
        >>> zero = np.array([0])
        >>> attacks = Attacks(
        ...     idx=zero,
        ...     label=zero,
        ...     certified=zero,
        ...     radius=np.array([0.2]),
        ...     points=np.zeros((1, 1, 8, 8), np.float32),
        ...     distance=np.array([0.3]),
        ...     predict=np.array([7]),
        ...     scale=2.0,
        ...     n=1000,
        ...     alpha=0.01,
        ... )
        >>> attacks.changed, attacks.failed
        (array([ True]), array([False]))
    """

    idx: NDArray[np.int64]
    label: NDArray[np.int64]
    certified: NDArray[np.int64]
    radius: NDArray[np.float64]
    points: NDArray[np.float32]
    distance: NDArray[np.float64]
    predict: NDArray[np.int64]
    scale: float
    n: int
    alpha: float
    gradient_free: bool = False
    norm: str = "l2"

    def __len__(self) -> int:
        return len(self.idx)

    @property
    def texts(self) -> list[str]:
        """The points as texts, with single spaces between words; empty for other inputs."""
        return read(self.points, "") if self.norm == WordAblation.norm else []

    @property
    def abstained(self) -> NDArray[np.bool_]:
        """(N,) whether PREDICT abstained: no change is proved."""
        return np.asarray(self.predict == ABSTAIN)

    @property
    def changed(self) -> NDArray[np.bool_]:
        """(N,) whether the class has changed, at whatever distance."""
        return np.asarray((self.predict != self.certified) & ~self.abstained)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """(N,) whether the class has changed within the certified radius.

        Then the certificate is wrong.
        """
        return np.asarray(self.changed & (self.distance <= self.radius))


def attack(
    model: object,
    table: Certificates,
    images: Any = None,
    *,
    scale: float = 1.0,
    steps: int = 20,
    m: int | None = None,
    restarts: int = 1,
    gradient_free: bool = False,
    toward: str | None = None,
    n: int = 10_000,
    alpha: float = 0.001,
    take: int | None = None,
    seed: int = 0,
    progress: Progress | bool | None = None,
    **options: Unpack[CertifiedModelOptions],
) -> Attacks:
    """Search the ball around each certified image for another class.

    PREDICT is run at the point that the search finds. The ball is that of the table's
    norm: L2, L1 or L-infinity, an ellipsoid, or images of which few pixels differ (L0).

    Each image is tested once, at level alpha / N for N images (Bonferroni) and with
    noise that the search has not used, so that with probability at least 1 - alpha no
    reported change is false. A certificate may itself be wrong, with probability at
    most the table's alpha, so among very many some may fail. Finding no change proves
    nothing.

    The search climbs the gradient of the base classifier, see `GradientSearch`. An ONNX
    file, or a model that answers with labels, has no gradient: the search then uses its
    answers alone, see `GradientFreeSearch`, and takes many more samples. Of texts it
    replaces words by others of the table's texts, one after the other, see `WordSearch`.

    Args:
        model: the base classifier of the table, or its name (see `load_model`).
        table: certificates with their header.
        images: the split, or its data set in any form that `data.load` takes; default:
            the one that the table names. It is resized and cropped as the table says.
        scale: radius of the search, as a multiple of the certified radius; beyond 1,
            changes are to be expected.
        steps, m, restarts: steps, noise samples per step and starts of the search. By
            default m is 64, and 500 without gradients.
        gradient_free: do not use the gradient even where there is one, as it may
            mislead the search.
        toward: the name of the only class to look for, such as that of declined
            answers; images that are certified as this class are left out. Default: any
            class but the certified one.
        n: samples of each PREDICT.
        alpha: probability that any reported change is false.
        take: how many of the certified images to attack, evenly spread; default: all.
        seed: seed of the noise.
        progress: see `certify`.
        options: how model and images are opened: `device`, `image_column`,
            `label_column`, `model_args`, and the `identity` under which the model was
            certified.

    Raises:
        Problem: before any work, the table certifies nothing or lacks facts that are
            needed, the model or the images are not those of the table, or a setting is
            out of range; during the search, the model's gradient is not finite.

    Example:
        >>> from torch import nn
        >>> import randsmooth as rs
        >>> _ = torch.manual_seed(0)
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> table = rs.certify(model, "digits", sigma=0.25, n=1000, take=5)
        >>> attacks = attack(model, table, steps=2, m=4, n=1000, take=1)
        >>> len(attacks), attacks.points.shape
        (1, (1, 1, 8, 8))
    """
    _check_numbers(scale, steps=steps, m=m, restarts=restarts)
    rows = _certified_rows(table, take, toward)
    n = enough_to_predict(n, alpha, images=len(rows))
    settings = certified_as(table)
    if settings.sound:
        raise WrongTable(
            f"{called(table)} is of images on the grid k/255 alone (sound=True), "
            "which no attack keeps to"
        )
    # Where all copies are counted, the seed of the table decides which they are.
    if not settings.counts_all:
        settings = settings.replace(seed=seed)

    spec = _spec_of(table, model, images, settings, options)
    inputs = spec.open_inputs()
    check_same(inputs.model, table, spec.identity)
    smoothed = spec.smoothed(inputs)
    shape = inputs.images.spec.shape
    _check_images(table, inputs.images)
    check_answers(smoothed.engine, shape, table)
    search = make_search(
        smoothed,
        shape,
        lambda: _starts_of_walks(table, inputs.images),
        steps=steps,
        m=m,
        restarts=restarts,
        seed=seed,
        gradient_free=gradient_free,
        toward=_number_of_class(table, toward),
    )

    attacker = _Attacker(
        search=search,
        engine=smoothed.engine,
        scale=scale,
        n=n,
        # Bonferroni's correction: all PREDICTs together err with probability alpha.
        level=alpha / len(rows),
    )
    attacked: list[_AttackedImage] = []
    changed = 0
    show = chosen_progress(progress)
    with show(f"attack {table.name}", len(rows), "images") as reporter:
        batches = inputs.images.batches(torch.from_numpy(rows.idx).split(1))
        for row, (x, _) in enumerate(batches):
            certified = int(rows.predict[row])
            image = attacker.attack(
                x[0].cpu(),
                certified,
                radius=float(rows.radius[row]),
                number=int(rows.idx[row]),
            )
            attacked.append(image)
            changed += image.answer not in (ABSTAIN, certified)
            reporter.advance(1, f"{changed} changed")

    return Attacks(
        idx=rows.idx,
        label=rows.label,
        certified=rows.predict,
        radius=rows.radius,
        points=np.array([image.point for image in attacked]),
        distance=np.array([image.distance for image in attacked]),
        predict=np.array([image.answer for image in attacked]),
        scale=scale,
        n=settings.n if settings.counts_all else n,
        alpha=0.0 if settings.counts_all else alpha,
        gradient_free=search.gradient_free,
        norm=table.header.norm,
    )


class _AttackedImage(NamedTuple):
    """The result of the attack on one image.

    Attributes:
        point: (C, H, W) float32, the point that the search found.
        distance: the distance of the point from the image.
        answer: the answer of PREDICT at the point: a class, or ABSTAIN.
    """

    point: NDArray[np.float32]
    distance: float
    answer: int


@dataclass(frozen=True)
class _Attacker:
    """A search for points of another class, and PREDICT, which tests them.

    Attributes:
        search: the search that finds a point in a ball.
        engine: the engine that draws and counts for PREDICT.
        scale: radius of the search, as a multiple of the certified radius.
        n: samples of each PREDICT.
        level: the most probability with which one PREDICT errs.
    """

    search: BallSearch
    engine: Engine
    scale: float
    n: int
    level: float

    def attack(
        self, image: Tensor, certified: int, *, radius: float, number: int
    ) -> _AttackedImage:
        """Search around an image (C, H, W), and ask PREDICT at the point.

        Args:
            image: the image (C, H, W).
            certified: the class that was certified for it.
            radius: the certified radius.
            number: names the image in errors.
        """
        point = self.search.find(image, certified, self.scale * radius)
        answer = predict_anywhere(self.engine, point, self.n, self.level, number=number)
        return _AttackedImage(
            point=point.numpy(),
            distance=self.search.distance(point, image),
            answer=answer,
        )


def _check_numbers(scale: float, **counts: int | None) -> None:
    """Raise Problem for a scale or a count that no search can have.

    `counts` are arguments by name; None stands for the default.
    """
    if not 0.0 < scale < math.inf:
        raise BadValue(
            field="scale",
            value=scale,
            expected="must be a finite number above 0; 1 searches the certified ball",
        )
    for name, count in counts.items():
        if count is not None and count < 1:
            raise BadValue(field=name, value=count, expected="must be at least 1")


def predict_anywhere(
    engine: Engine, point: Tensor, n: int, alpha: float, *, number: int = 0
) -> int:
    """Return the answer of PREDICT (Cohen et al. 2019) at a point: a class, or ABSTAIN.

    The noise depends on the point, and is not the noise of the search. Where the rule
    counts all copies, all copies of the point are counted, and neither n nor alpha
    matters.

    Args:
        engine: the engine that draws and counts for PREDICT.
        point: (C, H, W), which unlike an image may lie outside [0, 1].
        n: how many samples to draw.
        alpha: probability that the class is not that of the smoothed classifier.
        number: names the image in errors.
    """
    stream_and_samples = (PREDICT, n)
    if engine.settings.counts_all:
        stream_and_samples = (EVERY, engine.settings.n)
        # The counts are no sample: the more frequent class is certain.
        alpha = 0.0
    (counts,) = count_classes(engine, point, [stream_and_samples], number=number)
    return top_if_clear(counts, alpha)


def _spec_of(
    table: Certificates,
    model: object,
    images: Any,
    settings: CertificationSettings,
    options: CertifiedModelOptions,
) -> RunSpec:
    """Return a request for the table's classifier on the table's images.

    Args:
        table: the certificates.
        model: the model, or where it lies now.
        images: the images, or where they lie now; None: as the table names them.
        settings: the settings of the classifier.
        options: how model and images are opened.
    """
    header = table.header
    if header.split is None:
        raise WrongTable(f"{called(table)} does not name its split")
    if images is None:
        if header.dataset is None:
            raise WrongTable(f"{called(table)} does not name its dataset")
        images = data.registered(header.dataset, called(table))
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
        **options,
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


def _number_of_class(table: Certificates, name: str | None) -> int | None:
    """Return the number of the class called `name`; None for no name.

    Raises:
        Problem: the table has no such class.
    """
    if name is None:
        return None
    classes = table.header.classes or ()
    check_known("class", classes, name)
    return classes.index(name)


def _certified_rows(
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
        is_certified &= table.predict != _number_of_class(table, toward)
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


def _starts_of_walks(table: Certificates, images: Images) -> tuple[Tensor, Tensor]:
    """Return certified images (P, C, H, W) to walk from, and their classes (P,)."""
    all_certified = _certified_rows(table, take=None)
    rows = _certified_rows(table, take=min(MOST_STARTS, len(all_certified)))
    pixels, _ = images.batch(torch.from_numpy(rows.idx))
    return pixels, torch.from_numpy(rows.predict)


def _check_images(table: Certificates, images: Images) -> None:
    """Raise Problem unless `images` contains the table's, by pixels and labels."""
    split = f"{images.spec.name} ({images.split})"
    # The table certifies some image (see `_certified_rows`): there is a last one.
    indices = table.idx.tolist()
    last = max(indices)
    if last >= len(images):
        raise NotComparable(
            f"{called(table)} has an image {last}; {split} has {len(images)} images"
        )
    # Images of a table without labels may have some now: they are not compared.
    if table.header.data != fingerprint(images, indices, labels=table.labelled):
        raise NotComparable(
            f"{split} does not hold the images of {called(table)}: "
            "is it another data set of that name?"
        )
