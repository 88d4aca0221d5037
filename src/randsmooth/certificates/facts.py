"""What a header has room for: far beyond any use, and a malicious file cannot take long to handle within it."""

import math
from collections.abc import Callable, Iterable
from typing import Any, Self

from pydantic import ConfigDict, model_validator

from randsmooth import bounds
from randsmooth.certificates.selection import Shard
from randsmooth.documents import shown
from randsmooth.errors import BadValue, TooLarge
from randsmooth.frozen_record import FrozenRecord
from randsmooth.rules import check_samples

# Bytes of a header as JSON: ImageNet's 21,841 class names take an eighth.
MOST_HEADER_BYTES = 2**22

# Characters of one text in a header.
LONGEST_TEXT = 1000

# Lists and mappings within each other.
DEEPEST_NESTING = 8

# Magnitude of a whole number, such as a seed.
LARGEST_INTEGER = 2**63 - 1


class Facts(FrozenRecord):
    """Facts that a table tells, within the limits of `check_facts`: their types are taken as they are."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="after")
    def _limited(self) -> Self:
        """Check these facts against their limits, and return them."""
        # Machines, notes and the noise were checked when they were made.
        checked = ("machines", "notes", "noise")
        check_facts((name, value) for name, value in self if name not in checked)
        self._check_size()
        return self

    def _check_size(self) -> None:
        """Raise Problem where these facts take more bytes as JSON than a header may."""
        size = len(self.model_dump_json())
        if size > MOST_HEADER_BYTES:
            raise TooLarge(
                f"the header takes {size:,} bytes; expected at most "
                f"{MOST_HEADER_BYTES:,}: keep long lists elsewhere"
            )


def check_facts(facts: Iterable[tuple[str, Any]]) -> None:
    """Raise Problem for the first of a header's `facts` (name, value) that is beyond its limit.

    A value of None means that the fact is unknown, and passes.
    """
    for name, value in facts:
        if name in CHECKS and value is not None:
            CHECKS[name](value)
        else:
            _check_plain(name, value, DEEPEST_NESTING)


def _check_alpha(alpha: Any) -> None:
    # Where all copies of an image were counted, alpha is 0.
    if alpha != 0.0:
        bounds.check_level(alpha)


# The facts that are numbers with a range of their own, or are written in a certain way.
CHECKS: dict[str, Callable[[Any], object]] = {
    "alpha": _check_alpha,
    "n0": lambda n0: check_samples("n0", n0, least=0),
    "n": lambda n: check_samples("n", n),
    "batch": lambda batch: check_samples("batch", batch),
    "shard": Shard.parse,
}


def _check_plain(name: str, value: Any, levels: int) -> None:
    """Raise Problem unless JSON gives back `value` as it was, and it is within the limits.

    Lists and mappings may be nested in each other at most `levels` deep.
    """
    if isinstance(value, dict) and levels > 0:
        for part in (*value.keys(), *value.values()):
            _check_plain(name, part, levels - 1)
        # JSON has texts alone as keys.
        plain = all(isinstance(key, str) for key in value)
    elif isinstance(value, list | tuple) and levels > 0:
        for part in value:
            _check_plain(name, part, levels - 1)
        plain = True
    elif isinstance(value, str):
        plain = len(value) <= LONGEST_TEXT and not _has_surrogates(value)
    elif isinstance(value, float):
        plain = math.isfinite(value)
    elif isinstance(value, int):
        plain = abs(value) <= LARGEST_INTEGER
    else:
        # Any other object, and a list or mapping that is nested too deep, is refused.
        plain = value is None
    if not plain:
        raise BadValue(
            f"{name} holds {shown(repr(value))}: a header has room for texts of at most "
            f"{LONGEST_TEXT:,} characters, finite numbers, whole ones up to "
            f"{LARGEST_INTEGER:.0e}, and lists or mappings of them, at most "
            f"{DEEPEST_NESTING} levels deep"
        )


def _has_surrogates(text: str) -> bool:
    """Return whether `text` holds halves of characters, which UTF-8 cannot write."""
    return any("\ud800" <= character <= "\udfff" for character in text)
