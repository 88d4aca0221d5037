"""Each method at its best sigma for every radius: a curve that belongs to no single classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.certificates.log_budgets import ROUNDED
from randsmooth.report.figures.axes import Axes, Line
from randsmooth.report.figures.multi_panel import draw


def group_by_method(tables: Sequence[Certificates]) -> dict[str, list[Certificates]]:
    """The tables of each method that has tables at several sigma.

    A method goes by the preset in the header, or by its name where there is no preset. A log names neither.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> def certified(sigma, right):
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001, model={"method": "macer"})
        ...     counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[right, 100 - right], [40, 60]])
        ...     idx = np.arange(2)
        ...     return from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> tables = [certified(0.25, 99), certified(1.0, 90)]
        >>> {method: len(group) for method, group in group_by_method(tables).items()}
        {'macer': 2}
    """
    groups: dict[str, list[Certificates]] = {}
    for table in tables:
        model = table.header.model or {}
        name = model.get("preset") or model.get("method")
        if name:
            groups.setdefault(str(name), []).append(table)
    return {name: group for name, group in groups.items() if len({table.header.sigma for table in group}) > 1}


def draw_envelopes(groups: Mapping[str, Sequence[Certificates]], path: Path | str) -> None:
    """Draw each method's best certified accuracy over its tables, and the sigma that gives it, against the radius.

    Raises:
        InputError: no method, a suffix that is no figure's, or as `metrics.envelope`.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> def certified(sigma, right):
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001, model={"method": "macer"})
        ...     counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[right, 100 - right], [40, 60]])
        ...     idx = np.arange(2)
        ...     return from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> tables = [certified(0.25, 99), certified(1.0, 90)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw_envelopes({"macer": tables}, Path(folder) / "best.svg")
        ...     [file.name for file in Path(folder).iterdir()]
        ['best.svg']
    """
    draw(envelope_axes(groups), path)


def envelope_axes(groups: Mapping[str, Sequence[Certificates]]) -> list[Axes]:
    """The two panels of `draw_envelopes`; none for no method.

    A curve falls to 0 where no image is certified any more, and ends where the tables' sigma can certify no farther.

    Raises:
        InputError: as `metrics.envelope`.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> def certified(sigma, right):
        ...     header = Header(sigma=sigma, n0=10, n=100, alpha=0.001, model={"method": "macer"})
        ...     counts0, counts = np.array([[9, 1], [4, 6]]), np.array([[right, 100 - right], [40, 60]])
        ...     idx = np.arange(2)
        ...     return from_evidence(header, idx=idx, label=idx, counts0=counts0, counts=counts, seconds=idx * 1.0)
        >>> tables = [certified(0.25, 99), certified(1.0, 90)]
        >>> [panel.title for panel in envelope_axes({"macer": tables})]
        ["The best sigma at each radius: no one classifier's", 'That sigma']
    """
    shares, sigmas = [], []
    for name, tables in groups.items():
        found = metrics.envelope(tables)
        ends = max(map(metrics.farthest, tables)) > (1.0 + ROUNDED) * found.radii[-1]
        x, y = (
            (np.append(found.radii, found.radii[-1]), np.append(found.share, 0.0))
            if ends
            else (found.radii, found.share)
        )
        shares.append(Line(name, x, 100.0 * y, "step"))
        held = found.best >= 0
        of = np.array([np.nan if table.header.sigma is None else table.header.sigma for table in tables])
        sigmas.append(Line(name, found.radii[held], of[found.best[held]], "step"))
    if not shares:
        return []
    radius = "certified L2 radius"
    return [
        Axes("The best sigma at each radius: no one classifier's", radius, "certified accuracy (%)", tuple(shares)),
        Axes("That sigma", radius, "sigma", tuple(sigmas)),
    ]
