"""Warnings that a reader needs before comparing tables, as notes."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import UNSAID, Setting
from randsmooth.escape import LONG, shortened
from randsmooth.noise import NORMS
from randsmooth.notes import Note
from randsmooth.progress import HasWords
from randsmooth.report.grouping import gathered
from randsmooth.rules import CONFIDENCE_BOUNDS

# Two shares that are more of the largest standard errors apart hardly differ by chance.
SURE_STANDARD_ERRORS = 4.0

# Rules that stop before n as soon as they know what they were asked.
STOPPING_RULES = ("radius", "screen", "grid", "dense")


def remarks(tables: Sequence[Certificates]) -> list[Note]:
    """Return notes on differences that make the tables hard to compare.

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
        >>> [remark] = remarks([certified(0.25), certified(0.5)])
        >>> remark.kind
        'sigmas_differ'
        >>> print(remark)
        The tables were made with different sigma (0.25, 0.5).
    """
    return [
        *_held_remarks(tables),
        *_image_remarks(tables),
        *_noise_remarks(tables),
        *budget_remarks(tables),
        *_unrecorded_remarks(tables),
        *_counting_remarks(tables),
        *_table_remarks(tables),
        *_rule_remarks(tables),
    ]


def in_print(remark: HasWords) -> str:
    """Return a remark for a page or a file; its reader may type settings anywhere.

    Example:
        >>> print(in_print(Note("budgets_differ", field="n", values=[50, 60], rejudged=True)))
        The tables differ in n (50, 60), and more samples alone can raise ACR; n 50 judges all tables alike.
    """
    return shortened(remark.words(_without_syntax), LONG)


def _without_syntax(setting: Setting) -> str:
    if setting.value is UNSAID:
        return setting.name
    return f"{setting.name} {setting.value}"


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
    """Explain the source of radii in another norm than the noise's own."""
    proof = f"that follow from {NORMS[table.proved_in].label}"
    if table.proved_in == table.norm:
        proof = "by a proof of their own"
    return f"{NORMS[table.norm].label} radii {proof}"


def budget_remarks(tables: Sequence[Certificates]) -> list[Note]:
    """Return that n or alpha differ, which raises ACR without a better classifier.

    Tables of all copies of an image have neither.
    """
    sampled = [table for table in tables if table.header.alpha != 0.0]
    rejudged = all(
        table.header.rule == "fixed" and not table.is_log for table in sampled
    )
    notes = []
    for field in ("n", "alpha"):
        recorded = {getattr(table.header, field) for table in sampled} - {None}
        if len(recorded) > 1:
            values = sorted(recorded)
            note = Note("budgets_differ", field=field, values=values, rejudged=rejudged)
            notes.append(note)
    return notes


def _held_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    """Name the columns of features that no certificate is about, if there are some."""
    held = held_columns(tables)
    if held:
        yield Note("columns_held_fixed", columns=", ".join(held))


def _image_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    """Say that the tables are about different images, and which they share."""
    differing = any(
        metrics.differing_source(one, other) for one, other in combinations(tables, 2)
    )
    if differing:
        yield _of_other_images(tables)
        return

    images = {(table.idx.tobytes(), table.label.tobytes()) for table in tables}
    if len(images) > 1:
        yield _sharing_some_images(tables)
        shared = _shared_idx(tables)
        for table in tables:
            yield from _choice_remarks(table, shared)


def _shared_idx(tables: Sequence[Certificates]) -> set[int]:
    """Return the idx that are in every table."""
    return set.intersection(*(set(table.idx.tolist()) for table in tables))


def _of_other_images(tables: Sequence[Certificates]) -> Note:
    """Name the data sets, or else the splits, that differ.

    Where neither do, count the images that are shared.
    """
    for field, kind in (("dataset", "data sets"), ("split", "splits")):
        values = {getattr(table.header, field) for table in tables} - {None}
        if len(values) > 1:
            sources = ", ".join(map(shortened, sorted(values)))
            return Note("other_sources", kind=kind, sources=sources)
    return _sharing_some_images(tables)


