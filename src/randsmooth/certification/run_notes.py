"""What a user should know of a run before it begins."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from randsmooth import data, models
from randsmooth.certification.backends import Way, one_at_a_time, slow_format
from randsmooth.certification.matching import (
    deviations_of_numbers,
    questions,
    unnamed_features,
)
from randsmooth.certification.opening import words_of_noise
from randsmooth.certification.run import OpenRun, some_of
from randsmooth.documents import shown
from randsmooth.errors import Note
from randsmooth.noise import OWN_UNITS
from randsmooth.progress import Progress, Reporter, silent

# Times the smallest standard deviation of a feature, the largest at which one noise suits all.
DEVIATIONS_APART = 10
# Many times what anyone uses, and a quarter of the smallest sigma that is usual in units of 0..255.
LARGE_SIGMA = 8.0
# Images that a model is asked about without noise, at most.
IMAGES_ASKED = 256
# So few images that their answers say nothing.
TOO_FEW_IMAGES = 20
# Share of the errors of guessing that a model avoids which knows hardly more.
HARDLY_BETTER = 0.15


class RunNotes(NamedTuple):
    """What to know of a run.

    Attributes:
        notes: all of it, one sentence each.
        doubts: those that tell of a likely mistake: who sees no progress is warned of these.

    Example:
        >>> RunNotes(notes=("the images have no labels",), doubts=()).doubts
        ()
    """

    notes: tuple[str, ...]
    doubts: tuple[str, ...]


def notes_of(run: OpenRun) -> RunNotes:
    """Return what a user should know of a run before it begins; the model is asked about some images without noise.

    Example:
        >>> from randsmooth.certification import RunSpec
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> run = RunSpec.of(model, "digits", sigma=9.0, n=100, take=3).open()
        >>> [doubt.partition(" is ")[0] for doubt in notes_of(run).doubts]
        ['sigma=9']
    """
    model = run.inputs.model
    doubts = [*_odd_units(run), *questions(model, run.images)]
    notes = [*doubts, *unnamed_features(model), *_held_columns(run)]
    notes += _other_training(run)
    notes += _brought_to_size(run)
    notes += _chosen_backend(run)
    slow = (slow_format(run.engine.backend), one_at_a_time(run.engine.backend))
    notes += [note for note in slow if note]
    notes += [*models.notes_of(model), *run.header.notes]
    if not run.images.labelled:
        notes.append("the images have no labels, so that accuracy and ACR stay unknown")
        return RunNotes(tuple(notes), tuple(doubts))

    right, doubt = _without_noise(run)
    notes.append(right + doubt)
    if doubt:
        doubts.append(right + doubt)
    return RunNotes(tuple(notes), tuple(doubts))


def tell(run: OpenRun, show: Progress, reporter: Reporter) -> None:
    """Say the notes where progress is shown; else warn of the doubts, unless it is one of many shards."""
    if show is not silent:
        for note in notes_of(run).notes:
            reporter.say(f"note: {note}")
    elif run.spec.shard is None:
        for doubt in notes_of(run).doubts:
            warnings.warn(doubt, Note, stacklevel=4)


def _odd_units(run: OpenRun) -> Iterator[str]:
    """Yield what to know of the scale of the noise."""
    sigma = run.header.sigma or 0.0
    if run.images.spec.features:
        yield from _units_of_features(run)
    elif sigma >= LARGE_SIGMA:
        way = f"if it is meant for pixels in 0..255, give {sigma / 255:.3g}"
        yield f"sigma={sigma:g} is {sigma:g} times the range of a pixel, which is from 0 to 1: {way}"


def _units_of_features(run: OpenRun) -> Iterator[str]:
    """Yield what was taken for features, and where one sigma is not the same for all."""
    shape = run.images.spec.shape
    if len(shape) == 2:
        yield f"inputs {shape} with values below 0 are taken for signals, not for grey images: no scale is checked"
    std = deviations_of_numbers(run.images)
    varying = std[std > 0]
    one_sigma = run.smoothed.settings.smoothing.norm not in OWN_UNITS
    if one_sigma and len(varying) and std.max() > DEVIATIONS_APART * varying.min():
        apart = f"the features' standard deviations lie from {varying.min():.3g} to {std.max():.3g}"
        way = 'sigma="0.25std" takes a quarter of each'
        yield f"{apart}, and the noise is the same for all: {way}"


def _held_columns(run: OpenRun) -> Iterator[str]:
    """Yield which columns get no noise."""
    held = [column.name for column in run.images.spec.held]
    if held:
        names = shown(", ".join(held))
        yield f"no noise on {names}: certificates are about changes of the other columns alone"


def _other_training(run: OpenRun) -> Iterator[str]:
    """Yield where it is not about what the model, or a part of it, was made for: allowed, but seldom meant."""
    header = run.header
    now = {name: getattr(header, name) for name in ("sigma", "resize", "crop")}
    dataset = run.inputs.dataset
    if isinstance(dataset, str | Path):
        now["dataset"] = str(dataset)
    for words, trained in _parts(run.inputs.model).items():
        expected = dict(trained)
        compared = dict(now)
        # Where not both are Gaussian, they are compared as a user writes them.
        if header.distribution or trained.get("noise"):
            expected["noise"] = words_of_noise(trained)
            expected["sigma"] = header.sigma
            compared["noise"] = header.smoothing.text if expected["noise"] else None
        for name, value in compared.items():
            before = expected.get(name, value)
            if before != value:
                yield f"{words} {name} {_or_none(before)}, not {_or_none(value)}"


def _parts(model: models.BaseClassifier) -> dict[str, Mapping[str, Any]]:
    """Return how the parts of a model were made, by the words that introduce it."""
    if not isinstance(model, models.Denoised):
        return {"the model was trained with": models.provenance_of(model)}
    of_classifier = {
        name: value for name, value in model.provenance.items() if name == "dataset"
    }
    return {
        "the classifier was trained with": of_classifier,
        "the denoiser is for": model.denoiser_is_for,
    }


def _or_none(value: object) -> object:
    return "none" if value is None else value


def _brought_to_size(run: OpenRun) -> Iterator[str]:
    """Yield how images are brought to size where the model says so, not the user."""
    reading = run.inputs.reading
    if (reading["resize"], reading["crop"]) == (run.spec.resize, run.spec.crop):
        return
    sizes = {"resize": run.header.resize, "crop": run.header.crop}
    how = ", ".join(
        f"{name} {size}" for name, size in sizes.items() if size is not None
    )
    yield f"images are brought to size as in the model's training: {how}"


def _chosen_backend(run: OpenRun) -> Iterator[str]:
    """Yield which backend was chosen, where the settings leave it open, and why."""
    engine = run.engine
    if not engine.settings.chooses:
        return
    why = "no trial: the run is short, or there is no choice"
    if engine.rates:
        rates = ", ".join(f"{way} {rate:,.0f}" for way, rate in engine.rates.items())
        why = f"images per second: {rates}"
    way = Way(engine.backend.name, engine.backend.precision)
    yield f"backend {way}, batches of {engine.batch} ({why})"


def _without_noise(run: OpenRun) -> tuple[str, str]:
    """Return how many images the model is right about without noise; and what to look at if that is guessing."""
    images = run.images
    asked = torch.tensor(some_of(run.indices, IMAGES_ASKED))
    total = len(asked)
    batches = images.batches(asked.split(IMAGES_ASKED // 4))
    answers = torch.cat(
        [run.engine.ask(x.cpu()).argmax(dim=1).cpu() for x, _ in batches]
    )
    right = int((answers == images.labels_at(asked)).sum())
    inputs = images.spec.inputs
    share = f"without noise the model is right about {right} of {total} of these {inputs} ({right / total:.1%})"
    # Labels may have to be read with their images, so that few images need no others.
    if total < TOO_FEW_IMAGES:
        return share, ""
    guess = data.guessing(images.labels, run.engine.classes)
    hardly_better = right <= (guess + HARDLY_BETTER * (1 - guess)) * total
    if not hardly_better:
        return share, ""
    return share, f", hardly more often than guessing ({guess:.1%}): {_reasons(run)}"


def _reasons(run: OpenRun) -> str:
    """Return what may be wrong with a model that knows hardly more than guessing, as questions."""
    spec = run.images.spec
    trained = models.provenance_of(run.inputs.model)
    epochs = trained.get("epochs")
    take = trained.get("take")
    trained_long = ""
    if type(epochs) is int:
        unit = "epoch" if epochs == 1 else "epochs"
        on = f" on {take:,} {spec.inputs}" if type(take) is int else ""
        trained_long = f"was it trained long enough ({epochs} {unit}{on}), "
    numbering = ""
    if spec.classes != tuple(map(str, range(spec.num_classes))):
        names = enumerate(spec.classes[:3])
        listed = ", ".join(f"{place} {shown(name)}" for place, name in names)
        more = ", ..." if spec.num_classes > 3 else ""
        numbering = f" ({listed}{more})"
    taken = "features in these units" if spec.features else "images in [0, 1]"
    return (
        f"{trained_long}are its classes numbered as the data's{numbering}, "
        f"and does it take {taken}?"
    )
