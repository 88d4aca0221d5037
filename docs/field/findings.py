"""What the judged logs show about ACR, in five sentences, and how many of the released logs were judged."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from docs.field.judging import GAUSSIAN
from docs.field.pairs import (
    CORRUPT,
    LEVELS,
    MORE_DATA,
    USUAL,
    Pair,
    pairs_of,
    setting_of,
)
from docs.field.rows import JUDGED, REFUSED, Row

from randsmooth.report.grouping import gathered
from randsmooth.report.layouts import pipes

ENOUGH = 20  # pairs of a data set and sigma whose share is said in a sentence


def sentences(rows: Sequence[Row], curves: Mapping[str, Any]) -> list[str]:
    """The five; the first alone where there is no pair on usual images and data."""
    pairs = pairs_of(rows, curves)
    usual = _of_kind(pairs, USUAL)
    listed = [row for row in rows if row["listed"] == "yes"]
    here = sum(row["status"] == JUDGED for row in listed)
    groups = {setting_of(pair.ahead) for pair in usual}
    first = (
        f"{here:,} of the {len(listed):,} released logs were judged; they hold {len(usual):,} pairs of two methods "
        f"over the same images, in {len(groups):,} setting{'s' * (len(groups) != 1)}."
    )
    return (
        [first, headline(usual), _span(usual), _gaussian(usual), _apart(pairs)]
        if usual
        else [first]
    )


def headline(pairs: Sequence[Pair]) -> str:
    """How often the order by ACR and that by p_A are opposite; empty without pairs."""
    if not pairs:
        return ""
    return (
        f"In {_joined(_shares(pairs))} of them the log with the higher ACR has the smaller share of images with p_A of "
        f"at least {_joined([f'{x:g}' for x in LEVELS])}. Counting only differences beyond chance: "
        f"{_joined(_shares(pairs, shown=True))}. Counting two methods once in each setting: "
        f"{_joined([_percent(share) for share in _each_once(pairs)])}."
    )


def _shares(pairs: Sequence[Pair], *, shown: bool = False) -> list[str]:
    columns = zip(
        *((pair.shown if shown else pair.reversed) for pair in pairs), strict=True
    )
    return [_percent(sum(column) / len(pairs)) for column in columns]


def _each_once(pairs: Sequence[Pair]) -> list[float]:
    """The mean share of reversed pairs over the pairs of two methods in one setting, at each of LEVELS."""
    groups = _by(
        pairs,
        lambda pair: (
            setting_of(pair.ahead),
            frozenset((pair.ahead["method"], pair.behind["method"])),
        ),
    )
    means = [
        np.mean([pair.reversed for pair in own], axis=0) for own in groups.values()
    ]
    return [float(share) for share in np.mean(means, axis=0)]


def _span(pairs: Sequence[Pair]) -> str:
    groups = _by(
        pairs, lambda pair: f"{pair.ahead['dataset']} at sigma {pair.ahead['sigma']:g}"
    )
    shares = [
        (sum(pair.reversed[0] for pair in own) / len(own), where, len(own))
        for where, own in groups.items()
    ]
    ordered = sorted(
        (share, where) for share, where, count in shares if count >= ENOUGH
    )
    if len(ordered) < 2:
        return f"No two data sets and sigmas have {ENOUGH} pairs or more."
    (low, rare), (high, often) = ordered[0], ordered[-1]
    return (
        f"At {LEVELS[0]:g} this goes from {_percent(low)} of the pairs of {rare} to {_percent(high)} of those of "
        f"{often}."
    )


def _gaussian(pairs: Sequence[Pair]) -> str:
    against = [
        pair
        for pair in pairs
        if GAUSSIAN in (pair.ahead["method"], pair.behind["method"])
    ]
    won = [pair for pair in against if pair.behind["method"] == GAUSSIAN]
    if not won:
        return "No method has a higher ACR than a Gaussian model."
    return (
        f"In {_percent(len(won) / len(against))} of the {len(against):,} pairs with a Gaussian model the other method "
        f"has the higher ACR; in {_shares(won)[0]} of these it gives fewer images a p_A of at least {LEVELS[0]:g}."
    )


def _apart(pairs: Sequence[Pair]) -> str:
    said = []
    for kind, words in (
        (CORRUPT, "of corrupted images"),
        (MORE_DATA, "with a model that saw more data"),
    ):
        own = _of_kind(pairs, kind)
        said.append(
            f"{len(own):,} pairs {words}"
            + (f" ({_joined(_shares(own))})" if own else "")
        )
    return f"Counted apart are {' and '.join(said)}."


def _of_kind(pairs: Sequence[Pair], kind: str) -> list[Pair]:
    return [pair for pair in pairs if pair.kind == kind]


def _by(pairs: Sequence[Pair], key: Callable[[Pair], Any]) -> dict[Any, list[Pair]]:
    return gathered((key(pair), pair) for pair in pairs)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _joined(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def coverage_table(rows: Sequence[Row]) -> str:
    """How many logs of each repository are listed, and were judged, as Markdown."""
    lines = [
        [
            "repository",
            "listed",
            "judged",
            "of these copies",
            "judged, not listed",
            "refused",
        ]
    ]
    names = sorted({row["repository"] for row in rows}, key=str.lower)
    for name in [*names, None]:
        own = [row for row in rows if name in (None, row["repository"])]
        listed = [row for row in own if row["listed"] == "yes"]
        judged = [row for row in listed if row["status"] == JUDGED]
        copies, status = (
            sum(bool(row["copy_of"]) for row in judged),
            [row["status"] for row in own],
        )
        counts = [
            len(listed),
            len(judged),
            copies,
            status.count(JUDGED) - len(judged),
            status.count(REFUSED),
        ]
        called = (
            "all"
            if name is None
            else f"[{name}](https://github.com/{name})"
            if name
            else "elsewhere"
        )
        lines.append([called, *(f"{count:,}" for count in counts)])
    return "\n".join(pipes(lines, [False] + [True] * 5))


def settings_table(rows: Sequence[Row], curves: Mapping[str, Any]) -> str:
    """Where the order changes, as Markdown."""
    lines = [
        [
            "data set",
            "sigma",
            "images",
            "logs",
            "methods",
            "pairs",
            *(f"reversed at {x:g}" for x in LEVELS),
        ]
    ]
    groups = _by(pairs_of(rows, curves), lambda pair: (pair.kind, _setting(pair.ahead)))
    order = (USUAL, MORE_DATA, CORRUPT)
    for own in sorted(
        groups.values(),
        key=lambda own: (order.index(own[0].kind), _setting(own[0].ahead)),
    ):
        logs = {
            f"{row['repository']}/{row['path']}": row
            for pair in own
            for row in (pair.ahead, pair.behind)
        }
        one, kind = own[0].ahead, own[0].kind
        where = [
            f"{one['dataset']}, more data" if kind == MORE_DATA else one["dataset"],
            f"{one['sigma']:g}",
        ]
        counts = (
            one["images"],
            len(logs),
            len({row["method"] for row in logs.values()}),
            len(own),
        )
        reversals = [
            f"{share} ({sure})"
            for share, sure in zip(_shares(own), _shares(own, shown=True), strict=True)
        ]
        lines.append([*where, *(f"{count:,.0f}" for count in counts), *reversals])
    return "\n".join(pipes(lines, [False] + [True] * (len(lines[0]) - 1)))


def _setting(row: Row) -> tuple[str, float, float]:
    return row["dataset"], row["sigma"], -row["images"]
