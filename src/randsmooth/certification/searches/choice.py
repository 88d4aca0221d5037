"""Which search a model gets: up its gradient, by its answers alone, or by words."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from randsmooth import models
from randsmooth.certification.backends import frozen
from randsmooth.certification.searches.base import BallSearch
from randsmooth.certification.searches.gradient import GradientSearch
from randsmooth.certification.searches.gradient_free import GradientFreeSearch
from randsmooth.certification.searches.words import WordSearch, different_words
from randsmooth.certification.smoothed import SmoothedClassifier

# Noise samples per step, where a search names no number m: for a search by gradients,
# and for a search by answers.
SAMPLES_BY_GRADIENT = 64
SAMPLES_BY_ANSWERS = 500


def make_search(
    smoothed: SmoothedClassifier,
    shape: Sequence[int],
    elsewhere: Callable[[], tuple[Tensor, Tensor]],
    *,
    steps: int,
    m: int | None,
    restarts: int,
    seed: int,
    gradient_free: bool,
    toward: int | None = None,
) -> BallSearch:
    """Return the search of the balls around images of `shape` (C, H, W).

    Args:
        smoothed: the smoothed classifier to attack.
        elsewhere: returns images (P, C, H, W) and their classes (P,), for a search
            without gradients to begin its walks from; of texts, those whose words may be
            put in.
        steps, m, restarts, seed, gradient_free: see `attack`.
        toward: the number of the only class to look for; None: any other class.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
        >>> search = make_search(
        ...     SmoothedClassifier(model, sigma=0.5),
        ...     (1, 2, 2),
        ...     lambda: (torch.zeros(0, 1, 2, 2), torch.zeros(0)),
        ...     steps=20,
        ...     m=None,
        ...     restarts=1,
        ...     seed=0,
        ...     gradient_free=False,
        ... )
        >>> search.gradient_free, search.m
        (False, 64)
    """
    engine = smoothed.engine
    if smoothed.noise.counts_words:
        texts, _ = elsewhere()
        return WordSearch(
            engine=engine,
            candidates=different_words(texts),
            steps=steps,
            m=m or SAMPLES_BY_ANSWERS,
            restarts=restarts,
            seed=seed,
            toward=toward,
        )
    model = None
    if not gradient_free:
        shape_of_copy = smoothed.noise.shape(shape)
        model = differentiable_copy(smoothed.model, shape_of_copy, engine.device)
    if model is not None:
        return GradientSearch(
            engine=engine,
            model=model,
            steps=steps,
            m=m or SAMPLES_BY_GRADIENT,
            restarts=restarts,
            seed=seed,
            toward=toward,
        )
    images, classes = elsewhere()
    return GradientFreeSearch(
        engine=engine,
        elsewhere=images,
        classes=classes,
        steps=steps,
        m=m or SAMPLES_BY_ANSWERS,
        restarts=restarts,
        seed=seed,
        toward=toward,
    )


def differentiable_copy(
    model: object, shape: Sequence[int], device: torch.device
) -> nn.Module | None:
    """Return a float32 copy of the model that gives gradients for its input alone, not
    for its parameters.

    It is None where the logits of several inputs of `shape` have no gradient with
    respect to these, and where a part of the model is no torch module, so that the
    gradient would not be the whole one.

    Example:
        >>> linear = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
        >>> differentiable_copy(linear, (1, 2, 2), torch.device("cpu")) is None
        False
    """
    if not isinstance(model, nn.Module) or models.foreign_parts(model):
        return None
    try:
        copied = frozen(copy.deepcopy(model).to(device, torch.float32))
        # Tried on two inputs, because the search asks about several at once.
        grey = torch.full((2, *shape), 0.5, requires_grad=True, device=device)
        with torch.enable_grad():
            logits = copied(grey)
    # A model that cannot be copied, run in float32 or asked about two inputs may raise
    # anything from its own code.
    except Exception:
        return None
    return copied if logits.requires_grad else None
