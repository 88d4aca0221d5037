"""Train, certify and fairly compare classifiers with randomized smoothing.

Names are imported on first use, so that reading and plotting certificates does not load torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from randsmooth import metrics as metrics
    from randsmooth import report as report
    from randsmooth.certificates import ABSTAIN as ABSTAIN
    from randsmooth.certificates import Certificates as Certificates
    from randsmooth.certificates import read as read
    from randsmooth.certification import SmoothedClassifier as SmoothedClassifier
    from randsmooth.certification import certify as certify
    from randsmooth.data import load as load_data  # noqa: F401
    from randsmooth.data import skip as skip
    from randsmooth.data import take as take
    from randsmooth.errors import InputError as InputError
    from randsmooth.models import load as load_model  # noqa: F401
    from randsmooth.training import Request as Request
    from randsmooth.training import train as train  # type: ignore[no-redef]

# Where each name lives: a room and a name in it, or the room itself.
_HOMES: dict[str, tuple[str, str | None]] = {
    "ABSTAIN": ("certificates", "ABSTAIN"),
    "Certificates": ("certificates", "Certificates"),
    "InputError": ("errors", "InputError"),
    "Request": ("training", "Request"),
    "SmoothedClassifier": ("certification", "SmoothedClassifier"),
    "certify": ("certification", "certify"),
    "load_data": ("data", "load"),
    "load_model": ("models", "load"),
    "metrics": ("metrics", None),
    "read": ("certificates", "read"),
    "report": ("report", None),
    "skip": ("data", "skip"),
    "take": ("data", "take"),
    "train": ("training", "train"),
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'randsmooth' has no attribute {name!r}")
    room, there = _HOMES[name]
    module = import_module(f"randsmooth.{room}")
    value = module if there is None else getattr(module, there)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
