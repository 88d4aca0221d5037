"""The contract of noises: how they are drawn, what radii they claim, whether these hold."""

import json
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.noise import NOISES, NORMS, Noise, make_noise
from randsmooth.testing.contract import (
    contract_of,
    is_one_line,
    require,
    require_refusal,
)
from randsmooth.testing.noise_bits import check_bits
from randsmooth.testing.noise_draws import check_draws
from randsmooth.testing.noise_radii import (
    check_few_pixels,
    check_half_spaces,
    check_three_classes,
)

Floats = NDArray[np.float64]

# The shape of the inputs that are tried by default; under L0, of more pixels.
SHAPE = (1, 2, 2)
SHAPE_OF_L0 = (1, 4, 4)

# Failure probabilities q at which radii and tails are compared, ascending; the first, 0,
# may have an infinite radius.
Q = np.array([[0.0, 1e-9, 1e-4, 0.01], [0.1, 0.25, 0.4, 0.49]])

# The relative error of a tail that is found from a radius, and of a radius from that.
TAIL_ERROR = 1e-6
RADIUS_ERROR = 1e-9

# A radius that proves all, and the absolute error of tails at both ends.
FAR_AWAY = 1e9
END_ERROR = 1e-9


def check_noise(noise: str | Noise, *, shape: Sequence[int] | None = None) -> None:
    """Check a noise: draws by address, radii and tails that belong together, and hold.

    For whether radii hold, up to a million copies of an input are drawn, and again at each
    place that lies just within a claimed radius. There a classifier by one coordinate, or
    by the sum of all, and under L0 one by whether it sees a changed pixel, must still
    favour its class; one of three classes by one coordinate does so for q_next. That finds
    radii about one percent too large for what is drawn, where these classifiers are the
    worst ones, as they are under noises that are `tight`; it does not prove that a radius
    is right.

    A noise that hides numbers, as every one does that is not `additive`, must also hide
    their signs, and whether they are infinite or NaN: a classifier reads the bits of a
    copy's numbers, marks of what is seen among them.

    Args:
        noise: as on the command line, such as "uniform=0.6"; or a noise itself.
        shape: of the inputs that are tried; None: (1, 2, 2), for L0 (1, 4, 4).

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_noise("uniform=0.6")
    """
    name = noise if isinstance(noise, str) else _name_of(noise)
    with contract_of(f"noise {name!r}"):
        made = make_noise(noise) if isinstance(noise, str) else noise
        require(
            isinstance(made, Noise),
            f"is no Noise: give an instance, such as "
            f"{getattr(made, '__name__', 'Uniform')}(0.5)",
        )
        if isinstance(noise, str):
            _check_entry(noise.partition("=")[0], made)
        _check_describes_itself(made)

        if not shape:
            shape = SHAPE_OF_L0 if NORMS[made.norm].whole else SHAPE
        _check_noise_of_shape(made, tuple(shape))


def _name_of(noise: object) -> str:
    """Return the name of a class, which is no noise, or of the class of a noise."""
    return str(getattr(noise, "__name__", type(noise).__name__))


def _check_entry(name: str, noise: Noise) -> None:
    """Check a noise that was made by its registered name."""
    of_its_name = name == "gaussian" or (
        isinstance(noise, NOISES[name]) and noise.name == name
    )
    require(
        of_its_name,
        f"has a class of the name {noise.name!r}: the entry point must have the same",
    )
    require_refusal("to be without its number", partial(make_noise, name), naming=name)
    require_refusal("'x' for a number", partial(make_noise, f"{name}=x"), naming="x")


def _check_noise_of_shape(noise: Noise, shape: tuple[int, ...]) -> None:
    """Check a noise that is completed for inputs of one shape."""
    require_refusal("inputs of shape ()", partial(noise.of, ()))
    completed = noise.of(shape)
    require(
        completed == noise.of(shape),
        "is another one when it is completed for a shape twice",
    )
    _check_describes_itself(completed)
    _check_scale(completed)
    _check_radii_fall(completed)
    _check_next_class_helps(completed)
    _check_tails_invert_radii(completed)
    check_draws(completed, shape)
    if NORMS[completed.norm].whole:
        check_few_pixels(completed, shape)
    else:
        check_half_spaces(completed, shape)
        check_three_classes(completed, shape)
    if not completed.additive:
        check_bits(completed, shape)


