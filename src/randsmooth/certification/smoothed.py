"""The smoothed classifier: the most frequent class of a base classifier under noise."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth import models
from randsmooth.certificates import (
    BATCH_MATTERS,
    NO_LABEL,
    CertificationOptions,
    CertificationSettings,
    decide,
)
from randsmooth.certification.algorithm import (
    PREDICT,
    Until,
    certify_steps,
    uniforms,
)
from randsmooth.certification.batches import SampleRange
from randsmooth.certification.engine import Engine
from randsmooth.certification.matching import classes_known
from randsmooth.certification.opening import opened
from randsmooth.certification.predicting import enough_to_predict, top_if_clear
from randsmooth.certification.refusals import named_classes, refusal_name
from randsmooth.certification.scheduler import Job, T, count_once, results
from randsmooth.errors import BadValue, WrongData
from randsmooth.frozen_record import settings_from
from randsmooth.models.around import refusal_of
from randsmooth.noise import Gaussian, Noise, fresh_seed
from randsmooth.rules import Evidence

Ints = NDArray[np.int64]

# These settings make the classifier: one call cannot change them.
SETTINGS_OF_CLASSIFIER = ("noise", "sound", "backend", "precision", "batch", "seed")


@dataclass(frozen=True)
class Certified:
    """Certificates of B images.

    Attributes:
        predict: (B,) certified class, or ABSTAIN (-1).
        radius: (B,) radius within which that class cannot change, in the norm and the
            unit of the noise: L2 in units of pixels in [0, 1], or of features; under
            "0.25std" standard deviations of each feature.
        counts0: (B, K) how often each class came out among the n0 samples that picked
            the class.
        counts: (B, K) how often each class came out among the other samples, which
            bounded the probability of the picked class.
        paths: for each image, how often the picked class had come out at each look.
        seconds: (B,) time that each image took.
        settings: the settings of the call.
        engine: the engine that drew the noise and asked the model.
        refusal: the number of the class that stands for declined answers, or None.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
        >>> smoothed = SmoothedClassifier(model, sigma=0.5)
        >>> certified = smoothed.certify(torch.ones(1, 1, 2, 2), n0=20, n=500)
        >>> certified.counts0.sum(axis=1), certified.counts.sum(axis=1)
        (array([20]), array([500]))
    """

    predict: Ints
    radius: NDArray[np.float64]
    counts0: Ints
    counts: Ints
    paths: tuple[Ints, ...]
    seconds: NDArray[np.float64]
    settings: CertificationSettings = field(repr=False, compare=False)
    engine: Engine = field(repr=False, compare=False)
    refusal: int | None = None

    @property
    def declined(self) -> NDArray[np.bool_]:
        """(B,) whether the certified class is that of declined answers."""
        if self.refusal is None:
            return np.zeros(len(self.predict), bool)
        return np.asarray(self.predict == self.refusal)

    @property
    def seed(self) -> int:
        """The seed of the noise; a `SmoothedClassifier` with it repeats these counts."""
        return self.engine.seed


class SmoothedClassifier:
    """A base classifier under noise: it answers with the most frequent class.

    g(x) is the class that `model` gives most often to x + N(0, sigma^2 I) (Cohen et
    al., ICML 2019).

    Args:
        model: the base classifier, in eval mode: logits (B, K) for images (B, C, H, W)
            in [0, 1]. Any normalisation must be inside it. A copy of it is taken. It
            may also be any model that `models.adapt` accepts (a `torch.export` program,
            a scikit-learn estimator, a function), or the name of a model as in
            `load_model`.
        settings: how to certify (see `CertificationSettings`); a noise must be among
            them. Settings may also be given as keywords, each in place of the one in
            `settings`. Without a seed each call draws one from the operating system.
        device: where to run; by default where the model is.
        num_classes: K, for a function that answers with labels.
        refusal: the class that stands for declined answers: "class", or the name of a
            class of the model (see `OpeningOptions`). Default: no answer may decline.
        shape: the shape of one input, such as (C, T), where the model does not say it
            and it is neither an image (C, H, W) nor a row of features (d,).

    Raises:
        Problem: a setting cannot be used, there is no noise, or the model is in train
            mode.

    The noise of an image depends on the seed, its pixels and the purpose only. Under a
    given seed an image gets the same counts alone, in a batch, in any order and on any
    machine. Equal images share their certificate; others have no noise in common.

    Certificates hold for images that were chosen without sight of the noise. Whoever
    knows a given seed, or sees answers under it, may search for an image that is
    certified falsely; it is certified falsely again on every call. So give no seed
    where images come from strangers: each call then has noise of its own.

    Attributes:
        model: the base classifier, adapted.
        settings: the settings as given. The seed of one call's noise is
            `Certified.seed`.

    Example:
        >>> bright = nn.Sequential(nn.Flatten(), nn.Linear(4, 2, bias=False)).eval()
        >>> bright[1].weight.data = torch.tensor([[-1.0] * 4, [1.0] * 4])
        >>> smoothed = SmoothedClassifier(bright, sigma=0.25, n=1000, seed=0)
        >>> certified = smoothed.certify(torch.ones(1, 1, 2, 2))
        >>> certified.predict, certified.radius.round(2)
        (array([1]), array([0.62]))
    """

    def __init__(
        self,
        model: object,
        settings: CertificationSettings | None = None,
        *,
        device: torch.device | str | None = None,
        num_classes: int | None = None,
        refusal: str | None = None,
        shape: Sequence[int] | None = None,
        **fields: Unpack[CertificationOptions],
    ) -> None:
        self._refusal = refusal_name(refusal)
        self.model = opened(model, {}, num_classes, refusal)
        self.settings = settings_from(CertificationSettings, settings, fields)
        # The shape of one input; None where it is not known.
        self.shape = self._input_shape() if shape is None else tuple(shape)

        engine_settings = self.settings
        if engine_settings.seed is None:
            # Each call draws a seed of its own. Nobody is to know the engine's either.
            engine_settings = engine_settings.replace(seed=fresh_seed())
        where = device_of(self.model) if device is None else models.pick_device(device)
        self.engine = Engine(self.model, engine_settings, device=where)

    def _input_shape(self) -> tuple[int, ...] | None:
        """Return the shape of one input; None where it is not known.

        The model says which shape its inputs, the noisy copies, have. It is that of an
        image only if the noise keeps the shape.
        """
        shape_of_copy = getattr(self.model, "shape", None)
        if shape_of_copy is None:
            return None
        shape = tuple(shape_of_copy)
        keeps_shape = tuple(self.settings.known_noise().shape(shape)) == shape
        return shape if keeps_shape else None

    @property
    def noise(self) -> Noise:
        """The noise of the samples."""
        return self.engine.noise

    @property
    def sigma(self) -> float:
        """Standard deviation of Gaussian noise, in units of pixels in [0, 1].

        Raises:
            Problem: the noise is another one.
        """
        if not isinstance(self.noise, Gaussian):
            raise BadValue(
                f"this is for Gaussian noise of one sigma; got {self.noise.text}",
                field="noise",
                value=self.noise.text,
            )
        return self.noise.sigma

    @property
    def refusal(self) -> int | None:
        """The number of the class that stands for declined answers.

        It is None where no answer may decline, and before the model was asked.
        """
        if self._refusal is None or not self.engine.size:
            return None
        number = refusal_of(self.model)
        if number is not None:
            return number
        classes = classes_known(self.model) or ()
        if len(classes) != self.engine.classes:
            classes = tuple(map(str, range(self.engine.classes)))
        _, refusal = named_classes(classes, largest_label=NO_LABEL, name=self._refusal)
        return refusal

    @property
    def seed(self) -> int | None:
        """The seed of the noise as it was given; None where each call draws its own."""
        return self.settings.seed

    def drawing(self, x: Tensor) -> Engine:
        """Return the engine of one call, about images shaped like `x` (C, H, W).

        Its noise has a new seed if the classifier has none.
        """
        if self.seed is not None:
            return self.engine
        # The engine of each call is a copy: what is prepared here is prepared once.
        self.engine.prepare(x.shape)
        return self.engine.under(fresh_seed())

    def certify(
        self,
        x: Tensor | NDArray[Any],
        settings: CertificationSettings | None = None,
        *,
        until: Until | None = None,
        **fields: Unpack[CertificationOptions],
    ) -> Certified:
        """Certify images (CERTIFY of Cohen et al. 2019).

        Each certificate is wrong with probability at most alpha.

        Args:
            x: (B, C, H, W), or one image (C, H, W), in [0, 1]; features (B, d) or (d,),
                of any scale.
            settings: the settings to use in place of the classifier's own, for another
                n0, n, alpha, rule or bound. They may also be given as keywords.
            until: decides at every look, by the `Claim` so far and the samples behind
                it, whether an image stops early. The rule must hold wherever one stops,
                as all do but "fixed".

        Raises:
            Problem: the settings cannot be used, or are of another base classifier or
                noise; images lie outside [0, 1] or have the wrong shape; or logits are
                not finite.
        """
        settings = self.settings_for(settings, fields)
        images = self.checked(x)
        rule = settings.of(images.shape[1:]).stopping_rule()
        if until is not None and not rule.sequential:
            raise BadValue(
                field="rule",
                value=settings.rule,
                expected="decides once, at its end",
                fix="stop anytime, grid, dense or radius=R",
            )

        jobs = [
            Job(number, image, certify_steps(rule, settings.n0, until=until))
            for number, image in enumerate(images)
        ]
        evidence_of_images, engine = self._run(jobs)
        counts0 = np.stack([evidence.counts0 for evidence in evidence_of_images])
        counts = np.stack([evidence.counts for evidence in evidence_of_images])
        paths = tuple(evidence.path for evidence in evidence_of_images)
        # A randomised bound takes a number in (0, 1) for each image; others take none.
        u = uniforms(settings.bound, engine.seed, [job.address for job in jobs])
        words = None
        if engine.noise.counts_words:
            words = np.array([engine.noise.words_in(image) for image in images])
        evidence = Evidence.of(counts0, counts, paths=paths, u=u, words=words)
        predict, radius = decide(rule, evidence)
        return Certified(
            predict=predict,
            radius=radius,
            counts0=counts0,
            counts=counts,
            paths=paths,
            seconds=np.array([round(job.seconds, 6) for job in jobs]),
            settings=settings,
            engine=engine,
            refusal=self.refusal,
        )

    def settings_for(
        self, settings: CertificationSettings | None, fields: CertificationOptions
    ) -> CertificationSettings:
        """Return the settings of one call.

        Args:
            settings: the settings to use in place of the classifier's. What is None in
                them is taken from the classifier's settings.
            fields: settings by name, each in place of the one in `settings`.

        Raises:
            Problem: the settings are of another base classifier or noise, or
                label-aware: there are no labels here.
        """
        if settings is None:
            settings = self.settings
        settings = settings_from(CertificationSettings, settings, fields)

        # A field that is None was left open, such as a seed or a noise.
        from_classifier: dict[str, Any] = {}
        for name, value in self.settings:
            if getattr(settings, name) is None and value is not None:
                from_classifier[name] = value
        if from_classifier:
            settings = settings.replace(**from_classifier)

        for name in SETTINGS_OF_CLASSIFIER:
            value = getattr(settings, name)
            value_of_classifier = getattr(self.settings, name)
            if value != value_of_classifier:
                raise BadValue(
                    field=name,
                    value=value,
                    expected=f"must be this classifier's {value_of_classifier!r}",
                    fix="make another SmoothedClassifier",
                )
        if settings.label_aware:
            raise BadValue(
                field="label_aware",
                value=True,
                expected="needs labels",
                fix="certify a data set with `randsmooth.certify`",
            )
        return settings

    def predict(
        self, x: Tensor | NDArray[Any], n: int = 1000, alpha: float = 0.001
    ) -> NDArray[np.int64]:
        """Return the smoothed class of images, or ABSTAIN (PREDICT of Cohen et al. 2019).

        A returned class differs from g(x) with probability at most alpha. Under the
        rule exact all copies are counted, and neither n nor alpha matters. The other
        arguments, and the errors, are those of `certify`.

        Returns:
            (B,) classes.

        Example:
            >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
            >>> smoothed = SmoothedClassifier(model, sigma=0.5)
            >>> smoothed.predict(torch.ones(3, 1, 2, 2), n=100).shape
            (3,)
        """
        if self.settings.counts_all:
            return self.certify(x).predict
        ranges = [SampleRange(PREDICT, 0, enough_to_predict(n, alpha))]
        images = self.checked(x)
        jobs = [
            Job(number, image, count_once(ranges))
            for number, image in enumerate(images)
        ]
        counts_of_images, _ = self._run(jobs)
        # Each image has one range of samples, and so one row of counts.
        classes = [top_if_clear(counts, alpha) for (counts,) in counts_of_images]
        return np.array(classes, np.int64)

    def _run(self, jobs: Sequence[Job[T]]) -> tuple[list[T], Engine]:
        """Return the results of `jobs`, in their order, and the engine that ran them."""
        engine = self.drawing(jobs[0].x)
        job_results = results(engine, jobs)
        # Images may not share a batch where an answer depends on the rest of it. The
        # warning points to the line that called `certify` or `predict`.
        if not engine.mixes:
            warnings.warn(BATCH_MATTERS, stacklevel=3)
        return job_results, engine

    def checked(self, x: Tensor | NDArray[Any]) -> Tensor:
        """Return `x` as a batch of inputs (B, ...).

        Args:
            x: a batch, or one input.

        Raises:
            Problem: `x` is neither, or the batch is empty.
        """
        # Features may come as NumPy's numbers: rows (B, d), or one row (d,).
        if isinstance(x, np.ndarray) and x.ndim in (1, 2) and x.dtype.kind in "fiu":
            x = torch.tensor(x, dtype=torch.float32)
        # Where nothing says the shape of one input, it is (C, H, W) or a row (d,).
        dimensions_of_one = 3 if np.ndim(x) > 2 else 1
        if self.shape is not None:
            dimensions_of_one = len(self.shape)
        if isinstance(x, Tensor) and x.dim() == dimensions_of_one:
            x = x[None]
        x = models.check_inputs(x, self.shape)
        if not len(x):
            raise WrongData(
                "no input given; expected a batch, such as (B, C, H, W), with B >= 1"
            )
        return x


def device_of(model: object) -> torch.device:
    """Return where the weights of a model are; the CPU, where it has none."""
    weights = model.parameters() if isinstance(model, nn.Module) else iter(())
    first = next(weights, None)
    return torch.device("cpu") if first is None else first.device
