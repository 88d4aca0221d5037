"""Warnings that a reader needs before comparing tables, as notes."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import ABSTAIN, Certificates, Routes
from randsmooth.certificates.header import noise_of_entry
from randsmooth.errors import UNSAID, Setting
from randsmooth.escape import LONG, shortened
from randsmooth.noise import NORMS
from randsmooth.notes import Note
from randsmooth.progress import HasWords
from randsmooth.report.grouping import gathered

# Two shares whose difference is more than so many of its standard errors hardly differ by
# chance.
SURE_STANDARD_ERRORS = 4.0

# Rules that may stop before n samples, as soon as they can answer their question.
STOPPING_RULES = ("radius", "screen", "grid", "upto", "dense")


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
    """Return a remark for a page or a file.

    Settings are named in it without a syntax, neither that of Python nor that of the
    command line: the reader may use either.

    Example:
        >>> print(in_print(Note("budgets_differ", field="n", values=[50, 60], rejudged=True)))
        The tables differ in n (50, 60), and more samples alone can raise ACR; n 50 judges all tables alike.
    """
    return shortened(remark.words(_without_syntax), LONG)


def _without_syntax(setting: Setting) -> str:
    """Return "n 50" for a setting with a value, and "n" for one without."""
    if setting.value is UNSAID:
        return setting.name
    return f"{setting.name} {setting.value}"


def sure_of(tables: Sequence[Certificates]) -> str:
    """Return the words on how likely a certificate is wrong: at most alpha, or certain.

    Certificates are certain, with an alpha of 0, where all noisy copies of an image were
    counted.
    """
    certain = [table.header.alpha == 0.0 for table in tables]
    if all(certain):
        return "which is certain: all noisy copies of an image were counted"
    sentence = "each certificate wrong with probability at most alpha"
    if any(certain):
        sentence += ", none where all noisy copies were counted"
    return sentence


def held_columns(tables: Sequence[Certificates]) -> list[str]:
    """Return the names of the feature columns that the noise of any table leaves alone.

    The certificates of that table say nothing of changes in these columns.
    """
    noises = [table.header.noise for table in tables]
    return sorted(
        {name for noise in noises if noise is not None for name in noise.held_columns}
    )


def converted_words(table: Certificates) -> str:
    """Return the words on radii in another norm than that of the noise: how they follow.

    They follow from radii in the norm of the noise, or have a proof of their own.
    """
    proof = f"that follow from {NORMS[table.proved_in].label}"
    if table.proved_in == table.norm:
        proof = "by a proof of their own"
    return f"{NORMS[table.norm].label} radii {proof}"


def budget_remarks(tables: Sequence[Certificates]) -> list[Note]:
    """Return a note for each of n and alpha in which the tables differ.

    More samples, or a larger alpha, raise ACR without a better classifier.
    """
    # Tables for which all copies of an image were counted have no budget.
    sampled = [table for table in tables if table.header.alpha != 0.0]
    # Stored counts of the fixed rule can be judged by another n or alpha.
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
    """Yield a note on feature columns that certificates say nothing of, if any."""
    held = held_columns(tables)
    if held:
        yield Note("columns_held_fixed", columns=", ".join(held))


def _image_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    """Yield notes where the tables are not about the same images."""
    differing = any(
        metrics.differing_source(one, other) for one, other in combinations(tables, 2)
    )
    if differing:
        yield _of_other_images(tables)
        return

    # That tables give one image different labels is told by a check.
    images = {np.unique(table.idx).tobytes() for table in tables}
    if len(images) > 1:
        shared = _shared_idx(tables)
        yield Note("other_images", shared=len(shared))
        for table in tables:
            yield from _choice_remarks(table, shared)


def _shared_idx(tables: Sequence[Certificates]) -> set[int]:
    """Return the indices of images that are in every table."""
    return set.intersection(*(set(table.idx.tolist()) for table in tables))


def _of_other_images(tables: Sequence[Certificates]) -> Note:
    """Return a note on the data sets, or else on the splits, that differ.

    Where neither do, as a header may name none, the note counts the shared images.
    """
    for field, kind in (("dataset", "data sets"), ("split", "splits")):
        values = {getattr(table.header, field) for table in tables} - {None}
        if len(values) > 1:
            sources = ", ".join(map(shortened, sorted(values)))
            return Note("other_sources", kind=kind, sources=sources)
    return Note("other_images", shared=len(_shared_idx(tables)))


def _choice_remarks(table: Certificates, shared: set[int]) -> Iterator[Note]:
    """Yield a note where a table is right far more, or less, often on shared images.

    The images that other tables lack were then not left out by chance.

    Args:
        shared: the indices of the images that are in every table.
    """
    is_shared = np.isin(table.idx, list(shared))
    if is_shared.all() or not is_shared.any():
        return
    shared_share = table.correct[is_shared].mean()
    other_share = table.correct[~is_shared].mean()
    # The largest possible standard error of the difference: the variance of an image's
    # correctness is at most 1/4.
    error = np.sqrt(0.25 / is_shared.sum() + 0.25 / (~is_shared).sum())
    if abs(shared_share - other_share) > SURE_STANDARD_ERRORS * error:
        yield Note(
            "missing_not_by_chance",
            table=table.name,
            other_share=float(other_share),
            shared_share=float(shared_share),
        )


def _noise_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    """Yield notes on noises that differ, and on radii in another norm than the noise's."""
    sigma_of_noise = {
        table.header.noise.title: table.header.sigma
        for table in tables
        if table.header.noise is not None
    }
    # Only Gaussian noise has a sigma. Where all noises are Gaussian, sigmas name them.
    sigmas = sorted(sigma for sigma in sigma_of_noise.values() if sigma is not None)
    if len(sigma_of_noise) > max(1, len(sigmas)):
        yield Note("noises_differ", noises=", ".join(sorted(sigma_of_noise)))
    elif len(sigma_of_noise) > 1:
        listed = ", ".join(f"{sigma:g}" for sigma in sigmas)
        yield Note("sigmas_differ", sigmas=listed)

    # A table by itself is compared with none: how its noise is chosen matters little.
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
    """Yield notes on which of sigma, n and alpha are not recorded for some tables.

    Tables that are compared may differ in these without a sign of it.
    """
    if len(tables) < 2:
        return
    # A routed table has the noises and samples of the tables that it was made of.
    alone = [table for table in tables if table.routes is None]
    tables_without = {
        "sigma": [
            table.name
            for table in alone
            if table.header.noise is None and table.sigmas is None
        ],
        "n": [table.name for table in alone if table.header.n is None],
        "alpha": [table.name for table in alone if table.header.alpha is None],
    }
    # Facts that the same tables lack share a note.
    facts_of_tables = gathered(
        (tuple(names), fact) for fact, names in tables_without.items() if names
    )
    for names, facts in facts_of_tables.items():
        yield Note("not_recorded", missing=facts, tables=", ".join(names))