def _sharing_some_images(tables: Sequence[Certificates]) -> Note:
    """Count the idx that are in every table, and those with other labels there."""
    shared = _shared_idx(tables)
    labels = [
        dict(zip(table.idx.tolist(), table.label.tolist(), strict=True))
        for table in tables
    ]
    relabelled = sum(len({of[idx] for of in labels}) > 1 for idx in shared)
    return Note("other_images", shared=len(shared), relabelled=relabelled)


def _choice_remarks(table: Certificates, shared: set[int]) -> Iterator[Note]:
    """Say that a table is right on its other images more, or less, often by far.

    In that case the images missing from another table were not left out by chance.
    """
    inside = np.isin(table.idx, [*shared])
    if inside.all() or not inside.any():
        return
    shared_share = table.correct[inside].mean()
    other_share = table.correct[~inside].mean()
    # The largest that the standard error of their difference can be.
    error = np.sqrt(0.25 / inside.sum() + 0.25 / (~inside).sum())
    if abs(shared_share - other_share) > SURE_STANDARD_ERRORS * error:
        yield Note(
            "missing_not_by_chance",
            table=table.name,
            other_share=float(other_share),
            shared_share=float(shared_share),
        )


def _noise_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    """Say that noises differ, and which radii follow from those of another norm."""
    noises = {
        table.header.noise.title: table.header.sigma
        for table in tables
        if table.header.noise is not None
    }
    sigmas = sorted(sigma for sigma in noises.values() if sigma is not None)
    if len(noises) > max(1, len(sigmas)):
        yield Note("noises_differ", noises=", ".join(sorted(noises)))
    elif len(noises) > 1:
        listed = ", ".join(f"{sigma:g}" for sigma in sigmas)
        yield Note("sigmas_differ", sigmas=listed)

    if len(tables) > 1:
        for table in tables:
            if table.sigmas is not None:
                yield Note("sigma_of_each_image", table=table.name)

    converted = gathered(
        (converted_words(table), table.name)
        for table in tables
        if table.converted is not None
    )
    for radii, names in converted.items():
        yield Note("radii_converted", tables=", ".join(names), radii=radii)


def _unrecorded_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
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
        yield Note("not_recorded", missing=facts, tables=", ".join(names))


def _counting_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    """Say that images were fitted, or counts judged, in more than one way."""
    counted = [table for table in tables if not table.is_log]
    sizes = {_image_size(table) for table in counted if table.header.source is None}
    if len(sizes) > 1:
        yield Note("sizes_differ", sizes=", ".join(sorted(sizes)))
    bounds = {_bound_words(table) for table in counted}
    if len(bounds) > 1:
        yield Note("bounds_differ", bounds=", ".join(sorted(bounds)))


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


def _table_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    """Say each fact that a reader must know of a table, with all tables that have it."""
    unlabelled = [table.name for table in tables if not table.labelled]
    if unlabelled:
        yield Note("tables_without_labels", tables=_which(unlabelled, tables))
    foreign = [table.name for table in tables if table.header.source is not None]
    if foreign:
        yield Note("counts_of_others", tables=_which(foreign, tables))
    noted = gathered(
        (text, table.name) for table in tables for text in table.header.notes
    )
    for text, names in noted.items():
        yield Note("noted_of_tables", tables=_which(names, tables), text=text)


def _which(names: Sequence[str], tables: Sequence[Certificates]) -> str:
    """Return the names of some of `tables`, or that it is all of them."""
    if len(names) == len(tables) > 1:
        return "All tables"
    return ", ".join(names)


def _rule_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    for table in tables:
        if table.header.rule != "fixed" or table.header.label_aware:
            yield _rule_remark(table)


def _rule_remark(table: Certificates) -> Note:
    """Return a note on the samples of a table whose rule may stop before n.

    The note also names the figures that such a table does not give.
    """
    header = table.header
    if header.alpha == 0.0:
        return Note("all_copies_counted", table=table.name, n=header.n)
    return Note(
        "certified_by_rule",
        table=table.name,
        rule=header.rule,
        samples=float(table.samples.mean()),
        most=(header.n0 or 0) + (header.n or 0),
        stops=header.rule.partition("=")[0] in STOPPING_RULES,
        knows_p_a=metrics.knows_p_a(table),
        label_aware=header.label_aware,
        gives_up_others=header.gives_up_others,
    )
