"""Attacks on the certificate of one image: searches of its ball, and of larger ones."""

import torch
from torch import Tensor

from randsmooth.app.image_certificate import Attempt, Attempts
from randsmooth.certificates import ABSTAIN
from randsmooth.certification import SmoothedClassifier
from randsmooth.certification.attack_results import predict_anywhere
from randsmooth.certification.searches import make_search
from randsmooth.noise import printed_radius
from randsmooth.progress import Reporter, Silent

# The radii of the larger balls that are searched, in certified radii.
OUTWARDS = (1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0)
# The most answers that PREDICT gives: in the certified ball and in larger ones.
MOST_ANSWERS = 1 + len(OUTWARDS)
# Samples of each answer.
N = 1000
STEPS_OF_SEARCH = 20


def attempt(
    smoothed: SmoothedClassifier,
    x: Tensor,
    y: int,
    radius: float,
    elsewhere: tuple[Tensor, Tensor] | None,
    *,
    reporter: Reporter | None = None,
) -> Attempts:
    """Search the certified ball around an image for another class, then larger balls.

    Each of at most 9 answers is given at level alpha / 9 (Bonferroni), on noise that no
    search has used, so that all of them are right with probability at least 1 - alpha,
    the level of the certificate.

    Args:
        smoothed: the smoothed classifier that is attacked.
        x: the image (C, H, W), or a row of features (d,).
        y: the certified class of the image.
        radius: the radius of the certified ball.
        elsewhere: images (P, C, H, W) of any class and their classes (P,), from which a
            search without gradients begins; None where there are none.
        reporter: gets one step for each ball that was searched.
    """
    x = x.cpu().float()
    reporter = reporter or Silent()
    alpha = smoothed.settings.alpha
    no_images = (torch.zeros(0, *x.shape), torch.zeros(0, dtype=torch.int64))
    search = make_search(
        smoothed,
        tuple(x.shape),
        # A function, since a search up the gradient needs no images.
        lambda: elsewhere or no_images,
        steps=STEPS_OF_SEARCH,
        m=None,
        restarts=1,
        seed=smoothed.engine.seed,
        gradient_free=False,
    )

    def search_ball(eps: float) -> Attempt:
        """Search the ball of radius `eps`, and ask PREDICT at the point found."""
        point = search.find(x, y, eps)
        level = alpha / MOST_ANSWERS
        answer = predict_anywhere(smoothed.engine, point, n=N, alpha=level)
        reporter.advance(1)
        return Attempt(
            eps=eps,
            point=point.numpy(),
            distance=search.distance(point, x),
            predict=answer,
        )

    # The point shall lie inside the ball as the page prints it. A radius that is printed
    # as 0 is searched as it is.
    inside = search_ball(float(printed_radius(radius)) or radius)
    # Larger and larger balls, until the answer changes in one.
    outside = None
    farthest = OUTWARDS[-1] * radius
    for factor in OUTWARDS:
        larger = search_ball(factor * radius)
        if larger.predict not in (y, ABSTAIN):
            outside = larger
            farthest = larger.eps
            break
    return Attempts(
        inside=inside,
        outside=outside,
        farthest=farthest,
        gradient_free=search.gradient_free,
        n=N,
        alpha=alpha,
    )
