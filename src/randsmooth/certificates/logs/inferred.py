"""What a log was made with, taken from the user, from its path or from its largest radii; never assumed.

n of n successes certify sigma * Phi^-1(alpha^(1/n)) and no more. Many images reach that, so the largest radius of a log
reveals its budget: 3.81 sigma is n = 100,000 at alpha 0.001, and 3.91 sigma is the same n at alpha 0.01.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates.evidence import name_images
from randsmooth.certificates.logs.paths import PathFacts, path_facts
from randsmooth.certificates.table import ABSTAIN, Certificates, Floats
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian, check_sigma, round_down
from randsmooth.rules import MOST_SAMPLES

COMMON_ALPHA = 0.001  # at which most papers certify
USUAL_N = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
USUAL_ALPHA = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1)
TOP = 64  # how many of the largest radii are compared with a budget's: smaller ones lie too close together
ROUNDED = 0.005  # a log prints three significant digits, perhaps rounded up
FINEST = 1e-6  # what `write_tsv` rounds down to
FINE = 7  # decimals: with as many or more, a radius may be off by FINEST
LOOSEST = 0.5  # an alpha above any in use

Budget = tuple[int, float]


def infer(
    table: Certificates,
    path: Path | str,
    *,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
) -> Certificates:
    """Complete a log with the facts that it does not hold (sigma, n, alpha, data set), and judge it at alpha 0.001.

    Arguments take precedence over what the path says (see `path_facts`). If neither gives n and alpha, they are taken
    from the largest radii, provided that exactly one usual budget explains these. If that alpha is not 0.001, the log
    is judged again at 0.001 (see `log_at_alpha`). The header's notes say where each fact comes from; what stays unknown
    stays None. A table of counts is returned unchanged.

    Raises:
        InputError: the radii cannot come from the given sigma, n and alpha.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = infer(from_radii([0.2, 1.91, 1.91]), "cifar10-sigma0.5/macer.tsv")
        >>> table.header.dataset, table.header.sigma, table.header.n, table.header.alpha
        ('cifar10', 0.5, 100000, 0.001)
    """
    if not table.is_log:
        return table
    known = _placed(table, path_facts(Path(path)), sigma=sigma, n=n, alpha=alpha)
    require_reachable(known)
    made = _budgeted(known)
    return made if alpha is not None or made.header.alpha is None else log_at_alpha(made, COMMON_ALPHA)


def _placed(table: Certificates, place: PathFacts, **given: float | None) -> Certificates:
    """The table with the facts that were given, then with those that its path says."""
    known = table.assuming(**given)  # type: ignore[arg-type]
    budget = {name: getattr(place, name) for name in given if getattr(known.header, name) is None}
    made = known.assuming(**budget)
    facts = {"dataset": place.dataset or None, "split": place.split or None, "model": place.model or None}
    new = {key: value for key, value in facts.items() if getattr(made.header, key) is None}
    used: dict[str, Any] = dict.fromkeys(given, None) | budget
    said = replace(place, **used).in_words()
    trained = "" if place.training_sigma in (None, made.header.sigma) else f"trained at sigma {place.training_sigma:g}"
    return _noted(made, *filter(None, [said, trained]), **new)


def _budgeted(table: Certificates) -> Certificates:
    """The table with n and alpha, as far as they follow from its radii."""
    known: dict[str, Any] = {"n": table.header.n, "alpha": table.header.alpha}
    lacking = [name for name, value in known.items() if value is None]
    if table.header.sigma is None or not lacking or len(table) == 0:
        return table
    found, largest = possible_budgets(table.radius, table.header.sigma, **known), float(table.radius.max())
    if len(found) != 1:
        said = f"{' and '.join(lacking)} not known: the largest radius, {largest:g}, is not the most of any one usual"
        return _noted(table, f"{said} budget; shown as logged, not re-bound")
    facts = dict(zip(known, found[0], strict=True))
    said = " and ".join(f"{name} {facts[name]:,}" for name in lacking)
    return _noted(table, f"{said}: the largest radius, {largest:g}, is the most that these certify", **facts)


def log_at_alpha(table: Certificates, alpha: float) -> Certificates:
    """Judge a log at another alpha: n_A of each image is recovered from its radius, and its bound computed again.

    Images that are no longer certified at `alpha` abstain. The new radii are as exact as the log's printed ones.

    Raises:
        InputError: sigma, n or alpha of the log is unknown, or `alpha` lies outside [1e-15, 1).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.005, 1.0], sigma=0.5, n=1000, alpha=0.01)
        >>> log_at_alpha(table, 0.001).radius.round(3).tolist()
        [0.0, 0.965]
    """
    sigma, n, made = table.header.sigma, table.header.n, table.header.alpha
    bounds.check_level(alpha)
    if sigma is None or n is None or made is None:
        raise InputError(f"{table.name}: another alpha needs the sigma, n and alpha that the log was made with")
    if made == alpha:
        return table
    n_a = bounds.successes_of_q(Gaussian(sigma).tail(table.radius), n, made)
    radius = Gaussian(sigma).radius(bounds.q_upper(n_a, n, alpha))
    held = (table.predict != ABSTAIN) & (radius > 0.0)
    judged = replace(table, predict=np.where(held, table.predict, ABSTAIN), radius=np.where(held, radius, 0.0))
    note = f"made at alpha {made:g}, re-bound at {alpha:g}: ACR {_acr(judged)}, as logged {_acr(table)}"
    return _noted(judged, note, alpha=alpha)


def _acr(table: Certificates) -> str:
    return f"{(table.radius * table.correct).mean():.3f}"


def _noted(table: Certificates, *notes: str, **facts: object) -> Certificates:
    header = table.header
    return replace(table, header=header.replace(**facts, notes=(*header.notes, *notes)))


def possible_budgets(radius: Floats, sigma: float, n: int | None = None, alpha: float | None = None) -> list[Budget]:
    """The usual budgets (n, alpha) whose largest radii are those of a log.

    Args:
        radius: (N,) as the log prints them. If a single image has the largest, no budget is inferred.
        sigma: of the log.
        n, alpha: if known, only budgets with these are tried.

    Example:
        >>> possible_budgets(np.array([0.2, 1.91, 1.91]), sigma=0.5)  # 1.91 is 3.81 sigma
        [(100000, 0.001)]
    """
    check_sigma(sigma)
    if len(radius) == 0 or radius.max() <= 0.0 or (radius == radius.max()).sum() < 2:
        return []
    printed = np.unique(radius[radius > 0.0])[::-1]
    scaled, off = printed / sigma, _rounding(printed) / sigma
    every = [(m, a) for m in ([n] if n else USUAL_N) for a in ([alpha] if alpha else USUAL_ALPHA)]
    budgets = [(m, a) for m, a in every if m >= bounds.smallest_n(a)]
    near = [one for one in budgets if abs(_largest(*one)[0] - scaled[0]) <= off[0]]  # few, looked at more closely
    return [one for one in near if _explains(_largest(*one), scaled, off)]


def _explains(there: Floats, radii: Floats, off: Floats) -> bool:
    """Whether those of `radii` that lie near the largest of `there` equal one of these, to within `off`."""
    near = radii >= there[-1]
    gap = np.abs(radii[near][:, None] - there).min(axis=1)
    return bool(np.all(gap <= off[near]))


@cache
def _largest(n: int, alpha: float) -> Floats:
    """The radii, in units of sigma, that n, n - 1, ... of n successes certify."""
    k = np.arange(n, max(n // 2, n - TOP), -1)
    return Gaussian(1.0).radius(bounds.q_upper(k, n, alpha))


def _rounding(radii: Floats) -> Floats:
    """By how much each radius may be off as printed: half a unit of the last digit that any of its magnitude shows."""
    rounded = np.array([np.abs(np.round(radii, d) - radii) <= 1e-12 * radii for d in range(FINE)] + [radii > 0.0])
    decimals = np.argmax(rounded, axis=0)
    magnitude = np.floor(np.log10(radii))
    shown = np.array([decimals[magnitude == m].max() for m in magnitude])
    return np.asarray(np.maximum(0.5 * 10.0**-shown, FINEST) * (1.0 + 1e-6))


def beyond(radius: Floats, sigma: float, n: int, alpha: float) -> NDArray[np.bool_]:
    """(N,) radii above what n samples at alpha certify at sigma, by more than rounding."""
    return np.asarray(radius > Gaussian(sigma).largest_radius(n, alpha) * (1.0 + ROUNDED))


def require_reachable(table: Certificates) -> None:
    """Raise InputError for a log whose radii cannot come from its sigma, n and alpha. A table of counts passes.

    And so does one with radii in another norm, whose own were in reach.

    Either a radius is above the largest that they certify, or another usual budget explains the largest radii and this
    one does not. An unknown n or alpha is taken to be one that certifies the most: MOST_SAMPLES samples, alpha LOOSEST.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> require_reachable(from_radii([1.0], sigma=0.5, n=1000, alpha=0.001))
        >>> require_reachable(from_radii([4.0], sigma=0.5, n=1000, alpha=0.001, name="log"))
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: log: the radius of image 0 is above 1.231, the most that n=1000 and ...
    """
    header = table.header
    if not table.is_log or header.sigma is None or table.converted is not None:
        return
    found = possible_budgets(table.radius, header.sigma)
    if len(found) == 1 and (header.n or found[0][0], header.alpha or found[0][1]) != found[0]:
        those = f"its radii are those of n={found[0][0]} at alpha={found[0][1]:g}; give these, or leave n and alpha out"
        raise InputError(f"{table.name}: not made with n={header.n}, alpha={header.alpha}: {those}")
    n, alpha = header.n or MOST_SAMPLES, header.alpha or LOOSEST
    if len(wrong := table.idx[beyond(table.radius, header.sigma, n, alpha)]):
        most = round_down(Gaussian(header.sigma).largest_radius(n, alpha), 3)
        budget = f"n={header.n or 'any'} and alpha={header.alpha or 'any'} certify at sigma={header.sigma:g}"
        above = f"{table.name}: the radius of {name_images(wrong)} is above {most}, the most that {budget}"
        raise InputError(f"{above}; give those that the log was made with, or no n and alpha")
