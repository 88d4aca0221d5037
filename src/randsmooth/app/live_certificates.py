"""What the app serves: one model, strangers' images, and their certificates as they grow, as HTML and as data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

import torch
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor

from randsmooth import data, models
from randsmooth.app.drawing import curve, vote_of
from randsmooth.app.page import HELPERS
from randsmooth.app.wording import class_name
from randsmooth.certificates import CertificationSettings
from randsmooth.certificates.settings import AskedPrecision
from randsmooth.certification import SmoothedClassifier, Watched, watch
from randsmooth.certification.opening import images_taken, opened, trained_noise
from randsmooth.data import DatasetSpec, Size
from randsmooth.data.decode import form
from randsmooth.data.decode import opened as opened_file
from randsmooth.errors import BadValue, TooLarge
from randsmooth.frozen_record import FrozenRecord, settings_from
from randsmooth.models import BaseClassifier
from randsmooth.noise import Gaussian, Noise, fresh_seed
from randsmooth.report import web

LEAST = 200  # samples, below which hardly any radius is certified


class Limits(FrozenRecord):
    """The limits of the app.

    Attributes:
        samples: the most samples n that one image may take.
        seconds: that one certificate may take, with the reading of its image; it is then shown as it is, which is as
            valid.
        upload_mb: megabytes of a file.
        pixels: of an image, as its file says.
        queue: visitors who may wait; others are asked to come again.
        at_once: certificates that are computed at the same time.

    Raises:
        Problem: a limit that is not above 0.

    Example:
        >>> Limits(samples=10_000).queue
        16
    """

    samples: PositiveInt = 100_000
    seconds: PositiveFloat = 60.0
    upload_mb: PositiveFloat = 5.0
    pixels: PositiveInt = 2**24
    queue: PositiveInt = 16
    at_once: PositiveInt = 1


@dataclass(frozen=True)
class Moment:
    """A certificate as it is shown while it grows.

    Attributes:
        look: what the samples prove so far.
        history: (samples, radius) at every look so far.
        settings: how it is certified, the seed among them.
        done: whether no more samples follow.
        late: whether that is because the time was up.
        rate: samples a second.

    Example:
        >>> import numpy as np
        >>> counts, settings = np.array([30, 2]), CertificationSettings(sigma=0.5, n=200, seed=7)
        >>> look = Watched(0, 0.25, 0.2, counts, counts)
        >>> Moment(look, [(32, 0.25)], settings, done=False, late=False, rate=1000.0).history[-1]
        (32, 0.25)
    """

    look: Watched
    history: Sequence[tuple[int, float]]
    settings: CertificationSettings
    done: bool
    late: bool
    rate: float


class ServingOptions(TypedDict, total=False):
    """The settings of the certificates that an app shows, as keywords.

    Attributes:
        sigma: standard deviation of Gaussian noise, or
        noise: another one; default: the one that the model was trained with.
        alpha: probability that a certificate is wrong.
        backend: what runs the base classifier.
        precision: arithmetic of the base classifier.

    Example:
        >>> options: ServingOptions = {"sigma": 0.25, "alpha": 0.01}
        >>> sorted(options)
        ['alpha', 'sigma']
    """

    sigma: float | None
    noise: Noise | str | None
    alpha: float
    backend: str | None
    precision: AskedPrecision


@dataclass(frozen=True)
class Served:
    """A model whose certificates are shown to visitors.

    Every run draws a new seed: visitors choose images, and a certificate holds for images that were chosen without
    sight of the noise. The rule is "anytime", so that wherever a run stops what it shows is valid at level alpha.

    Attributes:
        model: the base classifier.
        name: what to call it.
        spec: of the images that it takes.
        settings: how to certify, without a seed; sigma is the first position of its slider, which other noise has not.
        limits: of a visitor.
        device: where the model computes.

    Example:
        >>> import torch
        >>> network = models.Classifier(arch="small-cnn", classes=["cat", "dog"], shape=[1, 8, 8]).eval()
        >>> served = Served.of(network, "mine", sigma=0.25)
        >>> moments = list(served.watched(torch.rand(1, 8, 8), sigma=0.25, n=200))
        >>> moments[-1].done, moments[-1].look.samples <= 200
        (True, True)
    """

    model: BaseClassifier
    name: str
    spec: DatasetSpec
    settings: CertificationSettings
    limits: Limits
    device: torch.device

    @classmethod
    def of(
        cls,
        model: object,
        name: str,
        *,
        dataset: str | None = None,
        resize: Size | None = None,
        crop: Size | None = None,
        denoiser: Path | str | None = None,
        device: str = "auto",
        num_classes: int | None = None,
        limits: Limits | None = None,
        **fields: Unpack[ServingOptions],
    ) -> Served:
        """A model of any kind, or the name of one, with the images that it takes.

        Args:
            model: as for `certify`.
            name: what to call it.
            dataset: the data set that it is for; default: what it says.
            resize, crop: how pictures are brought to size, as for `data.load`; default: as in the model's training.
            denoiser: folder of a denoiser that every noisy image passes first.
            device, num_classes: as for `certify`.
            limits: of a visitor; default: `Limits()`.
            fields: settings as for `certify`: `sigma`, `noise`, `alpha`, `backend` and
                `precision`.

        Raises:
            Problem: nothing says what the images are, or which noise.
        """
        base = opened(model, {}, num_classes)
        if denoiser is not None:
            base = models.Denoised(
                models.load_denoiser(denoiser, sigma=fields.get("sigma")), base
            )
        spec = images_taken(base, name, dataset, num_classes, resize=resize, crop=crop)
        base = (
            models.for_classes(base, spec.classes)
            if dataset and not spec.open_ended
            else base
        )
        limits = limits or Limits()
        settings = settings_from(
            CertificationSettings,
            None,
            {**fields, "rule": "anytime", "n": limits.samples},
        )
        noise = settings.noise or trained_noise(models.provenance_of(base), name)
        settings = settings.replace(noise=noise).of(spec.shape)
        where = models.pick_device(device)
        engine = SmoothedClassifier(base, settings, device=where).engine
        runs = engine.prepare(spec.shape)  # so that no visitor waits for another trial
        settings = settings.replace(
            backend=runs.name, precision=runs.precision, batch=engine.size
        )
        return cls(base, name, spec, settings, limits, where)

    @property
    def noise(self) -> Noise:
        """The noise that it is certified under at first."""
        return self.settings.known_noise()

    @property
    def fixed(self) -> bool:
        """Whether no other noise can be chosen: a denoiser is for one sigma, and only Gaussian noise has a slider."""
        gaussian = isinstance(self.noise, Gaussian)
        return isinstance(self.model, models.Denoised) or not gaussian

    @property
    def usual(self) -> float:
        """Where the slider stands at first: sigma; under another noise, which has none, its scale."""
        return self.noise.scale

    def smoothed(self, sigma: float) -> SmoothedClassifier:
        """The smoothed classifier at `sigma`, or under its one noise, under a seed that nobody has seen."""
        own = {} if self.fixed else {"sigma": sigma}
        return SmoothedClassifier(
            self.model,
            self.settings.replace(seed=fresh_seed(), **own),
            device=self.device,
        )

    def read(self, path: Path | str) -> Tensor:
        """The image (C, H, W) in a visitor's file, scaled and cut to what the model takes before any noise is added.

        Raises:
            Problem: the file is too large, or no image of a kind that is read.
        """
        path = Path(path)
        if path.stat().st_size > self.limits.upload_mb * 2**20:
            raise TooLarge(
                f"the file is larger than the {self.limits.upload_mb:g} MB that are read"
            )
        with opened_file(path) as stream:
            form(stream, "the file", most=self.limits.pixels)
        # Strangers need not know where files are kept.
        image, _ = data.read_picture(path, self.spec, called="the file")
        return image

    def watched(
        self, x: Tensor, sigma: float, n: int, *, began: float | None = None
    ) -> Iterator[Moment]:
        """The certificate of an image (C, H, W) at every look, until n samples or the limit of time.

        Args:
            x: the image.
            sigma, n: of the noise, and how many samples it may take.
            began: when its time began, by `time.monotonic`; default: now.

        Raises:
            Problem: a sigma or n beyond the limits.
        """
        if not LEAST <= n <= self.limits.samples:
            raise BadValue(
                field="n",
                value=n,
                expected=f"samples: choose from {LEAST} to {self.limits.samples:,}",
            )
        if self.fixed and sigma != self.usual:
            raise BadValue(
                field="sigma",
                value=sigma,
                fix=f"this model is for {self.noise.text} alone",
            )
        start = time.monotonic()
        began = start if began is None else began
        smoothed, history = self.smoothed(sigma), list[tuple[int, float]]()
        looks = watch(smoothed, x, n=n)
        look: Watched | None = next(looks)
        while look is not None:
            now = time.monotonic()
            history.append((look.samples, look.radius))
            late = now - began > self.limits.seconds
            following = None if late else next(looks, None)
            rate = look.samples / max(1e-9, now - start)
            yield Moment(
                look,
                tuple(history),
                smoothed.settings.replace(n=n),
                following is None,
                late,
                rate,
            )
            look = following


def names(served: Served, width: int) -> list[str]:
    """The names of `width` classes."""
    known = served.spec.classes
    return list(known[:width]) if len(known) >= width else list(map(str, range(width)))


def shown(served: Served, x: Tensor, moment: Moment) -> str:
    """The certificate of an image (C, H, W) as HTML."""
    look, classes = moment.look, names(served, len(moment.look.counts))
    samples, radii = zip(*moment.history, strict=True)
    return str(
        web.fragment(
            __package__,
            "moment.html.j2",
            **HELPERS,
            image=x.numpy(),
            moment=moment,
            look=look,
            class_name=partial(class_name, classes),
            vote=vote_of(look, classes),
            chart=curve(samples, radii, last=moment.settings.n),
        )
    )


def as_data(served: Served, moment: Moment) -> dict[str, Any]:
    """The same for a program: plain JSON."""
    look, classes = moment.look, names(served, len(moment.look.counts))
    noise = moment.settings.known_noise()
    return {
        "answer": None if look.predict < 0 else classes[look.predict],
        "radius": look.radius,
        "sigma": noise.sigma if isinstance(noise, Gaussian) else None,
        "noise": noise.text,
        "norm": noise.norm,
        "alpha": moment.settings.alpha,
        "samples": look.samples,
        "counts": look.counts.tolist(),
        "classes": classes,
        "seed": str(moment.settings.seed),
        "done": moment.done,
    }


def refusal(message: str) -> str:
    """What a visitor is told whose image cannot be certified."""
    return str(web.fragment(__package__, "refusal.html.j2", message=message))
