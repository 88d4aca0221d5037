"""Attack certificates: search each certified ball for a point that the smoothed classifier puts in another class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth import bounds, data, models
from randsmooth.certificates import ABSTAIN, Certificates
from randsmooth.certification.checks import check_fit
from randsmooth.certification.engine import Engine
from randsmooth.certification.header import called, certified_as, check_answers, check_same, fingerprint
from randsmooth.certification.opening import opened
from randsmooth.certification.scheduler import count_classes
from randsmooth.certification.searches import GradientFreeSearch, Search, check_search, differentiable_copy, distance
from randsmooth.certification.smoothed import SmoothedClassifier, smallest_predict_n, top_if_clear, whole
from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.progress import Progress, chosen_progress

PREDICT = "attack/predict"
ELSEWHERE = 200  # images, at most, that a search without gradients may begin its walks from


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
        gradient_free: whether the search used the answers alone, without gradients.

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
    gradient_free: bool = False

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
    m: int | None = None,
    restarts: int = 1,
    gradient_free: bool = False,
    n: int = 10_000,
    alpha: float = 0.001,
    take: int | None = None,
    device: str = "auto",
    seed: int = 0,
    identity: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    image_column: str | None = None,
    label_column: str | None = None,
    progress: Progress | bool | None = None,
) -> Attacks:
    """Search the ball around each certified image for another class, and run PREDICT at the point found.

    Each image is tested once, at level alpha / N for N images (Bonferroni) and with noise that the search has not used,
    so that with probability at least 1 - alpha no reported change is false. A certificate may itself be wrong, with
    probability at most the table's alpha, so among very many some may fail. Finding no change proves nothing.

    The search climbs the gradient of the base classifier, see `Search`. Where there is none, as of an ONNX file or of
    what answers with labels, it takes the answers alone, see `GradientFreeSearch`, and many more samples.

    Args:
        model: the base classifier of the table, or its name (see `load_model`).
        table: certificates with their header.
        images: the split, or its data set in any form that `data.load` takes; default: the one that the table names. It
            is resized and cropped as the table says.
        scale: radius of the search, as a multiple of the certified radius; beyond 1, changes are to be expected.
        steps, m, restarts: steps, noise samples per step and starts of the search; m: 64, without gradients 500.
        gradient_free: do not use the gradient even where there is one, which may mislead.
        n, alpha: samples of each PREDICT, and the probability above.
        take: attack this many, evenly spread over the certified images; default: all of them.
        device: auto, cpu or cuda.
        seed: seed of the noise.
        identity: the `identity` under which the model was certified, if any.
        model_args: arguments of what opens or makes the model that is named.
        image_column, label_column: as for `data.load`.
        progress: as for `certify`.

    Raises:
        InputError: before any work, the table certifies nothing or lacks facts that are needed, the model or the images
            are not those of the table, or a setting is out of range; during the search, the model's gradient is not
            finite.

    Example:
        >>> import randsmooth as rs
        >>> _ = torch.manual_seed(0)
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> table = rs.certify(model, "digits", sigma=0.25, n=1000, take=5)
        >>> attacks = attack(model, table, steps=2, m=4, n=1000, take=1)
        >>> len(attacks), attacks.points.shape
        (1, (1, 1, 8, 8))
    """
    check_search(scale=scale, steps=steps, m=1 if m is None else m, restarts=restarts)
    rows, n = _certified_rows(table, take), whole("n", n)
    if take is not None and take > len(rows):
        raise InputError(f"cannot take {take} of the {len(rows)} images that {called(table)} certifies")
    _check_level(n, alpha, len(rows))
    settings = certified_as(table)
    if settings.sound:
        raise InputError(
            f"{called(table)} is about a base classifier that rounds its input to the grid k/255 (sound=True), and "
            "certifies images on that grid alone: the attack is for tables that were certified without"
        )
    base = opened(model, model_args or {}, None)
    if table.header.classes:  # first, since their order is a part of what is compared
        base = models.for_classes(base, table.header.classes)
    check_same(base, table, identity)
    columns: dict[str, Any] = {"image_column": image_column, "label_column": label_column}
    images = images if isinstance(images, Images) else _load(table, images, columns)
    check_fit(base, images.spec)
    base = models.for_classes(base, table.header.classes or images.spec.classes)
    smoothed = SmoothedClassifier(base, settings, device=models.pick_device(device), seed=seed)
    _check_images(rows, table, images)
    check_answers(smoothed.engine, images.spec.shape, table)
    how: dict[str, Any] = {"steps": steps, "m": m, "restarts": restarts, "seed": seed, "gradient_free": gradient_free}
    search = make_search(smoothed, images.spec.shape, lambda: _with_classes(table, images), **how)
    found, changed = list[tuple[NDArray[np.float32], float, int]](), 0
    with chosen_progress(progress)(f"attack {table.name}", len(rows), "images") as reporter:
        batches = images.batches(torch.from_numpy(rows.idx).split(1))
        for idx, y, radius, (x, _) in zip(rows.idx, rows.predict, rows.radius, batches, strict=True):
            image = x[0].cpu()
            point = search.find(image, int(y), scale * float(radius))
            predict = predict_anywhere(smoothed.engine, point, n, alpha / len(rows), number=int(idx))
            found.append((point.numpy(), distance(point, image), predict))
            changed += predict not in (ABSTAIN, int(y))
            reporter.advance(1, f"{changed} changed")
    points, distances, answers = zip(*found, strict=True)
    arrays = np.stack(points), np.array(distances), np.array(answers, np.int64)
    free = not isinstance(search, Search)
    return Attacks(rows.idx, rows.label, rows.predict, rows.radius, *arrays, scale, n, alpha, gradient_free=free)


def make_search(
    smoothed: SmoothedClassifier,
    shape: Sequence[int],
    elsewhere: Callable[[], tuple[Tensor, Tensor]],
    *,
    steps: int,
    m: int | None,
    restarts: int,
    seed: int,
    gradient_free: bool,
) -> Search | GradientFreeSearch:
    """What searches the balls around images of `shape` (C, H, W): up the gradient where the base classifier has one.

    Args:
        smoothed: what is attacked.
        elsewhere: images (P, C, H, W) and their classes (P,), for a search without gradients to begin its walks from.
        steps, m, restarts, seed, gradient_free: as in `attack`.
    """
    base = smoothed.model
    how: dict[str, Any] = {"steps": steps, "restarts": restarts, "seed": seed}
    if gradient_free or not isinstance(base, nn.Module) or not _has_gradient(base, shape):
        images, classes = elsewhere()
        return GradientFreeSearch(engine=smoothed.engine, elsewhere=images, classes=classes, m=m or 500, **how)
    device = smoothed.engine.device
    return Search(model=differentiable_copy(base, device), sigma=smoothed.sigma, device=device, m=m or 64, **how)


def predict_anywhere(engine: Engine, point: Tensor, n: int, alpha: float, *, number: int = 0) -> int:
    """PREDICT (Cohen et al. 2019) at a point (C, H, W), which unlike an image may lie outside [0, 1]: class or ABSTAIN.

    Its noise is addressed by the point and differs from that of the search. `number` names the image in errors.
    """
    return top_if_clear(count_classes(engine, point, [(PREDICT, n)], number=number)[0], alpha)


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


def _check_level(n: int, alpha: float, images: int) -> None:
    """Raise InputError if PREDICT with n samples would abstain at every image, at level alpha / images."""
    bounds.check_alpha(alpha)
    least = smallest_predict_n(alpha / images)
    if n < least:
        raise InputError(
            f"alpha={alpha} over {images} images is {alpha / images:.3g} for each, which needs n >= {least} to "
            f"predict any class; got n={n}"
        )


def _certified_rows(table: Certificates, most: int | None) -> Certificates:
    """The rows that certify a class, or at most so many, evenly spread. InputError if there are none."""
    certified = np.flatnonzero((table.predict != ABSTAIN) & (table.radius > 0.0))
    if not len(certified):
        raise InputError(f"{called(table)} certifies none of its {len(table)} images: there is nothing to attack")
    if most is not None:
        certified = certified[data.take(len(certified), min(most, len(certified))).numpy()]
    return table.rows(np.isin(np.arange(len(table)), certified))


def _with_classes(table: Certificates, images: Images) -> tuple[Tensor, Tensor]:
    """Certified images (P, C, H, W) to begin a walk from, and their classes (P,)."""
    rows = _certified_rows(table, ELSEWHERE)
    return images.batch(torch.from_numpy(rows.idx))[0], torch.from_numpy(rows.predict)


def _has_gradient(model: nn.Module, shape: Sequence[int]) -> bool:
    """Whether the base classifier's logits have a gradient with respect to an image of `shape` (C, H, W).

    A model with a part that is no torch module has none, or not the whole of it.

    Example:
        >>> linear = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> _has_gradient(linear, (1, 2, 2))
        True
    """
    if models.foreign_parts(model):
        return False
    try:
        with torch.enable_grad():
            copied = differentiable_copy(model, torch.device("cpu"))
            return bool(copied(torch.full((1, *shape), 0.5, requires_grad=True)).requires_grad)
    except (TypeError, RuntimeError, NotImplementedError, AttributeError):  # cannot be copied, or run in float32
        return False


def _check_images(rows: Certificates, table: Certificates, images: Images) -> None:
    """Raise InputError unless `images` contains those of the table, with the same labels; without labels, all pixels.

    Raises:
        InputError: another number of images, another label, or other pixels.
    """
    place = f"{images.spec.name} ({images.split})"
    if rows.idx.max() >= len(images) or rows.idx.min() < 0:
        raise InputError(f"{called(rows)} has an image {rows.idx.max()}; {place} has {len(images)} images")
    if not table.labelled and table.header.data != fingerprint(images, table.idx.tolist(), labels=False):
        raise InputError(f"{place} does not hold the images of {called(table)}")
    labels = images.labels_at(torch.from_numpy(rows.idx)).numpy()
    wrong = np.flatnonzero(labels != rows.label)
    if rows.labelled and len(wrong):
        first = wrong[0]
        raise InputError(
            f"image {rows.idx[first]} has label {rows.label[first]} in {called(rows)} and {labels[first]} in {place}: "
            "is it another data set of that name?"
        )
