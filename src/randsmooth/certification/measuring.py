"""Certified accuracy at one radius of a whole data set, from a few samples of every image and many of a few images."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from randsmooth import bounds
from randsmooth.certificates import Certificates, CertificationSettings
from randsmooth.certification.backends import check_backend
from randsmooth.certification.dataset import Workers, carry_out, check_parquet
from randsmooth.certification.order import Order
from randsmooth.certification.resumable_run import check_flags
from randsmooth.errors import InputError
from randsmooth.frozen_record import check_not_settings, settings_from
from randsmooth.metrics import LEVEL, MeasuredAccuracy, measured_accuracy, sampled_accuracy, to_resolve
from randsmooth.metrics.measured import check_within, chosen_by_chance
from randsmooth.progress import Progress, chosen_progress
from randsmooth.urls import Place, beside, is_url, name_of, place_of

FEW = 0.2  # a share of the images: where no more are needed, a first pass would take more samples on published logs


@dataclass(frozen=True)
class _Passes:
    """Both passes of one question, and how they are carried out."""

    order: Order
    radius: float
    out: Place
    workers: Workers | None
    show: Progress
    resume: bool
    overwrite: bool

    def alone(self, within: float) -> MeasuredAccuracy | None:
        """The answer of images chosen by chance alone; None where so many would be needed that two passes take less."""
        indices, words = self.order.selected()
        number = bounds.enough_drawn(len(indices), 2.0 * within * len(indices), 1.0 - LEVEL)
        if number > FEW * len(indices):
            return None
        chosen = chosen_by_chance(indices, number, self.order.settings.seed or 0)
        only = (tuple(chosen), f"{number} by chance of {words}")
        sample = self._certified(replace(self.order, settings=self._by("radius"), only=only), self.out)
        return sampled_accuracy(sample, len(indices))

    def screened(self) -> Certificates:
        """The first pass: every image, until it is decided or left open."""
        return self._certified(replace(self.order, settings=self._by("screen")), self.out)

    def resolved(self, screened: Certificates, within: float) -> Certificates | None:
        """The second: some of those left open, to the end. None where the first pass is enough."""
        chosen = to_resolve(screened, within)
        if not len(chosen):
            return None
        words = f"{len(chosen)} left open by the first pass over {screened.header.selection}"
        order = replace(self.order, settings=self._by("radius"), only=(tuple(chosen.tolist()), words))
        return self._certified(order.like(screened.header), second_file(self.out))

    def _by(self, rule: str) -> CertificationSettings:
        return self.order.settings.replace(rule=f"{rule}={self.radius!r}", label_aware=True, n0=0)

    def _certified(self, order: Order, out: Place) -> Certificates:
        return carry_out(order, out, self.workers, self.show, resume=self.resume, overwrite=self.overwrite)


def measure_accuracy(
    model: object,
    dataset: Any = None,
    settings: CertificationSettings | None = None,
    *,
    radius: float,
    within: float = 0.01,
    out: Place,
    split: str = "test",
    image_column: str | None = None,
    label_column: str | None = None,
    resize: Any = None,
    crop: Any = None,
    take: int | None = None,
    skip: int | None = None,
    device: str = "auto",
    identity: str | None = None,
    num_classes: int | None = None,
    model_args: Mapping[str, Any] | None = None,
    workers: Workers | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    **fields: Any,
) -> MeasuredAccuracy:
    """Certified accuracy at `radius` of all images, to `within`, with 95% confidence.

    It is the figure that `certify(rule="radius=R", label_aware=True, n0=0)` would show for all, by the same noise. All
    images are certified by the rule `screen=R`, which leaves the hard ones open after a few hundred samples; of these
    so many are chosen by chance, and certified to the end, that the interval is short enough (see
    `metrics.measured_accuracy`, which makes the same of the two tables). Chance lies in that choice alone, so that the
    number of images can be settled before the second pass, and the interval needs no correction for stopping. Where
    `within` is so coarse that a fifth of all images is enough, there is no first pass: chance chooses among all.

    Args:
        radius: in units of pixels in [0, 1].
        within: half of the length that the interval may have, as a share of the images: 0.01 is one point. To be
            settled beforehand: of runs at ever smaller ones, some interval misses more often than one of 20.
        out: the file of the first pass, `something.parquet`, or its URL. The second, if any, goes beside it, to
            `something-open.parquet`. Both are tables of certificates with their evidence.
        settings: as in `certify`, but for the rule; or as keywords. `label_aware` is always True and n0 is 0: of each
            image the label is tested, which no samples need to pick.
        model, dataset, split, image_column, label_column, resize, crop, take, skip, device, identity, num_classes,
            model_args, workers, progress: as in `certify`. With take or skip, "all images" are those that they choose.
        resume, overwrite: go on with an interrupted run into these files, or discard what is there.

    Raises:
        InputError: anything that cannot be used, named, before the work starts.

    Example:
        >>> import tempfile, torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     out = f"{folder}/mine.parquet"
        ...     measured = measure_accuracy(model, "digits", radius=0.1, sigma=0.25, n=1000, take=20, out=out)
        >>> measured.images, measured.radius
        (20, 0.1)
    """
    check_not_settings(dataset, "third")
    settings = settings_from(CertificationSettings, settings, fields)
    _check_own(settings)
    _check_radius(radius)
    check_within(within)
    check_backend(settings.backend)
    for file in (out, second_file(out)):
        check_parquet(file)
        if not is_url(file):
            check_flags(place_of(file), resume=resume, overwrite=overwrite)  # type: ignore[arg-type]
    order = Order(
        model=model,
        dataset=dataset,
        settings=settings,
        split=split,
        columns={"image_column": image_column, "label_column": label_column, "resize": resize, "crop": crop},
        take=take,
        skip=skip,
        device=device,
        identity=identity,
        num_classes=num_classes,
        model_args=model_args or {},
    )
    passes = _Passes(order, float(radius), out, workers, chosen_progress(progress), resume, overwrite)
    if (found := passes.alone(within)) is not None:
        return found
    screened = passes.screened()
    return measured_accuracy(screened, passes.resolved(screened, within))


def second_file(out: Place) -> Place:
    """Where the second pass goes, whose first goes to `out`.

    Example:
        >>> from pathlib import Path
        >>> second_file(Path("runs/mine.parquet"))
        PosixPath('runs/mine-open.parquet')
    """
    return beside(out, name_of(out).removesuffix(".parquet") + "-open.parquet")


def _check_own(settings: CertificationSettings) -> None:
    """Raise InputError for a rule or a bound: the question brings its own."""
    asked = {"rule": settings.rule, "bound": settings.bound}
    for name, value in asked.items():
        if value != CertificationSettings.model_fields[name].default:
            raise InputError(
                f"{name}={value!r}: certified accuracy at a radius is measured by rules of its own, screen=R and then "
                f"radius=R; leave {name} out, or use certify"
            )


def _check_radius(radius: float) -> None:
    """Raise InputError for what is no radius, before it becomes a part of a rule's name."""
    if not 0.0 <= radius < math.inf:
        raise InputError(f"radius={radius:g} must be a finite number >= 0, in units of pixels in [0, 1]")
