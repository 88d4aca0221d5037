"""What a reader must know before comparing tables, in sentences."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.escape import LONG, shortened
from randsmooth.noise import NORMS
from randsmooth.report.grouping import gathered
from randsmooth.rules import CONFIDENCE_BOUNDS

FOREIGN = (
    "the counts are another program's; its noise, and how it picked the classes, "
    "could not be checked"
)
UNLABELLED = "the images have no labels, so that accuracy, ACR and p_A are not known"
UNJUDGED = "No verdicts: nothing says which table is the baseline; name it (baseline)."

# How many samples a rule that may stop before n has taken.
CERTIFIED_BY_RULE = (
    "{name} was certified by rule {rule} with {samples:,.0f} samples per image on "
    "average, of at most {most:,}"
)

# Two shares that are more of the largest standard errors apart hardly differ by chance.
SURE_STANDARD_ERRORS = 4.0

# Rules that stop before n as soon as they know what they were asked.
STOPPING_RULES = ("radius", "screen", "grid", "dense")


def remarks(tables: Sequence[Certificates]) -> list[str]:
    """Say what makes the tables hard to compare.

    There are no remarks where the tables differ in their classifiers only.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> def certified(sigma):
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001)
        ...     return from_evidence(
        ...         header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0
        ...     )
        >>> remarks([certified(0.25), certified(0.5)])
        ['The tables were made with different sigma (0.25, 0.5).']
    """
    sentences = [
        *_held_remarks(tables),
        *_image_remarks(tables),
        *_noise_remarks(tables),
        *budget_remarks(tables),
        *_unrecorded_remarks(tables),
        *_counting_remarks(tables),
        *_table_remarks(tables),
        *_rule_remarks(tables),
    ]
    return [shortened(sentence, LONG) for sentence in sentences]


def sure_of(tables: Sequence[Certificates]) -> str:
    """Say how sure the certificates are: at alpha, or certain.

    They are certain where all noisy copies of an image were counted.
    """
    certain = [table.header.alpha == 0.0 for table in tables]
    if all(certain):
        return "which is certain: all noisy copies of an image were counted"
    sentence = "each certificate wrong with probability at most alpha"
    if any(certain):
        sentence += ", none where all noisy copies were counted"
    return sentence


def held_columns(tables: Sequence[Certificates]) -> list[str]:
    """Name the columns of features that a table of these holds fixed.

    No certificate is about their changes.
    """
    noises = [table.header.noise for table in tables]
    return sorted(
        {name for noise in noises if noise is not None for name in noise.held_columns}
    )


def converted_words(table: Certificates) -> str:
    """Say from what radii follow that are in another norm than the noise's own."""
    proof = f"that follow from {NORMS[table.proved_in].label}"
    if table.proved_in == table.norm:
        proof = "by a proof of their own"
    return f"{NORMS[table.norm].label} radii {proof}"


def budget_remarks(tables: Sequence[Certificates]) -> list[str]:
    """Say that n or alpha differ, either of which raises ACR without a better classifier.

    Tables of all copies of an image have neither.
    """
    sampled = [table for table in tables if table.header.alpha != 0.0]
    rejudged = all(
        table.header.rule == "fixed" and not table.is_log for table in sampled
    )
    sentences = []
    for field, form, more in (
        ("n", ",", "more samples"),
        ("alpha", "g", "a larger alpha"),
    ):
        recorded = {getattr(table.header, field) for table in sampled} - {None}
        if len(recorded) < 2:
            continue
        values = sorted(recorded)
        listed = ", ".join(format(value, form) for value in values)
        sentence = f"The tables differ in {field} ({listed}), "
        sentence += f"and {more} alone can raise ACR"
        if rejudged:
            sentence += f"; {field}={values[0]} judges all tables alike"
        sentences.append(f"{sentence}.")
    return sentences


