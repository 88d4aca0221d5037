"""What one log shows, and what it shows against the Gaussian model of its setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from docs.field.logs import Place
from numpy.typing import NDArray

from randsmooth import metrics, report
from randsmooth.certificates import Certificates
from randsmooth.certificates.logs.repositories import REPOSITORIES
from randsmooth.errors import Problem
from randsmooth.metrics import Comparison
from randsmooth.papers.find_certificates import USUAL_ARCHITECTURES
from randsmooth.report import Entry

GAUSSIAN = "gaussian"
AGE = {one.name: place for place, one in enumerate(REPOSITORIES)}  # the oldest first
RADII = tuple(
    0.25 * step for step in range(17)
)  # 0 to 4; the farthest that any of the logs certifies is 3.82

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Judged:
    """A log and its figures."""

    place: Place
    table: Certificates
    entry: Entry

    @property
    def model(self) -> Mapping[str, Any]:
        return self.table.header.model or {}

    @property
    def setting(self) -> tuple[Any, ...]:
        """What two logs must share to be compared: data set, sigma, n, alpha and the very images."""
        header = self.table.header
        return (
            header.dataset,
            header.split or "test",
            header.sigma,
            header.n,
            header.alpha,
            self.entry.images,
        )

    @property
    def network(self) -> str:
        return network(str(self.table.header.dataset), self.model.get("arch"))

    @property
    def matched(self) -> bool:
        """Whether the model was trained at the sigma that it is certified at, as far as the path says."""
        return self.model.get("sigma") in (None, self.table.header.sigma)

    @property
    def outcome(self) -> tuple[bytes, bytes]:
        """What two copies of one log have in common."""
        return self.table.predict.tobytes(), self.table.radius.tobytes()


def network(dataset: str, arch: str | None) -> str:
    """The architecture that a path names, or the usual one of the data set; empty where there is none."""
    return arch or USUAL_ARCHITECTURES.get(dataset, "")


def judge(place: Place, table: Certificates) -> Judged:
    """The figures of a log. Raises Problem where it holds no image."""
    return Judged(
        place, table, report.measure(table, f"{place.repository}/{place.path}")
    )


def p_a_values(one: Judged) -> NDArray[np.float64]:
    """(N,) p_A of each image; -1 where the log does not give it, as it is below 1/2."""
    return np.nan_to_num(metrics.p_a(one.table).values, nan=-1.0)


def originals(logs: Sequence[Judged]) -> dict[Place, Place]:
    """Copy -> the log in the oldest repository that has the same answers and radii in the same setting."""
    first: dict[tuple[Any, ...], Place] = {}
    copies = {}
    for one in sorted(
        logs, key=lambda one: (AGE.get(one.place.repository, len(AGE)), one.place)
    ):
        before = first.setdefault((one.setting, one.outcome), one.place)
        if before != one.place:
            copies[one.place] = before
    return copies


def reference_of(one: Judged, others: Sequence[Judged]) -> Judged | None:
    """The Gaussian model that a log is compared with, of `others`, which share its setting; None without one.

    It has the same architecture, and was trained at the sigma of certification. One of the log's own repository is
    preferred. Of several runs, the middle one by the share of images with p_A >= 1/2 is taken (of an even number, the
    lower of the two).
    """
    fit = [
        o
        for o in others
        if o.model.get("method") == GAUSSIAN and o.matched and o.network == one.network
    ]
    own = [other for other in fit if other.place.repository == one.place.repository]
    runs = sorted(own or fit, key=lambda other: (_half(other), other.place))
    return runs[(len(runs) - 1) // 2] if runs else None


def _half(one: Judged) -> float:
    return one.entry.p_a[0.5].value if one.entry.p_a else -1.0


def against(one: Judged, reference: Judged) -> Comparison | str:
    """The paired comparison of the two alone, at all radii and in ACR together; a sentence where they refuse it."""
    try:
        a, b = metrics.pair(one.table, reference.table)
        return metrics.compare([(a, b)])[0]
    except Problem as reason:
        return str(reason)
