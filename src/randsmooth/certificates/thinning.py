"""The evidence of a table with fewer samples, as a shorter run would give it."""

from typing import Any

import numpy as np

from randsmooth.certificates.evidence import Ints
from randsmooth.certificates.header import Header, guarantee_of
from randsmooth.errors import WrongTable
from randsmooth.notes import Note
from randsmooth.rules import MOST_SAMPLES


def judged_anew(
    header: Header, n: int | None, alpha: float | None, seed: int
) -> Header:
    """Return the header of the same evidence at another `n` or `alpha`.

    The notes and the guarantee of the new header state the change. `n` or `alpha` stays
    as it is where None is given. `seed` is that of `thinned`, for the note.
    """
    changed: dict[str, Any] = {}
    notes = list(header.notes)
    if n is not None and n != header.n:
        changed["n"] = n
        notes.append(Note("thinned", before=header.n, now=n, seed=seed))
    if alpha is not None and alpha != header.alpha:
        changed["alpha"] = alpha
        notes.append(Note("alpha_recomputed", before=header.alpha, now=alpha))
    # The numbers are checked first: a note holds none that cannot be used.
    judged = header.replace(**changed)
    guarantee = None if judged.guarantee is None else guarantee_of(judged)
    return judged.replace(notes=tuple(notes), guarantee=guarantee)


def thinned(counts: Ints, n: int, seed: int) -> Ints:
    """Return counts (N, K) of n random samples of each image.

    They are drawn, without replacement, from the samples in `counts` (N, K).

    Raises:
        Problem: the table holds fewer samples, or more than NumPy can draw from.
    """
    # Without images, any n will do.
    stored = int(counts.sum(axis=1).max(initial=0)) if len(counts) else n
    if not 1 <= n <= stored:
        raise WrongTable(
            f"n={n} is not among the 1..{stored} samples that the table holds; "
            "certify again for more"
        )
    if stored >= MOST_SAMPLES:
        raise WrongTable(
            f"the table holds {stored:,} samples per image; NumPy can thin fewer than "
            f"{MOST_SAMPLES:,}"
        )
    rng = np.random.default_rng(seed)
    # An image that a label-aware run gave up has no samples. The method "marginals"
    # draws class by class; NumPy's other one lists every sample.
    rows = [
        rng.multivariate_hypergeometric(row, min(n, row.sum()), method="marginals")
        for row in counts
    ]
    return np.array(rows, np.int64).reshape(counts.shape)


def marked(classes: Ints, K: int) -> Ints:
    """Return (N, K) zeros with a 1 for the class of each row, from `classes` (N,)."""
    marks = np.zeros((len(classes), K), np.int64)
    marks[np.arange(len(classes)), classes] = 1
    return marks
