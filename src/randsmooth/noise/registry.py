"""Noises by name, and how one is made from what a user or a header says.

Listing them loads neither torch nor SciPy.
"""

from collections.abc import Mapping
from typing import Any

from randsmooth.documents import shown
from randsmooth.errors import BadValue, MissingValue, Problem
from randsmooth.noise.ablation import Ablation
from randsmooth.noise.base import Noise
from randsmooth.noise.gaussian import Gaussian
from randsmooth.noise.gaussian_per_coordinate import GaussianPerCoordinate
from randsmooth.noise.holding_fixed import holding
from randsmooth.noise.laplace import Laplace
from randsmooth.noise.splitting import Splitting
from randsmooth.noise.uniform import Uniform
from randsmooth.noise.word_ablation import PARTS, WORDS, WordAblation
from randsmooth.registry import Registry, by_name

NOISES: Registry[type[Noise]] = Registry(
    "noise",
    "randsmooth.noises",
    by_name(Gaussian, GaussianPerCoordinate, Uniform, Laplace, Splitting, Ablation),
)


def make_noise(text: str) -> Noise:
    """Return the noise that `text` names, such as "uniform=0.6" or "ablation=45".

    Args:
        text: a name of `NOISES`, and after `=` its width, or how many pixels are kept,
            or a file as in "gaussian=std.npy".

    Raises:
        Problem: there is no such noise, or what follows its name is missing or wrong.

    Example:
        >>> make_noise("uniform=0.6")
        Uniform(lam=0.6)
        >>> make_noise("unifrom=0.6")
        Traceback (most recent call last):
        ...
        randsmooth.errors.UnknownName: unknown noise 'unifrom': did you mean 'uniform'? ...
    """
    name, _, value = text.strip().partition("=")
    if name == "gaussian" and value.endswith(".npy"):
        # One standard deviation for each coordinate.
        name = "gaussian-per-coordinate"
    kind = NOISES[name]
    if not value:
        raise MissingValue(
            f"noise {shown(repr(text))} lacks its number: write {kind.usage}. "
            f"{kind.summary}"
        )
    try:
        return kind.parse(value)
    except Problem as error:
        raise BadValue(f"noise {shown(repr(text))}: {error}") from error


def noise_from(facts: Mapping[str, Any]) -> Noise:
    """Return the noise whose `Noise.facts` these are, equal to the last bit.

    Raises:
        Problem: there is no such noise here, or these are not its facts.

    Example:
        >>> noise_from({"name": "uniform", "lam": 0.6})
        Uniform(lam=0.6)
    """
    own = {
        key: value
        for key, value in facts.items()
        if key not in ("name", "held", "columns")
    }
    if facts.get("name") == WordAblation.name and own.get(PARTS) == WORDS:
        del own[PARTS]
        return WordAblation.from_facts(own)
    noise = NOISES[str(facts.get("name", ""))].from_facts(own)
    if "held" not in facts:
        return noise
    return holding(facts, noise)
