"""Attack certificates: search each certified ball for a point that the smoothed classifier puts in another class."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth import data, models
from randsmooth.attacks import Ball, Box, Holding, ball_of, noisy_logits
from randsmooth.attacks.shared import climb, mean_cross_entropy, unit
from randsmooth.certificates import ABSTAIN, Certificates, CertificationSettings
from randsmooth.certification.backends import frozen
from randsmooth.certification.engine import EVERY, Engine
from randsmooth.certification.options import CertifiedModelOptions
from randsmooth.certification.run import RunSpec
from randsmooth.certification.run_header import (
    called,
    certified_as,
    check_answers,
    check_same,
    fingerprint,
)
from randsmooth.certification.scheduler import count_classes
from randsmooth.certification.smoothed import (
    SmoothedClassifier,
    enough_to_predict,
    top_if_clear,
)
from randsmooth.data import Images
from randsmooth.errors import BadValue, ModelFailed, NotComparable, WrongTable
from randsmooth.noise import (
    GaussianPerCoordinate,
    HoldingFixed,
    Noise,
    Stream,
    address_of,
    draw,
)
from randsmooth.progress import Progress, chosen_progress

PREDICT = "attack/predict"
# Noise samples per step of a search that names no number m.
SAMPLES_BY_GRADIENT = 64
SAMPLES_BY_ANSWERS = 500
ELSEWHERE = (
    200  # images, at most, that a search without gradients may begin its walks from
)
START, SEARCH, CHOOSE, EDGE, NORMAL = (
    f"attack/{name}" for name in ("start", "search", "choose", "edge", "normal")
)
HALVINGS = 7  # of the segment on which the edge between two classes is looked for: 1% of its length
BEYOND = (1.0, 2.0, 4.0)  # how far along a direction the other class is looked for

# Rounding to float32 may move a point out of its ball, by about 1e-7 of the norm of its pixels. The point is then drawn
# back by the smallest of these fractions that suffices. MARGIN, by which the ball itself is made smaller, is more than
# the rounding error of a norm in float64.
SLACKS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
MARGIN = 1e-10


@dataclass(frozen=True)
class Attacks:
    """The results of attacking N certified images.

    Attributes:
        idx: (N,) position of the image in its split.
        label: (N,) true class.
        certified: (N,) certified class.
        radius: (N,) certified radius.
        points: (N, C, H, W) float32, the points found. They may lie outside [0, 1], where certificates hold too.
        distance: (N,) distance of the point from the image in the same norm, in float64.
        predict: (N,) answer of PREDICT at the point: a class, or ABSTAIN (-1).
        scale: radius of the search, as a multiple of the certified radius.
        n: samples that each PREDICT drew.
        alpha: probability that any class in `predict` is not that of the smoothed classifier; 0 where all copies of a
            point were counted.
        gradient_free: whether the search used the answers alone, without gradients.
        norm: of radii and distances, see `Noise.norm`.

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
    norm: str = "l2"

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
    seed: int = 0,
    progress: Progress | bool | None = None,
    **options: Unpack[CertifiedModelOptions],
) -> Attacks:
    """Search the ball around each certified image for another class, and run PREDICT at the point found.

    It is the ball of the table's norm: L2, L1 or L-infinity, an ellipsoid, or images of which few pixels differ (L0).

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
        seed: seed of the noise.
        progress: as for `certify`.
        options: how model and images are opened: `device`, `image_column`, `label_column`,
            `model_args`, and the `identity` under which the model was certified.

    Raises:
        Problem: before any work, the table certifies nothing or lacks facts that are needed, the model or the images
            are not those of the table, or a setting is out of range; during the search, the model's gradient is not
            finite.

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
    if not 0.0 < scale < math.inf:
        raise BadValue(
            field="scale",
            value=scale,
            expected="must be a finite number above 0; 1 searches the certified ball",
        )
    for name, count in (("steps", steps), ("m", m), ("restarts", restarts)):
        if count is not None and count < 1:
            raise BadValue(field=name, value=count, expected="must be at least 1")
    rows = _certified_rows(table, take)
    n, settings = enough_to_predict(n, alpha, len(rows)), certified_as(table)
    if settings.sound:
        raise WrongTable(
            f"{called(table)} is of images on the grid k/255 alone (sound=True), which no attack keeps to"
        )
    spec = _spec_of(
        table,
        model,
        images,
        settings if settings.counts_all else settings.replace(seed=seed),
        options,
    )
    inputs = spec.open_inputs()
    check_same(inputs.model, table, spec.identity)
    smoothed = spec.smoothed(inputs)
    images = inputs.images
    _check_images(table, images)
    check_answers(smoothed.engine, images.spec.shape, table)
    search = make_search(
        smoothed,
        images.spec.shape,
        lambda: _with_classes(table, images),
        steps=steps,
        m=m,
        restarts=restarts,
        seed=seed,
        gradient_free=gradient_free,
    )
    found, changed = list[tuple[NDArray[np.float32], float, int]](), 0
    with chosen_progress(progress)(
        f"attack {table.name}", len(rows), "images"
    ) as reporter:
        batches = images.batches(torch.from_numpy(rows.idx).split(1))
        for idx, y, radius, (x, _) in zip(
            rows.idx, rows.predict, rows.radius, batches, strict=True
        ):
            image = x[0].cpu()
            point = search.find(image, int(y), scale * float(radius))
            predict = predict_anywhere(
                smoothed.engine, point, n, alpha / len(rows), number=int(idx)
            )
            found.append((point.numpy(), search.distance(point, image), predict))
            changed += predict not in (ABSTAIN, int(y))
            reporter.advance(1, f"{changed} changed")
    points, distances, answers = map(np.array, zip(*found, strict=True))
    n, alpha = (settings.n, 0.0) if settings.counts_all else (n, alpha)
    whose, free = (
        (rows.idx, rows.label, rows.predict, rows.radius),
        not isinstance(search, Search),
    )
    return Attacks(
        *whose, points, distances, answers, scale, n, alpha, free, table.header.norm
    )


def predict_anywhere(
    engine: Engine, point: Tensor, n: int, alpha: float, *, number: int = 0
) -> int:
    """PREDICT (Cohen et al. 2019) at a point (C, H, W), which unlike an image may lie outside [0, 1]: class or ABSTAIN.

    Its noise is addressed by the point and differs from that of the search. `number` names the image in errors. Where
    the rule counts all copies, so does this, and neither n nor alpha matters.
    """
    every = engine.settings.counts_all
    plan = (EVERY, engine.settings.n) if every else (PREDICT, n)
    return top_if_clear(
        count_classes(engine, point, [plan], number=number)[0], 0.0 if every else alpha
    )


def _spec_of(
    table: Certificates,
    model: object,
    images: Any,
    settings: CertificationSettings,
    options: CertifiedModelOptions,
) -> RunSpec:
    """The run that made the table: its classifier on its images, which may lie elsewhere now."""
    header = table.header
    if header.split is None or (images is None and header.dataset is None):
        raise WrongTable(
            f"{called(table)} does not name its {'split' if header.split is None else 'dataset'}"
        )
    images = (
        data.registered(header.dataset, called(table)) if images is None else images
    )
    sized = isinstance(
        images, Images
    )  # then they have been resized and cropped already
    return RunSpec.of(
        model,
        images,
        settings,
        split=header.split,
        resize=None if sized else header.resize,
        crop=None if sized else header.crop,
        num_classes=len(header.classes or ()) or None,
        **options,
    )


def _certified_rows(table: Certificates, most: int | None) -> Certificates:
    """The rows that certify a class, or so many of them, evenly spread. Problem if there are none, or too few."""
    certified = np.flatnonzero((table.predict != ABSTAIN) & (table.radius > 0.0))
    if not len(certified):
        raise WrongTable(
            f"{called(table)} certifies none of its {len(table)} images: there is nothing to attack"
        )
    return table.rows(
        certified
        if most is None
        else certified[data.take(len(certified), most).numpy()]
    )


def _with_classes(table: Certificates, images: Images) -> tuple[Tensor, Tensor]:
    """Certified images (P, C, H, W) to begin a walk from, and their classes (P,)."""
    rows = _certified_rows(table, None)
    some = data.take(len(rows), min(ELSEWHERE, len(rows)))
    return images.batch(torch.from_numpy(rows.idx)[some])[0], torch.from_numpy(
        rows.predict
    )[some]


def _check_images(table: Certificates, images: Images) -> None:
    """Raise Problem unless `images` contains those of the table, with the same pixels and labels."""
    place, indices = f"{images.spec.name} ({images.split})", table.idx.tolist()
    if max(indices) >= len(images):
        raise NotComparable(
            f"{called(table)} has an image {max(indices)}; {place} has {len(images)} images"
        )
    if table.header.data != fingerprint(images, indices, labels=table.labelled):
        raise NotComparable(
            f"{place} does not hold the images of {called(table)}: is it another data set of that name?"
        )


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
    engine = smoothed.engine
    seen = smoothed.settings.smoothing.shape(shape)
    model = None
    if not gradient_free:
        model = differentiable_copy(smoothed.model, seen, engine.device)
    if model is not None:
        return Search(
            engine=engine,
            model=model,
            steps=steps,
            m=m or SAMPLES_BY_GRADIENT,
            restarts=restarts,
            seed=seed,
        )
    images, classes = elsewhere()
    return GradientFreeSearch(
        engine=engine,
        elsewhere=images,
        classes=classes,
        steps=steps,
        m=m or SAMPLES_BY_ANSWERS,
        restarts=restarts,
        seed=seed,
    )


def differentiable_copy(
    model: object, shape: Sequence[int], device: torch.device
) -> nn.Module | None:
    """A float32 copy of the model on `device`, with gradients for its input but not for its parameters.

    None where its logits have no gradient with respect to inputs of `shape`, several at once: a model with a part that
    is no torch module has none, or not the whole of it.

    Example:
        >>> linear = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> differentiable_copy(linear, (1, 2, 2), torch.device("cpu")) is None
        False
    """
    if not isinstance(model, nn.Module) or models.foreign_parts(model):
        return None
    try:
        copied = frozen(copy.deepcopy(model).to(device, torch.float32))
        with torch.enable_grad():
            logits = copied(
                torch.full((2, *shape), 0.5, requires_grad=True, device=device)
            )
    # It cannot be copied, run in float32 or asked about two images: its own code may
    # complain of any of these.
    except Exception:
        return None
    return copied if logits.requires_grad else None


@dataclass(frozen=True, kw_only=True)
class BallSearch:
    """What the searches share: the balls of the noise's norm, and the points in them that a certificate is about.

    Where all copies of an image are counted, these are the points of the grid k/255; what is searched is then the very
    classifier that is certified, and `m` does not matter.

    Args:
        engine: whose noise and device are those of the search.
        steps, m, restarts: of the search, see `attack`.
        seed: of the noise.
    """

    engine: Engine
    steps: int
    m: int
    restarts: int
    seed: int

    @property
    def ball(self) -> Ball:
        """The balls of the norm that the noise certifies in."""
        return ball_under(self.engine.settings.smoothing)

    def box(self, image: Tensor) -> Box | None:
        """How far each number of an image (C, H, W) may move, (1, C, H, W), where the noise is for some inputs only."""
        domain = self.engine.settings.smoothing.domain
        if domain is None:
            return None
        least, most = domain
        return (least - image)[None], (most - image)[None]

    def copies_of(self, point: Tensor, stream: Stream) -> Tensor:
        """(m, *seen) noisy copies of a point (C, H, W), as the network sees them."""
        noise, all_of_them = (
            self.engine.settings.smoothing,
            self.engine.settings.counts_all,
        )
        number = self.engine.settings.n if all_of_them else self.m
        copies = torch.empty(
            number, *noise.shape(point.shape), device=self.engine.device
        )
        if all_of_them:
            noise.numbered(
                copies,
                (255.0 * point.clamp(0.0, 1.0)).round() / 255.0,
                0,
                self.engine.seed,
            )
        else:
            noise.draw(copies, point, stream)
        return copies

    def placed(self, point: Tensor, x: Tensor, eps: float) -> Tensor:
        """`point` on the CPU, moved by as little as brings it to where it may be, within `eps` of `x`."""
        moved = on_grid if self.engine.settings.counts_all else inside
        return moved(point.cpu(), x.cpu(), eps, self.ball)

    def distance(self, point: Tensor, x: Tensor) -> float:
        """Of two float32 tensors in the norm of the balls, computed in float64; between points of a grid exactly."""
        length = self.ball.length(point.double() - x.double())
        return (
            round(255.0 * length) / 255.0 if self.engine.settings.counts_all else length
        )


@dataclass(frozen=True, kw_only=True)
class Search(BallSearch):
    """Gradient ascent on -log E[p_y(copy of x)] within a ball, with m new noisy copies at each step.

    New noise at each step makes this stochastic ascent on the smoothed classifier itself; with m fixed samples it would
    partly exploit these samples. A step has length 2 eps / T in the norm of the ball, and climbs as steeply as it can
    there: along the gradient in L2, by the numbers of the largest gradient in L1, pixel after pixel in L0. The first
    start is the image, the others lie on the sphere around it. The end points are compared on further noise, and the
    worst one is returned, so that PREDICT tests one point per image. Pixels are not clamped: a certificate also holds
    outside [0, 1]. Splitting noise alone is about inputs in [0, 1], beyond which nothing changes: there every step
    stays within, and in L1 moves the numbers of the largest gradient as far as they may go.

    The gradient is that by the noisy copy. It is the gradient by x where noise is added; where x is split or hidden it
    tells how what is seen would have to change.

    Args:
        model: gives logits, as `differentiable_copy` prepares it.
        steps, m, restarts: T, noise samples per step, and starts.

    Source: Salman et al. 2019, section 3.1 (the objective; their noises are drawn once).
    """

    model: nn.Module

    def find(self, x: Tensor, y: int, eps: float) -> Tensor:
        """A point (C, H, W) on the CPU within `eps` of x, for x (C, H, W) in float32 and its class y.

        The noise is addressed by x and the seed. Raises Problem for a model without a usable gradient.
        """
        image, address, ball = x.to(self.engine.device), address_of(x), self.ball
        classes = torch.full((self.restarts,), y, device=image.device)
        random = draw(
            (self.restarts - 1, *x.shape),
            1.0,
            stream=self._stream(START, address),
            device=image.device,
        )
        around, v = (
            image[None],
            torch.cat([torch.zeros_like(image)[None], ball.start(random, eps)]),
        )
        for step in range(self.steps):
            gradient = self._gradient(
                around + v, classes, self._stream(SEARCH, address, step)
            )
            v = ball.moved(v, gradient, eps, 2.0 / self.steps, self.box(image))
        with torch.no_grad():
            losses = mean_cross_entropy(
                self._logits(self._stream(CHOOSE, address), around + v), classes
            )
        return self.placed(image + v[losses.argmax()], x, eps)

    def _gradient(self, at: Tensor, classes: Tensor, stream: Stream) -> Tensor:
        gradient, _ = climb(
            partial(self._logits, stream), mean_cross_entropy, classes, at
        )
        if not bool(gradient.isfinite().all()):
            raise ModelFailed(
                "the model's gradient with respect to the image is NaN or infinite: check the weights"
            )
        return gradient

    def _logits(self, stream: Stream, at: Tensor) -> Tensor:
        """(m, B, K) of m noisy copies of each point of `at` (B, C, H, W)."""
        seen = self.engine.settings.smoothing.clear(at)
        copies = torch.stack(
            [self.copies_of(point, stream) for point in at.detach()], dim=1
        )
        return noisy_logits(self.model, seen, copies - seen.detach())

    def _stream(self, name: str, address: int, step: int = 0) -> Stream:
        return Stream(self.seed, name).at(address, step)


@dataclass(frozen=True, kw_only=True)
class GradientFreeSearch(BallSearch):
    """A walk along the edge of the class, for which labels are enough.

    Where p_A is near 1, hardly a noisy copy of the image errs, and nothing can be learnt there. So the search goes to
    images of other classes, finds the point between where the smoothed class changes, estimates the normal of that edge
    there, where errors are most frequent, and moves along it to where the edge is nearer. Both the nearest point and
    the normal give a direction in the ball; the worst of the points in these directions is returned.

    The normal is the regression of errors on what copies show of each number; under Gaussian noise that is, by Stein's
    lemma, the gradient of the smoothed error.

    Args:
        steps, m, restarts: twice the steps of a walk, samples per estimate, and walks.
        elsewhere, classes: (P, C, H, W) images to walk from, and (P,) their classes; where none is of another class,
            points far off are walked from.

    Source: Chen, Jordan & Wainwright 2020 (HopSkipJumpAttack, algorithm 2), here of a smoothed classifier.
    """

    elsewhere: Tensor
    classes: Tensor

    def find(self, x: Tensor, y: int, eps: float) -> Tensor:
        """As `Search.find`."""
        image, address = x.to(self.engine.device), address_of(x)
        self.engine.prepare(x.shape)
        others = self.ball.keeping(image, self.elsewhere[self.classes != y].to(image))
        nearest = others[(others - image).flatten(1).norm(dim=1).argsort()]
        random = draw(
            (self.restarts, *x.shape),
            1.0,
            stream=Stream(self.seed, START).at(address),
            device=image.device,
        )
        far_off = image + self.ball.along(random, 2.0 * eps)
        starts = (nearest if len(nearest) else far_off)[: self.restarts]
        found = [
            v
            for i, far in enumerate(starts)
            for v in self._walk(image, far, y, eps, (address, i))
        ]
        points = [image + v for v in (self.ball.along(random[:1], eps)[0], *found)]

        def errors(point: Tensor) -> int:
            return sum(
                int((self._answers(CHOOSE, point, address, part)[0] != y).sum())
                for part in range(4)
            )

        return self.placed(max(points, key=errors), x, eps)

    def _walk(
        self, image: Tensor, far: Tensor, y: int, eps: float, number: tuple[int, ...]
    ) -> Iterator[Tensor]:
        """Changes of length `eps`: towards the nearest points found on the edge, and along its normal."""
        ball, box, none = self.ball, self.box(image), torch.zeros_like(image)[None]
        direction, normal = far - image, none[0]
        for step in range(max(1, self.steps // 2)):
            to_edge = self._to_edge(image, direction, y, (*number, step))
            if to_edge is None:
                break
            yield ball.along(to_edge[None], eps)[0]
            answers, copies = self._answers(NORMAL, image + to_edge, *number, step)
            normal = (
                0.5 * normal + unit(slopes(answers != y, copies, image.shape)[None])[0]
            )
            direction = (
                to_edge
                + ball.step(normal[None], ball.length(to_edge) / (step + 1) ** 0.5)[0]
            )
        if normal.any():
            yield ball.moved(none, normal[None], eps, 1.0, box)[0]

    def _to_edge(
        self, image: Tensor, direction: Tensor, y: int, number: tuple[int, ...]
    ) -> Tensor | None:
        """From the image to the first point along `direction` that is found to be of another class; None if none is."""

        def lost(share: float) -> bool:
            return (
                int(
                    self._answers(EDGE, image + share * direction, *number)[0]
                    .mode()
                    .values
                )
                != y
            )

        far = next((beyond for beyond in BEYOND if lost(beyond)), None)
        if far is None:
            return None
        near = 0.0
        for _ in range(HALVINGS):
            middle = (near + far) / 2.0
            near, far = (near, middle) if lost(middle) else (middle, far)
        return far * direction

    def _answers(self, name: str, point: Tensor, *number: int) -> tuple[Tensor, Tensor]:
        """(m,) the classes of m noisy copies of `point`, and the copies; of the same noise whenever it is asked for."""
        copies = self.copies_of(point, Stream(self.seed, name).at(*number))
        return self.engine.logits(copies).argmax(dim=1), copies


def slopes(wrong: Tensor, copies: Tensor, shape: Sequence[int]) -> Tensor:
    """How the share of `wrong` (n,) grows with each number of the input of `shape`, by its n copies.

    Example:
        >>> slopes(torch.tensor([1, 1, 0, 0]), torch.tensor([[2.0, 1.0], [2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), (2,))
        tensor([0.5000, 0.0000])
    """
    shown = copies.flatten(1)[
        :, : math.prod(shape)
    ]  # whatever marks there are come after the numbers
    apart = shown - shown.mean(dim=0)
    slope = (
        (wrong.to(apart) - wrong.to(apart).mean())
        @ apart
        / apart.square().sum(dim=0).clamp_min(1e-12)
    )
    return slope.view(tuple(shape))


def ball_under(noise: Noise) -> Ball:
    """The balls in which a noise certifies."""
    if isinstance(noise, HoldingFixed):
        return Holding(ball_under(noise.noise), noise.held)
    if isinstance(noise, GaussianPerCoordinate):
        return ball_of(noise.norm, torch.tensor(noise.unit, dtype=torch.float64))
    return ball_of(noise.norm)


def inside(point: Tensor, x: Tensor, eps: float, ball: Ball) -> Tensor:
    """`point`, moved towards `x` just far enough that its distance, computed in float64, is below eps.

    Where distances are whole numbers it is at most eps.

    Args:
        point, x: float32 tensors of one shape, which the returned one has too.
        eps: above 0.
    """
    v, eps = point.double() - x.double(), ball.reach(eps)
    length = ball.length(v)
    fitting = 1.0 if length <= eps else eps / length
    for slack in SLACKS:
        near = (x.double() + fitting * (1.0 - slack) * v).float()
        if ball.length(near.double() - x.double()) < eps * (1.0 - MARGIN):
            return near
    return x  # no other float32 point that was tried lies in so small a ball


def on_grid(point: Tensor, x: Tensor, eps: float, ball: Ball) -> Tensor:
    """A point of the grid k/255 near `point`, at most `eps` from `x` in L1, both inclusive.

    Numbers are moved by whole steps towards `x`, then those by one more that lost most, as far as the ball allows.

    Example:
        >>> x = torch.tensor([51.0, 102.0]) / 255
        >>> (on_grid(torch.tensor([53.6, 100.5]) / 255, x, 4 / 255, ball_of("l1")) * 255).round()
        tensor([ 54., 101.])
    """
    k = (255.0 * x.double()).round()
    v = (
        255.0
        * (ball.within(point.double().clamp(0.0, 1.0)[None] - k[None] / 255.0, eps)[0])
    )
    steps = (v + 1e-6 * v.sign()).trunc()
    left = math.floor(255.0 * eps + 1e-6) - int(steps.abs().sum())
    lost = (v - steps).abs().flatten()
    further = lost.topk(min(max(0, left), int((lost > 1e-6).sum()))).indices
    steps.view(-1)[further] += v.sign().flatten()[further]
    return ((k + steps) / 255.0).float()
