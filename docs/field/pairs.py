"""The pairs of logs that the findings count, and how far apart their figures are."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from docs.field.judging import Judged, network, p_a_values
from docs.field.rows import JUDGED, Row

from randsmooth import metrics
from randsmooth.certificates.logs.paths import CORRUPTED
from randsmooth.progress import Progress
from randsmooth.report.grouping import gathered

LEVELS = (0.5, 0.75, 0.9)  # of p_A, at which pairs of logs are compared
FINEST = 10_000  # what the ends of intervals are multiplied by
USUAL, CORRUPT, MORE_DATA = "", "corrupted images", "more data"  # kinds of pairs


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

    @property
    def kind(self) -> str:
        if self.ahead["dataset"] in CORRUPTED:
            return CORRUPT
        return (
            MORE_DATA if self.ahead["more_data"] or self.behind["more_data"] else USUAL
        )


def setting_of(row: Row) -> tuple[Any, ...]:
    """What two logs must share to be compared."""
    return tuple(
        row[key] for key in ("dataset", "split", "sigma", "n", "alpha", "image_set")
    )


def judged_of(rows: Iterable[Row]) -> list[Row]:
    """The rows of judged logs, in the order in which curves.json has them."""
    return [row for row in rows if row["status"] == JUDGED]


def _fit(row: Row) -> bool:
    """Whether a log counts: with p_A, no copy of another, of a known method, certified at its own sigma."""
    known = row["n"] and row["method"] and not row["copy_of"]
    return bool(known) and row["trained_sigma"] in (None, "", row["sigma"])


def _counted(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """The places of two logs that make a pair.

    Both are over the same images of one data set, at one sigma, n and alpha; of two methods; not of two architectures
    where both paths name one; and differ in ACR.
    """
    for places in gathered(
        (setting_of(row), place) for place, row in enumerate(rows) if _fit(row)
    ).values():
        for i, j in combinations(places, 2):
            a, b = rows[i], rows[j]
            alike = network(a["dataset"], a["arch"]) == network(b["dataset"], b["arch"])
            if alike and a["method"] != b["method"] and a["acr"] != b["acr"]:
                yield i, j


def measure_pairs(
    judged: Sequence[Judged], rows: Sequence[Row], progress: Progress
) -> list[list[int]]:
    """Places i < j of two judged logs, then the ends of 95% intervals of what i has more than j, in 1/FINEST.

    They are those of the share of images with p_A of at least each of LEVELS, then of ACR; rounded outward.
    """
    held: dict[int, list[Any]] = {}
    counted, measured = list(_counted(rows)), []
    with progress("pairing", len(counted), "pairs") as reporter:
        for i, j in counted:
            for place in {i, j} - held.keys():
                p_a = p_a_values(judged[place])
                held[place] = [p_a >= level for level in LEVELS]
            ends = [_fresh(a, b) for a, b in zip(held[i], held[j], strict=True)]
            ends.append(metrics.acr_difference(judged[i].table, judged[j].table))
            measured.append([i, j, *(end for each in ends for end in _outward(each))])
            reporter.advance(1)
    return measured


def _fresh(a: Any, b: Any) -> metrics.Estimate:
    return metrics.fresh_difference(int((a & ~b).sum()), int((b & ~a).sum()), len(a))


def _outward(estimate: metrics.Estimate) -> tuple[int, int]:
    return math.floor(estimate.low * FINEST), math.ceil(estimate.high * FINEST)


def pairs_of(
    rows: Iterable[Row], curves: Mapping[str, Any], kind: str | None = None
) -> list[Pair]:
    """Every pair of logs that counts, or those of a kind."""
    judged = judged_of(rows)
    pairs = [_pair(judged[i], judged[j], ends) for i, j, *ends in curves["pairs"]]
    return [pair for pair in pairs if kind in (None, pair.kind)]


def _pair(a: Row, b: Row, ends: Sequence[int]) -> Pair:
    low, high = ends[::2], ends[1::2]
    if a["acr"] < b["acr"]:
        a, b, low, high = b, a, [-end for end in high], [-end for end in low]
    order = tuple(a[f"p_a_{x:g}"] < b[f"p_a_{x:g}"] for x in LEVELS)
    return Pair(a, b, order, tuple(low[-1] > 0 > end for end in high[:-1]))
