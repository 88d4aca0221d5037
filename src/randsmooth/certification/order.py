"""What to certify, in words that any process can carry out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from randsmooth import data, models
from randsmooth.certificates import Certificates, CertificationSettings, Header, Shard, precision_named
from randsmooth.certification.backends import Way, slow_format
from randsmooth.certification.behaviour import no_better_than_guessing
from randsmooth.certification.described import runnable_here, without_places
from randsmooth.certification.engine import Engine
from randsmooth.certification.opening import opened
from randsmooth.certification.prepared import Prepared
from randsmooth.certification.run_identity import check_fit, make_header, pixel_hashes
from randsmooth.certification.same_classifier import check_same
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.errors import InputError
from randsmooth.models.arguments import told
from randsmooth.urls import is_url

UNLABELLED = "the images have no labels, so that accuracy and ACR stay unknown"
LARGE_SIGMA = 8.0  # many times what anyone uses, and a quarter of the smallest that is usual in units of 0..255


class Opened(NamedTuple):
    """The model and the data of an order, opened in this process."""

    base: models.BaseClassifier
    dataset: Any
    images: data.Images
    smoothed: SmoothedClassifier


@dataclass(frozen=True, kw_only=True)
class Order:
    """What `certify` was asked for. It can be pickled if the model and the data set can; their names always can.

    Attributes:
        model, dataset, settings, split, take, skip, device, identity, num_classes, model_args: as in `certify`.
        only: positions of the images, and how they were chosen in words, in place of take and skip; None: as these say.
        shard: the share of the images that is asked for; None: all of them.
        command: as in `certify`.
        columns: image_column, label_column, resize and crop, as `data.load` takes them.
        begun: the header of the run that is resumed, if any: what several workers are compared with.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> order = Order(model=model, dataset="digits", settings=CertificationSettings(sigma=0.5, n=100), take=3)
        >>> prepared = order.prepare()
        >>> prepared.facts.indices
        (0, 121, 242)
        >>> [int(row.counts.sum()) for row in prepared.rows([0, 121])]
        [100, 100]
    """

    model: object
    dataset: Any = None
    settings: CertificationSettings
    split: str = "test"
    columns: Mapping[str, Any] = field(default_factory=dict)
    take: int | None = None
    skip: int | None = None
    only: tuple[tuple[int, ...], str] | None = None
    shard: Shard | None = None
    command: tuple[str, ...] | None = None
    device: str = "auto"
    identity: str | None = None
    num_classes: int | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    begun: Header | None = None

    def like(self, header: Header | None) -> Order:
        """The order with backend, precision and batch of a run that was begun, where its settings leave them open."""
        if header is None or header.backend is None:
            return self
        settings = self.settings
        backend = header.backend if settings.backend in (None, "auto") else settings.backend
        precision = settings.precision
        if precision == "auto" and header.precision is not None:
            precision = precision_named(header.precision)
        batch = header.batch if settings.batch is None else settings.batch
        return replace(self, settings=settings.replace(backend=backend, precision=precision, batch=batch))

    def prepare(self, opened: Opened | None = None) -> Prepared:
        """What it comes to in this process: model and data opened, the backend chosen and the model tried out.

        Args:
            opened: what `open` gave, of this order or of one that differs in its shard alone.

        Raises:
            InputError: anything that cannot be used.
        """
        base, dataset, images, smoothed = opened or self.open()
        selected, selection = self._selected(len(images))
        indices = selected if self.shard is None else self.shard.share(selected)
        hashes = pixel_hashes(images, indices)
        samples = len(indices) * (smoothed.settings.n0 + smoothed.settings.n)
        smoothed.engine.prepare(images.spec.shape, samples)
        about: dict[str, Any] = {"selection": selection, "selected": selected, "identity": self.identity}
        header = make_header(smoothed, base, images, indices, hashes=hashes, **about, **self._part())
        header = self._with_source(header)
        notes = [
            *in_another_unit(smoothed.sigma),
            *differences(base, smoothed.sigma, dataset, header),
            *chosen(smoothed.engine),
            *models.notes_of(base),
            *header.notes,
            *([] if opened and self.shard else no_better_than_guessing(smoothed.engine, images, indices)),
            *([] if images.labelled else [UNLABELLED]),
        ]
        return Prepared.of(smoothed, images, header, hashes, notes)

    def open(self) -> Opened:
        """Model and data, opened on the device. InputError for what cannot be used."""
        place = models.pick_device(self.device)
        some = self.take is not None or self.skip is not None or self.only is not None
        base, dataset, settings, images = self._open(stream=some)
        return Opened(base, dataset, images, SmoothedClassifier(base, settings, device=place))

    def _selected(self, total: int) -> tuple[list[int], str]:
        """Positions of the images, and how they were chosen, in words."""
        if self.only is not None:
            return list(self.only[0]), self.only[1]
        return choose(total, self.take, self.skip)

    def _part(self) -> dict[str, Any]:
        """What a header says of a shard."""
        command = None if self.command is None else tuple(map(runnable_here, self.command))
        return {} if self.shard is None else {"shard": str(self.shard), "command": command}

    def count(self) -> int:
        """How many images it comes to; as `selected`."""
        return len(self.selected()[0])

    def selected(self) -> tuple[list[int], str]:
        """Positions of the images, and how they were chosen, in words.

        Model and data are opened and compared, but the model is asked nothing.

        Raises:
            InputError: what can be known to be unusable without a GPU and without long work.
        """
        *_, images = self._open(stream=True)
        return self._selected(len(images))

    def check_model(self, table: Certificates) -> None:
        """Raise InputError for a model that is another than the one that the certificates in `table` are about."""
        check_same(self._open(stream=True)[0], table, self.identity)

    def _open(self, *, stream: bool) -> tuple[models.BaseClassifier, Any, CertificationSettings, data.Images]:
        """The model, the data set and the settings that they leave, and the images."""
        base = opened(self.model, self.model_args, self.num_classes)
        dataset, settings = completed(self.dataset, self.settings, models.provenance_of(base))
        images = data.load(dataset, self.split, stream=stream, **self.columns)
        check_fit(base, images.spec)
        base = base if images.spec.open_ended else models.for_classes(base, images.spec.classes)
        return base, dataset, settings, images

    def _with_source(self, header: Header) -> Header:
        """The header with what made the model, where that is code or was given arguments."""
        named = isinstance(self.model, str | Path)
        if not named or not (self.model_args or (":" in str(self.model) and not is_url(self.model))):
            return header
        said = {"source": str(self.model)} | ({"arguments": told(self.model_args)} if self.model_args else {})
        return header.replace(model=(header.model or {}) | without_places(said))


def completed(
    dataset: Any, settings: CertificationSettings, trained: dict[str, Any]
) -> tuple[Any, CertificationSettings]:
    """Data set and settings with what they leave open taken from how the model was `trained`; the seed is 0.

    Raises:
        InputError: neither says the data set or sigma, or one of them cannot be used.
    """
    sigma = trained.get("sigma") or None if settings.sigma is None else settings.sigma  # 0: trained without noise
    if dataset is None and trained.get("dataset") is not None:
        dataset = data.registered(trained["dataset"], "the model")
    if sigma is None or dataset is None:
        missing = "sigma" if sigma is None else "dataset"
        raise InputError(f"the model does not say its {missing}; give one (--{missing} on the command line)")
    return dataset, settings.replace(sigma=sigma, seed=settings.seed or 0)


def chosen(engine: Engine) -> list[str]:
    """What `auto` chose, or that the precision asked for is slow here."""
    slow = [] if (said := slow_format(engine.backend)) is None else [said]
    if not engine.settings.chooses:
        return slow
    rates = ", ".join(f"{way} {rate:,.0f}" for way, rate in engine.rates.items())
    why = f"images per second: {rates}" if rates else "no trial: the run is short, or nothing else can be chosen"
    way = Way(engine.backend.name, engine.backend.precision)
    return [f"backend {way}, batches of {engine.size} ({why})", *slow]


def choose(total: int, take: int | None, skip: int | None) -> tuple[list[int], str]:
    """Positions of the images to certify, and how they were chosen, in words."""
    if take is not None and skip is not None:
        raise InputError(f"take={take} and skip={skip} choose images in two ways: give one of them")
    if take is not None:
        return data.take(total, take).tolist(), f"take {take} of {total}"
    if skip is not None:
        return data.skip(total, skip).tolist(), f"one in {skip} of {total}"
    return list(range(total)), f"all {total}"


def in_another_unit(sigma: float) -> list[str]:
    """A sentence where `sigma` is so large that it may be meant for pixels in 0..255."""
    if sigma < LARGE_SIGMA:
        return []
    way = f"if it is meant for pixels in 0..255, give {sigma / 255:.3g}"
    return [f"sigma={sigma:g} is {sigma:g} times the range of a pixel, which is from 0 to 1: {way}"]


def differences(base: models.BaseClassifier, sigma: float, dataset: Any, header: Header) -> list[str]:
    """Where a certification is not about what the model, or a part of it, was made for: allowed, but seldom meant."""
    parts = {"the model was trained with": models.provenance_of(base)}
    if isinstance(base, models.Denoised):
        known = base.provenance
        parts = {"the classifier was trained with": {name: known[name] for name in ("dataset",) if name in known}}
        parts["the denoiser is for"] = base.denoiser_is_for
    now: dict[str, Any] = {"sigma": sigma, "resize": header.resize, "crop": header.crop}
    now |= {"dataset": str(dataset)} if isinstance(dataset, str | Path) else {}
    return [
        f"{words} {what} {_or_none(facts[what])}, not {_or_none(now[what])}"
        for words, facts in parts.items()
        for what in ("dataset", "sigma", "resize", "crop")
        if what in now and facts.get(what, now[what]) != now[what]
    ]


def _or_none(value: object) -> object:
    return "none" if value is None else value
