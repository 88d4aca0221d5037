"""Attack certificates: search each certified ball for a point that the smoothed classifier puts in another class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth import bounds, data, models
from randsmooth.certificates import ABSTAIN, Certificates
from randsmooth.certification.ball_search import Search, check_search, differentiable_copy, distance
from randsmooth.certification.engine import Engine
from randsmooth.certification.run_identity import check_fit, fingerprint
from randsmooth.certification.same_classifier import called, certified_as, check_answers, check_same
from randsmooth.certification.scheduler import count_classes
from randsmooth.certification.smoothed import SmoothedClassifier, smallest_predict_n, top_if_clear, whole
from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.progress import Progress, Reporter, silent

PREDICT = "attack/predict"


@dataclass(frozen=True)
class Attacks:
    """The results of attacking N certified images.

    Attributes:
        idx: (N,) position of the image in its split.
        label: (N,) true class.
        certified: (N,) certified class.
        radius: (N,) certified L2 radius.
        points: (N, C, H, W) float32, the points found. They may lie outside [0, 1], where certificates hold too.
        distance: (N,) L2 distance of the point from the image, in float64.
        predict: (N,) answer of PREDICT at the point: a class, or ABSTAIN (-1).
        scale: radius of the search, as a multiple of the certified radius.
        n: samples that each PREDICT drew.
        alpha: probability that any class in `predict` is not that of the smoothed classifier.

    Example:
        >>> one, far = np.array([0]), np.array([0.3])
        >>> points = np.zeros((1, 1, 8, 8), np.float32)
        >>> attacks = Attacks(one, one, one, np.array([0.2]), points, far, np.array([7]), scale=2.0, n=1000, alpha=0.01)
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

    def __len__(self) -> int:
        return len(self.idx)

    @property
    def abstained(self) -> NDArray[np.bool_]:
        """(N,) whether PREDICT abstained: the samples do not show which class it is, so no change is proved."""
        return np.asarray(self.predict == ABSTAIN)

    @property
    def changed(self) -> NDArray[np.bool_]:
        """(N,) whether the class has changed, at whatever distance."""
        return np.asarray((self.predict != self.certified) & ~self.abstained)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """(N,) whether the class has changed within the certified radius, which shows that the certificate is wrong."""
        return np.asarray(self.changed & (self.distance <= self.radius))


def attack(
    model: object,
    table: Certificates,
    images: Any = None,
    *,
    scale: float = 1.0,
    steps: int = 20,
    m: int = 64,
    restarts: int = 1,
    n: int = 10_000,
    alpha: float = 0.001,
    take: int | None = None,
    device: str = "auto",
    seed: int = 0,
    identity: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    image_column: str | None = None,
    label_column: str | None = None,
    progress: Progress = silent,
) -> Attacks:
    """Search the ball around each certified image for another class, and run PREDICT at the point found.

    Each image is tested once, at level alpha / N for N images (Bonferroni) and with noise that the search has not used,
    so that with probability at least 1 - alpha no reported change is false. A certificate may itself be wrong, with
    probability at most the table's alpha, so among very many some may fail. Finding no change proves nothing.

    Args:
        model: the base classifier of the table, or its name (see `load_model`).
        table: certificates with their header.
        images: the split, or its data set in any form that `data.load` takes; default: the one that the table names. It
            is resized and cropped as the table says.
        scale: radius of the search, as a multiple of the certified radius; beyond 1, changes are to be expected.
        steps, m, restarts: steps, noise samples per step and starts of the search, see `Search`.
        n, alpha: samples of each PREDICT, and the probability above.
        take: attack this many, evenly spread over the certified images; default: all of them.
        device: auto, cpu or cuda.
        seed: seed of the noise.
        identity: the `identity` under which the model was certified, if any.
        model_args: arguments of what opens or makes the model that is named.
        image_column, label_column: as for `data.load`.

    Raises:
        InputError: before any work, the table certifies nothing or lacks facts that are needed, the model or the images
            are not those of the table, or a setting is out of range; during the search, the model has no usable
            gradient.

    Example:
        >>> import tempfile
        >>> from randsmooth.certification.dataset import certify
        >>> _ = torch.manual_seed(0)
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = certify(model, "digits", sigma=0.25, n=1000, take=5, out=f"{folder}/mine.parquet")
        >>> attacks = attack(model, table, steps=2, m=4, n=1000, take=1)
        >>> len(attacks), attacks.points.shape
        (1, (1, 1, 8, 8))
    """
    check_search(scale=scale, steps=steps, m=m, restarts=restarts)
    rows, n = certified_rows(table, take), whole("n", n)
    check_level(n, alpha, len(rows))
    settings = certified_as(table)
    check_rounding(table)
    base = models.adapt(models.open_source(model, **(model_args or {})) if isinstance(model, str | Path) else model)
    base = with_gradient(base)
    check_same(base, table, identity)
    place = models.pick_device(device)
    smoothed = SmoothedClassifier(base, settings, device=place, seed=seed)
    columns: dict[str, Any] = {"image_column": image_column, "label_column": label_column}
    images = images if isinstance(images, Images) else _load(table, images, columns)
    check_fit(base, images.spec)
    check_rows(rows, images)
    if not table.labelled:
        check_pixels(table, images)
    check_answers(smoothed, images.spec.shape, table)
    where: dict[str, Any] = {"sigma": smoothed.sigma, "device": place, "seed": seed}
    search = Search(model=differentiable_copy(base, place), steps=steps, m=m, restarts=restarts, **where)
    with progress(f"attack {table.name}", len(rows), "images") as reporter:
        found = _attack_rows(search, smoothed.engine, rows, images, scale, n, alpha / len(rows), reporter)
    return Attacks(rows.idx, rows.label, rows.predict, rows.radius, *found, scale, n, alpha)