def _held_remarks(tables: Sequence[Certificates]) -> Iterator[str]:
    """Name the columns of features that no certificate is about, if there are some."""
    held = ", ".join(held_columns(tables))
    if held:
        yield (
            f"Radii are about changes of the other columns alone; held fixed: {held}."
        )


def _image_remarks(tables: Sequence[Certificates]) -> Iterator[str]:
    """Say that the tables are about different images, and which they share."""
    differing = any(
        metrics.differing_source(one, other) for one, other in combinations(tables, 2)
    )
    images = {(table.idx.tobytes(), table.label.tobytes()) for table in tables}
    if len(images) == 1 and not differing:
        return
    shared = _shared_idx(tables)
    common = _source_words(tables) if differing else ""
    if not common:
        common = _shared_words(tables, shared)
    yield (
        "The tables are not about the same images: "
        f"each row rests on all of its own, {common}."
    )
    if not differing:
        for table in tables:
            yield from _choice_remarks(table, shared)


def _shared_idx(tables: Sequence[Certificates]) -> set[int]:
    """Return the idx that are in every table."""
    return set.intersection(*(set(table.idx.tolist()) for table in tables))


def _shared_words(tables: Sequence[Certificates], shared: set[int]) -> str:
    """Count the idx that are in every table, and those with other labels there."""
    labels = [
        dict(zip(table.idx.tolist(), table.label.tolist(), strict=True))
        for table in tables
    ]
    contradicted = sum(len({of[idx] for of in labels}) > 1 for idx in shared)
    words = f"{len(shared):,} of which are in every table"
    if contradicted:
        words += f" by idx, {contradicted:,} with other labels"
    return words


def _source_words(tables: Sequence[Certificates]) -> str:
    """Name the data sets, or else the splits, that differ; empty if neither do."""
    for field, kind in (("dataset", "data sets"), ("split", "splits")):
        values = {getattr(table.header, field) for table in tables} - {None}
        if len(values) > 1:
            listed = ", ".join(map(shortened, sorted(values)))
            return f"and they are of different {kind} ({listed})"
    return ""


def _choice_remarks(table: Certificates, shared: set[int]) -> Iterator[str]:
    """Say that a table is right on its other images more, or less, often by far.

    Then those that are missing from another table were not left out by chance.
    """
    inside = np.isin(table.idx, [*shared])
    if inside.all() or not inside.any():
        return
    shared_share = table.correct[inside].mean()
    other_share = table.correct[~inside].mean()
    # The largest that the standard error of their difference can be.
    error = np.sqrt(0.25 / inside.sum() + 0.25 / (~inside).sum())
    if abs(shared_share - other_share) > SURE_STANDARD_ERRORS * error:
        yield (
            f"{table.name} is right on {100.0 * other_share:.1f}% of its others "
            f"and on {100.0 * shared_share:.1f}% of these: "
            "chance did not choose which images are missing, and no verdict is fair."
        )


def _noise_remarks(tables: Sequence[Certificates]) -> Iterator[str]:
    """Say that noises differ, and which radii follow from those of another norm."""
    noises = {
        table.header.noise.title: table.header.sigma
        for table in tables
        if table.header.noise is not None
    }
    sigmas = sorted(sigma for sigma in noises.values() if sigma is not None)
    if len(noises) > max(1, len(sigmas)):
        listed = ", ".join(sorted(noises))
        yield (
            f"The tables were made under different noises ({listed}), "
            "each p_A under its own."
        )
    elif len(noises) > 1:
        listed = ", ".join(f"{sigma:g}" for sigma in sigmas)
        yield f"The tables were made with different sigma ({listed})."

    if len(tables) > 1:
        for table in tables:
            if table.sigmas is not None:
                yield (
                    f"{table.name} has a sigma of its own for each image: "
                    "no other table shares it."
                )

    converted = gathered(
        (converted_words(table), table.name)
        for table in tables
        if table.converted is not None
    )
    for words, names in converted.items():
        yield f"{', '.join(names)}: {words}."


