"""Small tables with known radii or known p_A, and where the published logs are."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from randsmooth.certificates import Certificates, Header, from_evidence

Make = Callable[..., Certificates]


@pytest.fixture
def log() -> Make:
    """A log of rows (label, predict, radius)."""

    def table(
        rows: Sequence[tuple[int, int, float]], name: str = "log", **facts: float
    ) -> Certificates:
        label, predict = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
        radius, idx = (
            np.array([row[2] for row in rows], np.float64),
            np.arange(len(rows)),
        )
        return Certificates(
            Header.model_validate(facts),
            idx,
            label,
            predict,
            radius,
            np.zeros(len(rows)),
            name=name,
        )

    return table


@pytest.fixture
def counted() -> Make:
    """A two-class table of images of class 0 that got their label in `hits` (N,) of n samples."""

    def table(
        hits: Sequence[int], n: int = 1000, name: str = "counted", sigma: float = 0.5
    ) -> Certificates:
        k = np.asarray(hits, np.int64)
        counts = np.stack([k, n - k], axis=1)
        header, idx, label = (
            Header(sigma=sigma, n0=n, n=n, alpha=0.001),
            np.arange(len(k)),
            np.zeros(len(k), np.int64),
        )
        seconds = np.zeros(len(k))
        return from_evidence(
            header,
            idx=idx,
            label=label,
            counts0=counts,
            counts=counts,
            seconds=seconds,
            name=name,
        )

    return table


@pytest.fixture
def logs(logs: Path) -> Path:
    """Those of CIFAR-10 at sigma 0.5."""
    return logs / "cifar10-sigma0.5"
