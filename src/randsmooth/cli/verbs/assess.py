"""`randsmooth assess`: clean, noisy, certified and attacked accuracy, on one page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from randsmooth import app, certificates
from randsmooth.cli.options import (
    DATASET_OF_THE_MODEL,
    Answered,
    Identified,
    NoiseNamed,
    certification_option,
)
from randsmooth.cli.output import FAILURE, note, writing
from randsmooth.cli.printed_commands import as_typed, words_of
from randsmooth.cli.settings import Argument, Given, option, words
from randsmooth.cli.suspicions import suspicions
from randsmooth.cli.what_to_certify import base_classifier, check_sources, default_out
from randsmooth.noise import NORMS, printed_radius
from randsmooth.noise.gaussian_per_coordinate import STD
from randsmooth.progress import console


def _sigmas(given: Any) -> Any:
    """Return the sigmas as numbers; those in standard deviations stay texts, 0.25std.

    Args:
        given: a word with commas, as typed, or the list of --config.
    """
    listed = words(given)
    # Anything else that --config may hold is refused by the type of the setting.
    if not isinstance(listed, list):
        return listed
    return [sigma if str(sigma).endswith(STD) else float(sigma) for sigma in listed]


class Assess(Answered, Identified):
    """Settings of `randsmooth assess`.

    Attributes:
        sigma: Standard deviations of Gaussian noise to try, such as 0.12,0.25.
            (default: 0.06,0.12,0.25,0.5, and that of the model's training; of features
            0.1std,0.25std,0.5std,1std, deviations of each)
        radius: The change that matters to you: in units of pixels in [0, 1], or
            standard deviations of each feature. The command chooses the noise by the
            mean certified accuracy up to this radius.
        split: train, validation or test; of data without a test split the validation
            split, which the page says.
        take: Certify this many images, evenly spread, two thirds of all at most; others
            choose the noise.
        n: Samples of each. (default: 200 to 10,000, as many as take half a minute, or
            three if --radius needs more)
        out: Folder for the page, its figure and the certificates. (default:
            MODEL-assessment)
        overwrite: Replace an assessment in the folder.
    """

    data: Argument[str | None] = option(DATASET_OF_THE_MODEL)
    sigma: Annotated[
        list[float | str] | None,
        BeforeValidator(_sigmas),
        Given(by_commas=True, metavar="S,S,..."),
    ] = None
    noise: NoiseNamed = certification_option("noise")
    radius: float = 0.5
    split: str = "test"
    take: int = 100
    n: int | None = None
    alpha: float = certification_option("alpha", default=0.001)
    seed: int = certification_option("seed", default=0)
    out: Path | None = None
    overwrite: bool = False


# Settings that `app.assess` takes under other names or by place, and those of the
# command alone.
NOT_OF_THE_APP = {
    "model",
    "model_arg",
    "denoiser",
    "data",
    "sigma",
    "out",
    "overwrite",
    "format",
}

# Settings that say which classifier was assessed.
OF_THE_CLASSIFIER = {
    "model",
    "model_arg",
    "denoiser",
    "identity",
    "num_classes",
    "refusal",
    "device",
}


def run(settings: Assess) -> None:
    """Assess a model of yours on your images: clean, noisy, certified, attacked.

    The page first explains what the figures mean and what they do not, for whoever
    decides about the model. The command chooses the noise on images other than those it
    certifies. If an attack changes an answer within its certified radius, the exit code
    is 1.

    Example: randsmooth assess model.py:make photos
    """
    check_sources(settings.model, settings.denoiser, dataset=settings.data)
    # Late, as it loads torch: sources that are not there are refused before.
    from randsmooth.app.assessment_page import FILES, TABLE

    out = settings.out
    if out is None:
        out = default_out(settings.model, settings.denoiser, "-assessment")
    files = [out / name for name in FILES]
    table_file = out / TABLE

    # `app.assess` calls it once the certificates are there, before the attack.
    def keep(table: certificates.Certificates) -> None:
        """Write the certificates, and print what is suspicious in them."""
        # Remove the files of an assessment that this one replaces.
        for file in files:
            file.unlink(missing_ok=True)
        certificates.write_parquet(table, table_file)
        note(
            f"the certificates are in {table_file}, whatever becomes of the attack and "
            "the page"
        )
        for suspicion in suspicions(table):
            note(suspicion)

    with writing(files, overwrite=settings.overwrite):
        model, arguments = _opened(settings)
        assessment = app.assess(
            model,
            settings.data,
            **settings.model_dump(exclude=NOT_OF_THE_APP),
            sigmas=settings.sigma,
            progress=console,
            keep=keep,
            **arguments,
        )
        app.write_assessment(
            assessment,
            out,
            command=_command(settings),
            predict=_command_to_predict(settings, table_file),
        )

    written = [str(file) for file in files]
    settings.answer(
        [*lines(assessment), *written],
        lambda: assessment.to_dict() | {"files": written},
    )
    if assessment.failed:
        raise SystemExit(FAILURE)


def _opened(settings: Assess) -> tuple[Any, dict[str, Any]]:
    """Return the model as `app.assess` takes it, and `model_args` if it is a name."""
    if settings.denoiser is None:
        return settings.model, {"model_args": settings.model_arg}
    # A diffusion model must know the sigma: it is told the first of those asked for.
    sigmas = [sigma for sigma in settings.sigma or () if isinstance(sigma, float)]
    sigma = sigmas[0] if sigmas else None
    model = base_classifier(
        settings.model, settings.model_arg, settings.denoiser, sigma
    )
    return model, {}


def _command(settings: Assess) -> str:
    """Return the command that makes the assessment again, for its page."""
    return as_typed(words_of("assess", settings, without={"overwrite", "format"}))


def _command_to_predict(settings: Assess, table: Path) -> str:
    """Return a command that certifies another image like these, for the page."""
    others = {*Assess.model_fields} - OF_THE_CLASSIFIER
    words = words_of("predict", settings, without=others)
    # The image follows the verb and the model.
    words.insert(2, "new.png")
    words += ["--like", str(table)]
    if settings.data:
        words += ["--dataset", settings.data]
    return as_typed(words)


def lines(assessment: app.Assessment) -> Iterator[str]:
    """Yield the figures for a person to read."""
    # Late, as it loads SciPy, which help does not need.
    from randsmooth.app.wording import noise_words

    yield f"clean         {assessment.clean}"
    several = len(assessment.candidates) > 1
    for candidate in assessment.candidates:
        line = f"under noise   {candidate.accuracy}  {noise_words(candidate.noise)}"
        if several and candidate is assessment.chosen:
            line += " <- taken"
        yield line

    # The largest radius that so many samples can prove.
    farthest = assessment.chosen.farthest
    for radius, accuracy in assessment.certified.items():
        result = str(accuracy)
        if radius > farthest:
            samples = f"{assessment.chosen.n:,} samples"
            result = f"-, since {samples} prove at most {printed_radius(farthest)}"
        yield f"certified     {result}  at radius {radius:g}"
    yield f"  unit        {NORMS[assessment.table.norm].title}"
    if assessment.held:
        yield f"  held fixed  {', '.join(assessment.held)}"

    # `changed` has all images with another answer, `failed` those within their radius.
    inside = len(assessment.failed)
    beyond = len(assessment.changed) - inside
    verdict = ", so their certificates are WRONG" if inside else ""
    yield f"attacked      {assessment.attacked}"
    yield f"  changed     {inside} within their radius{verdict}; {beyond} beyond it"
