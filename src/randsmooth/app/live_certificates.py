"""The model that the app serves, and certificates of strangers' images as they grow.

The app shows a certificate as HTML and as data.
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
from randsmooth.app.wording import class_name, norm_words
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
from randsmooth.noise import Gaussian, Noise, fresh_seed, printed_radius
from randsmooth.report import web

# The fewest samples of an image: with fewer, hardly any radius is certified.
FEWEST_SAMPLES = 200
# The least time, in seconds, by which a rate is divided.
LEAST_SECONDS = 1e-9
# Bytes of a megabyte.
MEGABYTE = 2**20


class Limits(FrozenRecord):
    """The limits of the app.

    Attributes:
        samples: the most samples n that one image may take.
        seconds: the most seconds that one certificate may take, with the reading of its
            image. It is then shown as it is, which is as valid.
        upload_mb: the most megabytes of a file.
        pixels: the most pixels of an image, as its file states them.
        queue: the most visitors who may wait; others are asked to come again.
        at_once: the most certificates that are computed at the same time.

    Raises:
        Problem: a limit is not above 0.

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
        look: the counts and the certificate so far.
        history: (samples, radius) at every look so far.
        settings: the settings by which it is certified, the seed among them.
        done: whether no more samples follow.
        late: whether the time was up, so that no more follow.
        rate: the samples a second.

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
        sigma: the standard deviation of Gaussian noise.
        noise: another noise, in place of sigma. Without both, the noise is that of the
            model's training.
        alpha: the probability that a certificate is wrong.
        backend: the backend that runs the base classifier.
        precision: the arithmetic of the base classifier.

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
    images that were chosen without sight of the noise. The rule is "anytime", so that a
    certificate is valid at level alpha wherever its run stops.

    Attributes:
        model: the base classifier.
        name: the name of the model on the page.
        spec: the spec of the images that the model takes.
        settings: the settings of the certificates, without a seed. Their sigma is where
            the slider stands at first.
        limits: the limits of the app.
        device: the device on which the model computes.
        examples: images that a visitor may choose in place of a file.
        refusal: the number of the class that stands for declined answers; None where no
            answer may decline.

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
    refusal: int | None = None

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
        refusal: str | None = None,
        limits: Limits | None = None,
        **fields: Unpack[ServingOptions],
    ) -> Served:
        """Return a model of any kind, or of a name, ready to be served.

        Args:
            model: the model, or its name, as for `certify`.
            name: the name of the model on the page.
            dataset: the data set that the model is for; default: the one it names.
            resize, crop: how pictures are brought to size, as for `data.load`; default:
                as in the model's training.
            denoiser: the folder of a denoiser that every noisy image passes first.
            device, num_classes, refusal: as for `certify`.
            limits: the limits of the app; default: `Limits()`.
            fields: settings as for `certify`: `sigma`, `noise`, `alpha`, `backend` and
                `precision`.

        Raises:
            Problem: nothing says what the images are or which noise to take, or an
                argument cannot be used.
        """
        base = opened(model, model_args={}, num_classes=num_classes, refusal=refusal)
        if denoiser is not None:
            loaded = models.load_denoiser(denoiser, sigma=fields.get("sigma"))
            base = models.Denoised(loaded, base)
        spec = images_taken(
            base, name, dataset, num_classes, refusal, resize=resize, crop=crop
        )
        # Open-ended classes are only those that occur: the model may know more.
        if dataset and not spec.open_ended:
            base = models.for_classes(base, spec.classes)

        limits = limits or Limits()
        asked = {**fields, "rule": "anytime", "n": limits.samples}
        settings = settings_from(CertificationSettings, settings=None, fields=asked)
        noise = settings.noise or trained_noise(models.provenance_of(base), name)
        # Some noises know their radii by the shape alone.
        settings = settings.replace(noise=noise).of(spec.shape)

        # The backend is tried and chosen here, so that no visitor waits for it.
        picked_device = models.pick_device(device)
        smoothed = SmoothedClassifier(
            base, settings, device=picked_device, refusal=refusal
        )
        engine = smoothed.engine
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
            device=picked_device,
            examples=examples_of(spec.name),
            refusal=smoothed.refusal,
        )

    @property
    def noise(self) -> Noise:
        """Return the noise of the settings: with a slider, where it stands at first."""
        return self.settings.known_noise()

    @property
    def fixed(self) -> bool:
        """Return whether a visitor can choose no other noise.

        A denoiser is for one sigma, and only Gaussian noise has a slider.
        """
        has_denoiser = isinstance(self.model, models.Denoised)
        return has_denoiser or not isinstance(self.noise, Gaussian)

    def declines(self, look: Watched) -> bool:
        """Return whether the certified class is that of declined answers."""
        return self.refusal is not None and look.predict == self.refusal

    @property
    def usual(self) -> float:
        """Return the sigma at which the slider stands at first.

        For noise other than Gaussian, which has no slider, it is the scale of the noise.
        """
        return self.noise.scale

    def smoothed(self, sigma: float) -> SmoothedClassifier:
        """Return the smoothed classifier at `sigma`, with a seed that nobody has seen.

        Where no noise can be chosen, `sigma` does not matter.
        """
        settings = self.settings.replace(seed=fresh_seed())
        if not self.fixed:
            settings = settings.replace(sigma=sigma)
        return SmoothedClassifier(self.model, settings, device=self.device)

    def read(self, path: Path | str) -> Tensor:
        """Return the image (C, H, W) in a visitor's file.

        It is scaled and cut to what the model takes before any noise is added.

        Raises:
            Problem: the file or its image is too large, or it is no image that can be
                read.
        """
        path = Path(path)
        megabytes = self.limits.upload_mb
        if path.stat().st_size > megabytes * MEGABYTE:
            raise TooLarge(
                f"the file is larger than the {megabytes:g} MB that are read"
            )
        # It raises for an image of too many pixels, before these are decoded.
        with opened_file(path) as stream:
            image_header(stream, "the file", most=self.limits.pixels)
        # Errors call it "the file": strangers need not know where files are kept.
        image, _ = data.read_picture(path, self.spec, called="the file")
        return image

    def watched(
        self, x: Tensor, sigma: float, n: int, *, began: float | None = None
    ) -> Iterator[Moment]:
        """Yield the certificate of an image at every look.

        The looks end at n samples, or at the limit of time.

        Args:
            x: the image (C, H, W).
            sigma: the sigma of the noise; where no noise can be chosen, it must be
                `usual`.
            n: the most samples to take.
            began: when the time of this visitor began, by `time.monotonic`; default:
                now.

        Raises:
            Problem: n is beyond the limits, or there is no choice of sigma.
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
        # There is at least one look.
        look: Watched | None = next(looks)
        while look is not None:
            now = time.monotonic()
            history.append((look.samples, look.radius))
            is_late = now - began > self.limits.seconds
            # The next look is computed before this one is shown, which says whether it
            # is the last.
            following = None if is_late else next(looks, None)
            yield Moment(
                look=look,
                history=tuple(history),
                settings=smoothed.settings.replace(n=n),
                done=following is None,
                late=is_late,
                rate=look.samples / max(LEAST_SECONDS, now - start),
            )
            look = following


def class_names(served: Served, number: int) -> list[str]:
    """Return the names of `number` classes: those of the spec if it has enough."""
    known = served.spec.classes
    if len(known) < number:
        return [str(k) for k in range(number)]
    return list(known[:number])


def as_html(served: Served, x: Tensor, moment: Moment) -> str:
    """Return the certificate of an image (C, H, W) at a moment as HTML."""
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
        declines=served.declines(look),
        class_name=partial(class_name, classes),
        vote=vote_of(look, classes),
        chart=curve(samples, radii, last=moment.settings.n),
    )
    return str(html)


def sentence_of(moment: Moment, classes: Sequence[str], *, declines: bool) -> str:
    """Return the certificate at a moment in one sentence, which a screen reader reads.

    Args:
        moment: the certificate.
        classes: the names of the classes.
        declines: whether the certified class is that of declined answers.
    """
    look = moment.look
    after = f"after {look.samples:,} samples."
    if look.predict == ABSTAIN:
        return f"No answer is certified {after}"
    radius = f"{norm_words(moment.settings.known_noise())} radius {printed_radius(look.radius)}"
    answer = class_name(classes, look.predict)
    if declines:
        answer = "The model declines"
    return f"{answer}, certified {radius} {after}"


def as_data(served: Served, moment: Moment) -> dict[str, Any]:
    """Return the certificate at a moment as plain values, for JSON."""
    look = moment.look
    classes = class_names(served, len(look.counts))
    noise = moment.settings.known_noise()
    declines = served.declines(look)
    return {
        "sentence": sentence_of(moment, classes, declines=declines),
        "declined": declines,
        "answer": None if look.predict == ABSTAIN else classes[look.predict],
        "radius": look.radius,
        "sigma": noise.sigma if isinstance(noise, Gaussian) else None,
        "noise": noise.text,
        "norm": noise.norm,
        "alpha": moment.settings.alpha,
        "samples": look.samples,
        "counts": look.counts.tolist(),
        "classes": classes,
        # A text, as programs in JavaScript would round so large a number.
        "seed": str(moment.settings.seed),
        "done": moment.done,
    }


def refusal(message: str) -> str:
    """Return a message to a visitor in place of a certificate, as HTML."""
    return str(web.fragment(__package__, "refusal.html.j2", message=message))
