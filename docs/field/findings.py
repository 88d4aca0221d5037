"""What the judged logs show about ACR, in five sentences, and how many of the released logs were judged."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from docs.field.curves import LEVELS, Curves, pairs_in
from docs.field.judging import GAUSSIAN, network
from docs.field.rows import JUDGED, PREDICTIONS, REFUSED, Row

from randsmooth.metrics import fresh_difference

Z = 1.959964  # of a 95% interval


@dataclass(frozen=True)
class Pair:
    """Two logs of two methods, the one with the higher ACR first.

    Attributes:
        reversed: for each of LEVELS, whether the first has the smaller share of images with p_A of at least that much.
        shown: likewise, whether this and the difference in ACR are both beyond chance: neither 95% interval of the
            paired differences contains 0.
    """

    ahead: Row
    behind: Row
    reversed: tuple[bool, ...]
    shown: tuple[bool, ...]


def setting_of(row: Row) -> tuple[Any, ...]:
    """What two logs must share to be compared."""
    return tuple(row[key] for key in ("dataset", "split", "sigma", "n", "alpha", "image_set"))


def _fit(row: Row) -> bool:
    """Whether a log counts: judged, with p_A, no copy of another, of a known method, certified at its own sigma."""
    known = row["status"] == JUDGED and row["p_a_0.5"] is not None and row["method"] and not row["copy_of"]
    return bool(known) and row["trained_sigma"] in (None, row["sigma"])


def pairs_of(rows: Sequence[Row], curves: Curves) -> list[Pair]:
    """Every pair of logs that counts.

    Both are over the same images of one data set, at one sigma, n and alpha; of two methods; not of two architectures
    where both paths name one; and differ in ACR.
    """
    settings = defaultdict(list)
    for row in filter(_fit, rows):
        settings[setting_of(row)].append(row)
    known = pairs_in(curves)
    every = (both for members in settings.values() for both in combinations(members, 2))
    return [_pair(a, b, known) for a, b in every if _two_methods(a, b) and a["acr"] != b["acr"]]


def _two_methods(a: Row, b: Row) -> bool:
    return bool(a["method"] != b["method"]) and network(a["dataset"], a["arch"]) == network(b["dataset"], b["arch"])


def _pair(a: Row, b: Row, known: Mapping[tuple[str, str], tuple[int, list[int], float]]) -> Pair:
    names = _name(a), _name(b)
    images, both, spread = known[names] if names in known else known[names[::-1]]
    ahead, behind = (a, b) if a["acr"] > b["acr"] else (b, a)
    sure = ahead["acr"] - behind["acr"] > Z * spread / math.sqrt(images)
    order, shown = [], []
    for level, shared in zip(LEVELS, both, strict=True):
        only_ahead, only_behind = (round(row[f"p_a_{level:g}"] * images) - shared for row in (ahead, behind))
        order.append(only_ahead < only_behind)
        shown.append(sure and fresh_difference(only_ahead, only_behind, images).high < 0.0)
    return Pair(ahead, behind, tuple(order), tuple(shown))


def _name(row: Row) -> str:
    return f"{row['repository']}/{row['path']}".strip("/")


def sentences(rows: Sequence[Row], curves: Curves) -> list[str]:
    """The five."""
    pairs = pairs_of(rows, curves)
    listed = [row for row in rows if row["listed"] == "yes"]
    judged = [row for row in rows if row["status"] == JUDGED]
    here = sum(row["status"] == JUDGED for row in listed)
    copies = sum(bool(row["copy_of"]) for row in judged)
    groups = {setting_of(pair.ahead) for pair in pairs}
    first = (
        f"{here:,} of the {len(listed):,} listed logs were judged here ({copies} of them are copies of others); they "
        f"hold {len(pairs):,} pairs of two methods in {_counted(len(groups), 'setting')}."
    )
    if not pairs:
        return [first]
    return [first, _reversals(pairs), _beyond_chance(pairs), _gaussian(pairs), _caution(pairs)]


def _reversals(pairs: Sequence[Pair]) -> str:
    counts = [sum(pair.reversed[at] for pair in pairs) for at in range(len(LEVELS))]
    parts = _listed([f"{_of(n, len(pairs))} at x = {x:g}" for n, x in zip(counts, LEVELS, strict=True)])
    once = _listed([f"{100 * share:.0f}%" for share in _each_once(pairs)])
    return (
        f"The log with the higher ACR has the smaller share of images with p_A of at least x in {parts} ({once} where "
        "all runs and settings of two methods count as one pair)."
    )


def _each_once(pairs: Sequence[Pair]) -> list[float]:
    """The mean share of reversed pairs over the pairs of two methods in one setting, at each of LEVELS."""
    groups = defaultdict(list)
    for pair in pairs:
        methods = frozenset((pair.ahead["method"], pair.behind["method"]))
        groups[setting_of(pair.ahead), methods].append(pair.reversed)
    means = [[sum(column) / len(column) for column in zip(*own, strict=True)] for own in groups.values()]
    return [sum(column) / len(column) for column in zip(*means, strict=True)]


def _beyond_chance(pairs: Sequence[Pair]) -> str:
    counts = [sum(pair.shown[at] for pair in pairs) for at in range(len(LEVELS))]
    anywhere = sum(any(pair.shown) for pair in pairs)
    parts = _listed([f"{n:,} at {x:g}" for n, x in zip(counts, LEVELS, strict=True)])
    whole = _of(anywhere, len(pairs))
    return f"Both differences, in ACR and in that share, are beyond chance in {parts}; at one x or more in {whole}."


def _gaussian(pairs: Sequence[Pair]) -> str:
    against = [pair for pair in pairs if GAUSSIAN in (pair.ahead["method"], pair.behind["method"])]
    won = [pair for pair in against if pair.behind["method"] == GAUSSIAN]
    fewer, shown = (sum(getattr(pair, what)[0] for pair in won) for what in ("reversed", "shown"))
    return (
        f"In {_of(len(won), len(against))} of the pairs with a Gaussian model the other method has the higher ACR; in "
        f"{_of(fewer, len(won))} of these it gives fewer images a p_A of at least 0.5, beyond chance in {shown:,}."
    )


def _caution(pairs: Sequence[Pair]) -> str:
    of_each = Counter(f"{pair.ahead['dataset']} at sigma {pair.ahead['sigma']:g}" for pair in pairs)
    parts = _listed([f"{count:,} {'is' if count == 1 else 'are'} of {where}" for where, count in of_each.most_common()])
    return (
        f"Of these pairs {parts}; they share logs, seeds and images, so that the counts describe these logs and are no "
        "estimate for any other."
    )


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / whole:.0f}%)" if whole else "none"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def coverage_table(rows: Sequence[Row]) -> str:
    """How many logs of each repository are listed, and were judged, as Markdown."""
    lines = [
        "| repository | listed | judged | judged, not listed | predictions | refused |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    names = sorted({row["repository"] for row in rows}, key=str.lower)
    for name in [*names, None]:
        own = [row for row in rows if name in (None, row["repository"])]
        listed = [row for row in own if row["listed"] == "yes"]
        others = [row for row in own if row["listed"] != "yes"]
        counts = [
            len(listed),
            sum(row["status"] == JUDGED for row in listed),
            sum(row["status"] == JUDGED for row in others),
            *(sum(row["status"] == status for row in own) for status in (PREDICTIONS, REFUSED)),
        ]
        called = "all" if name is None else f"[{name}](https://github.com/{name})" if name else "elsewhere"
        lines.append(f"| {called} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    return "\n".join(lines)


def settings_table(rows: Sequence[Row], curves: Curves) -> str:
    """In which settings the order changes, as Markdown."""
    heads = ["data set", "sigma", "images", "logs", "methods", "pairs", *(f"reversed at {x:g}" for x in LEVELS)]
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * (len(heads) - 1)]
    return "\n".join([*lines, *_setting_lines(pairs_of(rows, curves))])


def _setting_lines(pairs: Sequence[Pair]) -> Iterator[str]:
    groups = defaultdict(list)
    for pair in pairs:
        groups[setting_of(pair.ahead)].append(pair)
    for own in groups.values():
        logs = {_name(row): row for pair in own for row in (pair.ahead, pair.behind)}
        one = own[0].ahead
        where = one["dataset"] if one["split"] == "test" else f"{one['dataset']}, {one['split']}"
        reversals = [
            f"{sum(pair.reversed[at] for pair in own):,} ({sum(pair.shown[at] for pair in own):,})"
            for at in range(len(LEVELS))
        ]
        counts = [
            f"{one['sigma']:g}",
            f"{one['images']:,.0f}",
            f"{len(logs)}",
            f"{len({row['method'] for row in logs.values()})}",
            f"{len(own):,}",
        ]
        yield f"| {where} | {' | '.join([*counts, *reversals])} |"
