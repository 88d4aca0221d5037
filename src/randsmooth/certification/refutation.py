"""Attack certificates: search each certified ball for a point that the smoothed classifier puts in another class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from randsmooth.certification.gradient_free_search import GradientFreeSearch
from randsmooth.certification.run_identity import check_fit, fingerprint
from randsmooth.certification.same_classifier import called, certified_as, check_answers, check_same
from randsmooth.certification.scheduler import count_classes
from randsmooth.certification.smoothed import SmoothedClassifier, smallest_predict_n, top_if_clear, whole
from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.progress import Progress, Reporter, chosen_progress

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
    check_search(scale=scale, steps=steps, m=1 if m is None else m, restarts=restarts)
    rows, n = certified_rows(table, take), whole("n", n)
    check_level(n, alpha, len(rows))
    settings = certified_as(table)
    check_off_grid(table)
    base = models.adapt(models.open_source(model, **(model_args or {})) if isinstance(model, str | Path) else model)
    if table.header.classes:  # first, since their order is a part of what is compared
        base = models.for_classes(base, table.header.classes)
    check_same(base, table, identity)
    place = models.pick_device(device)
    columns: dict[str, Any] = {"image_column": image_column, "label_column": label_column}
    images = images if isinstance(images, Images) else _load(table, images, columns)
    check_fit(base, images.spec)
    base = models.for_classes(base, table.header.classes or images.spec.classes)
    smoothed = SmoothedClassifier(base, settings, device=place, seed=seed)
    check_rows(rows, images)
    if not table.labelled:
        check_pixels(table, images)
    check_answers(smoothed, images.spec.shape, table)
    search = make_search(
        smoothed,
        images.spec.shape,
        lambda: _elsewhere(certified_rows(table, None), images),
        steps=steps,
        m=m,
        restarts=restarts,
        seed=seed,
        gradient_free=gradient_free,
    )
    with chosen_progress(progress)(f"attack {table.name}", len(rows), "images") as reporter:
        found = _attack_rows(search, smoothed.engine, rows, images, scale, n, alpha / len(rows), reporter)
    free = not isinstance(search, Search)
    return Attacks(rows.idx, rows.label, rows.predict, rows.radius, *found, scale, n, alpha, gradient_free=free)


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
    if gradient_free or not isinstance(base, nn.Module) or not has_gradient(base, shape):
        images, classes = elsewhere()
        return GradientFreeSearch(engine=smoothed.engine, elsewhere=images, classes=classes, m=m or 500, **how)
    device = smoothed.engine.device
    return Search(model=differentiable_copy(base, device), sigma=smoothed.sigma, device=device, m=m or 64, **how)


def _elsewhere(rows: Certificates, images: Images) -> tuple[Tensor, Tensor]:
    """Certified images (P, C, H, W) to begin a walk from, spread evenly over the table, and their classes (P,)."""
    some = data.take(len(rows), min(len(rows), ELSEWHERE))
    x, _ = images.batch(torch.from_numpy(rows.idx)[some])
    return x, torch.from_numpy(rows.predict)[some]


def predict_anywhere(engine: Engine, point: Tensor, n: int, alpha: float, *, number: int = 0) -> int:
    """PREDICT (Cohen et al. 2019) at a point (C, H, W), which unlike an image may lie outside [0, 1]: class or ABSTAIN.

    Its noise is addressed by the point and differs from that of the search. `number` names the image in errors.
    """
    return top_if_clear(count_classes(engine, point, [(PREDICT, n)], number=number)[0], alpha)


def _attack_rows(
    search: Search | GradientFreeSearch,
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


def check_off_grid(table: Certificates) -> None:
    """Raise InputError for a table of the classifier that rounds to the grid k/255, between whose points this looks."""
    if table.header.sound:
        raise InputError(
            f"{called(table)} is about a base classifier that rounds its input to the grid k/255 (sound=True), and "
            "certifies images on that grid alone: the attack is for tables that were certified without"
        )


def has_gradient(model: nn.Module, shape: Sequence[int]) -> bool:
    """Whether the base classifier's logits have a gradient with respect to an image of `shape` (C, H, W).

    A model with a part that is no torch module has none, or not the whole of it.

    Example:
        >>> linear = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> has_gradient(linear, (1, 2, 2))
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
