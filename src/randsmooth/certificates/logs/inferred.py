"""What a log was made with, taken from the user, from its path or from its largest radii; never assumed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from randsmooth import bounds
from randsmooth.certificates.header import CLOPPER_PEARSON, Header
from randsmooth.certificates.logs.budgets import least_alpha, possible_budgets, require_reachable
from randsmooth.certificates.logs.paths import PathFacts, path_facts
from randsmooth.certificates.table import ABSTAIN, Certificates
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian

COMMON_ALPHA = 0.001  # at which most papers certify


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
    place = path_facts(Path(path))
    if not tells_p_a(table.header):  # its radii are not those of n samples judged by Clopper-Pearson
        return _placed(table, replace(place, n=None, alpha=None), sigma=sigma, n=None, alpha=None)
    known = _placed(table, place, sigma=sigma, n=n, alpha=alpha)
    require_reachable(known)
    made = _budgeted(known)
    return made if alpha is not None or made.header.alpha is None else log_at_alpha(made, COMMON_ALPHA)


def tells_p_a(header: Header) -> bool:
    """Whether a log's radii are those of n samples judged by Clopper-Pearson, from which p_A can be recovered.

    They are not where one radius was asked for, or where the soft smoothed classifier was certified.

    Example:
        >>> tells_p_a(Header()), tells_p_a(Header(rule="radius=0.5"))
        (True, False)
    """
    return header.rule == "fixed" and header.bound in (None, CLOPPER_PEARSON)


def _placed(
    table: Certificates, place: PathFacts, *, sigma: float | None, n: int | None, alpha: float | None
) -> Certificates:
    """The table with the facts that were given, then with those that its path says."""
    given = table.assuming(sigma=sigma, n=n, alpha=alpha)
    used = replace(
        place,
        sigma=place.sigma if given.header.sigma is None else None,
        n=place.n if given.header.n is None else None,
        alpha=place.alpha if given.header.alpha is None else None,
    )
    facts = {"dataset": place.dataset or None, "split": place.split or None, "model": place.model or None}
    new = {key: value for key, value in facts.items() if getattr(given.header, key) is None}
    made = given.assuming(sigma=place.sigma, n=place.n, alpha=place.alpha)
    notes = [note for note in (used.in_words(), _trained(place, made.header.sigma)) if note]
    return _noted(made, *notes, **new)


def _trained(place: PathFacts, sigma: float | None) -> str:
    """A note that training had another sigma than certification; empty if it had not, or if that is unknown."""
    if place.training_sigma is None or place.training_sigma == sigma:
        return ""
    return f"trained at sigma {place.training_sigma:g}" if place.training_sigma else "trained without noise"


def _budgeted(table: Certificates) -> Certificates:
    """The table with n and alpha, as far as they follow from its radii."""
    sigma, n, alpha = table.header.sigma, table.header.n, table.header.alpha
    if sigma is None or None not in (n, alpha) or len(table) == 0:
        return table
    found, largest = possible_budgets(table.radius, sigma, n, alpha), float(table.radius.max())
    if len(found) == 1:
        facts = {"n": found[0][0], "alpha": found[0][1]}
        said = " and ".join(f"{key} {facts[key]:,}" for key in facts if getattr(table.header, key) is None)
        return _noted(table, f"{said}: its largest radius, {largest:g}, is the most that they certify", **facts)
    return _noted(table, _unknown(largest, sigma, n, alpha))


def _unknown(largest: float, sigma: float, n: int | None, alpha: float | None) -> str:
    """A note on what is known of n and alpha where the largest radius does not determine them."""
    lacking = [name for name, value in (("n", n), ("alpha", alpha)) if value is None]
    note = (
        f"{' and '.join(lacking)} not known: its largest radius, {largest:g}, is not the most of any one usual budget"
    )
    note += "; shown as logged, not re-bound"
    least = None if n is None else least_alpha(largest, sigma, n)
    return note if least is None else f"{note}; n {n:,} needs alpha {least:g} or more for it"


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
