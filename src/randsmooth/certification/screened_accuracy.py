"""Certified accuracy of a whole data set, from few samples of most images."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from randsmooth import bounds
from randsmooth.certificates import Certificates, CertificationSettings
from randsmooth.certificates.journal import check_parquet
from randsmooth.certification.certifying import SharesOut, certify, check_flags
from randsmooth.certification.keywords import RunOptions
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
from randsmooth.urls import Place, beside, check_url, is_url, name_of

# A share of the images. Where no more of them need be certified, a first pass over all
# takes more samples than it saves, on published logs.
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
    """Return the certified accuracy at `radius`, to `within`, with 95% confidence.

    It is the accuracy that `certify(rule="radius=R", label_aware=True, n0=0)` would
    show for all images, by the same noise.

    A first pass certifies all images by the rule `screen=R`, which leaves the hard ones
    open after a few hundred samples. A second pass certifies some of the open images to
    the end. They are chosen by chance, and as many as make the interval short enough
    (see `metrics.measured_accuracy`, which computes it from the two tables). Only that
    choice is random, so that the number of images is settled before the second pass,
    and the interval needs no correction for stopping.

    Where `within` is so coarse that a fifth of all images is enough, there is one pass
    over images that are chosen by chance among all.

    Args:
        radius: the radius of the certified accuracy, in the unit of the certificates,
            such as pixels in [0, 1].
        within: half of the length that the interval may have, as a share of the images:
            0.01 is one percentage point. Settle it before the first run: if it is made
            smaller run after run, some interval misses with more than 5% probability.
        out: the file of the first pass, `something.parquet`, or its URL. The file of
            the second pass, if there is one, is beside it, `something-open.parquet`.
            Both are tables of certificates with their evidence.
        settings: the settings of `certify`, without the rule; or as keywords.
            `label_aware` is always True and n0 is 0: the samples test each image's
            label, so none are needed to pick a class.
        resume, overwrite: go on with an interrupted run into these files, or discard
            what is there.
        model, dataset, workers, progress: see `certify`.
        options: how model and images are opened, and which images are chosen: `split`,
            `image_column`, `label_column`, `resize`, `crop`, `take`, `skip`, `device`,
            `identity`, `num_classes` and `model_args`, as in `certify`; and the fields
            of `settings`. With `take` or `skip`, "all images" are those that they
            choose.

    Raises:
        Problem: anything that cannot be used, named, before the work starts.

    Example:
        >>> import tempfile
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     out = f"{folder}/mine.parquet"
        ...     settings = CertificationSettings(sigma=0.25, n=1000)
        ...     measured = measure_accuracy(
        ...         model, "digits", settings, radius=0.1, take=20, out=out
        ...     )
        >>> measured.images, measured.radius
        (20, 0.1)
    """
    options = {**options, "label_aware": True, "n0": 0}
    spec = RunSpec.of(model, dataset, settings, **options)
    _check_no_rule(spec.settings)
    check_radius(radius)
    check_within(within)
    second_out = beside(out, name_of(out).removesuffix(".parquet") + "-open.parquet")
    _check_outputs(out, second_out, resume=resume, overwrite=overwrite)
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
    images = spec.open_inputs().images
    measured = _measured(certified, spec, len(images), radius, within, out, second_out)
    return replace(measured, inputs=images.spec.inputs)


def _measured(
    certified: Callable[..., Certificates],
    spec: RunSpec,
    in_split: int,
    radius: float,
    within: float,
    out: Place,
    second_out: Place,
) -> MeasuredAccuracy:
    """Measure in one pass over images chosen by chance, or in two passes.

    Args:
        certified: certifies as `certify` does, given a rule, which images, and the file.
        spec: the request to certify.
        in_split: how many images there are to choose from.
        radius, within, out: see `measure_accuracy`.
        second_out: the file of the second pass.
    """
    screening = f"screen={float(radius)!r}"
    resolving = f"radius={float(radius)!r}"
    positions, selection = spec.choose(in_split)
    total = len(positions)
    # `within` is half of the interval's length.
    number = bounds.enough_drawn(total, width=2.0 * within * total, alpha=1.0 - LEVEL)
    # So few images, chosen by chance, take fewer samples than two passes over all.
    if number <= SHARE_OF_ONE_PASS * total:
        drawn = chosen_by_chance(positions, number, spec.settings.seed or 0)
        only = (tuple(drawn), f"{number} by chance of {selection}")
        return sampled_accuracy(certified(rule=resolving, only=only, out=out), total)

    screened = certified(rule=screening, out=out)
    left = to_resolve(screened, within)
    # The first pass may leave so few images open that the interval is short enough.
    if not len(left):
        return measured_accuracy(screened, None)
    # The second pass is certified by the same backend, in the same batches.
    as_before = spec.like(screened.header).settings.model_dump(
        include={"backend", "precision", "batch"}
    )
    reason = f"{len(left)} left open by the first pass over {screened.header.selection}"
    only = (tuple(left.tolist()), reason)
    resolved = certified(rule=resolving, only=only, out=second_out, **as_before)
    return measured_accuracy(screened, resolved)


def _check_outputs(*files: Place, resume: bool, overwrite: bool) -> None:
    """Raise Problem where a pass could not write one of its files."""
    for file in files:
        check_parquet(file)
        if is_url(file):
            check_url(str(file), resume=resume, overwrite=overwrite)
        else:
            check_flags(Path(file), resume=resume, overwrite=overwrite)


def _check_no_rule(settings: CertificationSettings) -> None:
    """Raise Problem where the settings choose a rule or a bound.

    Certified accuracy at a radius is measured by rules for that radius.
    """
    for name in ("rule", "bound"):
        value = getattr(settings, name)
        if value != CertificationSettings.model_fields[name].default:
            raise BadValue(
                field=name,
                value=value,
                fix="accuracy is measured by rules of its own: leave it out, "
                "or certify",
            )
