"""PREDICT: how many samples it takes, and when one class is clear of the others."""

from itertools import count

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates import ABSTAIN
from randsmooth.errors import TooFewSamples
from randsmooth.frozen_record import whole_number


def enough_to_predict(n: float, alpha: float, images: int = 1) -> int:
    """Return the number of samples of a prediction, once it is checked.

    Args:
        n: samples of one image; a float such as 1e5 becomes an integer.
        alpha: probability that any of the images is given a wrong class.
        images: how many images are predicted, each at level alpha / `images`.

    Raises:
        Problem: alpha or n cannot be used, or not even n equal answers would predict a
            class.

    Example:
        >>> enough_to_predict(1e4, 0.001)
        10000
    """
    bounds.check_alpha(alpha)
    n = int(whole_number(n))
    level = alpha / images
    # The p-value of k equal answers is 2 * 2^-k.
    least = next(k for k in count(1) if bounds.two_sided_p_value(k, k) <= level)
    if n < least:
        level_in_words = f"alpha={alpha}"
        if images > 1:
            level_in_words += f" over {images} images is {level:.3g} for each, which"
        raise TooFewSamples(
            f"{level_in_words} needs n >= {least} to predict any class; got n={n}",
            field="n",
            value=n,
        )
    return n


def top_if_clear(counts: NDArray[np.int64], alpha: float) -> int:
    """Return the most frequent class of counts, or ABSTAIN.

    Args:
        counts: (K,), K >= 2.
        alpha: the level at which the class must be clear of the second; 0 for counts of
            all copies, where the more frequent class is certain.

    Example:
        >>> top_if_clear(np.array([5, 95]), 0.001)
        1
        >>> top_if_clear(np.array([45, 55]), 0.001)
        -1
    """
    runner_up, top = np.sort(counts)[-2:].tolist()
    clear = top > runner_up
    if alpha:
        clear = bounds.two_sided_p_value(top, top + runner_up) <= alpha
    return int(counts.argmax()) if clear else ABSTAIN
