"""Attack certificates: search each certified ball for a point of another class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import torch
from torch import Tensor

from randsmooth.certificates import ABSTAIN, Certificates
from randsmooth.certification.attack_request import (
    AttackRequest,
    certified_rows,
    check_images,
    number_of_class,
)
from randsmooth.certification.attack_results import (
    AttackedImage,
    Attacker,
    Attacks,
    check_numbers,
    predict_anywhere,
)
from randsmooth.certification.engine import Engine
from randsmooth.certification.keywords import CertifiedModelOptions
from randsmooth.certification.predicting import enough_to_predict
from randsmooth.certification.routed import Routed
from randsmooth.certification.routed_refutation import open_routed_attacker
from randsmooth.certification.run_header import (
    called,
    certified_as,
    check_answers,
    check_same,
)
from randsmooth.certification.searches.base import BallSearch
from randsmooth.data import Images
from randsmooth.errors import WrongTable
from randsmooth.progress import Progress, chosen_progress

# The most images that a search without gradients may begin its walks from.
MOST_STARTS = 200


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

    Of a routed classifier, each expert that a certificate rests on is attacked, and so
    is the router, toward each expert that it does not rest on.

    The search climbs the gradient of the base classifier, see `GradientSearch`. An ONNX
    file, or a model that answers with labels, has no gradient: the search then uses its
    answers alone, see `GradientFreeSearch`, and takes many more samples. Of texts it
    replaces words by others of the table's texts, one after the other, see `WordSearch`.

    Args:
        model: the base classifier of the table, or its name (see `load_model`); of a
            routed table the `Routed` that was certified.
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
    check_numbers(scale, steps=steps, m=m, restarts=restarts)
    rows = certified_rows(table, take, toward)
    request = AttackRequest(
        table=table,
        rows=rows,
        images=images,
        options=options,
        scale=scale,
        steps=steps,
        m=m,
        restarts=restarts,
        seed=seed,
        gradient_free=gradient_free,
        toward=number_of_class(table, toward),
        n=enough_to_predict(n, alpha, images=len(rows)),
        alpha=alpha,
    )
    attacker: Attacker
    if isinstance(model, Routed):
        attacker = open_routed_attacker(model, request)
    else:
        attacker = _open_attacker(model, request)

    attacked: list[AttackedImage] = []
    changed = 0
    show = chosen_progress(progress)
    with show(f"attack {table.name}", len(rows), "images") as reporter:
        batches = attacker.images.batches(torch.from_numpy(rows.idx).split(1))
        for row, (x, _) in enumerate(batches):
            image = attacker.attack(x[0].cpu(), row)
            attacked.append(image)
            changed += image.answer not in (ABSTAIN, rows.predict[row])
            reporter.advance(1, f"{changed} changed")

    copies = attacker.counts_all
    return Attacks.of(
        rows,
        attacked,
        scale=scale,
        n=request.n if copies is None else copies,
        alpha=alpha if copies is None else 0.0,
        gradient_free=attacker.gradient_free,
    )


@dataclass(frozen=True)
class _Attacker:
    """A search for points of another class, and PREDICT, which tests them.

    Attributes:
        request: what was asked for.
        images: the split that the certificates are about.
        search: the search that finds a point in a ball.
        engine: the engine that draws and counts for PREDICT.
    """

    request: AttackRequest
    images: Images
    search: BallSearch
    engine: Engine

    @property
    def gradient_free(self) -> bool:
        """Whether the search uses the answers alone."""
        return self.search.gradient_free

    @property
    def counts_all(self) -> int | None:
        """How many copies of a point PREDICT counts where it counts all; None else."""
        settings = self.engine.settings
        return settings.n if settings.counts_all else None

    def attack(self, image: Tensor, row: int) -> AttackedImage:
        """Search around an image (C, H, W), that of a row, and ask PREDICT."""
        request = self.request
        certified = int(request.rows.predict[row])
        point = self.search.find(image, certified, request.eps(row))
        answer = predict_anywhere(
            self.engine,
            point,
            request.n,
            request.level,
            number=int(request.rows.idx[row]),
        )
        return AttackedImage(
            point=point.numpy(),
            distance=self.search.distance(point, image),
            answer=answer,
        )


def _open_attacker(model: object, request: AttackRequest) -> _Attacker:
    """Open model and images, check that they are the table's, and get ready to search.

    Args:
        model: the model, or where it lies now.
        request: what was asked for.
    """
    table = request.table
    if table.routes is not None:
        raise WrongTable(
            f"{called(table)} is of a router and its experts: give the `Routed` that "
            "was certified"
        )
    settings = certified_as(table)
    if settings.sound:
        raise WrongTable(
            f"{called(table)} is of images on the grid k/255 alone (sound=True), "
            "which no attack keeps to"
        )
    # Where all copies are counted, the seed of the table decides which they are.
    if not settings.counts_all:
        settings = settings.replace(seed=request.seed)

    spec = request.spec(model, settings)
    inputs = spec.open_inputs()
    check_same(inputs.model, table, spec.identity)
    smoothed = spec.smoothed(inputs)
    shape = inputs.images.spec.shape
    check_images(
        table,
        inputs.images,
        expected=table.header.data,
        labelled=table.labelled,
    )
    check_answers(smoothed.engine, shape, table)
    search = request.search(
        smoothed,
        shape,
        lambda: _starts_of_walks(table, inputs.images),
    )
    return _Attacker(request, inputs.images, search, smoothed.engine)


def _starts_of_walks(table: Certificates, images: Images) -> tuple[Tensor, Tensor]:
    """Return certified images (P, C, H, W) to walk from, and their classes (P,)."""
    all_certified = certified_rows(table, take=None)
    rows = certified_rows(table, take=min(MOST_STARTS, len(all_certified)))
    pixels, _ = images.batch(torch.from_numpy(rows.idx))
    return pixels, torch.from_numpy(rows.predict)