def _counting_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    """Yield notes where images were resized, or counts bounded, in different ways."""
    # Logs record neither.
    counted = [table for table in tables if table.counts is not None]
    # Nor do counts of other programs say how images were resized.
    sizes = {_image_size(table) for table in counted if table.header.source is None}
    if len(sizes) > 1:
        yield Note("sizes_differ", sizes=", ".join(sorted(sizes)))
    bounds = {_bound_words(table) for table in counted}
    if len(bounds) > 1:
        yield Note("bounds_differ", bounds=", ".join(sorted(bounds)))


def _image_size(table: Certificates) -> str:
    """Return in words how images were resized and cropped before noise was added."""
    header = table.header
    sizes = []
    if header.resize is not None:
        sizes.append(f"resize {header.resize}")
    if header.crop is not None:
        sizes.append(f"crop {header.crop}")
    return " ".join(sizes) or "as stored"


def _bound_words(table: Certificates) -> str:
    """Return the name of the rule or, for the fixed rule, that of its bound."""
    header = table.header
    if header.rule != "fixed":
        return f"rule {header.rule}"
    # A header that names no bound means the usual one.
    if header.bound in (None, "clopper-pearson"):
        return "Clopper-Pearson bound"
    return f"{header.bound} bound"


def _table_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    """Yield a note for each fact that a reader must know of some tables.

    The facts are that tables have no labels, that another program made the counts, and
    the notes in their headers. A note names all tables to which it applies.
    """
    unlabelled = [table.name for table in tables if not table.labelled]
    if unlabelled:
        yield Note("tables_without_labels", tables=_which(unlabelled, tables))
    foreign = [table.name for table in tables if table.header.source is not None]
    if foreign:
        yield Note("counts_of_others", tables=_which(foreign, tables))
    noted = gathered(
        (str(note), table.name) for table in tables for note in table.header.notes
    )
    for text, names in noted.items():
        yield Note("noted_of_tables", tables=_which(names, tables), text=text)


def _which(names: Sequence[str], tables: Sequence[Certificates]) -> str:
    """Return the names of some of `tables`, or that it is all of them."""
    if len(names) == len(tables) > 1:
        return "All tables"
    return ", ".join(names)


def _rule_remarks(tables: Sequence[Certificates]) -> Iterator[Note]:
    """Yield a note for each table that was not made by the fixed rule for any class."""
    for table in tables:
        if table.routes is not None:
            yield _routed_remark(table, table.routes)
        elif table.header.rule != "fixed" or table.header.label_aware:
            yield _rule_remark(table)


def _routed_remark(table: Certificates, routes: Routes) -> Note:
    """Return a note on what the certificates of a routed table rest on."""
    routing = table.header.routing or {}
    certified = table.predict != ABSTAIN
    sizes = routes.members[certified].sum(axis=1)
    return Note(
        "routed",
        table=table.name,
        experts=len(routing["experts"]),
        router=noise_of_entry(routing["router"]),
        samples=float(table.samples.mean()),
        certified=int(certified.sum()),
        by_one=int((sizes == 1).sum()),
        by_all=int((sizes == routes.members.shape[1]).sum()),
    )


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
        # The most samples of an image; a log may record neither number.
        most=(header.n0 or 0) + (header.n or 0),
        # The header names a rule with its setting, as in "radius=0.5".
        stops=header.rule.partition("=")[0] in STOPPING_RULES,
        knows_p_a=metrics.knows_p_a(table),
        label_aware=header.label_aware,
        gives_up_others=header.gives_up_others,
    )
