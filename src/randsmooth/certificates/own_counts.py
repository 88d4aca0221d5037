"""A table of counts that another program made: its radii are computed here, and it says what it cannot know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from randsmooth.certificates.columns_of_counts import columns_in
from randsmooth.certificates.given_counts import GivenCounts
from randsmooth.certificates.guarantee_text import guarantee_of
from randsmooth.certificates.header import Header
from randsmooth.certificates.table import Certificates
from randsmooth.errors import InputError
from randsmooth.rules import ConfidenceBound, kind_of_rule, make_rule

if TYPE_CHECKING:
    import pandas as pd

ARRAYS = "arrays"  # the source of counts that came from no file


def from_counts(
    counts: ArrayLike | Mapping[str, Any] | pd.DataFrame | Path | None = None,
    *,
    sigma: float,
    label: ArrayLike | None = None,
    n: ArrayLike | None = None,
    counts0: ArrayLike | None = None,
    picked: ArrayLike | None = None,
    path: Sequence[ArrayLike] | None = None,
    idx: ArrayLike | None = None,
    seconds: ArrayLike | None = None,
    alpha: float = 0.001,
    rule: str = "fixed",
    bound: ConfidenceBound = "clopper-pearson",
    classes: Sequence[str] | None = None,
    dataset: str | None = None,
    split: str | None = None,
    source: str | None = None,
    name: str = "",
) -> Certificates:
    """The table of N images whose noisy copies another program classified and counted; its radii are computed here.

    How the class was picked decides what the counts prove, so one of three things must be said:

    - `counts0`: other samples picked it, by most of their votes, as in CERTIFY of Cohen et al. 2019.
    - `picked`: the class was fixed without these samples: by the clean image, say, or by other samples whose counts
      were not kept. The header's n0 is then unknown.
    - `bound="any-class"`: the most frequent class of these very samples, for which Clopper-Pearson's one-sided bound
      does not hold at alpha; it is taken at alpha / 2 (see `bounds.any_class_q_upper`).

    What is certified is right with probability 1 - alpha for each image, if the counts are of independent samples of
    x + N(0, sigma^2 I). That cannot be seen from counts: the table's guarantee says so, and its header leaves seed,
    noise and model unknown.

    Args:
        counts: (N, K) how often each class came out, or (N,) how often the picked class did, with `n` and `picked`.
            None where `path` says it. Or all columns at once, under the names of the arguments: a mapping, a DataFrame,
            or a file of comma- or tab-separated values or JSON lines. There the counts of the picked class are called
            n_A, and counts_0, counts_1, ... (counts0_0, ...) may be columns of their own.
        sigma: standard deviation of the noise, in units of pixels in [0, 1].
        label: (N,) true classes; without them, nothing is known of accuracy.
        n: samples per image that are counted, the same for all; of a rule that stops by itself, the most it may take.
        counts0: (N, K) class counts of the samples that picked the class.
        picked: (N,) classes that were picked without these samples.
        path: of a rule other than fixed: for each image, how often the picked class had come out at each look; under
            "anytime" up to any look, under others as far as the rule goes.
        idx: (N,) positions of the images in their split; 0..N-1 if not given.
        seconds: (N,) time that each image took; 0 if not given.
        alpha: probability that one image's certificate is wrong.
        rule, bound: how many samples were drawn, and the bound of the fixed rule (see `CertificationSettings`).
        classes: names of the K classes.
        dataset, split: which images these are.
        source: where the counts come from, in words; the name of the file if not given.
        name: what to call the table in a comparison.

    Raises:
        InputError: columns that are missing, given twice, of several lengths or no counts; images with different
            numbers of samples under a rule that does not stop by itself; looks that the rule does not take; or a budget
            that certifies nothing.

    Example:
        >>> table = from_counts([990, 600, 480], n=1000, picked=[3, 5, 0], label=[3, 8, 0], sigma=0.5)
        >>> table.predict.tolist(), table.radius.round(3).tolist(), table.correct.tolist()
        ([3, 5, -1], [0.989, 0.064, 0.0], [True, False, False])
        >>> whole = from_counts([[990, 10], [480, 520]], label=[0, 1], sigma=0.5, bound="any-class")
        >>> whole.predict.tolist(), whole.radius.round(3).tolist(), whole.header.seed
        ([0, -1], [0.979, 0.0], None)
    """
    kind_of_rule(rule, n=1, bound=bound)  # a misspelt name is told before its looks are asked for
    own = {"label": label, "n": n, "counts0": counts0, "picked": picked, "path": path, "idx": idx, "seconds": seconds}
    columns, origin = columns_in(counts)
    given = {key: value for key, value in own.items() if value is not None}
    if twice := sorted(columns.keys() & given.keys()):
        raise InputError(f"{twice[0]} is given twice: as an argument, and in {origin or 'the columns'}")
    found = GivenCounts.of(columns | given)
    judged = make_rule(rule, sigma=sigma, n=found.budget(rule), alpha=alpha, bound=bound)
    counted = found.counted(judged, bound, None if classes is None else len(classes))
    header = Header(
        sigma=sigma,
        n0=counted.n0,
        n=judged.n,
        alpha=alpha,
        bound=judged.stated_bound,
        rule=rule,
        source=source or origin or ARRAYS,
        lumped=counted.lumped,
        dataset=dataset,
        split=split,
        classes=None if classes is None else tuple(classes),
        notes=judged.notes,
    )
    name = name or (Path(origin).stem if origin else "")
    return found.table(header.having(guarantee=guarantee_of(header)), counted, name)
