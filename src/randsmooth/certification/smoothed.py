"""The smoothed classifier: what a base classifier answers most often under Gaussian noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth import bounds, models
from randsmooth.certificates import ABSTAIN, Evidence, check_budget, decide, make_rule
from randsmooth.certification.algorithm import PREDICT, ImageEvidence, Until, certify_steps
from randsmooth.certification.checks import check_eval_mode
from randsmooth.certification.engine import Engine
from randsmooth.certification.jobs import Job, SampleRange, T, count_once
from randsmooth.errors import InputError
from randsmooth.models import OnnxModel
from randsmooth.noise import fresh_seed

ROW_BITS = 63  # of an image's address that stand for its row where there is no table: what int64 holds


@dataclass(frozen=True)
class Certified:
    """Certificates of B images.

    Attributes:
        predict: (B,) certified class, or ABSTAIN (-1).
        radius: (B,) L2 radius within which that class cannot change, in units of pixels in [0, 1].
        counts0: (B, K) classes of the n0 samples that picked the class.
        counts: (B, K) classes of the other samples, that bounded its probability.
        paths: for each image, how often the picked class had come out at each look.
    """

    predict: NDArray[np.int64]
    radius: NDArray[np.float64]
    counts0: NDArray[np.int64]
    counts: NDArray[np.int64]
    paths: tuple[NDArray[np.int64], ...]


class SmoothedClassifier:
    """g(x) = the class that `model` gives most often to x + N(0, sigma^2 I) (Cohen et al., ICML 2019).

    Args:
        model: the base classifier, in eval mode: logits (B, K) for images (B, C, H, W) in [0, 1]. Any
            normalisation must be inside it. A copy of it is taken. Or an ONNX file, as `OnnxModel` reads it.
        sigma: standard deviation of the noise, in units of pixels in [0, 1].
        device: where to run; default: where the model is.
        precision: "32", "bf16" or "fp16". Certifying in bf16 certifies the bf16 classifier.
        batch: samples a forward pass; default: as many as suit device and image.
        seed: of the noise; default: one from the operating system, kept in `seed`. What an image is, its seed and what
            for decide its noise: alone, in a batch, in any order and on any machine it gets the same counts, and
            another image gets noise of its own. Equal images share theirs, and so their certificate. Certificates
            hold for images that were chosen without sight of the noise: whoever knows the seed can search for one
            that is certified falsely, so give none where images come from strangers.
        backend: "torch", "compile", "openvino", "onnx" or "auto", the fastest that is installed; default: "torch",
            "onnx" for an ONNX file.
        sound: certify the base classifier that rounds a noisy image to the grid k/255 first, under its exact
            distribution: no rounding of floats stands between proof and program. Images must be on that grid.

    Raises:
        InputError: sigma is not positive, the model is in train mode, or seed, precision, batch or backend is
            impossible.

    Attributes:
        seed: the one given, or the one drawn: given to another, it repeats all answers.
    """

    def __init__(
        self,
        model: nn.Module | OnnxModel,
        sigma: float,
        *,
        device: torch.device | str | None = None,
        precision: str = "32",
        batch: int | None = None,
        seed: int | None = None,
        backend: str | None = None,
        sound: bool = False,
    ) -> None:
        bounds.check_sigma(sigma)
        if not isinstance(model, nn.Module | OnnxModel):
            raise InputError(f"the model is a {type(model).__name__}; expected a torch.nn.Module that gives logits")
        if isinstance(model, nn.Module):
            check_eval_mode(model)
        shape = getattr(model, "shape", None)
        self.seed = _seed(seed)
        self.sigma, self.shape = sigma, None if shape is None else tuple(shape)
        self.engine = Engine(
            model,
            sigma,
            device=_device(model, device),
            precision=precision,
            batch=batch,
            seed=self.seed,
            backend=backend or ("onnx" if isinstance(model, OnnxModel) else "torch"),
            sound=sound,
        )

    def certify(
        self,
        x: Tensor,
        n0: int = 100,
        n: int = 100_000,
        alpha: float = 0.001,
        *,
        rule: str = "fixed",
        bound: str = "clopper-pearson",
        until: Until | None = None,
    ) -> Certified:
        """Certify images (CERTIFY of Cohen et al. 2019): each certificate is wrong with probability <= alpha.

        Args:
            x: (B, C, H, W), or one image (C, H, W), in [0, 1].
            n0: samples that pick the class.
            n: the most other samples that bound its probability.
            alpha: probability of a wrong certificate, per image.
            rule: how many of the n are drawn: "fixed", all; "radius=0.5", "grid", "union", "tolerance=0.05" or
                "anytime" (see `make_rule`).
            bound: of the fixed rule: "clopper-pearson", "two-sided" or "randomised".
            until: stops an image early: asked at every look with the `Claim` so far and the samples behind it, for a
                rule that holds wherever one stops (all but "fixed" and "tolerance").

        Raises:
            InputError: images outside [0, 1] or of the wrong shape, a budget that could not certify anything,
                or logits that are not finite.
        """
        n0, n = whole("n0", n0), whole("n", n)
        check_budget(n0, n, alpha)
        judge = make_rule(rule, sigma=self.sigma, n=n, alpha=alpha, bound=bound, seed=self.seed)
        if until is not None and not callable(until):
            raise InputError(f"until={until!r} must be a function of a Claim and the samples behind it")
        if until is not None and not judge.sequential:
            raise InputError(f"rule {rule!r} decides once, at its end: stop anytime, grid, union or radius=R")
        jobs = [Job(i, image, certify_steps(judge, n0, until=until)) for i, image in enumerate(self.checked(x))]
        seen: list[ImageEvidence] = self._run(jobs)
        counts0, counts = (np.stack([getattr(each, part) for each in seen]) for part in ("counts0", "counts"))
        paths = tuple(each.path for each in seen)
        rows = np.array([job.address >> (256 - ROW_BITS) for job in jobs], np.int64)  # "randomised" draws by row
        evidence = Evidence.of(counts0, counts, idx=rows, paths=paths)
        return Certified(*decide(judge, evidence), counts0, counts, paths)

    def predict(self, x: Tensor, n: int = 1000, alpha: float = 0.001) -> NDArray[np.int64]:
        """The smoothed class of images, or ABSTAIN (PREDICT of Cohen et al. 2019).

        A class returned is not g(x) with probability <= alpha. Arguments and errors as in `certify`.

        Returns:
            (B,) classes.
        """
        bounds.check_alpha(alpha)
        n, least = whole("n", n), smallest_predict_n(alpha)
        if n < least:
            raise InputError(f"alpha={alpha} needs n >= {least} to predict anything; got n={n}")
        asks = [SampleRange(PREDICT, 0, n)]
        counts = self._run([Job(i, image, count_once(asks)) for i, image in enumerate(self.checked(x))])
        return np.array([top_if_clear(row, alpha) for (row,) in counts], np.int64)

    def _run(self, jobs: Sequence[Job[T]]) -> list[T]:
        """The results of `jobs`, in their order."""
        for _ in self.engine.run(jobs):
            pass
        return [job.result for job in jobs if job.result is not None]

    def checked(self, x: Tensor) -> Tensor:
        """(B, C, H, W) images, from as many or from one (C, H, W); InputError for what is none."""
        x = x[None] if isinstance(x, Tensor) and x.dim() == 3 else x
        models.check_images(x, self.shape)
        if not len(x):
            raise InputError("no image given; expected (B, C, H, W) with B >= 1")
        return x


def smallest_predict_n(alpha: float) -> int:
    """Smallest n at which n of n equal answers are a prediction: 2 * 2^-n <= alpha."""
    n = 1
    while bounds.two_sided_p_value(n, n) > alpha:
        n += 1
    return n


def top_if_clear(counts: NDArray[np.int64], alpha: float) -> int:
    """The most frequent class of counts (K,), or ABSTAIN where it is not clear of the second at level alpha."""
    runner_up, top = np.sort(counts)[-2:]
    clear = bounds.two_sided_p_value(int(top), int(top + runner_up)) <= alpha
    return int(counts.argmax()) if clear else ABSTAIN


def _seed(seed: int | None) -> int:
    """`seed` as an integer, or one from the operating system."""
    try:
        return fresh_seed() if seed is None else index(seed)
    except TypeError:
        raise InputError(f"seed={seed!r} must be a whole number, or None for one from the operating system") from None


def _device(model: nn.Module | OnnxModel, device: torch.device | str | None) -> torch.device:
    if device is None:
        parameters = model.parameters() if isinstance(model, nn.Module) else ()
        return next((parameter.device for parameter in parameters), torch.device("cpu"))
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError):
        raise InputError(f"device={device!r} is none; expected cpu or cuda") from None
    if wanted.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device={device!r} asks for CUDA and torch sees none; use cpu")
    return wanted


def whole(name: str, value: float) -> int:
    """`value` as an integer, for those who write 1e5; InputError for anything else."""
    try:
        integer: int | None = int(value)
    except (TypeError, ValueError, OverflowError):
        integer = None
    if integer is None or integer != value:
        raise InputError(f"{name}={value!r} must be a whole number of samples")
    return integer
