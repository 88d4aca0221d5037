"""What a header says in words: made from its rule and its numbers, never copied from a file."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from randsmooth.certificates.header import CLOPPER_PEARSON, OLD_BOUND, Header
from randsmooth.errors import InputError, Note
from randsmooth.rules import Rule, make_rule

LABEL_AWARE = " For evaluation only: images whose picked class is not the label were given up."
LABEL_TESTED = " For evaluation only: no class was picked, the samples test each image's label."
FOREIGN = (
    " That holds if the counts, which another program made, are of independent samples of Gaussian noise of this sigma"
)
BATCH_MATTERS = (
    "the base classifier's answer for a noisy image depends, if little, on the others in its batch (a layer that "
    "scales by the batch, or rounds by the place in it?), which no certificate allows for"
)
PICKED = ", and the class was picked without them"

_NUMBER = r"(\d{1,20}(?:\.\d{1,20})?(?:e-\d{1,2})?)"
_THINNED = re.compile(rf"n {_NUMBER} thinned to {_NUMBER}, seed -?\d{{1,20}}", re.ASCII)
_JUDGED = re.compile(rf"alpha {_NUMBER} recomputed as {_NUMBER}", re.ASCII)


def rule_of(header: Header) -> Rule:
    """The rule that `header` names.

    Raises:
        InputError: sigma, n or alpha is unknown, or there is no such rule or bound.

    Example:
        >>> rule_of(Header(sigma=0.5, n=1000, alpha=0.001)).name
        'fixed'
    """
    if header.sigma is None or header.n is None or header.alpha is None:
        raise InputError("judging counts needs sigma, n and alpha in the header")
    bound = CLOPPER_PEARSON if header.bound in (None, OLD_BOUND) else header.bound
    return make_rule(
        header.rule,
        sigma=header.sigma,
        n=header.n,
        alpha=header.alpha,
        bound=bound,
        version=header.version,
    )


def guarantee_of(header: Header) -> str:
    """What a certificate under `header` guarantees, and a second sentence where that depends on more than its rule.

    Errors as `rule_of`.

    Example:
        >>> print(guarantee_of(Header(sigma=0.5, n=1000, alpha=0.001)))
        Each certificate is wrong with probability at most 0.001: 1000 samples per image, p_A is bounded by ...
    """
    aware = (LABEL_AWARE if header.n0 != 0 else LABEL_TESTED) if header.label_aware else ""
    picked = "" if header.bound == "any-class" else PICKED
    return rule_of(header).guarantee() + aware + (f"{FOREIGN}{picked}." if header.source else "")


def thinned(n: int | None, to: int, seed: int) -> str:
    """The note that counts of `n` samples were thinned."""
    return f"n {n} thinned to {to}, seed {seed}"


def judged_at(alpha: float | None, to: float) -> str:
    """The note that counts were judged at another alpha."""
    return f"alpha {alpha} recomputed as {to}"


def in_own_words(header: Header, path: Path) -> Header:
    """A `header` read from `path`, with its guarantee made anew and without notes that randsmooth would not write.

    Kept are its rule's notes, `BATCH_MATTERS`, and those on thinning and on another alpha that lead to the header's n
    and alpha. A `Note` says how many others were left out; it does not repeat them.

    Raises:
        InputError: the header names no rule that its guarantee or notes could come from.
    """
    if header.guarantee is None and not header.notes:
        return header
    guarantee = None if header.guarantee is None else guarantee_of(header)
    own = {
        BATCH_MATTERS,
        *rule_of(header).notes,
        *_leading(header, _THINNED, header.n),
        *_leading(header, _JUDGED, header.alpha),
    }
    notes = tuple(note for note in header.notes if note in own)
    if len(notes) < len(header.notes):
        left = len(header.notes) - len(notes)
        warnings.warn(f"{path}: left out {left} of the header's notes, which randsmooth did not write", Note, 4)
    return header.having(guarantee=guarantee, notes=notes)


def _leading(header: Header, form: re.Pattern[str], last: float | None) -> list[str]:
    """The notes of one `form`, before and after, that lead step by step to `last`."""
    own, at = [], str(last)
    for note in reversed(header.notes):
        found = form.fullmatch(note)
        if found and found[2] == at:
            own.append(note)
            at = found[1]
    return own
