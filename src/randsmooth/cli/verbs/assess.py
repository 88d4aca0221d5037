"""`randsmooth assess`: what a model that is there can do, in one go, as a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BeforeValidator

from randsmooth import app, certificates
from randsmooth.cli.options import (
    DATASET,
    Answered,
    Identified,
    NoiseNamed,
    as_typed,
    certification_option,
    words_of,
)
from randsmooth.cli.output import FAILURE, note, writing
from randsmooth.cli.settings import Argument, Given, option, words
from randsmooth.cli.verbs.certify import suspicions
from randsmooth.cli.what_to_certify import base_classifier, check_sources, default_out
from randsmooth.noise import NORMS, printed_radius
from randsmooth.noise.gaussian import STD
from randsmooth.progress import console


def _sigmas(given: Any) -> Any:
    """Numbers, and numbers of standard deviations, such as 0.25std, which stay texts."""
    listed = words(given)
    return (
        [each if str(each).endswith(STD) else float(each) for each in listed]
        if isinstance(listed, list)
        else listed
    )


def _written(sigma: float | str) -> str:
    return sigma if isinstance(sigma, str) else f"{sigma:g}"


class Assess(Answered, Identified):
    """Settings of `randsmooth assess`.

    Attributes:
        sigma: Standard deviations of Gaussian noise to try, such as 0.12,0.25. (default: 0.06,0.12,0.25,0.5, and that
            of the model's training; of features 0.1std,0.25std,0.5std,1std, deviations of each)
        radius: The change that matters to you, in units of pixels in [0, 1], of features in standard deviations of
            each: the noise is chosen by the mean certified accuracy up to there.
        split: train, validation or test; of data without a test split the validation split, which the page says.
        take: Certify this many images, evenly spread, two thirds of all at most; others choose the noise.
        n: Samples of each. (default: 200 to 10,000, as many as take half a minute, or three if --radius needs more)
        out: Folder for the page, its figure and the certificates. (default: MODEL-assessment)
        overwrite: Replace an assessment in the folder.
    """

    data: Argument[str | None] = option(
        DATASET + " (default: the data set by whose name the model was trained)"
    )
    sigma: Annotated[
        list[float | str] | None,
        BeforeValidator(_sigmas),
        Given(kind=str, metavar="S,S,..."),
    ] = None
    noise: NoiseNamed = certification_option("noise")
    radius: float = 0.5
    split: str = "test"
    take: int = 100
    n: int | None = None
    alpha: float = certification_option("alpha", 0.001)
    seed: int = certification_option("seed", 0)
    out: Path | None = None
    overwrite: bool = False


def assess(settings: Assess) -> None:
    """Assess a model that you have on images that you have, in one go: clean, under noise, certified, attacked.

    The page begins with what the figures mean and what they do not, for whoever decides about the model. The noise is
    chosen on images other than those certified. If an attack changes an answer within its certified radius, the exit
    code is 1.

    Example: randsmooth assess model.py:make photos
    """
    check_sources(settings.model, settings.denoiser, dataset=settings.data)
    from randsmooth.app.assessment_page import FILES, TABLE

    out = settings.out or default_out(settings.model, settings.denoiser, "-assessment")
    files = [out / name for name in FILES]

    def keep(table: certificates.Certificates) -> None:
        for file in files:
            file.unlink(missing_ok=True)  # of an assessment that this one replaces
        certificates.write_parquet(table, out / TABLE)
        note(
            f"the certificates are in {out / TABLE}, whatever becomes of the attack and the page"
        )
        for said in suspicions(table):
            note(said)

    with writing(files, overwrite=settings.overwrite):
        left_out = {
            "model",
            "model_arg",
            "denoiser",
            "data",
            "sigma",
            "out",
            "overwrite",
            "format",
        }
        how = settings.model_dump(exclude=left_out) | {"sigmas": settings.sigma}
        model: Any = settings.model
        if settings.denoiser is None:
            how["model_args"] = settings.model_arg
        else:
            numbers = [each for each in settings.sigma or () if isinstance(each, float)]
            one = numbers[0] if numbers else None  # which a diffusion model must know
            model = base_classifier(
                settings.model, settings.model_arg, settings.denoiser, one
            )
        found = app.assess(model, settings.data, **how, progress=console, keep=keep)
        places = [settings.model, *([settings.data] if settings.data else [])]
        words = words_of(
            "assess",
            places,
            settings,
            {"model", "data", "sigma", "overwrite", "format"},
        )
        words += (
            ["--sigma", ",".join(map(_written, settings.sigma))]
            if settings.sigma
            else []
        )
        others = set(Assess.model_fields) - {
            "model_arg",
            "denoiser",
            "identity",
            "num_classes",
            "device",
        }
        use = [
            *words_of("predict", [settings.model, "new.png"], settings, others),
            "--like",
            str(out / TABLE),
        ]
        use += ["--dataset", settings.data] if settings.data else []
        typed, predict = map(as_typed, (words, use))
        app.write_assessment(found, out, command=typed, predict=predict)
    written = list(map(str, files))
    settings.answer(
        [*lines(found), *written], lambda: found.to_dict() | {"files": written}
    )
    if found.failed:
        raise typer.Exit(FAILURE)


def lines(found: app.Assessment) -> Iterator[str]:
    """The figures for a person to read."""
    from randsmooth.app.wording import noise_words  # here, since it needs torch

    yield f"clean         {found.clean}"
    for each in found.candidates:
        mark = " <- taken" if each is found.chosen and len(found.candidates) > 1 else ""
        yield f"under noise   {each.accuracy}  {noise_words(each.noise)}{mark}"
    most, n = found.chosen.farthest, found.chosen.n
    for r, accuracy in found.certified.items():
        few = f"-, since {n:,} samples prove at most {printed_radius(most)}"
        yield f"certified     {accuracy if r <= most else few}  at radius {r:g}"
    yield f"  unit        {NORMS[found.table.norm].title}"
    if found.held:
        yield f"  held fixed  {', '.join(found.held)}"
    inside, changed = len(found.failed), len(found.changed)
    yield f"attacked      {found.attacked}"
    wrong = ", so their certificates are WRONG" if inside else ""
    yield f"  changed     {inside} within their radius{wrong}; {changed - inside} beyond it"
