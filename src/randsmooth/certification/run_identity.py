"""What identifies a run: its header, by whose facts a resumed run is compared with the one that was begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from randsmooth import models
from randsmooth.certificates import NO_LABEL, Header
from randsmooth.certificates.digest import hashed_images, in_bytes
from randsmooth.certification.behaviour import behaviour
from randsmooth.certification.described import describe_model, made_with
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.data import DatasetSpec, Images
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models import Classifier, Denoised, ForeignModel
from randsmooth.noise import address_of

TOGETHER = 64  # images that are hashed at once


def make_header(
    smoothed: SmoothedClassifier,
    model: object,
    images: Images,
    indices: Sequence[int],
    *,
    selection: str,
    selected: Sequence[int] | None = None,
    identity: str | None = None,
    hashes: Mapping[int, int] | None = None,
    **facts: Any,
) -> Header:
    """The header of a certification by `smoothed` of the images at `indices`: equal headers give equal counts.

    Args:
        smoothed: what is to certify; its settings are stored.
        model: the base classifier that it was made of.
        images: the split.
        indices: positions of the images to certify.
        selection: how they were chosen, in words.
        selected: all that were chosen so, where `indices` are but a shard of them; the shards then answer alike.
        identity: a name for a model whose attributes do not determine its answers, such as one that calls a server.
        hashes: of the pixels of these images, where they are known (see `pixel_hashes`).
        facts: others that the header is to hold.

    Raises:
        InputError: the model is not for these images, or it needs an `identity`.

    Example:
        >>> from randsmooth import data
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> smoothed = SmoothedClassifier(model, sigma=0.5, n=1000, seed=0)
        >>> header = make_header(smoothed, model, data.load("digits"), [0, 1, 2], selection="take 3")
        >>> header.dataset, header.settings.n, header.precision
        ('digits', 1000, 'float32')
    """
    base, engine = models.adapt(model), smoothed.engine
    described = describe_model(base, identity)
    engine.prepare(images.spec.shape)
    if isinstance(base, models.ForeignModel):
        described |= {"arch": base.kind}  # which says whether it gives labels, known once it was asked
    classes = class_names(base, engine.classes, images, indices)
    return made_with(
        engine,
        smoothed.settings,
        images.spec.shape,
        dataset=images.spec.name,
        split=images.split,
        selection=selection,
        **({} if images.spec.fit is None else images.spec.fit.words()),
        data=fingerprint(images, indices, hashes=hashes),
        classes=classes,
        model=described,
        behaviour=behaviour(engine, images, selected or indices),
        **facts,
    )


def fingerprint(
    images: Images, indices: Sequence[int], *, labels: bool = True, hashes: Mapping[int, int] | None = None
) -> str:
    """A hash of the labels and the pixels of the images at `indices`, which tells two data sets of one name apart.

    Images without labels, or all of them where `labels` is False, are hashed with NO_LABEL.
    """
    of = images.labels_at(torch.tensor(indices)) if labels else torch.full((len(indices),), NO_LABEL)
    hashes = pixel_hashes(images, indices) if hashes is None else hashes
    return hashed_images(of.numpy().tobytes(), (in_bytes(hashes[index]) for index in indices))


def pixel_hashes(images: Images, indices: Sequence[int]) -> dict[int, int]:
    """What the noise of each of the images at `indices` depends on (see `noise.address_of`).

    A few images are in memory at a time. Those of a streamed split are decoded for this, and again to be certified.

    Example:
        >>> from randsmooth import data
        >>> list(pixel_hashes(data.load("digits"), [3, 5]))
        [3, 5]
    """
    batches = images.batches(torch.tensor(indices).split(TOGETHER))
    return dict(zip(indices, (address_of(image) for x, _ in batches for image in x), strict=True))


def check_fit(model: object, spec: DatasetSpec) -> None:
    """Raise InputError unless the model takes the images of `spec` and knows their classes, numbered alike.

    Modules from elsewhere do not say what they take; the engine finds out when it tries the model.

    Example:
        >>> from randsmooth import data
        >>> parity = Classifier(arch="small-cnn", classes=["even", "odd"], shape=[1, 8, 8])
        >>> check_fit(parity, data.describe("digits"))
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: the model has 2 classes and digits has 10: ...
    """
    trained = model.provenance if isinstance(model, Classifier | Denoised) else {}
    trained_on = trained.get("dataset", "not recorded")
    width, shape = _known(model, "num_classes"), _known(model, "shape")
    more = spec.open_ended and width is not None and width >= spec.num_classes
    if width not in (None, spec.num_classes) and not more:
        raise InputError(
            f"the model has {width} classes and {spec.name} has {spec.num_classes}: pass the --dataset "
            f"it was trained on ({trained_on})"
        )
    if shape is not None and tuple(shape) != tuple(spec.shape):
        raise InputError(
            f"the model takes images of shape {tuple(shape)} and those of {spec.name} are {spec.shape}: pass the "
            f"--dataset it was trained on ({trained_on})"
        )
    own = {name: place for place, name in enumerate(_known(model, "classes") or ())}
    for place, name in enumerate(() if spec.open_ended else spec.classes):
        if own.get(name, place) != place:
            raise InputError(
                f"class {place} of {spec.name} is {shown(repr(name))}, which the model numbers {own[name]}: give the "
                f"labels as the model's numbers ({shown(', '.join(f'{k} {each}' for each, k in own.items()))})"
            )


def _known(model: object, name: str) -> Any:
    """What a model of ours, or one that was adapted, says of itself; another's attribute may mean something else."""
    value = getattr(model, name, None)
    if isinstance(model, Classifier | ForeignModel | Denoised):
        return value
    return value if name == "shape" and isinstance(value, tuple) and len(value) == 3 else None


def class_names(model: object, width: int, images: Images, indices: Sequence[int]) -> tuple[str, ...]:
    """The names of the K = `width` classes that the model answers with; its own where the data only number theirs.

    Raises:
        InputError: it is not for the classes of the images.
    """
    spec = images.spec
    if not spec.open_ended:
        if width != spec.num_classes:
            raise InputError(f"the model gives {width} logits; {spec.name} has {spec.num_classes} classes")
        return spec.classes
    labels = images.labels_at(torch.tensor(indices))
    beyond = (labels >= width).nonzero().flatten()
    if len(beyond):
        first = int(beyond[0])
        raise InputError(
            f"label {int(labels[first])} of image {indices[first]} of {spec.name} is not in 0..{width - 1}: the model "
            f"gives {width} logits; map the labels to its classes"
        )
    own = _known(model, "classes")
    return tuple(own) if own is not None and len(own) == width else tuple(map(str, range(width)))
