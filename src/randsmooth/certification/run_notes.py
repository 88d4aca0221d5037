"""What a user should know of a run before it begins."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from randsmooth import data, models
from randsmooth.certification.backends import BackendChoice, one_at_a_time, slow_format
from randsmooth.certification.matching import (
    deviations_of_numbers,
    questions,
    unnamed_features,
)
from randsmooth.certification.run import OpenRun, some_of
from randsmooth.documents import shown
from randsmooth.errors import Problem
from randsmooth.noise import NORMS, Gaussian, recorded_noise
from randsmooth.notes import Note
from randsmooth.progress import Progress, Reporter, silent, worded

# One noise suits all features if their largest standard deviation is at most so many
# times their smallest.
DEVIATIONS_APART = 10

# From this sigma on, it was probably meant in units of 0..255: it is many times what
# anyone uses for pixels in [0, 1], and a quarter of what is usual in the other units.
LARGE_SIGMA = 8.0

# The most images that a model is asked about without noise.
IMAGES_ASKED = 256

# With fewer images than this, the share of right answers says nothing.
TOO_FEW_IMAGES = 20

# A model is hardly better than guessing if it avoids at most this share of the errors
# that guessing makes.
HARDLY_BETTER = 0.15


# How many names of classes a note lists.
NAMES_LISTED = 3


class RunNotes(NamedTuple):
    """What a user should know of a run.

    Attributes:
        notes: all notes.
        doubts: the notes that tell of a likely mistake. A user who is shown no progress
            is warned of them.

    Example:
        >>> RunNotes(notes=(Note("unlabelled"),), doubts=()).doubts
        ()
    """

    notes: tuple[Note, ...]
    doubts: tuple[Note, ...]


def notes_of(run: OpenRun) -> RunNotes:
    """Return what a user should know of a run before it begins.

    For this the model is asked about some images without noise.

    Example:
        >>> from randsmooth.certification import RunSpec
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> run = RunSpec.of(model, "digits", sigma=9.0, n=100, take=3).open()
        >>> [doubt.kind for doubt in notes_of(run).doubts]
        ['large_sigma']
    """
    model = run.inputs.model
    doubts = [*_odd_units(run), *questions(model, run.images)]
    notes = [*doubts, *unnamed_features(model), *_held_columns(run)]
    notes += _cut_texts(run)
    notes += _other_training(run)
    notes += _brought_to_size(run)
    notes += _chosen_backend(run)
    slow = (slow_format(run.engine.backend), one_at_a_time(run.engine.backend))
    notes += [note for note in slow if note]
    notes += [Note("of_the_model", text=text) for text in models.notes_of(model)]
    notes += run.header.notes
    if not run.images.labelled:
        notes.append(Note("unlabelled"))
        return RunNotes(tuple(notes), tuple(doubts))

    right = _right_without_noise(run)
    notes.append(right)
    if right.kind == "hardly_better_than_guessing":
        doubts.append(right)
    return RunNotes(tuple(notes), tuple(doubts))


def tell(run: OpenRun, show: Progress, reporter: Reporter) -> None:
    """Say the notes where progress is shown, and else warn of the doubts.

    A shard without progress says nothing: there are many, and each would say the same.
    """
    if show is not silent:
        for note in notes_of(run).notes:
            reporter.say(f"note: {worded(note)}")
    elif run.spec.shard is None:
        for doubt in notes_of(run).doubts:
            # Of a run in memory, the warning points to the line that called `certify`.
            warnings.warn(doubt, stacklevel=4)


def _odd_units(run: OpenRun) -> Iterator[Note]:
    """Yield notes on a noise that seems to be in other units than the inputs."""
    sigma = run.header.sigma or 0.0
    if run.images.spec.texts:
        return
    if run.images.spec.features:
        yield from _units_of_features(run)
    elif sigma >= LARGE_SIGMA:
        yield Note("large_sigma", sigma=sigma, of_255=sigma / 255)


def _units_of_features(run: OpenRun) -> Iterator[Note]:
    """Yield notes on the columns taken for features, and on their different scales."""
    shape = run.images.spec.shape
    if len(shape) == 2:
        yield Note("taken_for_signals", shape=shape)
    std = deviations_of_numbers(run.images)
    # A feature that never varies has no scale.
    varying = std[std > 0]
    one_sigma = not NORMS[run.engine.noise.norm].own_units
    if one_sigma and len(varying) and std.max() > DEVIATIONS_APART * varying.min():
        yield Note("scales_apart", low=float(varying.min()), high=float(std.max()))


def _held_columns(run: OpenRun) -> Iterator[Note]:
    """Yield a note on the columns that get no noise, if there are some."""
    held = [column.name for column in run.images.spec.held]
    if held:
        yield Note("held_columns", columns=shown(", ".join(held)))


def _cut_texts(run: OpenRun) -> Iterator[Note]:
    """Yield a note on texts that are too long for the network, if there are some."""
    model = run.inputs.model
    images = run.images
    if isinstance(model, models.TextNetwork) and isinstance(images, data.Texts):
        chosen = [images.texts[index] for index in run.indices]
        number = sum(map(model.is_cut, chosen))
        if number:
            yield Note("cut_texts", number=number, texts=len(chosen), limit=model.limit)


def _other_training(run: OpenRun) -> Iterator[Note]:
    """Yield a note on each fact in which the run differs from what the model, or a part
    of it, was made for.

    That is allowed, but seldom meant.
    """
    header = run.header
    noise = run.engine.noise
    facts_of_run = {name: getattr(header, name) for name in ("sigma", "resize", "crop")}
    dataset = run.inputs.dataset
    if isinstance(dataset, str | Path):
        facts_of_run["dataset"] = str(dataset)
    for introduction, trained in _parts(run.inputs.model).items():
        expected = dict(trained)
        now = dict(facts_of_run)
        # Where not both noises are Gaussian, they are compared as a user writes them,
        # and their sigmas are made equal, so that they are not compared as well.
        if not isinstance(noise, Gaussian) or trained.get("noise"):
            expected["noise"] = _training_noise(trained)
            expected["sigma"] = header.sigma
            now["noise"] = noise.text if expected["noise"] else None
        for name, value in now.items():
            # A fact that the model does not tell is not compared.
            before = expected.get(name, value)
            if before != value:
                yield Note(
                    "other_training",
                    part=introduction,
                    fact=name,
                    before=_or_none(before),
                    now=_or_none(value),
                )


def _training_noise(trained: Mapping[str, Any]) -> str | None:
    """Return the noise that a model was `trained` under, as a user writes it.

    It is "none" for a model that was trained without noise, and None where nothing says
    how it was trained.
    """
    try:
        noise = recorded_noise(trained)
    except Problem:
        # The noise comes from a package that is not installed here.
        return str(trained["noise"].get("name"))
    if noise is not None:
        return noise.text
    # A model that records sigma 0 was trained without noise.
    return None if trained.get("sigma") is None else "none"


def _parts(model: models.BaseClassifier) -> dict[str, Mapping[str, Any]]:
    """Return, for each part of a model, the words that introduce a fact of its training
    -> these facts.
    """
    if not isinstance(model, models.Denoised):
        return {"the model was trained with": models.provenance_of(model)}
    # The classifier behind a denoiser is not meant to be asked under noise.
    of_classifier = {
        name: value for name, value in model.provenance.items() if name == "dataset"
    }
    return {
        "the classifier was trained with": of_classifier,
        "the denoiser is for": model.denoiser_is_for,
    }


def _or_none(value: object) -> object:
    return "none" if value is None else value


def _brought_to_size(run: OpenRun) -> Iterator[Note]:
    """Yield a note on how images are brought to size, where the model says it and not
    the user.
    """
    reading = run.inputs.reading
    if (reading["resize"], reading["crop"]) == (run.spec.resize, run.spec.crop):
        return
    sizes = {"resize": run.header.resize, "crop": run.header.crop}
    listed = ", ".join(
        f"{name} {size}" for name, size in sizes.items() if size is not None
    )
    yield Note("brought_to_size", sizes=listed)


def _chosen_backend(run: OpenRun) -> Iterator[Note]:
    """Yield a note on the backend that was chosen, where the settings leave it open."""
    engine = run.engine
    if not engine.settings.chooses:
        return
    chosen = str(BackendChoice(engine.backend.name, engine.backend.precision))
    # There was no trial: it would not have paid.
    if not engine.rates:
        yield Note("backend_untried", backend=chosen, batch=engine.batch)
        return
    rates = {str(tried): rate for tried, rate in engine.rates.items()}
    yield Note("backend_tried", backend=chosen, batch=engine.batch, rates=rates)


def _right_without_noise(run: OpenRun) -> Note:
    """Return the note on how many images the model is right about without noise.

    If it is hardly better than guessing, the note tells what may be wrong.
    """
    images = run.images
    asked = torch.tensor(some_of(run.indices, IMAGES_ASKED))
    total = len(asked)
    batches = images.batches(asked.split(IMAGES_ASKED // 4))
    answers = torch.cat(
        [run.engine.ask(x.cpu()).argmax(dim=1).cpu() for x, _ in batches]
    )
    right = int((answers == images.labels_at(asked)).sum())
    declined = 0
    if run.header.refusal is not None:
        declined = int((answers == run.header.refusal).sum())
    facts = {
        "right": right,
        "total": total,
        "share": right / total,
        "inputs": images.spec.inputs,
        "declined": declined,
    }
    # What guessing gives depends on the labels of all images, which may have to be read
    # with their images: for a few images that is not worth it.
    if total < TOO_FEW_IMAGES:
        return Note("right_without_noise", **facts)
    guess = data.guessing(images.labels, run.engine.classes)
    answered = total - declined
    hardly_better = right <= (guess + HARDLY_BETTER * (1 - guess)) * answered
    if not hardly_better:
        return Note("right_without_noise", **facts)
    trained = models.provenance_of(run.inputs.model)
    return Note(
        "hardly_better_than_guessing",
        **facts,
        guess=guess,
        epochs=_if_whole(trained.get("epochs")),
        trained_on=_if_whole(trained.get("take")),
        numbering=_numbering(images.spec),
        units="features in these units" if images.spec.features else "images in [0, 1]",
    )


def _if_whole(number: object) -> int | None:
    """Return a fact of a model's training if it is an integer; None for anything else."""
    return number if type(number) is int else None


def _numbering(spec: data.DatasetSpec) -> str:
    """Return the first classes of the data with their numbers.

    The text is empty where the names of the classes are just their numbers.
    """
    if spec.classes == tuple(map(str, range(spec.num_classes))):
        return ""
    first_names = spec.classes[:NAMES_LISTED]
    listed = ", ".join(
        f"{number} {shown(name)}" for number, name in enumerate(first_names)
    )
    return f"{listed}, ..." if spec.num_classes > NAMES_LISTED else listed
