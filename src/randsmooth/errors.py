"""The one error that a user's input can cause, how a mistyped name is answered, and what is only noted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """What the user gave cannot be used. The message names the value, what was expected and the way out."""


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a `name` that is not among the `known` ones, with the nearest as a suggestion."""
    known = sorted(known)
    lowered = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    hint = f"did you mean {lowered[near[0]]!r}? " if near else ""
    return InputError(f"unknown {kind} {name!r}: {hint}known are {', '.join(known)}")


class Note(Warning):
    """Something that a user may want to know, though it was dealt with."""
