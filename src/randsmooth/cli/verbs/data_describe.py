"""`randsmooth data describe`: what a data set holds."""

from __future__ import annotations

from collections.abc import Mapping

from randsmooth import data
from randsmooth.cli.options import DATASET, Answered, ImageReading
from randsmooth.cli.settings import Argument, option
from randsmooth.escape import LONG, printable, shortened

# The most classes to name; three dots stand for further ones.
MOST_CLASSES = 10


class Describe(Answered, ImageReading):
    """Settings of `randsmooth data describe`."""

    dataset: Argument[str] = option(DATASET, ...)


def run(settings: Describe) -> None:
    """Describe a data set: images, classes, normalisation, usual model and origin."""
    spec = _spec(settings)
    facts = facts_for_people(spec)
    # As values, in place of the texts of `facts` that have the same keys.
    values = {
        "images": dict(spec.sizes),
        "hub": spec.hub,
        "shape": spec.shape,
        "classes": spec.classes,
        "mean": spec.mean,
        "std": spec.std,
    }
    lines = [
        f"{name:14} {shortened(printable(str(value)), LONG)}"
        for name, value in facts.items()
    ]
    settings.answer(lines, lambda: facts | values)


def _spec(settings: Describe) -> data.DatasetSpec:
    """Return the spec of the data set, which is opened unless it is a named one.

    A named one is opened, too, where columns or a size are asked for.
    """
    # All other settings say how the data are read; "format" is that of the answer.
    how_read = settings.model_dump(exclude={"dataset", "format"}, exclude_none=True)
    if settings.dataset in data.DATASETS and not how_read:
        return data.DATASETS[settings.dataset]
    # This opens the data, and loads torch.
    return data.describe(settings.dataset, **how_read)


def facts_for_people(spec: data.DatasetSpec) -> dict[str, str]:
    """Return name -> text of each fact about a data set."""
    shape = " x ".join(map(str, spec.shape))
    shape += " (channels, height, width), pixels in [0, 1]"
    if spec.texts:
        _height, longest = spec.shape
        shape = f"at most {longest:,} words"
    elif spec.features:
        shape = f"{' x '.join(map(str, spec.shape))}, features of any scale"
    normalisation = "none"
    if spec.mean is not None:
        normalisation = f"mean {spec.mean}, std {spec.std} (inside the model)"

    facts = {
        "name": spec.name,
        "what": spec.description,
        spec.inputs: splits_in_words(spec.sizes),
        "shape": shape,
        "classes": _classes_in_words(spec),
        "normalisation": normalisation,
        # What a training on it takes by default.
        "augmentation": spec.augment,
        "architecture": spec.arch,
        "hub": spec.hub or "not on the hub",
    }
    # Columns of categories: noise on them would mean nothing.
    if spec.held:
        names = ", ".join(column.name for column in spec.held)
        facts["no numbers"] = (
            f"{names}: held fixed, for a model that encodes them itself"
        )
    return facts


def _classes_in_words(spec: data.DatasetSpec) -> str:
    """Return how many classes there are, and what the first are called."""
    if not spec.classes:
        return "none: the images have no labels"
    names = ", ".join(spec.classes[:MOST_CLASSES])
    if spec.num_classes > MOST_CLASSES:
        names += ", ..."
    return f"{spec.num_classes}: {names}"


def splits_in_words(sizes: Mapping[str, int]) -> str:
    """Return the number of images in words, by split where there are several.

    Data of one split are used for training and for tests alike, so that its name would
    mislead.

    Example:
        >>> splits_in_words({"train": 60_000, "test": 10_000})
        '60,000 train, 10,000 test'
        >>> splits_in_words({"train": 20})
        '20, in one split'
    """
    if len(sizes) == 1:
        return f"{sum(sizes.values()):,}, in one split"
    return ", ".join(f"{count:,} {split}" for split, count in sizes.items())
