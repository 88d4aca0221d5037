"""Train, certify and fairly compare classifiers with randomized smoothing.

Names are imported on first use, so that reading and plotting certificates does not load torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from randsmooth.certificates import ABSTAIN as ABSTAIN
    from randsmooth.certificates import Certificates as Certificates
    from randsmooth.certificates import read as read
    from randsmooth.certification import SmoothedClassifier as SmoothedClassifier
    from randsmooth.data import load as load_data  # noqa: F401
    from randsmooth.errors import InputError as InputError
    from randsmooth.models import load as load_model  # noqa: F401
    from randsmooth.training import Request as Request
    from randsmooth.training import train as train  # type: ignore[no-redef]

_HOMES = {
    "ABSTAIN": ("certificates", "ABSTAIN"),
    "Certificates": ("certificates", "Certificates"),
    "InputError": ("errors", "InputError"),
    "Request": ("training", "Request"),
    "SmoothedClassifier": ("certification", "SmoothedClassifier"),
    "load_data": ("data", "load"),
    "load_model": ("models", "load"),
    "read": ("certificates", "read"),
    "train": ("training", "train"),
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'randsmooth' has no attribute {name!r}")
    room, there = _HOMES[name]
    value = getattr(import_module(f"randsmooth.{room}"), there)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
