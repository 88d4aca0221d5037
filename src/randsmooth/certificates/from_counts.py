"""Tables of what other programs counted.

Counts come as arrays, a DataFrame, comma- or tab-separated values, or JSON lines: radii are
computed here, and the table says what it cannot know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates.counts_given import arrays_given, columns_given
from randsmooth.certificates.evidence import NO_LABEL, Floats, Ints
from randsmooth.certificates.header import Header, guarantee_of, notes_of_rule
from randsmooth.certificates.settings import CertificationSettings
from randsmooth.certificates.table import Certificates, from_evidence
from randsmooth.certificates.thinning import marked
from randsmooth.documents import shown
from randsmooth.errors import BadValue, Conflict, MissingValue, Setting
from randsmooth.noise import Noise, on_words
from randsmooth.rules import (
    ConfidenceBound,
    Rule,
    check_samples,
    kind_of_rule,
    make_rule,
)

if TYPE_CHECKING:
    import pandas as pd

# The source of counts that came from no file.
FROM_ARRAYS = "arrays"

# The most numbers that the counts may have where only the picked class was counted: they
# take half a gigabyte.
MOST_VALUES = 2**26

PICKED = (
    "counts alone do not say how the class was picked, on which the bound depends. Give counts0, the class counts of "
    "other samples that picked it; or picked, the classes, if these samples had no part in it; or bound='any-class', "
    "if it is the most frequent class of these very samples"
)


def from_counts(
    counts: ArrayLike | Mapping[str, Any] | pd.DataFrame | Path | None = None,
    *,
    sigma: float | None = None,
    noise: Noise | str | None = None,
    label: ArrayLike | None = None,
    n: ArrayLike | None = None,
    counts0: ArrayLike | None = None,
    picked: ArrayLike | None = None,
    path: Sequence[ArrayLike] | None = None,
    idx: ArrayLike | None = None,
    seconds: ArrayLike | None = None,
    words: ArrayLike | None = None,
    alpha: float = 0.001,
    rule: str = "fixed",
    bound: ConfidenceBound = "clopper-pearson",
    classes: Sequence[str] | None = None,
    dataset: str | None = None,
    split: str | None = None,
    source: str | None = None,
    name: str = "",
) -> Certificates:
    """Return the table of N images whose noisy copies another program classified and counted, with radii computed here.

    How the class was picked decides what the counts prove, so one of three things must be said:

    - `counts0`: other samples picked it, by most of their votes, as in CERTIFY of Cohen et al. 2019.
    - `picked`: the class was fixed without these samples: by the clean image, say, or by other samples whose counts
      were not kept. The header's n0 is then unknown.
    - `bound="any-class"`: the most frequent class of these very samples, for which Clopper-Pearson's one-sided bound
      does not hold at alpha; it is taken at alpha / 2 (see `bounds.any_class_q_upper`).

    What is certified is right with probability 1 - alpha for each image, if the counts are of independent samples under
    the noise, such as x + N(0, sigma^2 I). That cannot be seen from counts: the table's guarantee says so, and its
    header leaves seed, stream and model unknown.

    Args:
        counts: (N, K) how often each class came out, or (N,) how often the picked class did, with `n` and `picked`.
            None where `path` says it. Or all columns at once, under the names of the arguments: a mapping, a DataFrame,
            or a file of comma- or tab-separated values or JSON lines. There the counts of the picked class are called
            n_A, and counts_0, counts_1, ... (counts0_0, ...) may be columns of their own, as between commas they must.
        sigma: standard deviation of Gaussian noise, in units of pixels in [0, 1].
        noise: any noise in its place, complete for its inputs: "uniform=0.6", `noise.Ablation(45, d=784)`.
        label: (N,) true classes; without them, nothing is known of accuracy.
        n: samples per image that are counted, the same for all; of a rule that stops by itself, the most it may take.
        counts0: (N, K) class counts of the samples that picked the class.
        picked: (N,) classes that were picked without these samples.
        path: the counts at each look, for a rule other than fixed: for each image, how
            often the picked class had come out at each look; under "anytime" up to any
            look, under others as far as the rule goes.
        idx: (N,) positions of the images in their split; 0..N-1 if not given.
        seconds: (N,) time that each image took; 0 if not given.
        words: (N,) how many words each text has, where inputs are texts; the noise is then one on words.
        alpha: probability that one image's certificate is wrong.
        rule, bound: how many samples were drawn, and the bound of the fixed rule (see `CertificationSettings`).
        classes: names of the K classes.
        dataset, split: which images these are.
        source: where the counts come from, in words; the name of the file if not given.
        name: the name for the table in a comparison.

    Raises:
        Problem: columns that are missing, given twice, of several lengths or no counts; images with different
            numbers of samples under a rule that does not stop by itself; looks that the rule does not take; a budget
            that certifies nothing; or no noise, or two.

    Example:
        >>> table = from_counts([990, 600, 480], n=1000, picked=[3, 5, 0], label=[3, 8, 0], sigma=0.5)
        >>> table.predict.tolist(), table.radius.round(3).tolist(), table.correct.tolist()
        ([3, 5, -1], [0.989, 0.064, 0.0], [True, False, False])
        >>> whole = from_counts([[990, 10], [480, 520]], label=[0, 1], sigma=0.5, bound="any-class")
        >>> whole.predict.tolist(), whole.radius.round(3).tolist(), whole.header.seed
        ([0, -1], [0.979, 0.0], None)
    """
    if sigma is None and noise is None:
        raise MissingValue(
            (
                "say under which noise the counts were made: ",
                Setting("sigma", 0.5),
                ", or another as ",
                Setting("noise", "uniform=0.6"),
            ),
            field="sigma",
        )
    settings = CertificationSettings(sigma=sigma, noise=noise, alpha=alpha)
    # A misspelt rule is told before its looks are asked for. The n is not known yet:
    # any will do to look up a name.
    kind_of_rule(rule, n=1, bound=bound)

    arguments = {
        "label": label,
        "n": n,
        "counts0": counts0,
        "picked": picked,
        "path": path,
        "idx": idx,
        "seconds": seconds,
        "words": words,
    }
    columns, file_name = columns_given(counts)
    given = {name: value for name, value in arguments.items() if value is not None}
    _check_given_once(columns, given, file_name)
    arrays = arrays_given(columns | given)

    known_noise = settings.known_noise()
    if "words" in arrays:
        known_noise = on_words(known_noise)
    judge = make_rule(
        rule,
        noise=known_noise,
        n=_budget(arrays, rule),
        alpha=alpha,
        bound=bound,
    )
    lumped = arrays["counts"].ndim == 1
    if lumped:
        K = _number_of_classes(arrays, classes)
        n0, class_marks = _selection(arrays, bound, K)
        class_counts = _with_others(arrays, judge, class_marks)
        # The counts have a last column of all other answers; no class is marked there.
        class_marks = np.pad(class_marks, ((0, 0), (0, 1)))
    else:
        class_counts = arrays["counts"]
        n0, class_marks = _selection(arrays, bound, class_counts.shape[1])

    header = Header(
        noise=known_noise,
        n0=n0,
        n=judge.n,
        alpha=alpha,
        rule=rule,
        bound=judge.stated_bound,
        source=source or file_name or FROM_ARRAYS,
        lumped=lumped,
        dataset=dataset,
        split=split,
        classes=None if classes is None else tuple(classes),
        notes=notes_of_rule(judge),
    )
    header = header.replace(guarantee=guarantee_of(header))
    N = len(class_counts)
    return from_evidence(
        header,
        idx=arrays.get("idx", np.arange(N)),
        label=arrays.get("label", np.full(N, NO_LABEL)),
        seconds=arrays["seconds"],
        counts0=class_marks,
        counts=class_counts,
        paths=arrays.get("path"),
        u=_uniform_numbers(N) if header.bound == "randomised" else None,
        words=arrays.get("words"),
        name=name or Path(file_name).stem,
    )


def _check_given_once(
    columns: Mapping[str, Any], arguments: Mapping[str, Any], file_name: str
) -> None:
    """Raise Problem for a column that both the table of counts and an argument give."""
    twice = sorted(columns.keys() & arguments.keys())
    if twice:
        place = file_name or "the columns"
        raise Conflict(
            f"{twice[0]} is given twice: as an argument, and in {place}", field=twice[0]
        )


def _uniform_numbers(N: int) -> Floats:
    """Draw (N,) numbers in (0, 1) for the randomised bound, by the system's generator.

    Nobody can choose them so that they suit the counts.
    """
    # Half a step keeps them off 0 and 1.
    return np.array([(randbits(52) + 0.5) / 2.0**52 for _ in range(N)])


def _budget(arrays: Mapping[str, Any], rule: str) -> int:
    """Return the n of the rule: as given, or how many samples all images have.

    Raises:
        Problem: it is not known, or images have different numbers of samples under the fixed rule.
    """
    if rule != "fixed" and "path" not in arrays:
        raise BadValue(
            field="rule",
            value=rule,
            expected="decides at its looks",
            fix=("give ", Setting("path"), ", the counts at each of them"),
        )
    samples = [arrays.get("n", np.zeros(0, np.int64))]
    # Under another rule, n is the most that an image may take, and counts may be less.
    if rule == "fixed" and arrays["counts"].ndim > 1:
        samples.append(arrays["counts"].sum(axis=1))
    numbers = np.unique(np.concatenate(samples)).tolist()
    if len(numbers) > 1:
        raise BadValue(
            f"by n and counts, images have from {numbers[0]:,} to {numbers[-1]:,} samples, "
            "and a table has one n: make one for each. Where samples stopped once they "
            "sufficed, give rule and path",
            field="n",
        )
    if not numbers:
        raise MissingValue(
            field="n",
            expected="is missing: how many samples of each image were counted",
        )
    check_samples("n", numbers[0])
    return int(numbers[0])


def _number_of_classes(arrays: Mapping[str, Any], classes: Sequence[str] | None) -> int:
    """Return how many classes there are where only the picked one was counted: as named, or the most that occur.

    Raises:
        Problem: counts of so many classes would be too large.
    """
    if classes:
        K = len(classes)
    elif "counts0" in arrays:
        K = arrays["counts0"].shape[1]
    else:
        occurring = [arrays[name] for name in ("label", "picked") if name in arrays]
        K = 1 + int(max((column.max(initial=0) for column in occurring), default=0))
    N = len(arrays["counts"])
    if N * (K + 1) > MOST_VALUES:
        raise BadValue(
            f"{N:,} images of {K:,} classes are more than a table holds: make several"
        )
    return K


def _selection(
    arrays: Mapping[str, Any], bound: str, K: int
) -> tuple[int | None, Ints]:
    """Return n0, None where it is not known, and counts0 (N, K), which then mark the class.

    Raises:
        Problem: nothing says how the class was picked, or what says it contradicts itself.
    """
    counts0 = arrays.get("counts0")
    picked = arrays.get("picked")
    if counts0 is not None:
        return _n0_of(counts0, picked, K), counts0
    if picked is None and bound == "any-class" and arrays["counts"].ndim > 1:
        picked = arrays["counts"].argmax(axis=1)
    if picked is None:
        raise MissingValue(field="picked", expected=f"is missing: {PICKED}")
    wrong = np.flatnonzero(picked >= K)
    if len(wrong):
        raise BadValue(
            field="picked",
            value=int(picked[wrong[0]]),
            expected=f"in row {wrong[0]} is not among the {K} classes",
        )
    return None, marked(picked, K)


def _n0_of(counts0: Ints, picked: Ints | None, K: int) -> int:
    """Return how many samples picked the class of each image; where there is no image, 1.

    Raises:
        Problem: images have different numbers, or other classes than K, or `picked` says another class.
    """
    sums = np.unique(counts0.sum(axis=1)).tolist()
    classes = counts0.shape[1]
    if classes != K or len(sums) > 1:
        raise BadValue(
            field="counts0",
            expected=f"counts {classes} classes of {K} in n0={shown(sums)}",
            fix=("else give ", Setting("picked"), " instead"),
        )
    if picked is not None and not np.array_equal(picked, counts0.argmax(axis=1)):
        raise Conflict(
            field="picked",
            expected="is not the most frequent class of counts0: give one of them",
        )
    return int(sums[0]) if sums else 1


def _with_others(arrays: Mapping[str, Any], rule: Rule, counts0: Ints) -> Ints:
    """Return (N, K + 1) counts, in which the last column counts all answers but the picked class.

    `counts0` (N, K) say which class was picked; the other K - 1 classes have 0. See `RunFacts.lumped`.
    """
    n_a = arrays["counts"]
    paths = arrays.get("path")
    samples = np.full(len(n_a), rule.n)
    if paths is not None:
        taken = [rule.samples(path.tolist()) for path in paths]
        samples = np.array(taken, np.int64)
    # `Rule.samples` is 0 for looks that the rule cannot have taken.
    wrong = np.flatnonzero((n_a > samples) | (samples == 0))
    if len(wrong):
        row = int(wrong[0])
        raise BadValue(
            f"row {row}: {n_a[row]} times in {samples[row]} samples is what rule {rule.name} cannot give"
        )
    of_picked = marked(counts0.argmax(axis=1), counts0.shape[1]) * n_a[:, None]
    return np.column_stack([of_picked, samples - n_a])
