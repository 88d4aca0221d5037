"""What a reader must know before comparing tables: other images, other settings, other ways to judge."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.escape import LONG, shortened
from randsmooth.rules import CONFIDENCE_BOUNDS

SETTINGS = ("sigma", "n", "alpha")
FOREIGN = "the counts are another program's; its noise, and how it picked the classes, could not be checked"
UNLABELLED = "the images have no labels, so that accuracy, ACR and p_A are not known"
OTHER_BOUNDS = CONFIDENCE_BOUNDS[1:]  # than Clopper-Pearson's


def settings(tables: Sequence[Certificates]) -> list[str]:
    """For each table `sigma 0.5, n 1,000`: of the three settings those in which the tables differ, so often nothing."""
    differing = [field for field in SETTINGS if len(_values(tables, field)) > 1]
    return [", ".join(f"{field} {_printed(field, getattr(t.header, field))}" for field in differing) for t in tables]


def remarks(tables: Sequence[Certificates]) -> list[str]:
    """Sentences on what makes the tables hard to compare; none where they differ in their classifiers only.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[90, 10], [40, 60]])
        >>> idx = np.arange(2)
        >>> def certified(sigma):
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001)
        ...     return from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> remarks([certified(0.25), certified(0.5)])
        ['The tables were made with different sigma (0.25, 0.5).']
    """
    found = []
    if not same_images(tables):
        found.append(f"The tables are not about the same images: each row rests on all of its own, {_common(tables)}.")
    for field in SETTINGS:
        values = [_printed(field, value) for value in _values(tables, field)]
        if len(values) > 1:
            found.append(f"The tables were made with different {field} ({', '.join(values)}).")
    if len(sizes := {_size(table) for table in tables if not table.is_log and table.header.source is None}) > 1:
        found.append(f"Radii are of images of different sizes ({', '.join(sorted(sizes))}), and do not compare.")
    judged = sorted({_way_of_judging(table) for table in tables} - {""})
    if len(judged) > 1:
        found.append(
            f"The tables were judged in different ways ({', '.join(judged)}), so that what differs between them is not "
            "the classifiers alone."
        )
    facts = {
        UNLABELLED: [table.name for table in tables if not table.labelled],
        FOREIGN: [table.name for table in tables if table.header.source is not None],
    }
    found += [f"{_subject(names, tables)}: {fact}." for fact, names in facts.items() if names]
    found += [_rule_remark(table) for table in tables if table.header.rule != "fixed" or table.header.label_aware]
    noted: dict[str, list[str]] = {}
    for table in tables:
        for note in table.header.notes:
            noted.setdefault(note, []).append(table.name)
    found += [f"{_subject(names, tables)}: {note}." for note, names in noted.items()]
    return [shortened(remark, LONG) for remark in found]


def same_images(tables: Sequence[Certificates]) -> bool:
    """Whether all tables are about the same images in the same order."""
    try:
        for table in tables[1:]:
            metrics.require_same_images(tables[0], table)
    except InputError:
        return False
    return not any(metrics.differing_source(tables[0], table) for table in tables[1:])


def missing_settings(table: Certificates) -> list[str]:
    """Which of sigma, n and alpha a log must be given before its p_A is known; none for a table of counts."""
    if not table.is_log:
        return []
    return [field for field in SETTINGS if getattr(table.header, field) is None]


def _subject(names: Sequence[str], tables: Sequence[Certificates]) -> str:
    return "All tables" if len(names) == len(tables) > 1 else ", ".join(names)


def _common(tables: Sequence[Certificates]) -> str:
    """How many images are in every table: the same idx and label, where all tables are of one data set and split."""
    for field, word in (("dataset", "data sets"), ("split", "splits")):
        values = sorted({getattr(table.header, field) for table in tables} - {None})
        if len(values) > 1 and any(metrics.differing_source(a, b) for a, b in combinations(tables, 2)):
            return f"and they are of different {word} ({', '.join(map(shortened, values))})"
    places = set.intersection(*(set(table.idx.tolist()) for table in tables))
    images = set.intersection(*(set(zip(table.idx.tolist(), table.label.tolist(), strict=True)) for table in tables))
    relabelled = len(places) - len(images)
    other = f"; {relabelled:,} more have one idx but different labels" if relabelled else ""
    return f"{len(images):,} of which are in every table{other}"


def _size(table: Certificates) -> str:
    """How the images were fitted before noise was added."""
    asked = [f"{name} {size}" for name in ("resize", "crop") if (size := getattr(table.header, name)) is not None]
    return " ".join(asked) or "as stored"


def _values(tables: Sequence[Certificates], field: str) -> list[float]:
    return sorted({getattr(table.header, field) for table in tables} - {None})


def _printed(field: str, value: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:,}" if field == "n" else f"{value:g}"


def _way_of_judging(table: Certificates) -> str:
    """The rule, or the bound of the fixed one; empty for a log, which does not say."""
    if table.is_log:
        return ""
    bound = table.header.bound if table.header.bound in OTHER_BOUNDS else "Clopper-Pearson"
    return f"{bound} bound" if table.header.rule == "fixed" else f"--rule {table.header.rule}"


def _rule_remark(table: Certificates) -> str:
    """How many samples a table took whose rule may stop before n, and which figures it does not give therefore."""
    header = table.header
    no_p_a = "" if metrics.knows_p_a(table) else "; p_A is not measured"
    how = "samples stopped where the label was missed" if header.gives_up_others else "only the label was tested"
    aware = f"; {how}, so that abstention is not known: for evaluation only" if header.label_aware else ""
    return (
        f"{table.name} was certified by --rule {header.rule} with {table.samples.mean():,.0f} samples per image on "
        f"average, of at most {(header.n0 or 0) + (header.n or 0):,}{_lower_bounds(header.rule)}{no_p_a}{aware}."
    )


def _lower_bounds(rule: str) -> str:
    """Which figures are lower bounds under a rule that decides about particular radii only, or stops early."""
    name, _, number = rule.partition("=")
    return {
        "radius": f"; it proves radius {number} or nothing, so that ACR and other radii are lower bounds",
        "screen": f"; it proves radius {number} or nothing and leaves open what is not decided early, so that all "
        "figures are lower bounds",
        "grid": "; its radii are those of the grid, so that ACR is a lower bound",
        "dense": "; images stop where further samples gain little radius, so that ACR and accuracy are mostly below "
        "those of all samples",
    }.get(name, "")
