"""Certified accuracy at one radius of a whole data set, from a few samples of every image and many of a few images."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from randsmooth import bounds
from randsmooth.certificates import CertificationSettings
from randsmooth.certificates.journal import check_parquet
from randsmooth.certification.certifying import SharesOut, certify, check_flags
from randsmooth.certification.options import RunOptions
from randsmooth.certification.run import RunSpec
from randsmooth.errors import BadValue
from randsmooth.metrics import (
    LEVEL,
    MeasuredAccuracy,
    check_radius,
    measured_accuracy,
    sampled_accuracy,
    to_resolve,
)
from randsmooth.metrics.screening import check_within, chosen_by_chance
from randsmooth.progress import Progress
from randsmooth.urls import Place, beside, is_url, name_of, place_of

# Share of the images: where no more are needed, a first pass would take more samples on published logs.
SHARE_OF_ONE_PASS = 0.2


def measure_accuracy(
    model: object,
    dataset: Any = None,
    settings: CertificationSettings | None = None,
    *,
    radius: float,
    within: float = 0.01,
    out: Place,
    resume: bool = False,
    overwrite: bool = False,
    workers: SharesOut | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[RunOptions],
) -> MeasuredAccuracy:
    """Certified accuracy at `radius` of all images, to `within`, with 95% confidence.

    It is the figure that `certify(rule="radius=R", label_aware=True, n0=0)` would show for all, by the same noise. All
    images are certified by the rule `screen=R`, which leaves the hard ones open after a few hundred samples; of these
    so many are chosen by chance, and certified to the end, that the interval is short enough (see
    `metrics.measured_accuracy`, which makes the same of the two tables). Chance lies in that choice alone, so that the
    number of images can be settled before the second pass, and the interval needs no correction for stopping. Where
    `within` is so coarse that a fifth of all images is enough, there is no first pass: chance chooses among all.

    Args:
        radius: in the unit of the certificates, such as pixels in [0, 1].
        within: half of the length that the interval may have, as a share of the images: 0.01 is one point. To be
            settled beforehand: of runs at ever smaller ones, some interval misses more often than one of 20.
        out: the file of the first pass, `something.parquet`, or its URL. The second, if any, goes beside it, to
            `something-open.parquet`. Both are tables of certificates with their evidence.
        settings: as in `certify`, but for the rule; or as keywords. `label_aware` is always True and n0 is 0: of each
            image the label is tested, which no samples need to pick.
        resume, overwrite: go on with an interrupted run into these files, or discard what is there.
        model, dataset, workers, progress: as in `certify`.
        options: how model and images are opened, and which images are chosen: `split`,
            `image_column`, `label_column`, `resize`, `crop`, `take`, `skip`, `device`,
            `identity`, `num_classes` and `model_args`, as in `certify`. With `take` or
            `skip`, "all images" are those that they choose. And the fields of `settings`.

    Raises:
        Problem: anything that cannot be used, named, before the work starts.

    Example:
        >>> import tempfile, torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     out = f"{folder}/mine.parquet"
        ...     measured = measure_accuracy(model, "digits", radius=0.1, sigma=0.25, n=1000, take=20, out=out)
        >>> measured.images, measured.radius
        (20, 0.1)
    """
    options = {**options, "label_aware": True, "n0": 0}
    spec = RunSpec.of(model, dataset, settings, **options)
    _check_no_rule(spec.settings)
    check_radius(radius)
    check_within(within)
    second = beside(out, name_of(out).removesuffix(".parquet") + "-open.parquet")
    for file in (out, second):
        check_parquet(file)
        if not is_url(file):
            check_flags(Path(place_of(file)), resume=resume, overwrite=overwrite)
    certified = partial(
        certify,
        model,
        dataset,
        settings,
        resume=resume,
        overwrite=overwrite,
        workers=workers,
        progress=progress,
        **options,
    )
    screen = f"screen={float(radius)!r}"
    resolve = f"radius={float(radius)!r}"

    images = spec.open_inputs().images
    inputs = images.spec.inputs
    indices, words = spec.choose(len(images))
    total = len(indices)
    number = bounds.enough_drawn(total, 2.0 * within * total, 1.0 - LEVEL)
    # Those of images chosen by chance alone take fewer samples than two passes.
    if number <= SHARE_OF_ONE_PASS * total:
        drawn = chosen_by_chance(indices, number, spec.settings.seed or 0)
        only = tuple(drawn), f"{number} by chance of {words}"
        measured = sampled_accuracy(certified(rule=resolve, only=only, out=out), total)
        return replace(measured, inputs=inputs)

    screened = certified(rule=screen, out=out)
    left = to_resolve(screened, within)
    if not len(left):
        return replace(measured_accuracy(screened, None), inputs=inputs)
    same = spec.like(screened.header).settings.model_dump(
        include={"backend", "precision", "batch"}
    )
    why = f"{len(left)} left open by the first pass over {screened.header.selection}"
    only = tuple(left.tolist()), why
    resolved = certified(rule=resolve, only=only, out=second, **same)
    return replace(measured_accuracy(screened, resolved), inputs=inputs)


def _check_no_rule(settings: CertificationSettings) -> None:
    """Raise Problem for a rule or a bound, which the question brings."""
    for name in ("rule", "bound"):
        value = getattr(settings, name)
        if value != CertificationSettings.model_fields[name].default:
            raise BadValue(
                field=name,
                value=value,
                fix="accuracy is measured by rules of its own: leave it out, or certify",
            )
