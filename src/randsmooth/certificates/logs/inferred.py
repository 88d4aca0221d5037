"""What a log was made with, taken from the user, from its path or from its largest
radii; never assumed.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth import bounds
from randsmooth.certificates.evidence import ABSTAIN
from randsmooth.certificates.logs.budgets import (
    ROUNDED,
    explains,
    in_sigmas,
    largest_radii,
    possible_budgets,
)
from randsmooth.certificates.logs.paths import PathFacts, path_facts
from randsmooth.certificates.logs.reach import (
    STANDARD,
    radii_and_sigma,
    require_reachable,
    sigma_of_each,
)
from randsmooth.certificates.table import Certificates
from randsmooth.errors import BadValue
from randsmooth.noise import Gaussian, round_down
from randsmooth.notes import Note

# The alpha at which most papers certify.
COMMON_ALPHA = 0.001

# From this share of the images on, those that share one radius are taken to be at the
# end of what can be certified.
PILE_SHARE = 0.02


def infer(
    table: Certificates,
    path: Path | str,
    *,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
) -> Certificates:
    """Complete a log with the facts that it does not hold (sigma, n, alpha, data set),
    and judge it at alpha 0.001.

    Arguments take precedence over what the path says (see `path_facts`). If neither
    gives n and alpha, they are taken from the largest radii, provided that exactly one
    usual budget explains these. If that alpha is not 0.001, the log is judged again at
    0.001 (see `log_at_alpha`). The header's notes say where each fact comes from; what
    stays unknown stays None. A table of counts is returned unchanged.

    Raises:
        Problem: the radii cannot come from the given sigma, n and alpha.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = infer(from_radii([0.2, 1.91, 1.91]), "cifar10-sigma0.5/macer.tsv")
        >>> table.header.dataset, table.header.sigma, table.header.n, table.header.alpha
        ('cifar10', 0.5, 100000, 0.001)
    """
    if not table.is_log:
        return table
    _check_own_sigma(table, sigma)
    placed = _with_path_facts(
        table, path_facts(Path(path)), sigma=sigma, n=n, alpha=alpha
    )
    require_reachable(placed)
    complete = _with_budget(placed)
    complete = _noted(complete, _doubt(complete))
    # An alpha that the user gave is kept. Where it is unknown, nothing can be judged.
    if alpha is not None or complete.header.alpha is None:
        return complete
    return log_at_alpha(complete, COMMON_ALPHA)


def _check_own_sigma(table: Certificates, sigma: float | None) -> None:
    """Raise Problem where a `sigma` is given that is not the one that the log itself
    states.
    """
    stated = table.header.sigma
    if sigma is not None and stated is not None and sigma != stated:
        raise BadValue(
            f"it says itself that sigma is {stated:g}: leave sigma out; "
            f"got sigma={sigma:g}",
            field="sigma",
            value=sigma,
            where=table.name,
        )


def _with_path_facts(
    table: Certificates,
    place: PathFacts,
    *,
    sigma: float | None,
    n: int | None,
    alpha: float | None,
) -> Certificates:
    """Return the table with the facts that it lacks.

    Those that the user gave take precedence over those of its path, `place`.
    """
    known = table.assuming(sigma=sigma, n=n, alpha=alpha)
    if table.sigmas is not None:
        # The log states a sigma for each image: one in the path is that of the
        # training, or of the search for these.
        place = replace(place, sigma=None)

    lacking = [
        name for name in ("sigma", "n", "alpha") if getattr(known.header, name) is None
    ]
    by_path: dict[str, Any] = {name: getattr(place, name) for name in lacking}
    placed = known.assuming(**by_path)

    # The note says what the path told: not a sigma, n or alpha that was known before.
    nothing: dict[str, Any] = dict.fromkeys(("sigma", "n", "alpha"))
    told_by_path = replace(place, **nothing | by_path)

    facts = {
        "dataset": place.dataset or None,
        "split": place.split or None,
        "model": place.model or None,
    }
    new = {
        name: value
        for name, value in facts.items()
        if getattr(placed.header, name) is None
    }
    trained = None
    if place.training_sigma not in (None, placed.header.sigma):
        trained = Note("training_sigma", sigma=place.training_sigma)
    return _noted(placed, told_by_path.note, trained, **new)


def _with_budget(table: Certificates) -> Certificates:
    """Return the table with n and alpha, as far as they follow from its radii."""
    known: dict[str, Any] = {"n": table.header.n, "alpha": table.header.alpha}
    lacking = [name for name, value in known.items() if value is None]
    scaled = radii_and_sigma(table)
    if scaled is None or not lacking or len(table) == 0:
        return table

    radius, sigma = scaled
    budgets = possible_budgets(radius, sigma, **known)
    largest = f"{table.radius.max():g}"
    if table.header.sigma is None:
        # Each image has its own sigma, or none is known: units of it compare them.
        largest = f"{(radius / sigma).max():.4g} sigma"
    if len(budgets) != 1:
        return _noted(table, Note("budget_unknown", lacking=lacking, largest=largest))
    n, alpha = budgets[0]
    facts = {"n": n, "alpha": alpha}
    note = Note("budget_inferred", lacking=lacking, largest=largest, **facts)
    return _noted(table, note, **facts)


def _doubt(table: Certificates) -> Note | None:
    """Return a note on a log whose radii do not look as if they were made with its
    sigma, n and alpha.

    Some of its largest radii may be none that these certify; or many images share the
    largest radius, as where certification ends, though these certify more. It is None
    where there is no such doubt.
    """
    header = table.header
    largest = float(np.max(table.radius, initial=0.0))
    scaled = radii_and_sigma(table)
    if scaled is None or header.n is None or header.alpha is None or largest == 0.0:
        return None
    radii, tolerance = in_sigmas(*scaled)
    if not explains(largest_radii(header.n, header.alpha), radii, tolerance):
        return Note(
            "radii_of_no_budget", sigma=header.sigma, n=header.n, alpha=header.alpha
        )
    if header.sigma is None:
        return None

    most = Gaussian(header.sigma).largest_radius(header.n, header.alpha)
    at_largest = int((table.radius == largest).sum())
    if largest > most * (1.0 - ROUNDED) or at_largest < PILE_SHARE * len(table):
        return None
    return Note(
        "many_largest_radii",
        images=at_largest,
        largest=largest,
        sigma=header.sigma,
        n=header.n,
        alpha=header.alpha,
        possible=float(round_down(most, 3)),
    )


def log_at_alpha(table: Certificates, alpha: float) -> Certificates:
    """Return a log judged at another alpha.

    The count n_A of each image is recovered from its radius, and its bound computed
    again. Images that are no longer certified at `alpha` abstain. The new radii are as
    exact as the log's printed ones.

    Raises:
        Problem: sigma, n or alpha of the log is unknown, or `alpha` lies outside
            [1e-15, 1).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.005, 1.0], sigma=0.5, n=1000, alpha=0.01)
        >>> log_at_alpha(table, 0.001).radius.round(3).tolist()
        [0.0, 0.965]
    """
    n = table.header.n
    made_at = table.header.alpha
    bounds.check_level(alpha)
    if made_at == alpha:
        return table
    sigma = sigma_of_each(table)
    if sigma is None or n is None or made_at is None:
        raise BadValue(
            "another alpha needs the sigma, n and alpha that the log was made with",
            field="alpha",
            value=alpha,
            where=table.name,
        )

    n_a = bounds.successes_of_q(table.stated_q, n, made_at)
    q = bounds.q_upper(n_a, n, alpha)
    radius = sigma * STANDARD.radius(q)
    certified = (table.predict != ABSTAIN) & (radius > 0.0)
    judged = replace(
        table,
        predict=np.where(certified, table.predict, ABSTAIN),
        radius=np.where(certified, radius, 0.0),
        # Only a log with a column of bounds states q.
        q=None if table.q is None else q,
    )
    note = Note(
        "bound_anew",
        before=made_at,
        now=alpha,
        acr=float((judged.radius * judged.correct).mean()),
        logged_acr=float((table.radius * table.correct).mean()),
    )
    return _noted(judged, note, alpha=alpha)


def _noted(table: Certificates, *notes: Note | None, **facts: object) -> Certificates:
    """Return the table with `facts` and further `notes` in its header.

    None stands for no note.
    """
    header = table.header
    all_notes = (*header.notes, *(note for note in notes if note is not None))
    return replace(table, header=header.replace(**facts, notes=all_notes))
