"""Tables of what other programs counted or certified.

Counts come as arrays, a DataFrame, comma- or tab-separated values, or JSON lines: radii are computed here, and the
table says what it cannot know.
"""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates.evidence import ABSTAIN, NO_LABEL, Floats, Ints
from randsmooth.certificates.header import Header, guarantee_of
from randsmooth.certificates.logs.lines import read_text
from randsmooth.certificates.settings import CertificationSettings
from randsmooth.certificates.table import ATTRS, Certificates, from_evidence, marked
from randsmooth.documents import shown
from randsmooth.errors import BadValue, Conflict, MissingValue, WrongFile, check_known
from randsmooth.noise import Noise
from randsmooth.rules import (
    MOST_SAMPLES,
    ConfidenceBound,
    Rule,
    check_samples,
    kind_of_rule,
    make_rule,
)

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = (
    "label",
    "idx",
    "picked",
    "n",
    "n_A",
    "seconds",
)  # columns of one number an image
LISTS = ("counts0", "counts", "path")  # of several
WIDE = re.compile(r"(counts0?)_(0|[1-9]\d{0,5})", re.ASCII)  # a column for each class
JSON_LINES = (".jsonl", ".ndjson", ".json")
ARRAYS = "arrays"  # the source of counts that came from no file
NO_CLASS = {
    "label": NO_LABEL,
    "predict": ABSTAIN,
}  # columns in which a number below 0 says that there is none
MOST_VALUES = 2**26  # numbers of the counts, half a gigabyte
PICKED = (
    "counts alone do not say how the class was picked, on which the bound depends. Give counts0, the class counts of "
    "other samples that picked it; or picked, the classes, if these samples had no part in it; or bound='any-class' "
    "(--bound any-class), if it is the most frequent class of these very samples"
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
            "say under which noise the counts were made: sigma=0.5, or another as noise='uniform=0.6'"
        )
    made_under = CertificationSettings(sigma=sigma, noise=noise, alpha=alpha)
    kind_of_rule(
        rule, n=1, bound=bound
    )  # a misspelt name is told before its looks are asked for
    own = {
        "label": label,
        "n": n,
        "counts0": counts0,
        "picked": picked,
        "path": path,
        "idx": idx,
        "seconds": seconds,
    }
    columns, origin = _columns(counts)
    given = {key: value for key, value in own.items() if value is not None}
    if twice := sorted(columns.keys() & given.keys()):
        raise Conflict(
            f"{twice[0]} is given twice: as an argument, and in {origin or 'the columns'}"
        )
    found = _arrays(columns | given)
    judged = make_rule(
        rule,
        noise=made_under.smoothing,
        n=_budget(found, rule),
        alpha=alpha,
        bound=bound,
    )
    made, lumped = found["counts"], found["counts"].ndim == 1
    if lumped:
        largest = max(
            (found[key].max(initial=0) for key in ("label", "picked") if key in found),
            default=0,
        )
        K = len(classes or ()) or (
            found["counts0"].shape[1] if "counts0" in found else int(largest) + 1
        )
        if len(made) * (K + 1) > MOST_VALUES:
            raise BadValue(
                f"{len(made):,} images of {K:,} classes are more than a table holds: make several"
            )
    n0, marks = _selection(found, bound, K if lumped else made.shape[1])
    if lumped:
        made = _with_others(found, judged, marks)
        marks = np.pad(marks, ((0, 0), (0, 1)))
    facts: dict[str, Any] = {
        "sigma": made_under.sigma,
        "n0": n0,
        "n": judged.n,
        "alpha": alpha,
        "rule": rule,
    }
    facts |= {
        "distribution": made_under.noise and made_under.noise.facts(),
        "bound": judged.stated_bound,
    }
    facts |= {
        "source": source or origin or ARRAYS,
        "lumped": lumped,
        "dataset": dataset,
        "split": split,
    }
    header = Header(
        **facts, classes=None if classes is None else tuple(classes), notes=judged.notes
    )
    N, header = len(made), header.replace(guarantee=guarantee_of(header))
    columns = {
        "idx": np.arange(N),
        "label": np.full(N, NO_LABEL),
        "seconds": np.zeros(N),
    }
    columns = {each: found.get(each, usual) for each, usual in columns.items()} | {
        "counts0": marks,
        "counts": made,
    }
    if (
        header.bound == "randomised"
    ):  # drawn by the system; midpoints, so that none is 0 or 1
        columns["u"] = np.array([(randbits(52) + 0.5) / 2.0**52 for _ in range(N)])
    return from_evidence(
        header, **columns, paths=found.get("path"), name=name or Path(origin).stem
    )