def _unrecorded_remarks(tables: Sequence[Certificates]) -> Iterator[str]:
    """Say which of sigma, n and alpha nothing tells of some tables.

    Tables that are compared may differ in them unseen.
    """
    if len(tables) < 2:
        return
    silent = {
        "sigma": [
            table.name
            for table in tables
            if table.header.noise is None and table.sigmas is None
        ],
        "n": [table.name for table in tables if table.header.n is None],
        "alpha": [table.name for table in tables if table.header.alpha is None],
    }
    by_tables = gathered((tuple(names), fact) for fact, names in silent.items())
    by_tables.pop((), None)
    for names, facts in by_tables.items():
        yield (
            f"Nothing tells {' or '.join(facts)} of {', '.join(names)}: "
            "their figures cannot be compared where they differ in it; "
            f"give {', '.join(facts)}."
        )


def _counting_remarks(tables: Sequence[Certificates]) -> Iterator[str]:
    """Say that images were fitted, or counts judged, in more than one way."""
    counted = [table for table in tables if not table.is_log]
    sizes = {_image_size(table) for table in counted if table.header.source is None}
    bounds = {_bound_words(table) for table in counted}
    for found, sentence in (
        (sizes, "Radii are about images of different sizes"),
        (bounds, "Tables were judged in different ways"),
    ):
        if len(found) > 1:
            yield (
                f"{sentence} ({', '.join(sorted(found))}): "
                "what differs is not the classifiers alone."
            )


def _image_size(table: Certificates) -> str:
    """Say how the images were fitted before noise was added."""
    header = table.header
    sizes = []
    if header.resize is not None:
        sizes.append(f"resize {header.resize}")
    if header.crop is not None:
        sizes.append(f"crop {header.crop}")
    return " ".join(sizes) or "as stored"


def _bound_words(table: Certificates) -> str:
    """Name the rule, or the bound of the fixed one."""
    header = table.header
    if header.rule != "fixed":
        return f"rule {header.rule}"
    # The first of the bounds is the usual one, which logs call otherwise.
    if header.bound in CONFIDENCE_BOUNDS[1:]:
        return f"{header.bound} bound"
    return "Clopper-Pearson bound"


def _table_remarks(tables: Sequence[Certificates]) -> Iterator[str]:
    """Say each fact that a reader must know of a table, with all tables that have it."""
    names_of_fact = gathered(
        (fact, table.name) for table in tables for fact in _facts(table)
    )
    for fact, names in names_of_fact.items():
        which = ", ".join(names)
        if len(names) == len(tables) > 1:
            which = "All tables"
        yield f"{which}: {fact}."


def _facts(table: Certificates) -> Iterator[str]:
    if not table.labelled:
        yield UNLABELLED
    if table.header.source is not None:
        yield FOREIGN
    yield from table.header.notes


def _rule_remarks(tables: Sequence[Certificates]) -> Iterator[str]:
    for table in tables:
        if table.header.rule != "fixed" or table.header.label_aware:
            yield _rule_remark(table)


def _rule_remark(table: Certificates) -> str:
    """Say how many samples a table took whose rule may stop before n.

    And which figures it does not give therefore.
    """
    header = table.header
    if header.alpha == 0.0:
        return (
            f"{table.name}: all {header.n:,} noisy copies of an image were counted; "
            "its certificates are certain."
        )
    sentence = CERTIFIED_BY_RULE.format(
        name=table.name,
        rule=header.rule,
        samples=table.samples.mean(),
        most=(header.n0 or 0) + (header.n or 0),
    )
    if header.rule.partition("=")[0] in STOPPING_RULES:
        sentence += (
            "; it stops where its rule is answered, "
            "so that ACR and accuracy at other radii are lower bounds"
        )
    if not metrics.knows_p_a(table):
        sentence += "; p_A is not measured"
    if header.label_aware:
        tested = "only the label was tested"
        if header.gives_up_others:
            tested = "samples stopped where the label was missed"
        sentence += f"; {tested}, so that abstention is not known: for evaluation only"
    return f"{sentence}."