def predict_anywhere(engine: Engine, point: Tensor, n: int, alpha: float, *, number: int = 0) -> int:
    """PREDICT (Cohen et al. 2019) at a point (C, H, W), which unlike an image may lie outside [0, 1]: class or ABSTAIN.

    Its noise is addressed by the point and differs from that of the search. `number` names the image in errors.
    """
    return top_if_clear(count_classes(engine, point, [(PREDICT, n)], number=number)[0], alpha)


def _attack_rows(
    search: Search,
    engine: Engine,
    rows: Certificates,
    images: Images,
    scale: float,
    n: int,
    level: float,
    reporter: Reporter,
) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.int64]]:
    """Points, distances and predictions of `Attacks`."""
    points, distances, predict = [], [], []
    batches = images.batches(torch.from_numpy(rows.idx).split(1))
    for idx, y, radius, (x, _) in zip(rows.idx, rows.predict, rows.radius, batches, strict=True):
        image = x[0].cpu()
        point = search.find(image, int(y), scale * float(radius))
        points.append(point.numpy())
        distances.append(distance(point, image))
        predict.append(predict_anywhere(engine, point, n, level, number=int(idx)))
        changed = sum(now not in (ABSTAIN, was) for now, was in zip(predict, rows.predict, strict=False))
        reporter.advance(1, f"{changed} changed")
    return np.stack(points), np.array(distances), np.array(predict, np.int64)


def _load(table: Certificates, dataset: Any, columns: dict[str, Any]) -> Images:
    name, split = table.header.dataset, table.header.split
    if (name is None and dataset is None) or split is None:
        raise InputError(f"{called(table)} does not name its {'split' if split is None else 'dataset'}")
    try:
        source = data.registered(name, called(table)) if dataset is None else dataset
        return data.load(source, split, resize=table.header.resize, crop=table.header.crop, **columns)
    except InputError as error:
        hint = "" if dataset is not None else f" (the data set of {called(table)}; --dataset says where it is)"
        raise InputError(f"{error}{hint}") from error


def check_level(n: int, alpha: float, images: int) -> None:
    """Raise InputError if PREDICT with n samples would abstain at every image, at level alpha / images."""
    bounds.check_alpha(alpha)
    least = smallest_predict_n(alpha / images)
    if n < least:
        raise InputError(
            f"alpha={alpha} over {images} images is {alpha / images:.3g} for each, which needs n >= {least} to "
            f"predict any class; got n={n}"
        )


def certified_rows(table: Certificates, take: int | None) -> Certificates:
    """The rows that certify a class, or `take` of them. InputError if there are none, or fewer than `take`."""
    certified = np.flatnonzero((table.predict != ABSTAIN) & (table.radius > 0.0))
    if not len(certified):
        raise InputError(f"{called(table)} certifies none of its {len(table)} images: there is nothing to attack")
    if take is not None:
        if take > len(certified):
            raise InputError(f"cannot take {take} of the {len(certified)} images that {called(table)} certifies")
        certified = certified[data.take(len(certified), take).numpy()]
    return table.rows(np.isin(np.arange(len(table)), certified))


def with_gradient(model: models.BaseClassifier) -> nn.Module:
    """The model itself; InputError for a kind without a gradient with respect to its input."""
    if isinstance(model, nn.Module):
        return model
    way_out = ": attack the torch model that it was exported from" if isinstance(model, models.GraphFile) else ""
    raise InputError(f"the model ({model.kind}) has no gradient, which this attack needs{way_out}")


def check_rounding(table: Certificates) -> None:
    """Raise InputError for a table whose base classifier rounds its input."""
    if table.header.sound:
        raise InputError(
            f"{called(table)} is about a base classifier that rounds its input to the grid k/255 (sound=True), which "
            "has no gradient: the attack is for tables that were certified without"
        )


def check_pixels(table: Certificates, images: Images) -> None:
    """Raise InputError unless the pixels of `images` are those of the table, where no labels tell."""
    if table.header.data != fingerprint(images, table.idx.tolist(), labels=False):
        raise InputError(f"{images.spec.name} ({images.split}) does not hold the images of {called(table)}")


def check_rows(rows: Certificates, images: Images) -> None:
    """Raise InputError unless `images` contains the images of the rows, with the same labels."""
    place = f"{images.spec.name} ({images.split})"
    if rows.idx.max() >= len(images) or rows.idx.min() < 0:
        raise InputError(f"{called(rows)} has an image {rows.idx.max()}; {place} has {len(images)} images")
    if not rows.labelled:
        return
    labels = images.labels_at(torch.from_numpy(rows.idx)).numpy()
    wrong = np.flatnonzero(labels != rows.label)
    if len(wrong):
        first = wrong[0]
        raise InputError(
            f"image {rows.idx[first]} has label {rows.label[first]} in {called(rows)} and {labels[first]} in {place}: "
            "is it another data set of that name?"
        )
