"""What the app serves: one model, and certificates of strangers' images as they grow.

They are shown as HTML and as data.
"""

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
from randsmooth.app.examples import Example, examples_of
from randsmooth.app.page import HELPERS
from randsmooth.app.wording import class_name
from randsmooth.certificates import ABSTAIN, CertificationSettings
from randsmooth.certificates.settings import AskedPrecision
from randsmooth.certification import SmoothedClassifier, Watched, watch
from randsmooth.certification.opening import images_taken, opened, trained_noise
from randsmooth.data import DatasetSpec, Size
from randsmooth.data.decode import image_header
from randsmooth.data.decode import opened as opened_file
from randsmooth.errors import BadValue, TooLarge
from randsmooth.frozen_record import FrozenRecord, settings_from
from randsmooth.models import BaseClassifier
from randsmooth.noise import Gaussian, Noise, fresh_seed
from randsmooth.report import web

# Samples of an image: below this, hardly any radius is certified.
FEWEST_SAMPLES = 200
# Bytes of a megabyte.
MEGABYTE = 2**20


class Limits(FrozenRecord):
    """The limits of the app.

    Attributes:
        samples: the most samples n that one image may take.
        seconds: that one certificate may take, with the reading of its image; it is
            then shown as it is, which is as valid.
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
        >>> counts = np.array([30, 2])
        >>> moment = Moment(
        ...     look=Watched(0, 0.25, 0.2, counts, counts),
        ...     history=[(32, 0.25)],
        ...     settings=CertificationSettings(sigma=0.5, n=200, seed=7),
        ...     done=False,
        ...     late=False,
        ...     rate=1000.0,
        ... )
        >>> moment.history[-1]
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

    Every run draws a new seed: visitors choose images, and a certificate holds for
    images that were chosen without sight of the noise. The rule is "anytime", so that
    wherever a run stops what it shows is valid at level alpha.

    Attributes:
        model: the base classifier.
        name: what to call it.
        spec: of the images that it takes.
        settings: how to certify, without a seed; sigma is the first position of its
            slider, which other noise has not.
        limits: of a visitor.
        device: where the model computes.
        examples: images that a visitor may choose in place of a file.

    Example:
        >>> import torch
        >>> network = models.Classifier(
        ...     arch="small-cnn", classes=["cat", "dog"], shape=[1, 8, 8]
        ... )
        >>> served = Served.of(network.eval(), "mine", sigma=0.25)
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
    examples: tuple[Example, ...] = ()

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
        """Return a model of any kind, or of a name, with the images that it takes.

        Args:
            model: as for `certify`.
            name: what to call it.
            dataset: the data set that it is for; default: what it says.
            resize, crop: how pictures are brought to size, as for `data.load`; default:
                as in the model's training.
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
            before = models.load_denoiser(denoiser, sigma=fields.get("sigma"))
            base = models.Denoised(before, base)
        spec = images_taken(base, name, dataset, num_classes, resize=resize, crop=crop)
        if dataset and not spec.open_ended:
            base = models.for_classes(base, spec.classes)

        limits = limits or Limits()
        asked = {**fields, "rule": "anytime", "n": limits.samples}
        settings = settings_from(CertificationSettings, None, asked)
        noise = settings.noise or trained_noise(models.provenance_of(base), name)
        settings = settings.replace(noise=noise).of(spec.shape)

        # The backend is chosen here, so that no visitor waits for another trial.
        where = models.pick_device(device)
        engine = SmoothedClassifier(base, settings, device=where).engine
        backend = engine.prepare(spec.shape)
        settings = settings.replace(
            backend=backend.name, precision=backend.precision, batch=engine.size
        )
        return cls(
            model=base,
            name=name,
            spec=spec,
            settings=settings,
            limits=limits,
            device=where,
            examples=examples_of(spec.name),
        )

    @property
    def noise(self) -> Noise:
        """Return the noise that it is certified under at first."""
        return self.settings.known_noise()

    @property
    def fixed(self) -> bool:
        """Return whether no other noise can be chosen.

        A denoiser is for one sigma, and only Gaussian noise has a slider.
        """
        has_denoiser = isinstance(self.model, models.Denoised)
        return has_denoiser or not isinstance(self.noise, Gaussian)

    @property
    def usual(self) -> float:
        """Return where the slider stands at first: sigma.

        Under another noise, which has no slider, it is its scale.
        """
        return self.noise.scale

    def smoothed(self, sigma: float) -> SmoothedClassifier:
        """Return the smoothed classifier at `sigma`, or under its one noise.

        It has a seed that nobody has seen.
        """
        settings = self.settings.replace(seed=fresh_seed())
        if not self.fixed:
            settings = settings.replace(sigma=sigma)
        return SmoothedClassifier(self.model, settings, device=self.device)

    def read(self, path: Path | str) -> Tensor:
        """Return the image (C, H, W) in a visitor's file.

        It is scaled and cut to what the model takes before any noise is added.

        Raises:
            Problem: the file is too large, or no image of a kind that is read.
        """
        path = Path(path)
        megabytes = self.limits.upload_mb
        if path.stat().st_size > megabytes * MEGABYTE:
            raise TooLarge(
                f"the file is larger than the {megabytes:g} MB that are read"
            )
        with opened_file(path) as stream:
            image_header(stream, "the file", most=self.limits.pixels)
        # Strangers need not know where files are kept.
        image, _ = data.read_picture(path, self.spec, called="the file")
        return image

    def watched(
        self, x: Tensor, sigma: float, n: int, *, began: float | None = None
    ) -> Iterator[Moment]:
        """Yield the certificate of an image at every look.

        It ends at n samples, or at the limit of time.

        Args:
            x: (C, H, W) the image.
            sigma, n: of the noise, and how many samples it may take.
            began: when its time began, by `time.monotonic`; default: now.

        Raises:
            Problem: a sigma or n beyond the limits.
        """
        if not FEWEST_SAMPLES <= n <= self.limits.samples:
            raise BadValue(
                field="n",
                value=n,
                expected=(
                    f"samples: choose from {FEWEST_SAMPLES} to {self.limits.samples:,}"
                ),
            )
        if self.fixed and sigma != self.usual:
            raise BadValue(
                field="sigma",
                value=sigma,
                fix=f"this model is for {self.noise.text} alone",
            )
        start = time.monotonic()
        if began is None:
            began = start
        smoothed = self.smoothed(sigma)
        history: list[tuple[int, float]] = []
        looks = watch(smoothed, x, n=n)
        look: Watched | None = next(looks)
        while look is not None:
            now = time.monotonic()
            history.append((look.samples, look.radius))
            is_late = now - began > self.limits.seconds
            # Asked for before this look is shown, which says whether it is the last.
            following = None if is_late else next(looks, None)
            yield Moment(
                look=look,
                history=tuple(history),
                settings=smoothed.settings.replace(n=n),
                done=following is None,
                late=is_late,
                rate=look.samples / max(1e-9, now - start),
            )
            look = following


def class_names(served: Served, number: int) -> list[str]:
    """Return the names of so many classes."""
    known = served.spec.classes
    if len(known) < number:
        return [str(k) for k in range(number)]
    return list(known[:number])


def as_html(served: Served, x: Tensor, moment: Moment) -> str:
    """Return the certificate of an image (C, H, W) as HTML."""
    look = moment.look
    classes = class_names(served, len(look.counts))
    samples = [n for n, _ in moment.history]
    radii = [radius for _, radius in moment.history]
    html = web.fragment(
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
    return str(html)


def as_data(served: Served, moment: Moment) -> dict[str, Any]:
    """Return the certificate for a program: plain JSON."""
    look = moment.look
    classes = class_names(served, len(look.counts))
    noise = moment.settings.known_noise()
    return {
        "answer": None if look.predict == ABSTAIN else classes[look.predict],
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
    """Return what a visitor is told whose image cannot be certified, as HTML."""
    return str(web.fragment(__package__, "refusal.html.j2", message=message))
