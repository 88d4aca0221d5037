"""Explain the certificate of one image: certify it, compare it with others, attack it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from randsmooth import data, models
from randsmooth.certificates import CertificationSettings
from randsmooth.certification import SmoothedClassifier, check_fit
from randsmooth.certification.algorithm import ESTIMATE
from randsmooth.certification.jobs import SampleRange
from randsmooth.certification.opening import opened
from randsmooth.certification.scheduler import first_samples
from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.explanation.attempts import TESTS, Attempts, attempt, nowhere
from randsmooth.explanation.neighbours import Neighbours, nearest
from randsmooth.explanation.one_image import Copies, Explanation
from randsmooth.frozen_record import settings_from
from randsmooth.noise import fresh_seed
from randsmooth.progress import Progress, chosen_progress

COPIES = 12


def explain(
    model: object,
    image: Tensor,
    settings: CertificationSettings | None = None,
    *,
    training: Any = None,
    label: int | None = None,
    classes: Sequence[str] = (),
    attack: bool = True,
    device: str = "auto",
    num_classes: int | None = None,
    name: str = "the image",
    out: Path | str | None = None,
    progress: Progress | bool | None = None,
    **fields: Any,
) -> Explanation:
    """What the certificate of one image means: its votes, and its radius beside distances that a person can see.

    The image is certified as `SmoothedClassifier.certify` does, by the rule "fixed"; without a seed under a new one.

    Args:
        model: the base classifier, or its name, as for `certify`.
        image: (C, H, W) in [0, 1].
        settings: how to certify, sigma among them; or as keywords. Without sigma, the one that the model says.
        training: images to compare it with, in any form that `data.load` takes. Default: those that the model was
            trained on, where it names them and they are on this machine. False: none.
        label: the true class, if it is known.
        classes: names of the K classes; default: those of the model or of the training images.
        attack: search the ball for a change of the answer, and larger ones. Left out where noisy
            images lie on a grid (`sound`), and where nothing is certified.
        device: auto, cpu or cuda.
        num_classes: K, for a function that answers with labels.
        name: what to call the image.
        out: HTML file to write the page to, which shows all of it and works offline.
        progress: as for `certify`.

    Raises:
        InputError: the model, the image or a setting cannot be used.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> (x,), (y,) = data.load("digits", "test").batch(torch.tensor([3]))
        >>> explained = explain(model, x, label=int(y), training="digits", sigma=0.25, n=1000, attack=False)
        >>> explained.neighbours.compared, explained.copies.pixels.shape
        (1433, (12, 1, 8, 8))
    """
    base = opened(model, {}, num_classes)
    settings = _settings(settings, fields, base)
    if not isinstance(image, Tensor) or image.dim() != 3:
        raise InputError(f"explain takes one image (C, H, W) in [0, 1]; got {_shape(image)}")
    images, why = _training(training, base)
    if images is not None:
        check_fit(base, images.spec)
        base = base if images.spec.open_ended else models.for_classes(base, images.spec.classes)
    seed = fresh_seed() if settings.seed is None else settings.seed  # one, for all that the page shows
    smoothed = SmoothedClassifier(base, settings.having(seed=seed), device=models.pick_device(device))
    show = chosen_progress(progress)
    certified = smoothed.certify(image)
    picked = int(certified.counts0[0].argmax())
    around = None if images is None else _compared(image, picked, images, show)
    attempts, why_not = _attempts(smoothed, image, certified, around, show) if attack else (None, NOT_ASKED)
    explained = Explanation(
        name,
        image.detach().cpu().float().numpy(),
        _classes(classes, base, images, certified.counts.shape[1]),
        label,
        certified,
        _copies(smoothed, image),
        around,
        attempts,
        tuple(filter(None, [why, why_not])),
        _notes(smoothed),
    )
    if out is not None:
        from randsmooth.explanation.page import write_explanation

        write_explanation(explained, out)
    return explained


NOT_ASKED = "No attack was tried, as was asked for."
ABSTAINED = "Nothing is certified, so there is nothing to attack."
ON_GRID = "No attack was tried: the certificate is about images on the grid k/255, between whose points attacks search."


def _shape(image: object) -> str:
    return f"shape {tuple(image.shape)}" if isinstance(image, Tensor) else f"a {type(image).__name__}"


def _settings(
    settings: CertificationSettings | None, fields: dict[str, Any], base: models.BaseClassifier
) -> CertificationSettings:
    """Complete ones, by the rule that a page can explain. InputError for another rule or bound, or no sigma."""
    found = settings_from(CertificationSettings, settings, fields)
    if found.rule != "fixed" or found.bound != "clopper-pearson" or not found.n0:
        raise InputError(
            f"rule={found.rule!r}, bound={found.bound!r}, n0={found.n0}: explain shows the rule fixed with the bound "
            "clopper-pearson, and n0 >= 1 samples that pick the class; `randsmooth certify` has the others"
        )
    if found.sigma is None and (known := models.provenance_of(base).get("sigma")) is not None:
        found = found.having(sigma=known)
    if found.sigma is None:
        raise InputError("the model does not say which sigma it was trained with: give sigma (--sigma)")
    return found


def _training(training: Any, base: models.BaseClassifier) -> tuple[Images | None, str]:
    """The images to compare with, or why there are none."""
    if training is False:
        return None, "No training images are compared, as was asked for."
    if isinstance(training, Images):
        return training, ""
    if training is not None:
        return data.load(training, "train", stream=isinstance(training, str | Path)), ""
    known = models.provenance_of(base).get("dataset")
    if not isinstance(known, str) or known not in data.DATASETS:
        return None, "The model does not name a data set, so that no training images are compared (--dataset)."
    if not data.is_at_hand(known):
        return None, f"The training images of {known} are not on this machine (RANDSMOOTH_DATA), so none are compared."
    return data.load(known, "train", stream=True), ""


def _compared(image: Tensor, picked: int, images: Images, show: Progress) -> Neighbours:
    with show(f"compare with {images.spec.name}", len(images), "images") as reporter:
        return nearest(image, picked, images, reporter)


def _attempts(
    smoothed: SmoothedClassifier, image: Tensor, certified: Any, around: Neighbours | None, show: Progress
) -> tuple[Attempts | None, str]:
    """The attacks, or why there are none."""
    predict, radius = int(certified.predict[0]), float(certified.radius[0])
    if predict < 0 or radius <= 0.0:
        return None, ABSTAINED
    if smoothed.settings.sound:
        return None, ON_GRID
    other = None if around is None else around.other
    elsewhere = nowhere(tuple(image.shape))
    if other is not None:
        elsewhere = torch.from_numpy(other.pixels)[None], torch.tensor([other.label])
    with show("attack", TESTS, "searches") as reporter:
        alpha = smoothed.settings.alpha
        return attempt(smoothed, image, predict, radius, elsewhere, alpha=alpha, reporter=reporter), ""


def _copies(smoothed: SmoothedClassifier, image: Tensor) -> Copies:
    """The first copies that were counted, their classes, and what a denoiser makes of them."""
    (x,) = smoothed.checked(image)
    noisy, answers = first_samples(smoothed.engine, x, SampleRange(ESTIMATE, 0, smoothed.settings.n), COPIES)
    return Copies(noisy.numpy(), answers, _denoised(smoothed, noisy))


@torch.inference_mode()
def _denoised(smoothed: SmoothedClassifier, noisy: Tensor) -> np.ndarray[Any, Any] | None:
    model = smoothed.model
    if not isinstance(model, models.Denoised):
        return None
    where = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    shown = model.denoiser(noisy.to(where))
    return np.asarray(shown.float().cpu().numpy())


def _classes(given: Sequence[str], base: models.BaseClassifier, images: Images | None, width: int) -> tuple[str, ...]:
    """The names of `width` classes: those given, else those that the model or its images have."""
    if len(given) >= width:
        return tuple(given[:width])
    own = getattr(base, "classes", None) if isinstance(base, models.Classifier | models.Denoised) else None
    for known in (own, images.spec.classes if images is not None and not images.spec.open_ended else None):
        if known is not None and len(known) == width:
            return tuple(map(str, known))
    return tuple(map(str, range(width)))


def _notes(smoothed: SmoothedClassifier) -> tuple[str, ...]:
    """What answers, in sentences: the certificate is about all of it."""
    model, said = smoothed.model, []
    if isinstance(model, models.Denoised):
        said.append(
            "Every noisy copy passes a denoiser first; the certificate is about denoiser and classifier together."
        )
    if isinstance(model, models.Ensemble):
        said.append(
            f"{len(model.members)} models answer together; each noisy copy is shown to them as to one, and the "
            "certificate is about what they answer together."
        )
    if smoothed.settings.sound:
        said.append("Noisy images are rounded to the grid k/255: no floating-point rounding stands in the proof.")
    return tuple(said)
