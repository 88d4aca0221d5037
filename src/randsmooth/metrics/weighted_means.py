"""Quantiles of means under random weights, by the saddlepoint approximation.

The weights are uniform on the simplex (of Dirichlet's distribution with parameters 1),
so that they are E_i / sum E_i for exponential E_i. With values y_i that occur c_i
times,

    P(weighted mean > m) = P(S > 0)  where  S = sum over i of c_i terms E (y_i - m).

K is the logarithm of the moment generating function of S,

    K(s) = - sum c_i log(1 - s (y_i - m)),

and s with K'(s) = 0 its saddlepoint. For each *tilt* t between 0 and 1 the mean m under
the weights c_i / (1 - t y_i) has its saddlepoint at s = t / (1 - t m): so the tilt,
from which all else follows without a search, is what the functions here speak of.

Source: Lugannani & Rice 1980, in Barndorff-Nielsen's form, corrected by the inversion
    integral that it approximates.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

# The search for a tilt: its most steps (a dozen do), the relative error of the critical
# value at which it ends, and its bounds on slopes and on steps in the logit.
MOST_SEARCH_STEPS = 60
CRITICAL_ERROR = 1e-10
FIRST_LOGIT_STEP = 0.1
SMALLEST_SLOPE = 1e-3
LARGEST_LOGIT_STEP = 5.0

# The points of the inversion integral: the last one and their distance, in asinh(u) of
# its width; and the size of the integrand, relative to that at the saddlepoint, below
# which the rest is left out.
LAST_POINT = 30.0
POINT_SPACING = 0.1
SMALLEST_INTEGRAND = 1e-9


def quantile(y: Floats, c: Floats, z: float) -> Floats:
    """Return (M,) quantiles of level Phi(z) of the weighted means of each row.

    The saddlepoint approximation of the level is off by 5% at most. Integrated exactly
    where it puts the quantile, the level shows by how much to aim at another critical
    value.

    Args:
        y: (M, J) values of mean 0 and of maximum 1.
        c: (M, J) how often each occurs.
        z: the critical value.
    """
    wanted = np.full(len(y), z)
    approximate_logit = _find_logit(y, c, wanted)
    reached = -special.ndtri(_chance_beyond(approximate_logit, y, c))
    corrected_logit = _find_logit(y, c, 2.0 * wanted - reached)
    return _tilted(corrected_logit, y, c).m[:, 0]


class _Tilted(NamedTuple):
    """The values under a tilt.

    Attributes:
        tilt: (M, 1) between 0 and 1.
        rest: (M, J) 1 - tilt y.
        m: (M, 1) the mean under the tilt.
        exponent: (M,) -K(s) at the saddlepoint.
    """

    tilt: Floats
    rest: Floats
    m: Floats
    exponent: Floats


def _tilted(logit: Floats, y: Floats, c: Floats) -> _Tilted:
    """Tilt the values y (M, J), which occur c (M, J) times, by tilts (M,) of `logit`."""
    tilt = special.expit(logit)[:, None]
    # No digits are lost where the tilt is almost 1.
    one_minus_tilt = special.expit(-logit)[:, None]
    rest = one_minus_tilt + tilt * (1.0 - y)

    weights = c / rest
    m = (weights * y).sum(-1, keepdims=True) / weights.sum(-1, keepdims=True)
    exponent = (c * np.log(rest)).sum(-1) - c.sum(-1) * np.log1p(-tilt * m)[:, 0]
    return _Tilted(tilt, rest, m, exponent)


def _critical_value(logit: Floats, y: Floats, c: Floats) -> Floats:
    """Return (M,) the critical value at which the mean under each tilt is the quantile.

    It is r* = w + log(u / w) / w of Barndorff-Nielsen, w = sqrt(-2 K(s)) and
    u = s sqrt(K''(s)).
    """
    tilted = _tilted(logit, y, c)
    w = np.sqrt(2.0 * tilted.exponent)
    scaled_second_derivative = (c * ((y - tilted.m) / tilted.rest) ** 2).sum(-1)
    u = tilted.tilt[:, 0] * np.sqrt(scaled_second_derivative)
    return np.asarray(w + np.log(u / w) / w)


def _find_logit(y: Floats, c: Floats, z: Floats) -> Floats:
    """Return (M,) logits of the tilts with approximate critical values z (M,).

    They are found by secants in the logit, in which the logarithm of the critical value
    is nearly a line.
    """

    def log_error(logit: Floats) -> Floats:
        return np.asarray(np.log(_critical_value(logit, y, c) / z))

    # Of small tilts the critical value is about tilt * sqrt(sum c y^2).
    previous = np.log(z / np.sqrt((c * y * y).sum(-1)))
    logit = previous + FIRST_LOGIT_STEP
    previous_error = log_error(previous)

    for _ in range(MOST_SEARCH_STEPS):
        error = log_error(logit)
        found = np.abs(error) < CRITICAL_ERROR
        if np.all(found):
            break
        stands = logit == previous
        run = np.where(stands, 1.0, logit - previous)
        slope = np.where(stands, 1.0, (error - previous_error) / run)
        step = np.where(found, 0.0, -error / np.maximum(slope, SMALLEST_SLOPE))

        previous = logit
        previous_error = error
        logit = logit + np.clip(step, -LARGEST_LOGIT_STEP, LARGEST_LOGIT_STEP)
    return np.asarray(logit)


def _chance_beyond(logit: Floats, y: Floats, c: Floats) -> Floats:
    """Return (M,) the chance that the weighted mean exceeds the mean under each tilt.

    It is 1/pi times the integral of Re(exp K(s + iu) / (s + iu)) over u > 0, along the
    line through the saddlepoint s, by the trapezoidal rule in asinh(u).
    """
    tilted = _tilted(logit, y, c)
    scale = 1.0 - tilted.tilt * tilted.m
    saddlepoint = (tilted.tilt / scale)[:, 0]
    # 1 - (s + iu) (y - m) = (1 - s (y - m)) (1 - iu d)
    d = (y - tilted.m) * scale / tilted.rest
    width = 1.0 / np.sqrt((c * d * d).sum(-1))

    total = np.zeros(len(y))
    for t in np.arange(0.0, LAST_POINT, POINT_SPACING):
        u = width * np.sinh(t)
        ud = u[:, None] * d
        # Modulus and argument of exp(K(s + iu) - K(s)).
        modulus = np.exp(-(0.5 * c * np.log1p(ud * ud)).sum(-1))
        argument = (c * np.arctan(ud)).sum(-1)
        numerator = saddlepoint * np.cos(argument) + u * np.sin(argument)
        real_part = numerator / (saddlepoint * saddlepoint + u * u)
        weight = 0.5 if t == 0.0 else 1.0
        total += modulus * real_part * width * np.cosh(t) * weight
        if np.all(modulus * np.cosh(t) < SMALLEST_INTEGRAND):
            break
    return np.asarray(np.exp(-tilted.exponent) * total * POINT_SPACING / np.pi)
