"""Certificates that are kept in `results/`."""

from __future__ import annotations

import warnings
from pathlib import Path

from randsmooth import certificates
from randsmooth.errors import NoDigest

RESULTS = Path(__file__).parents[2] / "results"


def kept(name: str) -> certificates.Certificates:
    """The table at `results/NAME`; some are older than digests, which their readers need not hear."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDigest)
        return certificates.read(RESULTS / name)