def _columns(counts: Any) -> tuple[dict[str, Any], str]:
    """The known columns in what `from_counts` was given first, and the name of the file that they come from, if any.

    Raises:
        Problem: a file that cannot be read, or holds something else than its columns should; or no counts.
    """
    where: object = "the table of counts"
    if isinstance(counts, str | Path):
        where = Path(counts)
        if where.suffix == ".parquet":
            raise WrongFile(
                f"{where} is a Parquet file; let pandas read it: from_counts(pandas.read_parquet(...))"
            )
        counts = _columns_of_file(where)
    elif not (isinstance(counts, Mapping) or hasattr(counts, "columns")):
        return ({} if counts is None else {"counts": counts}), ""
    names = [
        str(name)
        for name in (counts if isinstance(counts, Mapping) else counts.columns)
    ]
    found = {name: counts[name] for name in names if name in (*NUMBERS, *LISTS)}
    for stem in ("counts0", "counts"):
        wide = sorted(
            int(match[2])
            for name in names
            if (match := WIDE.fullmatch(name)) and match[1] == stem
        )
        if wide and (wide != list(range(len(wide))) or stem in found):
            raise BadValue(
                f"{where} has columns up to {stem}_{wide[-1]}, not all from {stem}_0 on, or {stem} too"
            )
        if wide:
            found[stem] = np.stack(
                [np.asarray(counts[f"{stem}_{k}"]) for k in wide], axis=1
            )
    if not found.keys() & {"counts", "n_A", "path"}:
        raise BadValue(
            f"{where} holds no counts but {shown(', '.join(names))}; expected label and counts, or n_A"
        )
    return found, where.name if isinstance(where, Path) else ""


def _columns_of_file(path: Path) -> dict[str, Any]:
    """The columns of comma-, tab- or semicolon-separated values, or of JSON lines, as pandas reads them."""
    text = io.StringIO(read_text(path))
    first = text.getvalue().partition("\n")[0]
    mark = next((mark for mark in "\t,;" if mark in first), ",")
    twice = (
        []
        if path.suffix in JSON_LINES
        else [k for k, n in Counter(first.split(mark)).items() if n > 1]
    )
    if twice:  # which takes pandas long where there are many
        raise WrongFile(
            f"{path} has more than one column {shown(repr(twice[0]))}: keep one of them"
        )
    import pandas as pd  # here, since it takes long to load

    try:
        with warnings.catch_warnings(
            action="error", category=pd.errors.ParserWarning
        ):  # more cells than names
            if path.suffix in JSON_LINES:
                frame = pd.read_json(text, lines=True, dtype=False, precise_float=True)
            else:
                frame = pd.read_csv(text, sep=mark, index_col=False)
    except (TypeError, ValueError, OverflowError, pd.errors.ParserWarning) as error:
        raise WrongFile(
            f"{path} cannot be read as a table of counts: {shown(error)}"
        ) from None
    return {str(name).strip(): frame[name].tolist() for name in frame.columns}