def _check_describes_itself(noise: Noise) -> None:
    """Check its norm, its texts, and that it can be made again from its facts."""
    require(
        noise.norm in NORMS,
        f"has the norm {noise.norm!r}, expected one of {', '.join(NORMS)}",
    )
    require(
        noise.norms[0] == noise.norm,
        f"has norm={noise.norm!r} and norms={noise.norms}, whose first is another one",
    )
    for attribute in ("usage", "text"):
        text = getattr(noise, attribute)
        require(
            text.startswith(f"{noise.name}="),
            f"has {attribute}={text!r}, which begins with another name",
        )
    require(
        is_one_line(noise.summary) and noise.summary.endswith("."),
        "needs a summary of one sentence",
    )

    facts = json.loads(json.dumps(noise.facts()))
    require(facts.pop("name") == noise.name, "does not name itself in its facts")
    made_again = type(noise).from_facts(facts)
    require(
        made_again == noise and hash(made_again) == hash(noise),
        "is not the same when it is made from its facts",
    )
    require_refusal(
        "facts of no noise", partial(type(noise).from_facts, {"unknown": 1})
    )


def _check_scale(noise: Noise) -> None:
    require(0.0 < noise.scale < math.inf, f"has scale={noise.scale}, expected a length")


def _check_radii_fall(noise: Noise) -> None:
    """Check that radii have the shape of q, fall as q grows, and end at q = 1/2."""
    radii = noise.radius(Q)
    require(
        radii.shape == Q.shape,
        f"has radii of shape {radii.shape} for q of shape {Q.shape}",
    )
    require(
        np.all(radii >= 0.0) and np.all(np.isfinite(radii[Q > 0.0])),
        f"has the radii {radii.tolist()} for q={Q.tolist()}",
    )
    require(
        np.all(np.diff(radii.ravel()[1:]) <= 0.0),
        "has radii that do not fall as q grows",
    )
    require(
        not noise.radius([0.5, 0.6, 1.0]).any(),
        "has a radius at q >= 1/2: p > 1/2 is needed",
    )
    require(
        not np.any(noise.radius(np.nan) > 0.0),
        "has a radius at q = NaN, which proves nothing",
    )


def _check_next_class_helps(noise: Noise) -> None:
    """Check that a bound q_next on the next class adds to what q proves."""
    radii = noise.radius(Q)
    says_no_more: dict[str, ArrayLike] = {"q": Q, "1": 1.0}
    for text, q_next in says_no_more.items():
        require(
            np.array_equal(noise.radius(Q, q_next), radii),
            f"has other radii with q_next={text} than with q alone, which says as much",
        )
    require(
        np.all(noise.radius(Q, Q / 2.0) >= radii),
        "has a smaller radius where q_next says more",
    )


def _check_tails_invert_radii(noise: Noise) -> None:
    """Check that `tail` is the largest q that certifies a radius."""
    q = Q.ravel()[1:]
    radii = noise.radius(Q).ravel()[1:]
    tails = noise.tail(radii)
    require(
        tails.shape == radii.shape and np.all(np.diff(tails) >= 0.0),
        "has tails that do not fall as radii grow",
    )
    if NORMS[noise.norm].whole:
        _check_tails_of_whole_radii(noise, q, tails)
    else:
        worst = int(np.argmax(np.abs(tails / q - 1.0)))
        require(
            np.allclose(tails, q, rtol=TAIL_ERROR, atol=0.0),
            f"has the tail {tails[worst]:.6g} of the radius {radii[worst]:.6g}, which is "
            f"that of q={q[worst]:.6g}",
        )
        require(
            np.all(noise.radius(tails) >= radii * (1.0 - RADIUS_ERROR)),
            "has tails that do not certify their radius",
        )

    ends = noise.tail([0.0, FAR_AWAY])
    require(
        abs(ends[0] - 0.5) < END_ERROR and 0.0 <= ends[1] < END_ERROR,
        f"has tails {ends.tolist()} of the radii 0 and 1e9",
    )


def _check_tails_of_whole_radii(noise: Noise, q: Floats, tails: Floats) -> None:
    """Check tails under L0, where each radius is a whole number, and that of many q."""
    all_whole = not np.any(noise.radius(Q) % 1.0)
    largest = float(noise.radius(0.0))
    whole_radii = np.arange(1.0, largest + 1.0)
    inverted = np.array_equal(noise.radius(noise.tail(whole_radii)), whole_radii)
    require(
        inverted and np.all(tails >= q) and all_whole,
        "has tails that are not the largest q of each whole radius",
    )