def _arrays(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given of N images, as arrays that agree in their lengths; `counts` (N, K), or (N,) of the picked class.

    Raises:
        Problem: there are no counts, or one of the others is impossible.
    """
    found: dict[str, Any] = {}
    if "path" in given:
        found["path"] = [whole_numbers("path", path, None) for path in given["path"]]
    counted = next((name for name in ("counts", "n_A") if name in given), None)
    if counted is not None:
        first = next(iter(given[counted]), 0) if np.iterable(given[counted]) else 0
        wide = np.iterable(first) and not isinstance(first, str)
        found["counts"] = whole_numbers(
            counted, given[counted], *([None, None] if wide else [None])
        )
    elif "path" in found:
        found["counts"] = np.array(
            [path[-1] if len(path) else 0 for path in found["path"]], np.int64
        )
    else:
        raise BadValue(
            "counts are missing: how often each class came out, or n_A, how often the picked class did"
        )
    N = len(found["counts"])
    for name in ("label", "idx", "picked", "counts0"):
        if name in given:
            found[name] = whole_numbers(
                name, given[name], N, *([None] if name == "counts0" else [])
            )
    if "n" in given:
        found["n"] = whole_numbers("n", np.atleast_1d(given["n"]), None)
    try:
        found["seconds"] = np.asarray(given.get("seconds", np.zeros(N)), np.float64)
    except (TypeError, ValueError):
        raise BadValue(
            f"seconds holds something else than the times of {N} images; leave it out"
        ) from None
    return found


def whole_numbers(name: str, values: ArrayLike, *shape: int | None) -> Ints:
    """`values` as whole numbers from 0, or NO_CLASS, in the given `shape`, in which None stands for any length.

    Floats without a fraction are whole numbers: another program may have written 990.0.

    Raises:
        Problem: they have another shape, or one is no number, has a fraction, or lies outside 0..MOST_SAMPLES.
    """
    least = NO_CLASS.get(name, 0)
    try:
        found = np.asarray(values)
        if (
            found.dtype == object and found.ndim == 1
        ):  # each row a list of its own, as in a DataFrame
            found = np.array([np.asarray(row) for row in found])
    except ValueError:
        raise BadValue(f"{name} has rows of different lengths") from None
    if found.ndim != len(shape) or any(
        n not in (None, m) for n, m in zip(shape, found.shape, strict=True)
    ):
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise BadValue(f"{name} has shape {found.shape}; expected ({expected})")
    if found.size and found.dtype.kind not in "iuf":
        raise BadValue(
            f"{name} holds {shown(found.flat[0])!r}; expected whole numbers from {least}"
        )
    with np.errstate(invalid="ignore"):  # of infinity
        wrong = np.argwhere(
            ~((found >= least) & (found <= MOST_SAMPLES) & (found % 1 == 0))
        )
    if len(wrong):
        value, row = found[tuple(wrong[0])], f" in row {wrong[0][0]}" if shape else ""
        raise BadValue(
            f"{name} holds {value}{row}: expected whole numbers, {least} to {MOST_SAMPLES:,}"
        )
    return found.astype(np.int64)


def _budget(found: Mapping[str, Any], rule: str) -> int:
    """The n of the rule: as given, or how many samples all images have.

    Raises:
        Problem: it is not known, or images have different numbers of samples under the fixed rule.
    """
    if rule != "fixed" and "path" not in found:
        raise BadValue(
            f"rule {shown(repr(rule))} decides at its looks: give path, the counts at each of them"
        )
    said = [found.get("n", np.zeros(0, np.int64))]
    if rule == "fixed" and found["counts"].ndim > 1:
        said.append(found["counts"].sum(axis=1))
    numbers = np.unique(np.concatenate(said)).tolist()
    if len(numbers) > 1:
        several = f"by n and counts, images have from {numbers[0]:,} to {numbers[-1]:,} samples, and a table has one n"
        raise BadValue(
            f"{several}: make one for each. Where samples stopped once they sufficed, give rule and path"
        )
    if not numbers:
        raise MissingValue(
            "n is missing: how many samples of each image were counted (--n)"
        )
    check_samples("n", numbers[0])
    return int(numbers[0])


def _selection(found: Mapping[str, Any], bound: str, K: int) -> tuple[int | None, Ints]:
    """n0, None where it is not known, and counts0 (N, K), which then mark the class.

    Raises:
        Problem: nothing says how the class was picked, or what says it contradicts itself.
    """
    counts0, picked = found.get("counts0"), found.get("picked")
    if counts0 is not None:
        sums, (_, classes) = np.unique(counts0.sum(axis=1)).tolist(), counts0.shape
        if classes != K or len(sums) > 1:
            raise BadValue(
                f"counts0 counts {classes} classes of {K} in n0={shown(sums)}; else give picked instead"
            )
        if picked is not None and not np.array_equal(picked, counts0.argmax(axis=1)):
            raise Conflict(
                "picked is not the most frequent class of counts0: give one of them"
            )
        return int(sums[0]) if sums else 1, counts0
    if picked is None and bound == "any-class" and found["counts"].ndim > 1:
        picked = found["counts"].argmax(axis=1)
    if picked is None:
        raise MissingValue(f"picked is missing: {PICKED}")
    wrong = np.flatnonzero(picked >= K)
    if len(wrong):
        raise BadValue(
            f"picked={picked[wrong[0]]} in row {wrong[0]} is not among the {K} classes"
        )
    return None, marked(picked, K)


def _with_others(found: Mapping[str, Any], rule: Rule, counts0: Ints) -> Ints:
    """(N, K + 1) counts of the picked class, by `counts0` (N, K), and of all other answers; see `Header.lumped`."""
    n_a, paths = found["counts"], found.get("path")
    samples = np.array(
        [rule.n] * len(n_a)
        if paths is None
        else [rule.samples(path.tolist()) for path in paths]
    )
    if np.any(wrong := (n_a > samples) | (samples == 0)):
        row = int(np.flatnonzero(wrong)[0])
        raise BadValue(
            f"row {row}: {n_a[row]} times in {samples[row]} samples is what rule {rule.name} cannot give"
        )
    return np.column_stack(
        [marked(counts0.argmax(axis=1), counts0.shape[1]) * n_a[:, None], samples - n_a]
    )


# What the metrics take for a table: one, or columns by name (also a DataFrame), or certified radii alone.
CertificatesLike = Certificates | Mapping[str, Any] | ArrayLike
RADII = (
    "radius",
    "correct",
    "label",
    "predict",
    "idx",
    "sigma",
    "n",
    "alpha",
    "name",
)  # columns and facts


def as_certificates(given: CertificatesLike) -> Certificates:
    """The table that is meant by `given`, as every function of `rs.metrics` takes it; a table is returned as it is.

    Args:
        given: a table; or columns by name, also as a DataFrame, of N images each:

            - radius: certified L2 radii, in units of pixels in [0, 1]; 0 where nothing was certified.
            - correct: whether the certified class is right; or label and predict, the classes, -1 for an abstention.
              Without them, every radius above 0 is that of a right image. An image that is not correct abstained if
              its radius is 0.
            - idx: positions of the images; without it two tables are about the same images in the same order.

            with the facts sigma, n and alpha, which metrics of p_A need, and a name. An array alone is taken for the
            radius. Of counts, `from_counts` makes a table.

    Raises:
        Problem: a column that is unknown, missing or impossible.

    Example:
        >>> table = as_certificates({"radius": [0.0, 0.4, 0.7], "correct": [False, True, False]})
        >>> table.correct.tolist(), table.predict.tolist()
        ([False, True, False], [-1, 0, 1])
        >>> as_certificates(table) is table
        True
    """
    if isinstance(given, Certificates):
        return given
    if ATTRS in getattr(given, "attrs", ()):
        raise BadValue(
            "this DataFrame was made of a table, and says less: give the table, or table.rows(...) of it"
        )
    if not (isinstance(given, Mapping) or hasattr(given, "columns")):
        return from_radii(given)
    columns: Any = given
    names = [*(columns if isinstance(given, Mapping) else columns.columns)]
    if isinstance(
        given, Mapping
    ):  # which may hold no others, for they are misspelt ones; a DataFrame may
        check_known("column", RADII, *names)
    if "radius" not in names:
        raise MissingValue(
            f"radius is missing in the columns {', '.join(map(str, names))}; of counts, see from_counts"
        )
    return from_radii(**{name: columns[name] for name in names if name in RADII})


def from_radii(
    radius: ArrayLike,
    *,
    correct: ArrayLike | None = None,
    label: ArrayLike | None = None,
    predict: ArrayLike | None = None,
    idx: ArrayLike | None = None,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
    name: str = "",
) -> Certificates:
    """The table of N images whose radii another program certified, as though they were read from its log.

    Args:
        radius: (N,) certified L2 radii in units of pixels in [0, 1], 0 where nothing was certified.
        correct: (N,) whether the certified class is right, where `predict` does not say it. By default every radius
            above 0 is that of a right image. An image that is not correct abstained if its radius is 0.
        label: (N,) true classes; class 0 if not given.
        predict: (N,) certified classes, or ABSTAIN (-1).
        idx: (N,) positions of the images; 0..N-1 if not given.
        sigma, n, alpha: of the certification, as far as they are known.
        name: what to call the table in a comparison.

    Raises:
        Problem: arrays of several lengths, classes that are none, a radius that is negative or not finite, or one
            above 0 where the certification abstained.

    Example:
        >>> table = from_radii([0.0, 0.4, 0.7], label=[0, 0, 1], predict=[-1, 0, 0])
        >>> table.correct.tolist()
        [False, True, False]
    """
    try:
        reach: Floats = np.atleast_1d(np.asarray(radius, np.float64))
    except (
        TypeError,
        ValueError,
    ):  # also several tables, of which a metric takes one, and a single one for a list
        raise BadValue(
            f"{shown(repr(radius))} is no array of radii: expected numbers, a table or columns"
        ) from None
    right = reach > 0.0 if correct is None else np.asarray(correct)
    if right.shape != reach.shape or not np.isin(right, (0, 1)).all():
        raise BadValue(
            f"correct must hold True or False for each of {reach.size} radii; got {right.tolist()}"
        )
    classes = (
        np.zeros(reach.shape, np.int64)
        if label is None
        else whole_numbers("label", label, *reach.shape)
    )
    other = np.where(reach > 0.0, classes + 1, ABSTAIN)
    answers = (
        np.where(right, classes, other)
        if predict is None
        else whole_numbers("predict", predict, *reach.shape)
    )
    wrong = ~((reach >= 0.0) & np.isfinite(reach)) | (classes < 0)
    wrong |= (answers == ABSTAIN) & (reach > 0.0)
    if np.any(wrong):
        row = int(np.argmax(wrong))
        said = f"radius={reach[row]}, label={classes[row]}, predict={answers[row]} in row {row}"
        raise BadValue(
            f"{said}: expected a finite radius, 0 where predict=-1 abstains, and classes from 0"
        )
    places = (
        np.arange(len(reach)) if idx is None else whole_numbers("idx", idx, len(reach))
    )
    header = Header(sigma=sigma, n=n, alpha=alpha)
    return Certificates(
        header, places, classes, answers, reach, np.zeros(len(reach)), name=name
    )
